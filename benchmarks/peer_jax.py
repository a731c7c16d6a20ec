"""What models are written in, by JAX: images with channels last."""

from typing import Any

import jax
from jax import lax, nn
from jax import numpy as jnp


class Ops:
    """JAX's functions."""

    relu, relu6, tanh = staticmethod(nn.relu), staticmethod(nn.relu6), staticmethod(jnp.tanh)
    log_softmax = staticmethod(nn.log_softmax)
    softmax, transpose = staticmethod(nn.softmax), staticmethod(jnp.transpose)

    def weight(self, x: Any) -> Any:
        """A weight as it is wanted here."""
        return x.transpose(2, 3, 1, 0) if x.ndim == 4 else x

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        y = x @ weight.T
        return y if bias is None else y + bias

    def gelu(self, x: Any) -> Any:
        return nn.gelu(x, approximate=False)

    def gelu_tanh(self, x: Any) -> Any:
        return nn.gelu(x, approximate=True)

    def layer_norm(self, x: Any, gamma: Any, beta: Any, epsilon: float) -> Any:
        mean = x.mean(-1, keepdims=True)
        away = x - mean
        return away * lax.rsqrt((away * away).mean(-1, keepdims=True) + epsilon) * gamma + beta

    def batch_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        away = x - x.mean((0, 1, 2))
        return away * lax.rsqrt((away * away).mean((0, 1, 2)) + 1e-5) * gamma + beta

    def image(self, x: Any) -> Any:
        return x.transpose(0, 2, 3, 1)

    def conv(self, x: Any, weight: Any, bias: Any, stride: int, groups: int) -> Any:
        pads = [(weight.shape[0] // 2,) * 2] * 2
        names = ("NHWC", "HWIO", "NHWC")
        y = lax.conv_general_dilated(
            x, weight, (stride, stride), pads, dimension_numbers=names, feature_group_count=groups
        )
        return y if bias is None else y + bias

    def max_pool(self, x: Any) -> Any:
        pads = [(0, 0), (1, 1), (1, 1), (0, 0)]
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), pads)

    def mean_of_image(self, x: Any) -> Any:
        return x.mean((1, 2))

    def take(self, table: Any, places: Any) -> Any:
        return table[places]

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        likeness = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
        n = q.shape[-2]
        likeness = jnp.where(jnp.tri(n, dtype=bool), likeness, -jnp.inf) if causal else likeness
        return nn.softmax(likeness) @ v

    def lstm(self, x: Any, w: Any, r: Any, bias: Any) -> Any:
        into, back = x @ w.T + bias, r.T

        def step(state: Any, given: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(given + h @ back, 4, axis=-1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
            return (nn.sigmoid(o) * jnp.tanh(c), c), None

        zero = jnp.zeros((1, r.shape[1]), x.dtype)
        return jax.lax.scan(step, (zero, zero), into)[0][0]
