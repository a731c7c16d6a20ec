"""The derivative of max pooling as an operator on what was pooled.

PyTorch's takes the places of the greatest elements, which a forward program would have to compute and keep.
"""

from functools import cache
from typing import Any

from relay.frontend.torch.backward import pulled_back
from relay.frontend.torch.library import pytorch
from relay.frontend.torch.node import Node
from relay.frontend.torch.pooling import max_pool
from relay.frontend.torch.registry import converts
from relay.frontend.value import Value

NAME = "relay::max_pool2d_backward"
WINDOW = "int[] kernel, int[] stride, int[] padding, int[] dilation, bool ceil"


@cache
def max_pool2d_backward() -> Any:
    """The operator, which PyTorch runs too: `(g, x, *window)`, `g` of the shape of the result."""
    library = pytorch("torch.library")
    aten = pytorch().ops.aten

    def on_cpu(g: Any, x: Any, *window: Any) -> Any:
        places = aten.max_pool2d_with_indices(x, *window)[1]
        return aten.max_pool2d_with_indices_backward(g, x, *window, places)

    library.define(NAME, f"(Tensor g, Tensor x, {WINDOW}) -> Tensor")
    library.impl(NAME, "CPU", on_cpu)
    library.register_fake(NAME, like_operand)
    return pytorch().ops.relay.max_pool2d_backward.default


def like_operand(g: Any, x: Any, *window: Any) -> Any:
    """A tensor of the shape of the result."""
    return pytorch().empty_like(x)


def without_places(g: Any, x: Any, *how: Any) -> Any:
    """PyTorch's operator in terms of this one; the places of the greatest elements come last."""
    return max_pool2d_backward()(g, x, *how[:-1])


@converts("relay.max_pool2d_backward")
def max_pool_backward(node: Node, g: Value, x: Value, *window: Any) -> Value:
    """The cotangent of what the greatest elements were taken of."""

    def forward(x: Value) -> Value:
        return max_pool(2, node, x, *window)

    return pulled_back(node, forward, ("x",), (x,), g)[0]
