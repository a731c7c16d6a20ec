"""Regions of interest of images, each brought to one size; and images rearranged for detectors."""

from collections.abc import Sequence
from itertools import product
from typing import Any, Literal

import numpy

from relay.ir.dim import floor_divide
from relay.ir.expr import Expr
from relay.ir.type import TensorType, Type
from relay.op.attribute import Sizes
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, Array, Numpy, sample
from relay.op.batching import folded
from relay.op.composite import Composite
from relay.op.native import Index, Loops, View
from relay.op.nn.layout import ntuple, per_axis, permutation, positions
from relay.op.numeric import computing_dtype, dims
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.reshape import Rearrangement
from relay.op.scattering import scattered
from relay.op.term import Term, iota, size_of, term

ROIS = numpy.array(
    [[0.2, 0.43, 1.2, 4.1, 4.7], [1.2, 0.2, 0.3, 3.3, 2.9], [0.2, 2.1, 1.1, 2.7, 4.2]], "float32"
)
"""Image, first corner (x, y) and last corner."""


def region_type(t: Typing, data: Type, rois: Type, pooled: Sizes, layout: str, op: str) -> TensorType:
    """The type of regions `(n, 5)` brought to one size."""
    t.dtype_in(data, FLOATING, "the data")
    t.equal(t.dtype(rois), t.dtype(data), why="data and regions have one dtype")
    order = permutation(t, layout, "NCHW", op, "layout")
    shape = list(t.shape(data, 4, "the data"))
    count, five = t.shape(rois, 2, "the regions")
    t.equal(five, 5, why="a region is an image and two corners")
    sizes = per_axis(t, pooled, 2, op, "pooled_size")
    for place, d in zip((order[0], *order[2:]), (count, *sizes), strict=True):
        shape[place] = d
    return TensorType(shape, t.dtype(data))


def in_channels_last(x: Expr, t: Any, layout: str) -> tuple[Term, TensorType]:
    """Images `(n, h, w, c)`, with their type."""
    order = positions(layout, "NHWC")
    found = Term(x, t.dtype).of("transpose", axes=order)
    return found, TensorType([dims(t)[k] for k in order], t.dtype)


def put_back(x: Term, layout: str) -> Term:
    """`(n, h, w, c)` in another layout."""
    return x.of("transpose", axes=["NHWC".index(letter) for letter in layout])


def region_field(rois: Term, k: int) -> Term:
    """A number of each region."""
    return rois.of("take", term(k, "int64"), axis=1)


@operator("vision.roi_align")
class RoiAlign(Composite):
    """Regions of images on a grid of `pooled_size`: in each cell the mean of values between pixels.

    A region is `(image, x0, y0, x1, y1)` in pixels times `1 / spatial_scale`.  In each direction a cell has
    `sample_ratio` samples, or as many as it spans pixels if that is not positive.  `aligned` regions begin
    half a pixel earlier, where the centres of pixels are; others are at least a pixel wide.  `mode` takes
    the mean, the greatest value ("max"), or the greatest weighted pixel ("max_part", as ONNX does); cells
    without samples are 0.  Source: He, Gkioxari, Dollar and Girshick, 2017.

    relay> vision.roi_align([[[[1.0, 2.0], [3.0, 4.0]]]], [[0.0, 0.0, 0.0, 1.0, 1.0]], pooled_size=(1, 1))
    [[[[2.5]]]]
    """

    pooled_size: Sizes
    spatial_scale: float = 1.0
    sample_ratio: int = -1
    layout: str = "NCHW"
    mode: Literal["avg", "max", "max_part"] = "avg"
    aligned: bool = False
    samples = (
        sample("2x3x6x7 float32", ROIS, pooled_size=(2, 3), sample_ratio=2),
        sample("2x6x7x3 float32", ROIS, pooled_size=(2, 2), spatial_scale=0.75, layout="NHWC", aligned=True),
        sample("2x3x6x7 float32", ROIS, pooled_size=(2, 2), mode="max"),
        sample("2x3x6x7 float32", ROIS, pooled_size=2, mode="max_part", sample_ratio=1),
    )

    def infer(self, t: Typing, data: Type, rois: Type) -> Type:
        return region_type(t, data, rois, self.pooled_size, self.layout, self.name)

    def decompose(self, types: Any, data: Expr, rois: Expr) -> Expr:
        dtype = str(types[0].dtype)
        x, own = in_channels_last(data, types[0], self.layout)
        wide = str(computing_dtype(dtype))
        x, boxes = x.cast(wide), Term(rois, dtype).cast(wide)
        lines = [self.line(boxes, x, own, k) for k in (0, 1)]
        found = self.pooled(x, own, region_field(boxes, 0).cast("int64"), lines)
        return put_back(found, self.layout).cast(dtype).expr

    def line(self, boxes: Term, x: Term, own: TensorType, k: int) -> tuple[list[tuple[Term, Term]], Term]:
        """Places along the rows (`k` 0) or columns: `(regions, cells, samples)`, and which samples count."""
        cells = ntuple(self.pooled_size, 2)[k]
        start, end = (region_field(boxes, c) * self.spatial_scale for c in (2 - k, 4 - k))
        if self.aligned:
            start, end = start - 0.5, end - 0.5
        length = end - start
        if not self.aligned:
            length = length.of("maximum", 1.0)
        size = length / term(cells, str(length.dtype))
        if self.sample_ratio > 0:
            number = size * 0.0 + float(self.sample_ratio)
            most = iota(self.sample_ratio)
        else:
            number = size.of("ceil").of("maximum", 0.0)
            most = iota(number.cast("int64").of("max").of("maximum", 1))
        each = most.cast(str(size.dtype))
        first, step, many = (v.of("expand_dims", axis=1, num_newaxis=2) for v in (start, size, number))
        cell = iota(cells).cast(str(size.dtype)).of("expand_dims", axis=1)
        at = first + step * (cell + (each + 0.5) / many.of("maximum", 1.0))
        return edge(at, size_of(x.expr, own, k + 1)), (each < many).where(
            term(1, str(size.dtype)), each * 0.0
        )

    def pooled(self, x: Term, own: TensorType, image: Term, lines: Any) -> Term:
        """The samples of each cell as one: `(regions, h, w, c)`."""
        (ys, these), (xs, those) = lines
        height, width = (term(size_of(x.expr, own, k), "int64") for k in (1, 2))
        flat = x.of("reshape", newshape=(-3, -2)).of("reshape", newshape=(-3, -2))
        base = image.of("expand_dims", axis=1, num_newaxis=4) * height
        total: Term | None = None
        for (y, p), (column, q) in product(ys, xs):
            row = base + y.of("expand_dims", axis=3, num_newaxis=2)
            index = row * width + column.of("expand_dims", axis=1, num_newaxis=2)
            weight = p.of("expand_dims", axis=3, num_newaxis=2) * q.of("expand_dims", axis=1, num_newaxis=2)
            part = flat.of("take", index, axis=0) * weight.of("expand_dims", axis=5)
            how = "maximum" if self.mode == "max_part" else "add"
            total = part if total is None else total.of(how, part)
        assert total is not None  # (regions, h, samples, w, samples, c)
        counts = these.of("expand_dims", axis=3, num_newaxis=2) * those.of(
            "expand_dims", axis=1, num_newaxis=2
        )
        counts = counts.of("expand_dims", axis=5)
        number = counts.of("sum", axis=(2, 4))
        if self.mode == "avg":
            return (total * counts).of("sum", axis=(2, 4)) / number.of("maximum", 1.0)
        low = term(-numpy.inf, str(total.dtype))
        best = (counts > 0.0).where(total, low).of("max", axis=(2, 4))
        return (number > 0.0).where(best, term(0.0, str(total.dtype)))


def edge(at: Term, size: "int | Term") -> list[tuple[Term, Term]]:
    """The pixels on both sides of places along an axis, with weights; 0 further out than one pixel."""
    dtype, last = str(at.dtype), term(size, "int64") - 1
    inside = (at >= -1.0) & (at <= term(size, dtype))
    keep = inside.where(term(1, dtype), at * 0.0)
    at = at.of("maximum", 0.0)
    low = at.of("floor").cast("int64").of("minimum", last)
    high = (low + 1).of("minimum", last)
    part = (low >= last).where(at * 0.0, at - low.cast(dtype))
    return [(low, (1.0 - part) * keep), (high, part * keep)]


@operator("vision.roi_pool")
class RoiPool(Composite):
    """Regions of images on a grid of `pooled_size`: in each cell the greatest pixel, 0 in one without pixels.

    A region is `(image, x0, y0, x1, y1)` in pixels times `1 / spatial_scale`, rounded to whole pixels, both
    corners included.  Source: Girshick, 2015.

    relay> vision.roi_pool([[[[1.0, 2.0], [3.0, 4.0]]]], [[0.0, 0.0, 0.0, 1.0, 0.0]], pooled_size=(1, 2))
    [[[[1.0, 2.0]]]]
    """

    pooled_size: Sizes
    spatial_scale: float = 1.0
    layout: str = "NCHW"
    samples = (
        sample("2x3x6x7 float32", ROIS, pooled_size=(2, 3)),
        sample("2x6x7x3 float32", ROIS, pooled_size=(2, 2), spatial_scale=0.75, layout="NHWC"),
    )

    def infer(self, t: Typing, data: Type, rois: Type) -> Type:
        return region_type(t, data, rois, self.pooled_size, self.layout, self.name)

    def decompose(self, types: Any, data: Expr, rois: Expr) -> Expr:
        dtype = str(types[0].dtype)
        x, own = in_channels_last(data, types[0], self.layout)
        boxes = Term(rois, dtype)
        images = x.of("take", region_field(boxes, 0).cast("int64"), axis=0)  # (regions, h, w, c)
        low = term(-numpy.inf, dtype)
        rows, columns = (self.seen(boxes, size_of(x.expr, own, k + 1), k) for k in (0, 1))
        rows = rows.of("expand_dims", axis=3, num_newaxis=2)  # (regions, cells, h, 1, 1)
        high = rows.where(images.of("expand_dims", axis=1), low).of(
            "max", axis=(2,)
        )  # (regions, cells, w, c)
        columns = columns.of("expand_dims", axis=1).of("expand_dims", axis=4)  # (regions, 1, cells, w, 1)
        best = columns.where(high.of("expand_dims", axis=2), low).of("max", axis=(3,))
        return put_back((best <= low).where(best.of("zeros_like"), best), self.layout).expr

    def seen(self, boxes: Term, size: "int | Term", k: int) -> Term:
        """Which places along rows (`k` 0) or columns each cell of a region sees: `(regions, cells, size)`."""
        cells = ntuple(self.pooled_size, 2)[k]
        start, end = ((region_field(boxes, c) * self.spatial_scale + 0.5).of("floor") for c in (2 - k, 4 - k))
        step = (end - start + 1.0).of("maximum", 1.0) / term(cells, str(start.dtype))
        first, step = (v.of("expand_dims", axis=1) for v in (start, step))
        cell = iota(cells).cast(str(step.dtype))
        begin = (step * cell).of("floor") + first
        finish = (step * (cell + 1.0)).of("ceil") + first
        place = iota(size).cast(str(step.dtype))
        begin, finish = (v.of("expand_dims", axis=2) for v in (begin, finish))
        return (place >= begin) & (place < finish)


@operator("vision.yolo_reorg")
class YoloReorg(Rearrangement):
    """Images `(n, c, h, w)` with `stride * stride` times as many channels and fewer rows and columns.

    The elements are in the order that detectors of the YOLO family have been trained with, in which the new
    channels come from a view of `c / stride ** 2` channels.  Source: Redmon and Farhadi, 2016.

    relay> vision.yolo_reorg(reshape(arange(stop=8, dtype="int32"), newshape=(1, 4, 1, 2)))
    [[[[0, 1]], [[2, 3]], [[4, 5]], [[6, 7]]]]
    """

    stride: int = 1
    batch = folded
    samples = (sample("2x8x4x6 float32", stride=2), sample("1x9x3x3 int32", stride=3))

    def infer(self, t: Typing, data: Type) -> Type:
        s = self.stride
        n, c, h, w = t.shape(data, 4, "the data")
        if s < 1:
            attribute_fault(t, "stride", s, "it is positive")
        t.require(s * s, "divides", c, "the channels are a multiple of the square of the stride")
        for d in (h, w):
            t.require(s, "divides", d, "rows and columns are a multiple of the stride")
        return TensorType((n, c * (s * s), floor_divide(h, s), floor_divide(w, s)), t.dtype(data))

    def reference(self, np: Numpy, data: Array) -> Array:
        s = self.stride
        n, c, h, w = data.shape
        view = np.reshape(data, (n, c // (s * s), h, s, w, s))
        return np.reshape(np.transpose(view, (0, 3, 5, 1, 2, 4)), (n, c * s * s, h // s, w // s))

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr]:
        """Each element back to where it came from."""
        return (scattered(g, self, data),)

    def element(self, b: Loops, index: Sequence[Index], data: View) -> Any:
        """The element whose place in the view is that of the result in the data."""
        s = self.stride
        own, (n, *place) = data.sizes[1:], index
        k, row, column = b.unravelled(b.position(place, b.sizes[1:]), own)
        few = b.quotient(own[0], s * s)
        part, channel = b.quotient(k, few), b.rest(k, few)
        y = b.plus(b.times(row, s), b.quotient(part, s))
        x = b.plus(b.times(column, s), b.rest(part, s))
        wide = [few, b.times(own[1], s), b.times(own[2], s)]
        return data.at([n, *b.unravelled(b.position([channel, y, x], wide), own)])
