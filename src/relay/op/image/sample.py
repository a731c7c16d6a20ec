"""Images sampled at places that are computed: grids, regions and their coordinates."""

from collections.abc import Sequence
from itertools import product
from typing import Any, Literal

import numpy

from relay.ir.expr import Expr
from relay.ir.type import TensorType, Type
from relay.op.attribute import Size, Sizes, is_dimension
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, INTEGRAL, sample
from relay.op.composite import Composite
from relay.op.image.places import Way, cubic_term
from relay.op.nn.layout import OutDType, Spatial, checked_pads, ntuple, pads, per_axis, permutation, positions
from relay.op.numeric import apply, computing_dtype, dims, scalar
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.term import Term, iota, size_of, term

Padding = Literal["zeros", "border", "reflection"]
FARTHEST = 3.0
"""Places this far beyond the data are as good as places farther away, infinite ones among them: no element
inside makes up their values.
"""


@operator("image.affine_grid")
class AffineGrid(Composite):
    """Where affine maps `(n, 2, 3)` take the places of an image of `target_shape`: `(n, 2, h, w)`, x first.

    Coordinates go from -1 at the first centre to 1 at the last.  Source: Jaderberg and others, 2015.

    relay> image.affine_grid([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.5]]], target_shape=(1, 2))
    [[[[-1.0, 1.0]], [[-0.5, -0.5]]]]
    """

    target_shape: tuple[Size, ...]
    dtypes = FLOATING
    samples = (sample("2x2x3 float32", target_shape=(3, 4)), sample("1x2x3 float32", target_shape=(1, 2)))

    def infer(self, t: Typing, data: Type) -> Type:
        n, *matrix = t.shape(data, 3, "the maps")
        t.equal(tuple(matrix), (2, 3), why="an affine map of the plane is a matrix of 2 by 3")
        if len(self.target_shape) != 2 or any(not is_dimension(d) and d < 1 for d in self.target_shape):
            attribute_fault(t, "target_shape", self.target_shape, "it is a height and a width")
        return TensorType((n, 2, *self.target_shape), t.dtype(data))

    def decompose(self, types: Any, data: Expr) -> Expr:
        dtype = str(computing_dtype(types[0].dtype))
        ys, xs = (_ends(n).cast(dtype) for n in self.target_shape)
        maps = Term(data, types[0].dtype).cast(dtype)
        columns = [maps.of("take", term(k, "int64"), axis=2) for k in range(3)]
        x, y, one = [c.of("expand_dims", axis=2, num_newaxis=2) for c in columns]
        return (x * xs + y * ys.of("expand_dims", axis=1) + one).cast(str(types[0].dtype)).expr


def _ends(n: "int | Term") -> Term:
    """So many places from -1 to 1; one place is -1."""
    if isinstance(n, int):
        return term(numpy.linspace(-1, 1, n), "float64")
    last = (n - 1).of("maximum", 1).cast("float64")
    return iota(n).cast("float64") * 2.0 / last - 1.0


def place_in(x: Term, size: "int | Term", aligned: bool) -> Term:
    """Coordinates from -1 to 1 as places on an axis."""
    n = term(size, str(x.dtype))
    return (x + 1.0) * ((n - 1.0) / 2.0) if aligned else ((x + 1.0) * n - 1.0) * 0.5


def reflected(x: Term, size: "int | Term", aligned: bool) -> Term:
    """Places mirrored at the borders until they lie inside."""
    n = term(size, str(x.dtype))
    low, high = (n * 0.0, n - 1.0) if aligned else (n * 0.0 - 0.5, n - 0.5)
    span = (high - low).of("maximum", 0.0)
    flat = span <= 0.0
    safe = flat.where(1.0, span)
    away = (x - low).of("abs")
    times = (away / safe).of("floor")
    rest = away - times * safe
    odd = (times / 2.0).of("floor") * 2.0 < times
    return flat.where(x * 0.0, odd.where(high - rest, rest + low))


def axis_taps(place: Term, mode: str) -> list[tuple[Term, Term | None]]:
    """The places of the data that make up the value at a place, with their weights."""
    if mode == "nearest":
        return [(place.of("round").cast("int64"), None)]
    first = place.of("floor")
    part, whole = place - first, first.cast("int64")
    if mode == "linear":
        return [(whole, 1.0 - part), (whole + 1, part)]
    return [(whole + k, cubic_term((part - float(k)).of("abs"), Way().cubic)) for k in (-1, 0, 1, 2)]


def sampled(data: Term, types: Any, places: Sequence[Term], mode: str, padding: str, aligned: bool) -> Term:
    """Data `(n, ..., c)` at places `(n, ...)`, a coordinate for each spatial axis: `(n, ..., c)`."""
    sizes = [size_of(data.expr, types, k + 1) for k in range(len(places))]
    flat = _flat(data, len(places))
    rows: list[list[tuple[Term, Term | None]]] = []
    for place, size in zip(places, sizes, strict=True):
        if padding == "reflection":
            at = place if mode == "cubic" else reflected(place, size, aligned)
        else:
            margin = 0.0 if padding == "border" and mode != "cubic" else FARTHEST
            at = place.of("maximum", -margin).of("minimum", term(size, str(place.dtype)) + (margin - 1.0))
        rows.append(axis_taps(at, mode))
    total: Term | None = None
    for corner in product(*rows):
        found = corner_of(flat, corner, sizes, padding, aligned)
        total = found if total is None else total + found
    assert total is not None
    return total


def _flat(data: Term, count: int) -> Term:
    """Data `(n, ..., c)` with the axes between as one."""
    for _ in range(count - 1):
        data = data.of("reshape", newshape=(0, -3, -2))
    return data


def corner_of(flat: Term, corner: Sequence[Any], sizes: Sequence[Any], padding: str, aligned: bool) -> Term:
    """The elements at one corner of the cells, times their weights; 0 outside of data with `zeros`."""
    weight: Term | None = None
    inside: Term | None = None
    index: Term | None = None
    for (place, part), size in zip(corner, sizes, strict=True):
        n = term(size, "int64")
        if padding == "reflection":
            place = reflected(place.cast("float64"), size, aligned).cast("int64")
        elif padding == "zeros":
            good = (place >= 0) & (place < n)
            inside = good if inside is None else inside & good
        place = place.of("maximum", 0).of("minimum", n - 1)
        index = place if index is None else index * n + place
        weight = part if weight is None else weight if part is None else weight * part
    assert index is not None
    found = flat.of("take", index, axis=1, batch_dims=1)
    if inside is not None:
        found = inside.of("expand_dims", axis=-1).where(found, found * 0.0)
    return found if weight is None else found * weight.of("expand_dims", axis=-1).cast(str(found.dtype))


@operator("image.grid_sample")
class GridSample(Composite):
    """Images `(n, c, h, w)` or volumes at the places of a grid `(n, 2, ...)`, x before y: `(n, c, ...)`.

    Coordinates go from -1 to 1, between the first and the last centre with `align_corners`, else between the
    edges.  Beyond the data there are zeros, the nearest element ("border") or mirrored ones ("reflection").
    "nearest" rounds halves to even, and interpolated values at NaN are NaN.  Source: Jaderberg and others,
    2015.

    relay> image.grid_sample([[[[1.0, 3.0]]]], [[[[0.0, 1.0]], [[0.0, 0.0]]]])
    [[[[2.0, 3.0]]]]
    """

    method: Literal["nearest", "bilinear", "bicubic"] = "bilinear"
    layout: str = "NCHW"
    padding_mode: Padding = "zeros"
    align_corners: bool = True
    dtypes = FLOATING
    samples = (
        sample("1x2x4x5 float32", numpy.linspace(-1.1, 1.2, 12, dtype="float32").reshape(1, 2, 2, 3)),
        sample("2x2x4x5 float32", numpy.linspace(-1.3, 1.2, 24, dtype="float32").reshape(2, 2, 2, 3),
               method="bicubic", padding_mode="reflection", align_corners=False),
        sample("1x2x3x4x5 float32", numpy.linspace(-1.3, 1.2, 24, dtype="float32").reshape(1, 3, 2, 2, 2),
               layout="NCDHW", padding_mode="border"),
        sample("1x2x4x5 float32", numpy.linspace(-1.3, 1.2, 12, dtype="float32").reshape(1, 2, 2, 3),
               method="nearest"),
    )  # fmt: skip

    def infer(self, t: Typing, data: Type, grid: Type) -> Type:
        n = {"NCW": 1, "NCHW": 2, "NCDHW": 3}.get(self.layout)
        if n is None:
            attribute_fault(t, "layout", self.layout, "it is NCHW or NCDHW")
        t.equal(t.dtype(grid), t.dtype(data), why="data and grid have one dtype")
        shape, places = t.shape(data, n + 2, "the data"), t.shape(grid, n + 2, "the grid")
        t.equal(places[0], shape[0], why="there is a grid for each image")
        t.equal(places[1], n, why="a place has a coordinate for each spatial axis")
        return TensorType((*shape[:2], *places[2:]), t.dtype(data))

    def decompose(self, types: Any, data: Expr, grid: Expr) -> Expr:
        count, dtype = len(self.layout) - 2, types[0].dtype
        mode = {"bilinear": "linear", "bicubic": "cubic"}.get(self.method, self.method)
        order = (0, *range(2, count + 2), 1)
        x = Term(data, dtype).of("transpose", axes=order)
        own = TensorType([dims(types[0])[k] for k in order], dtype)
        at = Term(grid, dtype)
        places: list[Term] = []
        for k in range(count):
            coordinate = at.of("take", term(count - 1 - k, "int64"), axis=1)
            places.append(place_in(coordinate, size_of(x.expr, own, k + 1), self.align_corners))
        found = sampled(x, own, places, mode, self.padding_mode, self.align_corners)
        return found.of("transpose", axes=(0, count + 1, *range(1, count + 1))).expr


@operator("image.crop_and_resize")
class CropAndResize(Composite):
    """Regions of images, each brought to `crop_size`: `(regions, c, h, w)`.

    A region is `(y0, x0, y1, x1)` as parts of the image that `box_indices` names; what lies beyond the image
    is `extrapolation_value`.

    relay> image.crop_and_resize([[[[1.0, 2.0, 3.0]]]], [[0.0, 0.0, 0.0, 0.5]], [0], crop_size=(1, 2))
    [[[[1.0, 2.0]]]]
    """

    crop_size: Sizes
    layout: str = "NCHW"
    method: Literal["bilinear", "nearest_neighbor"] = "bilinear"
    extrapolation_value: float = 0.0
    out_dtype: OutDType | None = None
    samples = (
        sample("2x3x5x6 float32", numpy.array([[0.1, 0.22, 0.8, 1.2], [0.05, 0.46, 0.3, 0.03]], "float32"),
               numpy.array([1, 0], "int32"), crop_size=(3, 4)),
        sample("2x5x6x3 float32", numpy.array([[0.1, 0.22, 0.8, 1.2], [0.05, 0.46, 0.3, 0.03]], "float32"),
               numpy.array([1, 0], "int32"), crop_size=(2, 2), layout="NHWC", method="nearest_neighbor"),
    )  # fmt: skip

    def infer(self, t: Typing, data: Type, boxes: Type, box_indices: Type) -> Type:
        t.dtype_in(data, FLOATING, "the data")
        t.dtype_in(boxes, FLOATING, "the boxes")
        t.dtype_in(box_indices, INTEGRAL, "the images' numbers")
        order = permutation(t, self.layout, "NCHW", self.name, "layout")
        shape = list(t.shape(data, 4, "the data"))
        count, four = t.shape(boxes, 2, "the boxes")
        t.equal(four, 4, why="a box has four numbers")
        t.equal(t.shape(box_indices, 1, "the images' numbers")[0], count, why="each box has an image")
        sizes = per_axis(t, self.crop_size, 2, self.name, "crop_size")
        for place, d in zip((order[0], *order[2:]), (count, *sizes), strict=True):
            shape[place] = d
        return TensorType(shape, self.out_dtype or t.known_dtype(data))

    def decompose(self, types: Any, data: Expr, boxes: Expr, box_indices: Expr) -> Expr:
        dtype = types[0].dtype
        order = positions(self.layout, "NHWC")
        x = Term(data, dtype).of("transpose", axes=order).cast(str(computing_dtype(dtype)))
        own = TensorType([dims(types[0])[k] for k in order], dtype)
        ends = Term(boxes, types[1].dtype).cast(str(computing_dtype(types[1].dtype)))
        corners = [ends.of("take", term(k, "int64"), axis=1) for k in range(4)]
        sizes = [size_of(x.expr, own, k) for k in (1, 2)]
        lines = [
            crop_line(corners[k], corners[k + 2], size, out)
            for k, size, out in zip((0, 1), sizes, ntuple(self.crop_size, 2), strict=True)
        ]
        image = Term(box_indices, types[2].dtype).as_index().of("expand_dims", axis=1, num_newaxis=2)
        found = regions(x, image, lines, sizes, self.method, self.extrapolation_value)
        back = [("NHWC").index(letter) for letter in self.layout]
        return found.of("transpose", axes=back).cast(self.out_dtype or str(dtype)).expr


def crop_line(start: Term, end: Term, size: "int | Term", out: "int | Term") -> Term:
    """Places `(regions, out)` between two parts of an axis, ends included; a single one is the middle."""
    last = term(size, str(start.dtype)) - 1.0
    first, stop = (v.of("expand_dims", axis=1) * last for v in (start, end))
    middle = (first + stop) * 0.5
    if isinstance(out, int):
        if out == 1:
            return middle
        return first + (stop - first) * (iota(out).cast(str(start.dtype)) / float(out - 1))
    parts = iota(out).cast(str(start.dtype)) / (out - 1).of("maximum", 1).cast(str(start.dtype))
    return out.equals(1).where(middle, first + (stop - first) * parts)


def regions(
    x: Term, image: Term, lines: Sequence[Term], sizes: Sequence[Any], method: str, outside: float
) -> Term:
    """Images `(n, h, w, c)` at rows `(regions, h)` and columns `(regions, w)`: `(regions, h, w, c)`."""
    flat = x.of("reshape", newshape=(-3, -2)).of("reshape", newshape=(-3, -2))
    ys, xs = lines[0].of("expand_dims", axis=2), lines[1].of("expand_dims", axis=1)
    limits = [term(size, "int64") for size in sizes]
    good: Term | None = None
    for at, n in zip((ys, xs), limits, strict=True):
        here = (at >= 0.0) & (at <= n.cast(str(at.dtype)) - 1.0)
        good = here if good is None else good & here
    mode = "linear" if method == "bilinear" else "nearest"
    total: Term | None = None
    for (y, p), (column, q) in product(axis_taps(ys, mode), axis_taps(xs, mode)):
        y, column = (
            v.of("maximum", 0).of("minimum", n - 1) for v, n in zip((y, column), limits, strict=True)
        )
        found = flat.of("take", (image * limits[0] + y) * limits[1] + column, axis=0)
        if p is not None and q is not None:
            found = found * (p * q).of("expand_dims", axis=3).cast(str(found.dtype))
        total = found if total is None else total + found
    assert good is not None
    assert total is not None
    return good.of("expand_dims", axis=3).where(total, total * 0.0 + outside)


@operator("image.dilation2d")
class Dilation2D(Composite):
    """Grey dilation of images: the greatest sum of data and weight in each window, channel by channel.

    Beyond the data it is as low as can be.

    relay> image.dilation2d([[[[1.0, 5.0, 2.0]]]], [[[0.0, 1.0]]])
    [[[[6.0, 5.0]]]]
    """

    strides: Spatial = (1, 1)
    padding: Spatial = (0, 0)
    dilations: Spatial = (1, 1)
    data_layout: str = "NCHW"
    kernel_layout: str = "IHW"
    out_dtype: OutDType = ""
    dtypes = FLOATING
    samples = (
        sample("1x2x5x6 float32", "2x3x3 float32", padding=(1, 1)),
        sample("2x7x6x3 float32", "2x3x3 float32", strides=(2, 1), dilations=(2, 1), data_layout="NHWC",
               kernel_layout="HWI"),
    )  # fmt: skip

    def infer(self, t: Typing, data: Type, weight: Type) -> Type:
        t.equal(t.dtype(weight), t.dtype(data), why="data and weight have one dtype")
        order = permutation(t, self.data_layout, "NCHW", self.name, "data_layout")
        kernel = permutation(t, self.kernel_layout, "IHW", self.name, "kernel_layout")
        shape, window = list(t.shape(data, 4, "the data")), t.shape(weight, 3, "the weight")
        t.equal(window[kernel[0]], shape[order[1]], why="each channel has a window")
        for axis, out in zip(
            order[2:], self.windows(t, [shape[k] for k in order], [window[k] for k in kernel]), strict=True
        ):
            shape[axis] = out
        return TensorType(shape, self.out_dtype or t.dtype(data))

    def windows(self, t: Typing, shape: Sequence[Any], kernel: Sequence[Any]) -> list[int]:
        """How many windows there are along each axis."""
        found: list[int] = []
        for k, (before, after) in enumerate(checked_pads(t, self.padding, 2, self.name)):
            size, taps = t.static(t.settled(shape[k + 2])), t.static(t.settled(kernel[k + 1]))
            if size is None or taps is None:
                t.fail("shape-constraint", "the sizes of images and windows are known here")
            room = size + before + after - (taps - 1) * ntuple(self.dilations, 2)[k] - 1
            t.require(0, "<=", room, "the window fits into the padded image")
            found.append(room // ntuple(self.strides, 2)[k] + 1)
        return found

    def decompose(self, types: Any, data: Expr, weight: Expr) -> Expr:
        dtype = types[0].dtype
        x = Term(data, dtype).of("transpose", axes=positions(self.data_layout, "NCHW"))
        w = Term(weight, dtype).of("transpose", axes=positions(self.kernel_layout, "IHW"))
        taps = [dims(types[1])[self.kernel_layout.index(letter)] for letter in "HW"]
        sizes = [dims(types[0])[self.data_layout.index(letter)] for letter in "HW"]
        margin = pads(self.padding, 2)
        least = apply("nn.pad", x.expr, ((0, 0), (0, 0), *margin), scalar(-numpy.inf, dtype))
        found = Term(least, dtype)
        for k, axis in ((0, 2), (1, 4)):
            count, size = taps[k], sizes[k]
            assert isinstance(count, int)
            assert isinstance(size, int)
            step, apart = ntuple(self.strides, 2)[k], ntuple(self.dilations, 2)[k]
            outs = (size + sum(margin[k]) - (count - 1) * apart - 1) // step + 1
            places = numpy.arange(outs)[:, None] * step + numpy.arange(count) * apart
            found = found.of("take", term(places, "int64"), axis=axis)
        window = w.of("expand_dims", axis=1).of("expand_dims", axis=3)  # (c, 1, kh, 1, kw)
        best = (found + window).of("max", axis=(3, 5))
        back = ["NCHW".index(letter) for letter in self.data_layout]
        return best.of("transpose", axes=back).cast(self.out_dtype or str(dtype)).expr
