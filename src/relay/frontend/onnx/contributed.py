"""Operators beside ONNX's own (`com.microsoft`) that quantisers and optimisers of models write."""

from collections.abc import Callable

from relay.frontend.onnx import pooling
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.quantization import centred_columns, centred_rows
from relay.frontend.onnx.registry import CONTRIBUTED, converts
from relay.frontend.products import matmul
from relay.frontend.support import axis_in, cast, merged, reshape_to, sizes_as_value
from relay.frontend.value import Value, call, constant


def number(x: Value, scale: Value, zero: Value | None) -> Value:
    """What quantised data stand for."""
    return call("qnn.dequantize", x, scale, zero if zero is not None else constant(0, x.dtype))


def quantised(x: Value, scale: Value, zero: Value | None, dtype: str) -> Value:
    """Numbers in a quantised dtype."""
    to = dtype if zero is None else zero.dtype
    return call("qnn.quantize", x, scale, zero if zero is not None else constant(0, to), out_dtype=to)


def pairwise(name: str) -> Callable[..., Value]:
    """A function of two quantised tensors."""

    def convert(
        node: Node, a: Value, a_scale: Value, a_zero: Value | None, b: Value, b_scale: Value,
        b_zero: Value | None, scale: Value, zero: Value | None = None,
    ) -> Value:  # fmt: skip
        """Both as numbers, and the result quantised."""
        found = call(name, number(a, a_scale, a_zero), number(b, b_scale, b_zero))
        return quantised(found, scale, zero, a.dtype)

    return convert


for _onnx, _name in (("QLinearAdd", "add"), ("QLinearMul", "multiply")):
    converts(_onnx, domain=CONTRIBUTED)(pairwise(_name))


def of_numbers(change: Callable[[Node, Value], Value]) -> Callable[..., Value]:
    """A function of a quantised tensor."""

    def convert(
        node: Node, x: Value, x_scale: Value, x_zero: Value | None, scale: Value, zero: Value | None = None
    ) -> Value:
        """The data as numbers, and the result quantised."""
        return quantised(change(node, number(x, x_scale, x_zero)), scale, zero, x.dtype)

    return convert


def softmax_of_opset(node: Node, x: Value) -> Value:
    """Along an axis; before version 13 over all axes from it on."""
    axis = axis_in(node.int("axis", -1), x.rank)
    if node.int("opset") >= 13:
        return call("nn.softmax", x, axis=axis)
    return reshape_to(call("nn.softmax", merged(x, axis), axis=1), x.shape, sizes_as_value(x))


def channels_first(pool: Callable[[Node, Value], Value]) -> Callable[[Node, Value], Value]:
    """A pool of data whose channels may come last."""

    def convert(node: Node, x: Value) -> Value:
        """The pool, on transposed data where need be."""
        if not node.int("channels_last", 0):
            return pool(node, x)
        last = x.rank - 1
        found = pool(node, call("transpose", x, axes=(0, last, *range(1, last))))
        return call("transpose", found, axes=(0, *range(2, last + 1), 1))

    return convert


def mean_over_axes(node: Node, x: Value) -> Value:
    """Over axes."""
    axes = node.ints("axes", list(range(x.rank)))
    return call("mean", x, axis=tuple(axes), keepdims=bool(node.int("keepdims", 1)))


QUANTISED: dict[str, Callable[[Node, Value], Value]] = {
    "QLinearSigmoid": lambda node, x: call("sigmoid", x),
    "QLinearLeakyRelu": lambda node, x: call("nn.leaky_relu", x, alpha=node.float("alpha", 0.01)),
    "QLinearSoftmax": softmax_of_opset,
    "QLinearReduceMean": mean_over_axes,
    "QLinearAveragePool": channels_first(pooling.average_pool),
    "QLinearGlobalAveragePool": channels_first(pooling.global_average_pool),
}
for _onnx, _change in QUANTISED.items():
    converts(_onnx, domain=CONTRIBUTED)(of_numbers(_change))


@converts("QLinearConcat", domain=CONTRIBUTED)
def qlinear_concat(node: Node, scale: Value, zero: Value, *operands: Value) -> Value:
    """One quantised tensor after another."""
    parts = [number(*operands[k : k + 3]) for k in range(0, len(operands), 3)]
    axis = axis_in(node.int("axis"), parts[0].rank)
    return quantised(call("concatenate", tuple(parts), axis=axis), scale, zero, zero.dtype)


@converts("QGemm", domain=CONTRIBUTED)
def qgemm(
    node: Node, a: Value, a_scale: Value, a_zero: Value | None, b: Value, b_scale: Value,
    b_zero: Value | None = None, bias: Value | None = None, scale: Value | None = None,
    zero: Value | None = None,
) -> Value:  # fmt: skip
    """The product of quantised matrices and a bias in its scale; quantised, or as numbers."""
    x, w = centred_rows(a, a_zero), centred_columns(b, b_zero)
    x = call("transpose", x, axes=(1, 0)) if node.int("transA", 0) else x
    w = call("transpose", w, axes=(1, 0)) if node.int("transB", 0) else w
    found = call("nn.matmul", x, w)
    found = found if bias is None else found + bias
    ratio = cast(a_scale, "float32") * cast(b_scale, "float32") * node.float("alpha", 1.0)
    numbers = cast(found, "float32") * ratio
    return numbers if scale is None else quantised(numbers, scale, zero, a.dtype)


@converts("MatMulIntegerToFloat", domain=CONTRIBUTED)
def matmul_integer_to_float(
    node: Node, a: Value, b: Value, a_scale: Value, b_scale: Value, a_zero: Value | None = None,
    b_zero: Value | None = None, bias: Value | None = None,
) -> Value:  # fmt: skip
    """The product of quantised matrices as numbers."""
    found = cast(matmul(centred_rows(a, a_zero), centred_columns(b, b_zero)), a_scale.dtype)
    found = found * (a_scale * b_scale)
    return found if bias is None else found + bias


@converts("Gelu", "BiasGelu", domain=CONTRIBUTED)
def bias_gelu(node: Node, x: Value, bias: Value | None = None) -> Value:
    """`x` times the part of a normal distribution that lies below it."""
    return call("nn.gelu", x if bias is None else x + bias)


@converts("FastGelu", domain=CONTRIBUTED)
def fast_gelu(node: Node, x: Value, bias: Value | None = None) -> Value:
    """`Gelu` approximated by the hyperbolic tangent."""
    return call("nn.gelu", x if bias is None else x + bias, approximate="tanh")


@converts("QuickGelu", domain=CONTRIBUTED)
def quick_gelu(node: Node, x: Value) -> Value:
    """`Gelu` approximated by the logistic function."""
    return call("nn.silu", x, alpha=node.float("alpha", 1.702))


@converts("Inverse", domain=CONTRIBUTED)
def inverse(node: Node, x: Value) -> Value:
    """The inverse of each square matrix."""
    return call("linalg.inv", x)


def laid_for_product(x: Value, batch_last: bool, turned: bool) -> Value:
    """An operand of `FusedMatMul`; with `batch_last` the first axis stands before the last one."""
    axes = list(range(x.rank))
    if batch_last and x.rank > 2:
        axes = [*axes[1:-1], 0, axes[-1]]
    if turned and x.rank > 1:
        axes[-2:] = axes[-1], axes[-2]
    return x if axes == list(range(x.rank)) else call("transpose", x, axes=tuple(axes))


@converts("FusedMatMul", "TransposeMatMul", domain=CONTRIBUTED)
def fused_matmul(node: Node, a: Value, b: Value) -> Value:
    """The product of matrices, of which either may be transposed, times a number."""
    sides = ((a, "A"), (b, "B"))
    a, b = (
        laid_for_product(v, bool(node.int(f"transBatch{s}", 0)), bool(node.int(f"trans{s}", 0)))
        for v, s in sides
    )
    found, alpha = matmul(a, b), node.float("alpha", 1.0)
    return found if alpha == 1 else found * alpha
