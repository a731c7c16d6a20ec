"""Upsampling: data resampled to a multiple of its size along the spatial axes."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import ClassVar, Literal

from relay.ir.dim import floor_divide
from relay.ir.type import Dim, TensorType, Type
from relay.op.base import NUMERIC, Array, Derivative, Numpy, Operator, operator, sample
from relay.op.conversion import accumulator
from relay.op.nn.layout import SPATIAL, permutation, positions
from relay.op.numeric import narrow
from relay.op.relation import Typing

Coordinates = Literal["half_pixel", "align_corners", "asymmetric"]


def source(i: int, size: int, out: int, coordinates: str) -> float:
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


def taps(x: float, method: str, coordinates: str) -> list[tuple[int, float]]:
    """The elements that make up the value at `x`, with their weights."""
    if method == "nearest":
        at = x + 0.5 if coordinates != "asymmetric" else x
        return [(floor(at), 1.0)]
    first, part = floor(x), x - floor(x)
    if method == "linear":
        return [(first, 1 - part), (first + 1, part)]
    return [(first + k, cubic(part - k)) for k in range(-1, 3)]


def cubic(d: float, a: float = -0.5) -> float:
    """The weight of an element at distance `d`.  Source: Keys, 1981."""
    d = abs(d)
    if d < 1:
        return ((a + 2) * d - (a + 3)) * d * d + 1
    return (((d - 5) * d + 8) * d - 4) * a if d < 2 else 0.0


def resample(np: Numpy, x: Array, axis: int, out: int, method: str, coordinates: str) -> Array:
    """`x` with `out` elements along `axis`; places beyond the ends take the last element."""
    size = x.shape[axis]
    found = [taps(source(i, size, out, coordinates), method, coordinates) for i in range(out)]
    if method == "nearest":
        return np.take(x, np.asarray([min(max(row[0][0], 0), size - 1) for row in found], "int64"), axis=axis)
    matrix = np.zeros((out, size), x.dtype)
    for i, row in enumerate(found):
        for place, weight in row:
            matrix[i, min(max(place, 0), size - 1)] += weight
    return np.moveaxis(np.tensordot(matrix, x, axes=(1, axis)), 0, axis)


def scaled_size(d: Dim, scale: float) -> Dim:
    """`d * scale` rounded to the nearest."""
    ratio = Fraction(scale).limit_denominator(1 << 16)
    top, bottom = ratio.numerator, ratio.denominator
    return d * top if bottom == 1 else floor_divide(d * (2 * top) + bottom, 2 * bottom)


@dataclass(frozen=True)
class _Upsampling(Operator):
    axes: ClassVar[str]
    dtypes = NUMERIC
    derivative = Derivative.TRANSPOSE

    def scales(self) -> Sequence[float]:
        """The scale of each spatial axis."""
        a = self.attributes()
        return [a[f"scale_{letter.lower()}"] for letter in self.axes]

    def infer(self, t: Typing, data: Type) -> Type:
        layout = self.attributes()["layout"]
        order = permutation(t, layout, "NC" + self.axes, self.name, "layout")
        shape = list(t.shape(data, len(order), "the data"))
        for place, scale in zip(order[2:], self.scales(), strict=True):
            if scale <= 0:
                t.fail(
                    "attribute-value",
                    f"`{self.name}` cannot have a scale of {scale}",
                    hint="a scale is positive",
                )
            shape[place] = scaled_size(shape[place], scale)
        return TensorType(shape, t.dtype(data))

    def resize(self, np: Numpy, data: Array, method: str, coordinates: str) -> Array:
        """The data resampled along its spatial axes; integers go through float64 and are rounded."""
        whole = data.dtype.kind in "iu" and method != "nearest"
        x = data.astype("float64") if whole else accumulator(data)
        for place, scale in zip(
            positions(self.attributes()["layout"], self.axes), self.scales(), strict=True
        ):
            out = scaled_size(data.shape[place], scale)
            assert isinstance(out, int)
            x = resample(np, x, place, out, method, coordinates)
        return narrow(np.rint(x) if whole else x, data.dtype)


@operator("nn.upsampling")
class Upsampling(_Upsampling):
    """Data `(n, c, h, w)` with `scale_h` and `scale_w` times as many rows and columns (rounded).

    `method` takes the element below ("nearest_neighbor"), or interpolates ("bilinear", "bicubic").
    Places are
    scaled from the first edge, or with `align_corners` so that the corners' centres coincide.

    relay> nn.upsampling([[[[1.0, 2.0]]]], scale_h=1, scale_w=2)
    [[[[1.0, 1.0, 2.0, 2.0]]]]
    """

    scale_h: float = 1.0
    scale_w: float = 1.0
    layout: str = "NCHW"
    method: Literal["nearest_neighbor", "bilinear", "bicubic"] = "nearest_neighbor"
    align_corners: bool = False
    axes = SPATIAL[2]
    samples = (
        sample("1x2x3x4 float32", scale_h=2, scale_w=3),
        sample("1x3x4x2 float32", scale_h=2, scale_w=2, layout="NHWC", method="bilinear"),
        sample("1x2x3x4 float32", scale_h=1.5, scale_w=2, method="bicubic", align_corners=True),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        method = {"nearest_neighbor": "nearest", "bilinear": "linear", "bicubic": "cubic"}[self.method]
        return self.resize(np, data, method, "align_corners" if self.align_corners else "asymmetric")


@operator("nn.upsampling3d")
class Upsampling3D(_Upsampling):
    """Data `(n, c, d, h, w)` with `scale_d`, `scale_h` and `scale_w` times as many elements (rounded).

    `method` takes the nearest element or interpolates ("trilinear"); `coordinate_transformation_mode`
    lets the
    pixels' areas coincide ("half_pixel"), the corners' centres ("align_corners"), or the first edges
    ("asymmetric").

    relay> nn.upsampling3d([[[[[1.0, 2.0]]]]], scale_w=2)
    [[[[[1.0, 1.0, 2.0, 2.0]]]]]
    """

    scale_d: float = 1.0
    scale_h: float = 1.0
    scale_w: float = 1.0
    layout: str = "NCDHW"
    method: Literal["nearest_neighbor", "trilinear"] = "nearest_neighbor"
    coordinate_transformation_mode: Coordinates = "half_pixel"
    axes = SPATIAL[3]
    samples = (
        sample("1x2x2x3x4 float32", scale_d=2, scale_h=2, scale_w=2),
        sample("1x2x2x3x4 float32", scale_d=2, method="trilinear"),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        method = "nearest" if self.method == "nearest_neighbor" else "linear"
        return self.resize(np, data, method, self.coordinate_transformation_mode)
