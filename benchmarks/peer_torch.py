"""What models are written in, by PyTorch."""

from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812


class Ops:
    """PyTorch's functions."""

    relu, relu6, tanh = staticmethod(F.relu), staticmethod(F.relu6), staticmethod(torch.tanh)
    gelu, linear = staticmethod(F.gelu), staticmethod(F.linear)

    def gelu_tanh(self, x: Any) -> Any:
        return F.gelu(x, approximate="tanh")

    def softmax(self, x: Any) -> Any:
        return F.softmax(x, -1)

    def log_softmax(self, x: Any) -> Any:
        return F.log_softmax(x, -1)

    def batch_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        return F.batch_norm(x, None, None, gamma, beta, True)

    def layer_norm(self, x: Any, gamma: Any, beta: Any, epsilon: float) -> Any:
        return F.layer_norm(x, (x.shape[-1],), gamma, beta, epsilon)

    def image(self, x: Any) -> Any:
        return x

    def conv(self, x: Any, weight: Any, bias: Any, stride: int, groups: int) -> Any:
        return F.conv2d(x, weight, bias, stride, weight.shape[-1] // 2, 1, groups)

    def max_pool(self, x: Any) -> Any:
        return F.max_pool2d(x, 3, 2, 1)

    def mean_of_image(self, x: Any) -> Any:
        return F.adaptive_avg_pool2d(x, 1).flatten(1)

    def take(self, table: Any, places: Any) -> Any:
        return F.embedding(places, table)

    def transpose(self, x: Any, axes: Any) -> Any:
        return x.permute(axes)

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def lstm(self, x: Any, w: Any, r: Any, bias: Any) -> Any:
        zero = torch.zeros(1, 1, r.shape[1])
        weights = [w, r, bias, torch.zeros_like(bias)]
        return torch.lstm(x, (zero, zero), weights, True, 1, 0.0, False, False, False)[1][0]
