"""Operators of `com.microsoft` that came before ONNX's of that name, or are a short formula of those."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relay.frontend.onnx import arrange, convolution, create, index, normalization, quantization, vision
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import CONTRIBUTED, converts
from relay.frontend.onnx.signal import component, dft
from relay.frontend.support import axes_in, axis_in, cast, root_of, scalar
from relay.frontend.value import Value, call, constant


def newest(node: Node) -> Node:
    """A node, as if it were of ONNX's newest operator set."""
    return Node(node.proto, node.attributes, node.scope, 99)


def as_in_onnx(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A converter of ONNX's own operators, for those of the same names that are older than it."""

    def convert(node: Node, *operands: Value | None) -> Any:
        """As the newest version of the operator does it."""
        return rule(newest(node), *operands)

    return convert


for _name, _rule in (
    ("QuantizeLinear", quantization.quantize_linear),
    ("DequantizeLinear", quantization.dequantize_linear),
    ("Trilu", index.trilu),
    ("GatherND", index.gather_nd),
    ("GridSample", vision.grid_sample),
):
    converts(_name, domain=CONTRIBUTED)(as_in_onnx(_rule))


@converts("ExpandDims", domain=CONTRIBUTED)
def expand_dims(node: Node, x: Value, axis: Value) -> Value:
    """A new axis of size 1."""
    return call("expand_dims", x, axis=axis_in(int(axis.number("the axis")), x.rank + 1))


@converts("Range", domain=CONTRIBUTED)
def numbers_between(node: Node, start: Value, limit: Value, delta: Value | None = None) -> Value:
    """Numbers at equal distances, of 1 unless given."""
    step = constant(1, start.dtype) if delta is None else delta
    return create.convert_range(newest(node), start, limit, step)


@converts("Pad", domain=CONTRIBUTED)
def bordered(node: Node, x: Value, pads: Value, value: Value | None = None) -> Value:
    """A border along all axes."""
    return arrange.pad(newest(node), x, call("reshape", pads, newshape=(-1,)), value)


@converts("Unique", domain=CONTRIBUTED)
def distinct(node: Node, x: Value) -> Any:
    """The distinct elements in the order they come in, which each one is, and how often they are there."""
    found = call("unique", x, is_sorted=False, return_counts=True)
    return found[0], cast(found[2], "int64"), cast(found[4], "int64")


@converts("UnfoldTensor", domain=CONTRIBUTED)
def unfold_tensor(node: Node, x: Value) -> Value:
    """Windows of an axis, side by side in a last one."""
    axis, size, step = axis_in(node.int("dim", -1), x.rank), node.int("size"), node.int("step", 1)
    if x.size(axis) < size:
        return node.fail(f"a window of {size} does not fit into {x.size(axis)}")
    places = [range(i, i + size) for i in range(0, int(x.size(axis)) - size + 1, step)]
    found = call("take", x, constant(np.array(places), "int64"), axis=axis)
    order = [k for k in range(x.rank + 1) if k != axis + 1]
    return call("transpose", found, axes=(*order, axis + 1))


@converts("CDist", domain=CONTRIBUTED)
def distances(node: Node, a: Value, b: Value) -> Value:
    """The distance of each row of one matrix from each row of another."""
    metric = node.text("metric", "sqeuclidean")
    if metric not in ("sqeuclidean", "euclidean"):
        return node.fail(f"there is no distance `{metric}`", hint="there are `euclidean` and `sqeuclidean`")
    apart = call("expand_dims", a, axis=1) - call("expand_dims", b, axis=0)
    found = call("sum", apart * apart, axis=(2,))
    return found if metric == "sqeuclidean" else root_of(found)


@converts("CropAndResize", domain=CONTRIBUTED)
def crop_and_resize(node: Node, x: Value, regions: Value, images: Value, size: Value) -> Value:
    """Regions of images, each brought to one size."""
    high, wide = size.numbers("the size of crops")
    method = {"bilinear": "bilinear", "nearest": "nearest_neighbor"}[node.text("mode", "bilinear")]
    return call("image.crop_and_resize", x, regions, images, crop_size=(high, wide), method=method,
                extrapolation_value=node.float("extrapolation_value", 0.0))  # fmt: skip


@converts("ConvTransposeWithDynamicPads", domain=CONTRIBUTED)
def transposed_with_pads(
    node: Node, x: Value, weight: Value, pads: Value | None = None, bias: Value | None = None
) -> Value:
    """The transposed convolution, without a border whose widths are an operand."""
    found = convolution.conv_transpose(node, x, weight, bias)
    if pads is None:
        return found
    widths = pads.numbers("the widths")
    rank = len(widths) // 2
    ends = tuple([found.size(k + 2) - widths[rank + k] for k in range(rank)])
    return call("strided_slice", found, begin=tuple(widths[:rank]), end=ends, axes=tuple(range(2, 2 + rank)))


# --- complex numbers and transforms ---


def complex_product(conjugate: bool) -> Callable[..., Value]:
    """The product of complex numbers, the second one conjugated or not."""

    def convert(node: Node, a: Value, b: Value) -> Value:
        """Pairs in the last axes."""
        x, y, u, v = component(a, 0), component(a, 1), component(b, 0), component(b, 1)
        v = -v if conjugate else v
        return call("stack", (x * u - y * v, x * v + y * u), axis=a.rank - 1)

    return convert


converts("ComplexMul", domain=CONTRIBUTED)(complex_product(conjugate=False))
converts("ComplexMulConj", domain=CONTRIBUTED)(complex_product(conjugate=True))


@converts("Rfft", domain=CONTRIBUTED)
def rfft(node: Node, x: Value) -> Value:
    """The transform of real data along the last axis, half of it, as pairs."""
    if node.int("signal_ndim", 1) != 1:
        return node.fail("it transforms several axes")
    return dft(call("expand_dims", x, axis=x.rank), None, x.rank - 1, inverse=False, onesided=True)


@converts("Irfft", domain=CONTRIBUTED)
def irfft(node: Node, x: Value) -> Value:
    """The real data, times their number, of which pairs are half of the transform."""
    if node.int("signal_ndim", 1) != 1:
        return node.fail("it transforms several axes")
    found = dft(x, None, x.rank - 2, inverse=True, onesided=True)
    whole = call("squeeze", found, axis=(found.rank - 1,))
    return whole * float(whole.size(whole.rank - 1))


# --- integers, and graphs of training that are run ---


@converts("MulInteger", domain=CONTRIBUTED)
def mul_integer(node: Node, a: Value, a_zero: Value | None, b: Value, b_zero: Value | None = None) -> Value:
    """The product of quantised numbers, in int32."""
    parts = [cast(x, "int32") if z is None else cast(x, "int32") - cast(z, "int32")
             for x, z in ((a, a_zero), (b, b_zero))]  # fmt: skip
    return parts[0] * parts[1]


@converts("ReduceSumInteger", domain=CONTRIBUTED)
def sum_of_integers(node: Node, x: Value) -> Value:
    """The sum over axes, in 32 bits."""
    wide = cast(x, "int32" if x.dtype == "int8" else "uint32")
    along = tuple(axes_in(node.ints("axes"), x.rank))
    return call("sum", wide, axis=along, keepdims=bool(node.int("keepdims", 1)))


@converts("BiasDropout", domain=CONTRIBUTED)
def bias_dropout(
    node: Node, x: Value, bias: Value, residual: Value | None = None, ratio: Value | None = None,
    training: Value | None = None,
) -> Any:  # fmt: skip
    """`Dropout` of a sum, and other data added."""
    found, mask = normalization.dropout(newest(node), x + bias, ratio, training)
    return found if residual is None else found + residual, mask


@converts("IsAllFinite", domain=CONTRIBUTED)
def is_all_finite(node: Node, *xs: Value) -> Value:
    """Whether no number of any operand is infinite or NaN; with an attribute, one of the two."""
    tests = ["isnan"] * (not node.int("isinf_only", 0)) + ["isinf"] * (not node.int("isnan_only", 0))
    found = constant(True)
    for x in xs:
        for test in tests:
            found = call("logical_and", found, call("logical_not", call("any", call(test, x))))
    return found


@converts("TorchEmbedding", domain=CONTRIBUTED)
def embedding(node: Node, weight: Value, indices: Value, *_: Value | None) -> Value:
    """Rows of a table."""
    return call("take", weight, indices, axis=0)


@converts("ScaledSiLU", domain=CONTRIBUTED)
def scaled_silu(node: Node, x: Value, scale: Value | None = None) -> Value:
    """`SiLU` of data that is scaled first."""
    scaled = x * (node.float("alpha", 1.0) if scale is None else cast(scalar(scale), x.dtype))
    return call("nn.silu", scaled)


@converts("GatedAdd", domain=CONTRIBUTED)
def gated_add(node: Node, x: Value, y: Value, gate: Value, weight: Value | None = None) -> Value:
    """A sum, of which one part is scaled row by row."""
    if weight is not None:
        return node.fail("it computes its gate (`gate_weight`), which ONNX Runtime does in bfloat16 alone")
    return x + y * gate
