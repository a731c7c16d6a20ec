"""Upsampling, and its derivative: data resampled to a multiple of its size along the spatial axes."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import floor
from typing import Any, ClassVar, Literal

import numpy

from relay.ir.dim import floor_divide
from relay.ir.dtype import is_integer
from relay.ir.expr import Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.base import FLOATING, NUMERIC, Array, Numpy, Operator, sample
from relay.op.batching import by, folded_along
from relay.op.conversion import accumulator, accumulator_name
from relay.op.derivative import tensor_type
from relay.op.family import family
from relay.op.kind import Batching, Derivative
from relay.op.native import Index, Loops, Output, View
from relay.op.nn.cotangent import reshaped_like
from relay.op.nn.layout import SPATIAL, permutation, positions
from relay.op.nn.resampling import source_taps
from relay.op.numeric import apply, dims, narrow
from relay.op.registry import operator
from relay.op.relation import Typing

Coordinates = Literal["half_pixel", "align_corners", "asymmetric"]


def source_place(i: int, size: int, out: int, coordinates: str) -> float:
    """Where element `i` of `out` lies on an axis of `size` elements.

    `half_pixel` lets the pixels' areas coincide, `align_corners` the first and the last centre,
    `asymmetric` the
    first edge.
    """
    if coordinates == "align_corners":
        return i * (size - 1) / (out - 1) if out > 1 else 0.0
    if coordinates == "half_pixel":
        return (i + 0.5) * size / out - 0.5
    return i * size / out


def taps_at(x: float, method: str, coordinates: str) -> list[tuple[int, float]]:
    """The elements that make up the value at `x`, with their weights."""
    if method == "nearest":
        at = x + 0.5 if coordinates != "asymmetric" else x
        return [(floor(at), 1.0)]
    first, part = floor(x), x - floor(x)
    if method == "linear":
        return [(first, 1 - part), (first + 1, part)]
    return [(first + k, cubic_kernel(part - k)) for k in range(-1, 3)]


def cubic_kernel(d: float, a: float = -0.5) -> float:
    """The weight of an element at distance `d`.  Source: Keys, 1981."""
    d = abs(d)
    if d < 1:
        return (1 - d) * ((1 - d) * (1 + 2 * d) - a * d * d)
    return (d - 1) * (2 - d) * (2 - d) * a if d < 2 else 0.0


def places(np: Numpy, size: int, out: int, method: str, coordinates: str) -> Array:
    """The element that each of `out` is, for the method `nearest`."""
    found = [taps_at(source_place(i, size, out, coordinates), method, coordinates)[0][0] for i in range(out)]
    return numpy.asarray([min(max(place, 0), size - 1) for place in found], "int64")


def weights(np: Numpy, size: int, out: int, method: str, coordinates: str) -> Array:
    """What each of `size` elements gives to each of `out`; places beyond the ends take the last element."""
    matrix = numpy.zeros((out, size))
    for i in range(out):
        for place, weight in taps_at(source_place(i, size, out, coordinates), method, coordinates):
            matrix[i, min(max(place, 0), size - 1)] += weight
    return matrix


def mixed(np: Numpy, x: Array, axis: int, out: int, method: str, coordinates: str) -> Array:
    """`x` with `out` elements along `axis`, each made of its taps alone: a NaN elsewhere does not matter."""
    size, later = x.shape[axis], (1,) * (x.ndim - 1 - axis)
    found = [taps_at(source_place(i, size, out, coordinates), method, coordinates) for i in range(out)]
    total = np.zeros((*x.shape[:axis], out, *x.shape[axis + 1 :]), x.dtype)
    for column in zip(*found, strict=True):
        at = numpy.asarray([min(max(place, 0), size - 1) for place, _ in column], "int64")
        weight = numpy.asarray([w for _, w in column], x.dtype).reshape(-1, *later)
        total = total + np.take(x, at, axis=axis) * weight
    return total


def matmul_along(np: Numpy, matrix: Array, x: Array, axis: int) -> Array:
    """`x` with each line along `axis` multiplied by the matrix."""
    return np.moveaxis(np.tensordot(matrix.astype(x.dtype), x, axes=(1, axis)), 0, axis)


def scaled_size(d: Dim, scale: float) -> Dim:
    """`d * scale` rounded to the nearest."""
    ratio = Fraction(scale).limit_denominator(1 << 16)
    top, bottom = ratio.numerator, ratio.denominator
    return d * top if bottom == 1 else floor_divide(d * (2 * top) + bottom, 2 * bottom)


@family
class Resampling(Operator):
    """What upsampling and its derivative share."""

    axes: ClassVar[str]
    derivative = Derivative.TRANSPOSE

    @property
    def way(self) -> tuple[str, str]:
        """The method, `nearest`, `linear` or `cubic`, and the coordinates."""
        raise AssertionError(f"{self.name} does not say how it resamples")

    def scales(self) -> Sequence[float]:
        """The scale of each spatial axis."""
        a = self.attributes()
        return [a[f"scale_{letter.lower()}"] for letter in self.axes]

    def resampled(self, t: Typing, data: Type) -> Type:
        """The type of the data upsampled."""
        layout = self.attributes()["layout"]
        order = permutation(t, layout, "NC" + self.axes, self.name, "layout")
        shape = t.shape(data, len(order), "the data")
        for scale in self.scales():
            if scale <= 0:
                t.fail(
                    "attribute-value",
                    f"`{self.name}` cannot have a scale of {scale}",
                    hint="a scale is positive",
                )
        return TensorType(self.enlarged(shape), t.dtype(data))

    def enlarged(self, shape: Sequence[Dim]) -> list[Dim]:
        """The shape of data of a shape, upsampled."""
        found = list(shape)
        for place, scale in zip(self.spatial, self.scales(), strict=True):
            found[place] = scaled_size(found[place], scale)
        return found

    @by(Batching.FOLDED)
    def batch(self, n: Dim, which: Sequence[Any], *xs: Expr) -> Expr:
        items = self.attributes()["layout"].index("N")
        return folded_along(self, n, which, xs, [items for _ in xs], items)

    @property
    def spatial(self) -> tuple[int, ...]:
        """Where the spatial axes are."""
        return positions(self.attributes()["layout"], self.axes)

    def lengths(self, data: Array) -> list[tuple[int, int, int]]:
        """Each spatial axis with its size and the size that it is resampled to."""
        found = [
            (i, data.shape[i], scaled_size(data.shape[i], s))
            for i, s in zip(self.spatial, self.scales(), strict=True)
        ]
        return [(i, d, out) for i, d, out in found if isinstance(out, int)]

    def sources(
        self, b: Loops, index: Sequence[Index], data: View, out: Sequence[Index]
    ) -> list[tuple[list[Index], Any]]:
        """The elements of the data that make up one of the result, with their weights in float64."""
        rows = [source_taps(b, index[i], data.sizes[i], out[i], *self.way) for i in self.spatial]
        found: list[tuple[list[Index], Any]] = []
        for taps in product(*rows):
            place, weight = list(index), b.const(1, "float64")
            for i, (at, part) in zip(self.spatial, taps, strict=True):
                place[i], weight = at, b.multiply(weight, part)
            found.append((place, weight))
        return found


@family
class Upsample(Resampling):
    """Data resampled; integers go through float64 and are rounded."""

    dtypes = NUMERIC

    def infer(self, t: Typing, data: Type) -> Type:
        return self.resampled(t, data)

    def reference(self, np: Numpy, data: Array) -> Array:
        way = self.way
        whole = data.dtype.kind in "iu" and way[0] != "nearest"
        x = data.astype("float64") if whole else accumulator(data)
        for axis, size, out in self.lengths(data):
            if way[0] == "nearest":
                x = np.take(x, places(np, size, out, *way), axis=axis)
            else:
                x = mixed(np, x, axis, out, *way)
        return narrow(np.rint(x) if whole else x, data.dtype)

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr]:
        """To each element what it gave."""
        return (apply(f"{self.name}_grad", g, data, **self.attributes()),)

    def element(self, b: Loops, index: Sequence[Index], data: View) -> Any:
        """The sum of what it is made of."""
        sources = self.sources(b, index, data, b.sizes)
        if self.way[0] == "nearest":
            return data.at(sources[0][0])
        whole = is_integer(data.dtype)
        acc = "float64" if whole else accumulator_name(data.dtype)
        total = b.const(0, acc)
        for place, weight in sources:
            total = b.add(total, b.multiply(b.cast(data.at(place), acc), b.cast(weight, acc)))
        return b.cast(b.function("rint", total) if whole else total, data.dtype)


@family
class UpsampleGradient(Resampling):
    """The cotangent of the data; of the data itself the sizes alone count."""

    dtypes = FLOATING
    carried = ("data",)

    def infer(self, t: Typing, out_grad: Type, data: Type) -> Type:
        t.equal(out_grad, self.resampled(t, data), why="`out_grad` is like the data upsampled")
        return data

    def reference(self, np: Numpy, out_grad: Array, data: Array) -> Array:
        x = accumulator(out_grad)
        for axis, size, out in self.lengths(data):
            x = matmul_along(np, weights(np, size, out, *self.way).T, x, axis)
        return narrow(x, data.dtype)

    def transpose(self, g: Expr, out_grad: Expr, data: Expr) -> tuple[Expr, None]:
        """Upsampling."""
        made = apply(self.name.removesuffix("_grad"), g, **self.attributes())
        return reshaped_like(made, self.enlarged(dims(tensor_type(data))), out_grad), None

    def compute(self, b: Loops, out: Output, out_grad: View, data: View) -> None:
        """Each element of the result gives to those that it is made of."""
        room = b.room(accumulator_name(data.dtype), data.sizes)

        def give(index: Sequence[Index]) -> None:
            g = b.cast(out_grad.at(index), room.dtype)
            for place, weight in self.sources(b, index, data, out_grad.sizes):
                part = b.multiply(g, b.cast(weight, room.dtype))
                room.put(place, b.add(room.at(place), part))

        b.nest(room.sizes, lambda index: room.put(index, b.const(0, room.dtype)))
        b.nest(out_grad.sizes, give)
        b.nest(out.sizes, lambda index: out.put(index, b.cast(room.at(index), data.dtype)))


@family
class Plane(Resampling):
    """The attributes of upsampling over two axes."""

    scale_h: float = 1.0
    scale_w: float = 1.0
    layout: str = "NCHW"
    method: Literal["nearest_neighbor", "bilinear", "bicubic"] = "nearest_neighbor"
    align_corners: bool = False
    axes = SPATIAL[2]

    @property
    def way(self) -> tuple[str, str]:
        method = {"nearest_neighbor": "nearest", "bilinear": "linear", "bicubic": "cubic"}[self.method]
        return method, "align_corners" if self.align_corners else "asymmetric"


@family
class Room(Resampling):
    """The attributes of upsampling over three axes."""

    scale_d: float = 1.0
    scale_h: float = 1.0
    scale_w: float = 1.0
    layout: str = "NCDHW"
    method: Literal["nearest_neighbor", "trilinear"] = "nearest_neighbor"
    coordinate_transformation_mode: Coordinates = "half_pixel"
    axes = SPATIAL[3]

    @property
    def way(self) -> tuple[str, str]:
        method = "nearest" if self.method == "nearest_neighbor" else "linear"
        return method, self.coordinate_transformation_mode


@operator("nn.upsampling")
class Upsampling(Upsample, Plane):
    """Data `(n, c, h, w)` with `scale_h` and `scale_w` times as many rows and columns (rounded).

    `method` takes the element below ("nearest_neighbor"), or interpolates ("bilinear", "bicubic").
    Places are
    scaled from the first edge, or with `align_corners` so that the corners' centres coincide.

    relay> nn.upsampling([[[[1.0, 2.0]]]], scale_h=1, scale_w=2)
    [[[[1.0, 1.0, 2.0, 2.0]]]]
    """

    dynamic_form = "dyn.nn.upsampling"
    samples = (
        sample("1x2x3x4 float32", scale_h=2, scale_w=3),
        sample("1x3x4x2 float32", scale_h=2, scale_w=2, layout="NHWC", method="bilinear"),
        sample("1x2x3x4 float32", scale_h=1.5, scale_w=2, method="bicubic", align_corners=True),
    )


@operator("nn.upsampling3d")
class Upsampling3D(Upsample, Room):
    """Data `(n, c, d, h, w)` with `scale_d`, `scale_h` and `scale_w` times as many elements (rounded).

    `method` takes the nearest element or interpolates ("trilinear"); `coordinate_transformation_mode`
    lets the
    pixels' areas coincide ("half_pixel"), the corners' centres ("align_corners"), or the first edges
    ("asymmetric").

    relay> nn.upsampling3d([[[[[1.0, 2.0]]]]], scale_w=2)
    [[[[[1.0, 1.0, 2.0, 2.0]]]]]
    """

    dynamic_form = "dyn.nn.upsampling3d"
    samples = (
        sample("1x2x2x3x4 float32", scale_d=2, scale_h=2, scale_w=2),
        sample("1x2x2x3x4 float32", scale_d=2, method="trilinear"),
    )


@operator("nn.upsampling_grad")
class UpsamplingGrad(UpsampleGradient, Plane):
    """The cotangent of the data of `nn.upsampling`, from that of its result.

    relay> nn.upsampling_grad([[[[1.0, 2.0, 3.0, 4.0]]]], [[[[0.0, 0.0]]]], scale_w=2)
    [[[[3.0, 7.0]]]]
    """

    samples = (
        sample("1x2x6x12 float32", "1x2x3x4 float32", scale_h=2, scale_w=3),
        sample("1x6x8x2 float32", "1x3x4x2 float32", scale_h=2, scale_w=2, layout="NHWC", method="bilinear"),
        sample("1x1x5x6 float32", "1x1x3x3 float32", scale_h=1.5, scale_w=2, method="bicubic"),
    )


@operator("nn.upsampling3d_grad")
class Upsampling3DGrad(UpsampleGradient, Room):
    """The cotangent of the data of `nn.upsampling3d`, from that of its result.

    relay> nn.upsampling3d_grad([[[[[1.0, 2.0, 3.0, 4.0]]]]], [[[[[0.0, 0.0]]]]], scale_w=2)
    [[[[[3.0, 7.0]]]]]
    """

    samples = (
        sample("1x2x4x6x8 float32", "1x2x2x3x4 float32", scale_d=2, scale_h=2, scale_w=2),
        sample("1x2x4x3x4 float32", "1x2x2x3x4 float32", scale_d=2, method="trilinear"),
    )
