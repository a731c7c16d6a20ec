"""Images, lines and volumes of another size."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy

from relay.ir.dtype import is_integer
from relay.ir.expr import Expr
from relay.ir.type import ANY, Dim, TensorType, Type
from relay.op.attribute import Sizes
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, INTEGRAL, NUMERIC, sample
from relay.op.composite import Composite
from relay.op.family import family
from relay.op.image.places import Way, interpolated, interpolation_taps
from relay.op.nn.layout import SPATIAL, OutDType, ntuple, per_axis, permutation, positions
from relay.op.nn.ranks import DATA_LAYOUT, by_rank, for_ranks
from relay.op.numeric import computing_dtype, dims
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.term import Term, size_of, term

Method = Literal["nearest_neighbor", "linear", "cubic"]
Coordinates = Literal[
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "half_pixel_symmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
]
Rounding = Literal["", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"]

MOVING = ("tf_half_pixel_for_nn", "tf_crop_and_resize")
"""Coordinates that move elements even where the size remains."""


def resized(
    x: Term,
    types: Any,
    axes: Sequence[int],
    outs: Sequence[Any],
    way: Way,
    roi: Sequence[Any] = (),
    scales: Sequence[float | None] = (),
) -> Term:
    """Data with some axes brought to sizes that are numbers or scalars; integers are rounded.

    Places are computed with `scales` where these are given and are not the ratio of the sizes.
    """
    dtype, rank = str(x.dtype), len(dims(types[0]))
    whole = is_integer(dtype) and way.mode != "nearest"
    found = x if way.mode == "nearest" else x.cast("float32" if whole else str(computing_dtype(dtype)))
    outside: Term | None = None
    for k, (axis, out) in enumerate(zip(axes, outs, strict=True)):
        size = size_of(x.expr, types[0], axis)
        scale = scales[k] if scales else None
        if isinstance(out, int) and isinstance(size, int) and scale == out / size:
            scale = None
        if scale in (None, 1) and out == size and way.coordinates not in MOVING:
            continue
        part = (roi[k], roi[k + len(axes)]) if len(roi) else (0.0, 1.0)
        parts, beyond = interpolation_taps(way, out, size, scale, part)
        found = interpolated(found, rank, axis, parts)
        if way.coordinates == "tf_crop_and_resize":
            after = rank - 1 - axis
            row = beyond.of("expand_dims", axis=1, num_newaxis=after) if after else beyond
            outside = row if outside is None else outside | row
    if outside is not None:
        found = outside.where(way.outside, found)
    return (found.of("round") if whole else found).cast(dtype)


@family
class Resize(Composite):
    """Data `(n, c, {axes})` brought to `size`: `({axes})`.

    `method` takes the nearest element, by `rounding_method` ("" is "round" with "align_corners", else
    "floor"; "round" rounds halves up), or interpolates ("linear", or "cubic" with `cubic_alpha`;
    `cubic_exclude` leaves out what is beyond the edges). `coordinate_transformation_mode` says where
    elements lie, as ONNX's `Resize` does; with "tf_crop_and_resize" they come from the region `roi`, for an
    image `(y0, x0, y1, x1)` as parts of it, and those beyond the data are `extrapolation_value`.

    relay> image.resize1d([[[1.0, 2.0]]], size=4)
    [[[1.0, 1.25, 1.75, 2.0]]]
    relay> image.resize2d([[[[1.0, 2.0]]]], size=(1, 4))
    [[[[1.0, 1.25, 1.75, 2.0]]]]
    relay> image.resize3d([[[[[1.0, 2.0]]]]], size=(1, 1, 4))
    [[[[[1.0, 1.25, 1.75, 2.0]]]]]
    """

    rank: ClassVar[int]
    dynamic_form = by_rank("", "dyn.image.resize2d", "")
    size: Sizes
    roi: tuple[float, ...] | None = None
    layout: str = DATA_LAYOUT
    method: Method = "linear"
    coordinate_transformation_mode: Coordinates = "half_pixel"
    rounding_method: Rounding = ""
    cubic_alpha: float = -0.5
    cubic_exclude: int = 0
    extrapolation_value: float = 0.0
    out_dtype: OutDType | None = None
    dtypes = NUMERIC
    samples = by_rank(
        (
            sample("2x3x5 float32", size=(7,)),
            sample("1x2x4 float32", size=3, method="cubic", layout="NCW", cubic_exclude=1),
        ),
        (
            sample("1x2x4x5 float32", size=(6, 3)),
            sample("1x4x5x2 float32", size=(7, 7), layout="NHWC", method="nearest_neighbor"),
            sample(
                "1x2x4x5 float32", size=(6, 9), method="cubic", coordinate_transformation_mode="align_corners"
            ),
            sample(
                "1x2x4x5 float32",
                size=(3, 3),
                roi=(0.2, 0.3, 1.3, 0.9),
                coordinate_transformation_mode="tf_crop_and_resize",
                extrapolation_value=2.0,
            ),
            sample("1x2x4x5 uint8", size=(6, 3), coordinate_transformation_mode="asymmetric"),
        ),
        (
            sample("1x2x3x4x5 float32", size=(5, 6, 3)),
            sample("1x2x3x4x2 float32", size=(2, 6, 3), method="nearest_neighbor"),
        ),
    )

    def infer(self, t: Typing, data: Type) -> Type:
        sizes = per_axis(t, self.size, self.rank, self.name, "size")
        if self.roi and len(self.roi) != 2 * self.rank:
            attribute_fault(t, "roi", self.roi, "it has a first and a last place for each spatial axis")
        return resized_type(t, data, self.name, SPATIAL[self.rank], sizes, self.attributes())

    def decompose(self, types: Any, data: Expr) -> Expr:
        x, sizes = Term(data, types[0].dtype), ntuple(self.size, self.rank)
        axes = positions(self.layout, SPATIAL[self.rank])
        found = resized(x, types, axes, sizes, way_of(self.attributes()), self.roi or ())
        return found.cast(self.out_dtype or str(x.dtype)).expr


Resize1D, Resize2D, Resize3D = for_ranks("image.resize{}d", Resize)


def way_of(a: Any) -> Way:
    """How data are resized by attributes that people know."""
    rounding = a["rounding_method"] or (
        "round" if a["coordinate_transformation_mode"] == "align_corners" else "floor"
    )
    mode = "nearest" if a["method"] == "nearest_neighbor" else a["method"]
    coordinates, outside = a["coordinate_transformation_mode"], a["extrapolation_value"]
    return Way(mode, coordinates, rounding, a["cubic_alpha"], bool(a["cubic_exclude"]), False, outside)


def resized_type(t: Typing, data: Type, op: str, letters: str, sizes: Sequence[Dim], a: Any) -> TensorType:
    """The type of resized data."""
    order = permutation(t, a["layout"], "NC" + letters, op, "layout")
    shape = list(t.shape(data, len(order), "the data"))
    for place, size in zip(positions(a["layout"], letters), sizes, strict=True):
        t.require(1, "<=", shape[place], "there is something to take along each axis")
        shape[place] = size
    return TensorType(shape, a["out_dtype"] or t.known_dtype(data))


@operator("dyn.image.resize2d")
class DynResize2D(Composite):
    """`image.resize2d` to a size, and from a region, that are tensors.

    relay> dyn.image.resize2d([[[[1.0, 2.0]]]], [1, 4], [0.0, 0.0, 1.0, 1.0])
    [[[[1.0, 1.25, 1.75, 2.0]]]]
    """

    default_operands: ClassVar[Mapping[str, Any]] = {"roi": numpy.zeros(4, "float32")}
    layout: str = "NCHW"
    method: Method = "linear"
    coordinate_transformation_mode: Coordinates = "half_pixel"
    rounding_method: Rounding = ""
    cubic_alpha: float = -0.5
    cubic_exclude: int = 0
    extrapolation_value: float = 0.0
    out_dtype: OutDType | None = None
    samples = (
        sample("1x2x4x5 float32", numpy.array([6, 3]), numpy.zeros(4, "float32")),
        sample(
            "1x2x4x5 float32",
            numpy.array([3, 4], "int32"),
            numpy.array([0.2, 0.3, 0.8, 0.85], "float32"),
            coordinate_transformation_mode="tf_crop_and_resize",
        ),
    )

    def infer(self, t: Typing, data: Type, size: Type, roi: Type) -> Type:
        t.dtype_in(data, NUMERIC, "the data")
        t.dtype_in(size, INTEGRAL, "the size")
        t.dtype_in(roi, FLOATING, "the region")
        t.equal(t.shape(size, 1, "the size"), (2,), why="there are two sizes")
        t.shape(roi, 1, "the region")
        return resized_type(t, data, self.name, SPATIAL[2], (ANY, ANY), self.attributes())

    def decompose(self, types: Any, data: Expr, size: Expr, roi: Expr) -> Expr:
        x, sizes, region = (Term(e, t.dtype) for e, t in zip((data, size, roi), types, strict=True))
        outs = [sizes.of("take", term(k, "int64"), axis=0).as_index() for k in range(2)]
        crops = self.coordinate_transformation_mode == "tf_crop_and_resize"
        corners = [region.of("take", term(k, "int64"), axis=0) for k in range(4)] if crops else []
        way = way_of(self.attributes())
        found = resized(x, types, positions(self.layout, SPATIAL[2]), outs, way, corners)
        return found.cast(self.out_dtype or str(x.dtype)).expr
