"""Operators whose attributes are tensors that are known at run time, in terms of a few of them."""

from typing import Any, ClassVar, Literal

import numpy

from relay.ir.expr import Expr, as_expr
from relay.ir.type import ANY, TensorType, Type
from relay.op.attribute import DTypeName
from relay.op.axes import axis_of
from relay.op.base import ANY_NUMBER, FLOATING, INTEGRAL, NUMERIC, sample
from relay.op.composite import Composite
from relay.op.dynamic_shape import result_rank
from relay.op.image.places import Way
from relay.op.image.resize import resized
from relay.op.kind import Derivative
from relay.op.nn.layout import SPATIAL, permutation, positions
from relay.op.numeric import apply, dims
from relay.op.pad import MIRROR, with_border
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.term import Term, iota, size_of, term

FLOAT32 = DTypeName("float32")


def item(x: Expr, k: int) -> Expr:
    """An element of a vector."""
    return apply("take", x, term(k, "int64").expr, axis=0)


def shape_tensor(x: Expr) -> Term:
    """The shape of a tensor, as int64."""
    return Term(apply("shape_of", x, dtype="int64"), "int64")


class Filled(Composite):
    """A tensor of one number, with a shape that is a tensor of rank 1."""

    value: ClassVar[int]
    derivative = Derivative.ZERO
    samples = (
        sample(numpy.array([2, 3]), dtype="float32"),
        sample(numpy.array([4], "int32"), dtype="int8"),
    )

    def infer(self, t: Typing, shape: Type) -> Type:
        return TensorType([ANY] * result_rank(t, shape), self.attributes()["dtype"])

    def decompose(self, types: Any, shape: Expr) -> Expr:
        return apply("dyn.broadcast_to", term(self.value, self.attributes()["dtype"]).expr, shape)


@operator("dyn.zeros")
class DynZeros(Filled):
    """A tensor of zeros, with a shape that is a tensor of rank 1.

    relay> dyn.zeros([2, 1], dtype="int32")
    [[0], [0]]
    """

    value = 0
    dtype: DTypeName = FLOAT32


@operator("dyn.ones")
class DynOnes(Filled):
    """A tensor of ones, with a shape that is a tensor of rank 1.

    relay> dyn.ones([2, 1], dtype="int32")
    [[1], [1]]
    """

    value = 1
    dtype: DTypeName = FLOAT32


@operator("dyn.full")
class DynFull(Composite):
    """A tensor of a scalar, with a shape that is a tensor of rank 1; its dtype is `dtype`.

    relay> dyn.full(7, [2, 1], dtype="int32")
    [[7], [7]]
    """

    dtype: DTypeName | None = None
    samples = (
        sample("float32", numpy.array([2, 3])),
        sample("int32", numpy.array([4], "int32"), dtype="float64"),
    )

    def infer(self, t: Typing, fill_value: Type, shape: Type) -> Type:
        t.shape(fill_value, rank=0, what="the value to fill with")
        return TensorType([ANY] * result_rank(t, shape), self.dtype or t.dtype(fill_value))

    def decompose(self, types: Any, fill_value: Expr, shape: Expr) -> Expr:
        value = apply("cast", fill_value, dtype=self.dtype) if self.dtype else fill_value
        return apply("dyn.broadcast_to", value, shape)


@operator("dyn.one_hot")
class DynOneHot(Composite):
    """`one_hot` with a depth that is a scalar tensor.

    relay> dyn.one_hot([2, 0], 1.0, 0.0, 3)
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    dtypes = ANY_NUMBER

    axis: int = -1
    dtype: DTypeName = FLOAT32
    samples = (
        sample(numpy.array([2, 0, 5]), numpy.float32(1), numpy.float32(0), numpy.int32(3)),
        sample("2x3 int64", numpy.int32(1), numpy.int32(0), numpy.int64(4), axis=0, dtype="int32"),
    )

    def infer(self, t: Typing, indices: Type, on_value: Type, off_value: Type, depth: Type) -> Type:
        for x in (indices, depth):
            t.dtype_in(x, INTEGRAL, "indices and depth")
        for x in (on_value, off_value, depth):
            t.shape(x, rank=0, what="a value of `dyn.one_hot`")
        shape = t.shape(indices)
        at = axis_of(t, self.axis, len(shape) + 1, of="the result")
        return TensorType((*shape[:at], ANY, *shape[at:]), self.dtype)

    def decompose(self, types: Any, indices: Expr, on_value: Expr, off_value: Expr, depth: Expr) -> Expr:
        rank = len(dims(types[0]))
        at = self.axis % (rank + 1)
        places = iota(Term(depth, types[3].dtype))
        rows = places.of("expand_dims", axis=1, num_newaxis=rank - at) if rank > at else places
        wanted = Term(indices, types[0].dtype).as_index().of("expand_dims", axis=at)
        on, off = (
            Term(v, t.dtype).cast(self.dtype) for v, t in zip((on_value, off_value), types[1:3], strict=True)
        )
        return wanted.equals(rows).where(on, off).expr


@operator("dyn.expand_dims")
class DynExpandDims(Composite):
    """`num_newaxis` new axes of size 1, the first of them at `axis`, a scalar tensor.

    relay> dyn.expand_dims([1, 2], 0)
    [[1, 2]]
    """

    num_newaxis: int = 1
    samples = (
        sample("2x3 float32", numpy.int64(1)),
        sample("2x3 int32", numpy.int32(-1), num_newaxis=2),
    )

    def infer(self, t: Typing, data: Type, axis: Type) -> Type:
        t.dtype_in(axis, INTEGRAL, "the axis")
        t.equal(t.dtype(axis), t.dtype(axis))
        return TensorType([ANY] * (len(t.shape(data)) + self.num_newaxis), t.dtype(data))

    def decompose(self, types: Any, data: Expr, axis: Expr) -> Expr:
        rank, more = len(dims(types[0])), self.num_newaxis
        at = Term(axis, types[1].dtype).as_index().of("reshape", newshape=())
        at = (at < 0).where(at + (rank + 1), at)
        ones, sizes = term(numpy.ones(more), "int64"), shape_tensor(data)
        first = apply("concatenate", (sizes.expr, ones.expr))
        last = Term(apply("concatenate", (ones.expr, sizes.expr)), "int64")
        place = iota(rank + more)
        shape = (place < at).where(Term(first, "int64"), (place < at + more).where(1, last))
        return apply("dyn.reshape", data, shape.expr, allowzero=True)


@operator("dyn.squeeze")
class DynSqueeze(Composite):
    """Without the axes, of size 1, that a tensor of rank 1 names (`reshape-size`).

    relay> dyn.squeeze([[1, 2]], [0])
    [1, 2]
    """

    samples = (
        sample("1x3x1 float32", numpy.array([0])),
        sample("1x3x1 int32", numpy.array([-1, 0], "int32")),
    )

    def infer(self, t: Typing, data: Type, axis: Type) -> Type:
        gone, rank = result_rank(t, axis), len(t.shape(data))
        if gone > rank:
            t.fail("rank-mismatch", f"a tensor of rank {rank} has no {gone} axes")
        return TensorType([ANY] * (rank - gone), t.dtype(data))

    def decompose(self, types: Any, data: Expr, axis: Expr) -> Expr:
        rank, (gone,) = len(dims(types[0])), dims(types[1])
        assert isinstance(gone, int)
        at = Term(axis, types[1].dtype).as_index()
        at = (at < 0).where(at + rank, at).of("expand_dims", axis=1)
        dropped = at.equals(iota(rank)).of("any", axis=(0,)).cast("int32")
        order = dropped.of("argsort", to="int64", dtype="int64")
        kept = order.of("strided_slice", begin=(0,), end=(rank - gone,), axes=(0,))
        return apply("dyn.reshape", data, shape_tensor(data).of("take", kept, axis=0).expr, allowzero=True)


@operator("dyn.tile")
class DynTile(Composite):
    """The tensor repeated as a whole along its last axes, as often as a tensor of rank 1 says.

    relay> dyn.tile([1, 2], [2, 2])
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """

    samples = (
        sample("2x3 float32", numpy.array([2, 1])),
        sample("2x3 int32", numpy.array([2], "int32")),
        sample("2 int8", numpy.array([2, 3])),
    )

    def infer(self, t: Typing, data: Type, reps: Type) -> Type:
        return TensorType([ANY] * max(len(t.shape(data)), result_rank(t, reps)), t.dtype(data))

    def decompose(self, types: Any, data: Expr, reps: Expr) -> Expr:
        own, (given,) = len(dims(types[0])), dims(types[1])
        assert isinstance(given, int)
        rank = max(own, given)
        times, sizes = Term(reps, types[1].dtype).as_index(), shape_tensor(data)
        times, sizes = _filled(times, rank - given), _filled(sizes, rank - own)
        ones = term(numpy.ones(rank), "int64")
        apart = _paired(ones, sizes)
        copies = apply(
            "dyn.broadcast_to",
            apply("dyn.reshape", data, apart.expr, allowzero=True),
            _paired(times, sizes).expr,
        )
        return apply("dyn.reshape", copies, (times * sizes).expr, allowzero=True)


def _filled(x: Term, more: int) -> Term:
    """A vector with so many ones before it."""
    ones = term(numpy.ones(more), "int64")
    return Term(apply("concatenate", (ones.expr, x.expr)), x.dtype) if more else x


def _paired(x: Term, y: Term) -> Term:
    """The elements of two vectors by turns."""
    return Term(apply("reshape", apply("stack", (x.expr, y.expr), axis=1), newshape=(-1,)), x.dtype)


@operator("dyn.nn.pad")
class DynPad(Composite):
    """`nn.pad` by widths `(rank, 2)` and with a value that are tensors; negative widths cut off, with
    `pad_mode="constant"`.

    relay> dyn.nn.pad([1, 2], [[1, 2]], 9)
    [9, 1, 2, 9, 9]
    """

    pad_mode: Literal["constant", "edge", "reflect"] = "constant"
    samples = (
        sample("2x3 float32", numpy.array([[1, 0], [0, 2]]), "float32"),
        sample("2x3 float32", numpy.array([[1, 0], [-1, 2]]), "float32"),
        sample("2x3 float32", numpy.array([[1, 2], [0, 2]], "int32"), "float32", pad_mode="edge"),
        sample("3x4 int32", numpy.array([[2, 1], [1, 0]]), "int32", pad_mode="reflect"),
    )

    @staticmethod
    def builder(data: Any, pad_width: Any, pad_value: Any = 0, pad_mode: str = "constant") -> Expr:
        """A tensor with a border; see the operator."""
        plain = isinstance(pad_value, int | float) and pad_value == 0
        operands = [as_expr(x) for x in (data, pad_width, 0 if plain else pad_value)]
        return DynPad(pad_mode=pad_mode)(*operands)  # pyright: ignore[reportArgumentType]

    def infer(self, t: Typing, data: Type, pad_width: Type, pad_value: Type) -> Type:
        t.dtype_in(pad_width, INTEGRAL, "the widths")
        rank = len(t.shape(data))
        t.equal(t.shape(pad_width, 2, "the widths"), (rank, 2), why="each axis has a width before and after")
        t.shape(pad_value, rank=0, what="the value of the border")
        t.equal(t.dtype(pad_value), t.dtype(data), why="the border has the dtype of the tensor")
        return TensorType([ANY] * rank, t.dtype(data))

    def decompose(self, types: Any, data: Expr, pad_width: Expr, pad_value: Expr) -> Expr:
        rank = len(dims(types[0]))
        widths, sizes = Term(pad_width, types[1].dtype).as_index(), shape_tensor(data)
        before, after = (widths.of("take", term(k, "int64"), axis=1) for k in (0, 1))
        if self.pad_mode == "constant":
            ones = term(numpy.ones(rank), "int64").expr
            first, last = (-before).of("maximum", 0), sizes + after.of("minimum", 0)
            part = apply("dyn.strided_slice", data, first.expr, last.expr, ones)
            whole = apply("dyn.broadcast_to", pad_value, (before + sizes + after).expr)
            at = before.of("maximum", 0)
            return apply("strided_set", whole, part, at.expr, (at + last - first).expr, ones)
        found = data
        for axis in range(rank):
            size, first, last = (Term(item(v.expr, axis), "int64") for v in (sizes, before, after))
            found = with_border(found, axis, size, first, last, MIRROR[self.pad_mode])
        return found


class DynUpsample(Composite):
    """Upsampling by scales that are scalar tensors."""

    axes: ClassVar[str]

    def infer(self, t: Typing, data: Type, *scales: Type) -> Type:
        layout = self.attributes()["layout"]
        t.dtype_in(data, NUMERIC, "the data")
        shape = list(
            t.shape(data, len(permutation(t, layout, "NC" + self.axes, self.name, "layout")), "the data")
        )
        for place, scale in zip(positions(layout, self.axes), scales, strict=True):
            t.dtype_in(scale, FLOATING, "a scale")
            t.shape(scale, rank=0, what="a scale")
            shape[place] = ANY
        return TensorType(shape, t.dtype(data))

    def decompose(self, types: Any, data: Expr, *scales: Expr) -> Expr:
        axes = positions(self.attributes()["layout"], self.axes)
        outs: list[Term] = []
        for axis, scale, t in zip(axes, scales, types[1:], strict=True):
            wide = Term(scale, t.dtype).cast("float64") * term(size_of(data, types[0], axis), "float64")
            outs.append((wide + 0.5).of("floor").cast("int64"))  # halves up, as `scaled_size`
        return resized(Term(data, types[0].dtype), types, axes, outs, self.way()).expr

    def way(self) -> Way:
        """How data are resampled."""
        raise AssertionError(f"{self.name} does not say how it resamples")


@operator("dyn.nn.upsampling")
class DynUpsampling(DynUpsample):
    """`nn.upsampling` by scales that are scalar tensors.

    relay> dyn.nn.upsampling([[[[1.0, 2.0]]]], 1.0, 2.0)
    [[[[1.0, 1.0, 2.0, 2.0]]]]
    """

    axes = SPATIAL[2]
    layout: str = "NCHW"
    method: Literal["nearest_neighbor", "bilinear", "bicubic"] = "nearest_neighbor"
    align_corners: bool = False
    operands = ("data", "scale_h", "scale_w")
    samples = (
        sample("1x2x3x4 float32", numpy.float32(2), numpy.float32(3)),
        sample("1x2x3x4 float32", numpy.float32(1.6), numpy.float32(2), method="bicubic", align_corners=True),
        sample("1x2x3x4 int8", numpy.float32(2), numpy.float32(3)),
    )

    def way(self) -> Way:
        mode = {"nearest_neighbor": "nearest", "bilinear": "linear", "bicubic": "cubic"}[self.method]
        rounding = "round_prefer_ceil" if self.align_corners else "floor"
        return Way(mode, "align_corners" if self.align_corners else "asymmetric", rounding, -0.5)


@operator("dyn.nn.upsampling3d")
class DynUpsampling3D(DynUpsample):
    """`nn.upsampling3d` by scales that are scalar tensors.

    relay> dyn.nn.upsampling3d([[[[[1.0, 2.0]]]]], 1.0, 1.0, 2.0)
    [[[[[1.0, 1.0, 2.0, 2.0]]]]]
    """

    axes = SPATIAL[3]
    layout: str = "NCDHW"
    method: Literal["nearest_neighbor", "trilinear"] = "nearest_neighbor"
    coordinate_transformation_mode: Literal["half_pixel", "align_corners", "asymmetric"] = "half_pixel"
    operands = ("data", "scale_d", "scale_h", "scale_w")
    samples = (
        sample("1x2x2x3x4 float32", numpy.float32(2), numpy.float32(1), numpy.float32(1.5)),
        sample("1x1x2x2x2 float32", *[numpy.float32(2)] * 3, method="trilinear"),
    )

    def way(self) -> Way:
        mode = "nearest" if self.method == "nearest_neighbor" else "linear"
        rounding = "floor" if self.coordinate_transformation_mode == "asymmetric" else "round_prefer_ceil"
        return Way(mode, self.coordinate_transformation_mode, rounding, -0.5)
