"""Operators of `com.microsoft` that are ONNX's with an activation, with channels last, or for more dtypes."""

from collections.abc import Callable
from typing import Any

from relay.frontend.onnx import quantization
from relay.frontend.onnx.activations import ACTIVATIONS
from relay.frontend.onnx.contributed import fast_gelu, fused_matmul, number, quantised
from relay.frontend.onnx.convolution import conv
from relay.frontend.onnx.linear import gemm
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.pooling import max_pool
from relay.frontend.onnx.registry import CONTRIBUTED, converts
from relay.frontend.products import matmul
from relay.frontend.recurrence import gates
from relay.frontend.support import axis_in, cast, merged, reshape_to, sizes_as_value
from relay.frontend.value import Value, call, constant


def with_activation(node: Node, x: Value, numbers: list[float | None]) -> Value:
    """The activation that a node names, with its numbers in order; of those left out the defaults."""
    name = node.text("activation", "")
    if not name:
        return x
    if name == "Clip":
        low, high = (*numbers, None, None)[:2]
        return call("clip", x, a_min=float("-inf") if low is None else low,
                    a_max=float("inf") if high is None else high)  # fmt: skip
    f = ACTIVATIONS.get(name)
    if f is None:
        return node.fail(
            f"there is no activation `{name}`", hint=f"there are {', '.join([*ACTIVATIONS, 'Clip'])}"
        )
    given = [*numbers, *[None] * len(f.defaults)]
    return f.of(x, *[d if v is None else v for v, d in zip(given, f.defaults.values(), strict=False)])


@converts("FusedGemm", domain=CONTRIBUTED)
def fused_gemm(node: Node, a: Value, b: Value, c: Value | None = None) -> Value:
    """`Gemm` and an activation."""
    given = [node.float(f"activation_{k}", None) for k in ("alpha", "beta", "gamma")]
    return with_activation(node, gemm(node, a, b, c), given)


@converts("FusedConv", domain=CONTRIBUTED)
def fused_conv(
    node: Node, x: Value, weight: Value, bias: Value | None = None, added: Value | None = None
) -> Value:
    """`Conv`, other data added, and an activation."""
    found = conv(node, x, weight, bias)
    return with_activation(
        node, found if added is None else found + added, node.floats("activation_params", [])
    )


def of_channels_last(f: Callable[..., Any]) -> Callable[..., Value]:
    """A function of images with channels first for images with channels last."""

    def convert(node: Node, x: Value, *rest: Value | None) -> Value:
        """The function, between transposes."""
        last = x.rank - 1
        found: Any = f(node, call("transpose", x, axes=(0, last, *range(1, last))), *rest)
        return call("transpose", found, axes=(0, *range(2, last + 1), 1))

    return convert


converts("NhwcMaxPool", domain=CONTRIBUTED)(of_channels_last(max_pool))


@converts("NhwcConv", domain=CONTRIBUTED)
def nhwc_conv(node: Node, x: Value, weight: Value, bias: Value | None = None) -> Value:
    """`Conv` of images and a weight with channels last."""
    last = weight.rank - 1
    weight = call("transpose", weight, axes=(0, last, *range(1, last)))
    return of_channels_last(conv)(node, x, weight, bias)


@converts("QLinearConv", domain=CONTRIBUTED)
def qlinear_conv_of_either_layout(node: Node, x: Value, *rest: Value | None) -> Value:
    """`QLinearConv`, of images that may have channels last; the weight has them first."""
    if node.int("channels_last", 0):
        return of_channels_last(quantization.qlinear_conv)(node, x, *rest)
    return quantization.qlinear_conv(node, x, *rest)  # pyright: ignore[reportArgumentType]


@converts("QLinearWhere", domain=CONTRIBUTED)
def qlinear_where(
    node: Node, condition: Value, x: Value, x_scale: Value, x_zero: Value, y: Value, y_scale: Value,
    y_zero: Value, scale: Value, zero: Value,
) -> Value:  # fmt: skip
    """Elements of either of two quantised tensors, quantised."""
    found = call("where", condition, number(x, x_scale, x_zero), number(y, y_scale, y_zero))
    return quantised(found, scale, zero, x.dtype)


@converts("MatMulInteger16", domain=CONTRIBUTED)
def matmul_integer_16(node: Node, a: Value, b: Value) -> Value:
    """The product of integers of 16 bits, in 32."""
    wide = "uint32" if a.dtype == b.dtype == "uint16" else "int32"
    return matmul(cast(a, wide), cast(b, wide))


@converts("BiasSoftmax", domain=CONTRIBUTED)
def bias_softmax(node: Node, x: Value, bias: Value) -> Value:
    """Softmax over the last axes of a sum."""
    axis = axis_in(node.int("axis", 1), x.rank)
    if not node.int("is_inner_broadcast") and bias.rank < x.rank:
        return node.fail("its bias has fewer axes than the data")
    whole = x + bias
    if axis == x.rank - 1:
        return call("nn.softmax", whole, axis=axis)
    found = call("nn.softmax", merged(whole, axis), axis=1)
    return reshape_to(found, whole.shape, sizes_as_value(whole))


@converts("GemmFastGelu", domain=CONTRIBUTED)
def gemm_fast_gelu(node: Node, x: Value, weight: Value, bias: Value | None = None) -> Value:
    """`MatMul` and `FastGelu`."""
    return fast_gelu(node, matmul(x, weight), bias)


@converts("FusedMatMulActivation", domain=CONTRIBUTED)
def fused_matmul_activation(node: Node, a: Value, b: Value) -> Value:
    """`FusedMatMul` and an activation."""
    given = [node.float(f"activation_{k}", None) for k in ("alpha", "beta", "gamma")]
    return with_activation(node, fused_matmul(node, a, b), given)


@converts("NhwcFusedConv", domain=CONTRIBUTED)
def nhwc_fused_conv(
    node: Node, x: Value, weight: Value, bias: Value | None = None, added: Value | None = None
) -> Value:
    """`FusedConv` of images with channels last; the weight has them first."""
    found = of_channels_last(conv)(node, x, weight, bias)
    return with_activation(
        node, found if added is None else found + added, node.floats("activation_params", [])
    )


@converts("SwiGLU", domain=CONTRIBUTED)
def swiglu(node: Node, gate: Value, up: Value | None = None) -> Value:
    """One half of a projection times the `SiLU` of the other, both held within a limit."""
    if up is None:
        gate, up = gates(gate, 2)
    limit = node.float("limit", 0.0)
    if limit > 0:
        gate = call("minimum", gate, constant(limit, gate.dtype))
        up = call("clip", up, a_min=-limit, a_max=limit)
    return call("nn.silu", gate, alpha=node.float("activation_alpha", 1.0)) * (
        up + node.float("activation_beta", 0.0)
    )
