"""Axes split into blocks and blocks moved between axes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from string import ascii_uppercase
from typing import Any, Literal

from relay.ir.dim import floor_divide, product
from relay.ir.expr import Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.axes import SIZES, UNCHECKED, Checker, attribute_fault
from relay.op.base import ANY_NUMBER, Array, Numpy, sample
from relay.op.batching import axis_moved, folded, merged, row_rank, row_shape, split, split_sizes
from relay.op.kind import Derivative
from relay.op.native import Loops, View
from relay.op.numeric import apply
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.reshape import Rearrangement, with_type_of
from relay.op.reshape_codes import MERGED, REST, SPLIT

ImageLayout = Literal["NCHW", "NHWC"]


@dataclass(frozen=True)
class Layout:
    """The axes of a layout such as `NCHW4c`: `(letter, factor)`, where factor 0 marks the outer part of an
    axis.
    """

    axes: tuple[tuple[str, int], ...]

    def inner(self, letter: str) -> list[int]:
        """The factors that axis `letter` is split by, outermost first."""
        return [factor for name, factor in self.axes if name == letter and factor]

    @property
    def letters(self) -> list[str]:
        """The axes that are there, each once, in order."""
        return [name for name, factor in self.axes if not factor]

    @property
    def order(self) -> list[int]:
        """For each axis its place when the parts of each letter stand together."""
        together = self.grouping()
        return [together.index(i) for i in range(len(self.axes))]

    def grouping(self) -> list[int]:
        """The transposition that puts the parts of each letter together, letters in alphabetical order."""
        return sorted(range(len(self.axes)), key=lambda i: (self.axes[i][0], self.axes[i][1] != 0, i))


@cache
def layout_of(text: str) -> Layout | None:
    """The layout that a text names, or None where it is none."""
    parts = re.findall(r"(\d*)([A-Za-z])", text)
    axes = tuple([(letter.upper(), int(number or 0)) for number, letter in parts])
    whole = "".join(number + letter for number, letter in parts) == text
    right = all(letter.islower() == bool(number) for number, letter in parts)
    outer = [letter for letter, factor in axes if not factor]
    split = {letter for letter, factor in axes if factor}
    good = whole and right and len(set(outer)) == len(outer) and split <= set(outer)
    return Layout(axes) if good else None


@operator("layout_transform")
class LayoutTransform(Rearrangement):
    """The tensor with its axes in another order, some of them split into blocks.

    In a layout a capital letter is an axis, a number and its small letter a block of it: from `NCHW` to
    `NCHW4c` the channels are taken in fours, and the place within the four is a new last axis.

    relay> layout_transform([[1, 2, 3, 4]], src_layout="NC", dst_layout="NC2c")
    [[[1, 2], [3, 4]]]
    """

    samples = (
        sample("2x8x3x4 float32", src_layout="NCHW", dst_layout="NHWC"),
        sample("2x8x3x4 int4", src_layout="NCHW", dst_layout="NCHW4c"),
        sample("2x2x3x4x4 bool", src_layout="NCHW4c", dst_layout="NHWC"),
        sample("8x8x1x1 float32", src_layout="OIHW", dst_layout="OIHW4i2o"),
        sample("0x4 float32", src_layout="NC", dst_layout="CN"),
    )

    src_layout: str
    dst_layout: str

    def layouts(self, t: Checker, rank: int) -> tuple[Layout, Layout]:
        """Both layouts; they have the same letters."""
        found: list[Layout] = []
        for name, text in (("src_layout", self.src_layout), ("dst_layout", self.dst_layout)):
            layout = layout_of(text)
            if layout is None:
                attribute_fault(
                    t, name, text, "a layout is capital letters, and numbers with small ones: NCHW4c"
                )
            found.append(layout)
        source, target = found
        if set(source.letters) != set(target.letters):
            attribute_fault(t, "dst_layout", self.dst_layout, f"it has not the axes of {self.src_layout}")
        if len(source.axes) != rank:
            attribute_fault(t, "src_layout", self.src_layout, f"the tensor has {rank} axes")
        return source, target

    def plan(self, t: Checker, dims: Sequence[Dim]) -> tuple[list[int], list[Dim], list[int]]:
        """First a transposition, then a shape, then a transposition."""
        source, target = self.layouts(t, len(dims))
        sizes: dict[str, Dim] = {}
        for letter in source.letters:
            parts = [d for d, (name, _) in zip(dims, source.axes, strict=True) if name == letter]
            sizes[letter] = product(parts)
        for d, (_, factor) in zip(dims, source.axes, strict=True):
            if factor:
                t.require(d, "==", factor, f"an axis of {self.src_layout} has this size")
        split: list[Dim] = []
        for i in target.grouping():
            letter, factor = target.axes[i]
            if factor:
                split.append(factor)
            else:
                block = product(target.inner(letter))
                t.require(block, "divides", sizes[letter], f"axis {letter} is split into blocks of {block}")
                split.append(sizes[letter] // block)
        return source.grouping(), split, target.order

    def infer(self, t: Typing, x: Type) -> Type:
        _, split, order = self.plan(t, t.shape(x))
        return TensorType([split[i] for i in order], t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        first, split, last = self.plan(SIZES, data.shape)
        return np.transpose(np.reshape(np.transpose(data, first), split), last)

    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        row = next(a for a in ascii_uppercase if a not in self.src_layout.upper())
        return LayoutTransform(src_layout=row + self.src_layout, dst_layout=row + self.dst_layout)(data)

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        return (with_type_of(apply("layout_transform", g, self.dst_layout, self.src_layout), data),)

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """The transpositions and the shape backwards."""
        first, split, last = self.plan(UNCHECKED, b.dims(data.sizes))
        place = [index[last.index(i)] for i in range(len(last))]
        sizes, own = [b.size(d) for d in split], [data.sizes[i] for i in first]
        found = b.reshaped(place, sizes, own)
        return data.at([found[first.index(i)] for i in range(len(first))])


def _image(t: Typing, x: Type, layout: str) -> tuple[Dim, Dim, Dim, Dim]:
    """Batch, channels, height and width of a tensor of images."""
    n, a, b, c = t.shape(x, rank=4, what="images")
    return (n, a, b, c) if layout == "NCHW" else (n, c, a, b)


def _laid_out(n: Any, c: Any, h: Any, w: Any, layout: str) -> tuple[Any, ...]:
    return (n, c, h, w) if layout == "NCHW" else (n, h, w, c)


@operator("nn.space_to_depth")
class SpaceToDepth(Rearrangement):
    """Each block of `block_size` by `block_size` pixels as one pixel with the channels of all of them.

    relay> nn.space_to_depth([[[[1, 2], [3, 4]]]], block_size=2)
    [[[[1]], [[2]], [[3]], [[4]]]]
    """

    batch = folded
    samples = (
        sample("1x2x4x6 float32", block_size=2),
        sample("1x4x2x3 int4", block_size=2, layout="NHWC"),
        sample("0x3x2x2 bool", block_size=2),
    )

    block_size: int
    layout: ImageLayout = "NCHW"

    def infer(self, t: Typing, x: Type) -> Type:
        n, c, h, w = _image(t, x, self.layout)
        b = check_block(t, self.block_size)
        for d in (h, w):
            t.require(b, "divides", d, f"the image is cut into blocks of {b} by {b}")
        return TensorType(_laid_out(n, c * (b * b), h // b, w // b, self.layout), t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        x, b = data if self.layout == "NHWC" else np.moveaxis(data, 1, 3), self.block_size
        n, h, w, c = x.shape
        x = np.transpose(x.reshape(n, h // b, b, w // b, b, c), (0, 1, 3, 2, 4, 5)).reshape(
            n, h // b, w // b, b * b * c
        )
        return x if self.layout == "NHWC" else np.moveaxis(x, 3, 1)

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        return (with_type_of(apply("nn.depth_to_space", g, self.block_size, self.layout), data),)

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """The pixel at the place in the block that the channel stands for."""
        n, c, h, w = image_index(index, self.layout)
        size = self.block_size
        channels = data.sizes[1 if self.layout == "NCHW" else 3]
        i, j, k = b.unravelled(c, (size, size, channels))
        y, x = b.plus(b.times(h, size), i), b.plus(b.times(w, size), j)
        return data.at(_laid_out(n, k, y, x, self.layout))


def check_block(t: Checker, size: int) -> int:
    """A block size (`attribute-value` unless it is positive)."""
    if size < 1:
        attribute_fault(t, "block_size", size, "a block has at least one element")
    return size


@operator("nn.depth_to_space")
class DepthToSpace(Rearrangement):
    """The channels of each pixel spread over a block of `block_size` by `block_size` pixels.

    With `mode="DCR"` the place in the block is the outer part of the channel's number, with `"CRD"`, which
    `"CDR"` means too, the inner.

    relay> nn.depth_to_space([[[[1]], [[2]], [[3]], [[4]]]], block_size=2)
    [[[[1, 2], [3, 4]]]]
    """

    batch = folded
    samples = (
        sample("1x8x2x3 float32", block_size=2),
        sample("1x8x2x3 float32", block_size=2, mode="CRD"),
        sample("1x8x2x3 int32", block_size=2, mode="CDR"),
        sample("1x2x3x4 int4", block_size=2, layout="NHWC"),
        sample("0x4x2x2 bool", block_size=2),
    )

    block_size: int
    layout: ImageLayout = "NCHW"
    mode: Literal["DCR", "CRD", "CDR"] = "DCR"

    def infer(self, t: Typing, x: Type) -> Type:
        n, c, h, w = _image(t, x, self.layout)
        b = check_block(t, self.block_size)
        t.require(b * b, "divides", c, f"the channels are spread over blocks of {b} by {b}")
        return TensorType(_laid_out(n, c // (b * b), h * b, w * b, self.layout), t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        x, b = data if self.layout == "NHWC" else np.moveaxis(data, 1, 3), self.block_size
        n, h, w, c = x.shape
        deep = c // (b * b)
        if self.mode == "DCR":
            x = np.transpose(x.reshape(n, h, w, b, b, deep), (0, 1, 3, 2, 4, 5))
        else:
            x = np.transpose(x.reshape(n, h, w, deep, b, b), (0, 1, 4, 2, 5, 3))
        x = x.reshape(n, h * b, w * b, deep)
        return x if self.layout == "NHWC" else np.moveaxis(x, 3, 1)

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        found = apply("nn.space_to_depth", g, self.block_size, self.layout)
        return (with_type_of(found if self.mode == "DCR" else self.exchanged(found), data),)

    def exchanged(self, x: Expr) -> Expr:
        """Channels whose outer part is the place in the block, so that it becomes the inner one."""
        split, merged = (SPLIT, self.block_size**2, -1), (MERGED,)
        if self.layout == "NCHW":
            x = apply("reshape", x, newshape=(0, *split, 0, 0))
            return apply("reshape", apply("transpose", x, (0, 2, 1, 3, 4)), newshape=(0, *merged, 0, 0))
        x = apply("reshape", x, newshape=(0, 0, 0, *split))
        return apply("reshape", apply("transpose", x, (0, 1, 2, 4, 3)), newshape=(0, 0, 0, *merged))

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """The channel that stands for the place in the block."""
        n, c, h, w = image_index(index, self.layout)
        size = self.block_size
        channels = b.quotient(data.sizes[1 if self.layout == "NCHW" else 3], size * size)
        i, j = b.rest(h, size), b.rest(w, size)
        place, sizes = (
            ((i, j, c), (size, size, channels)) if self.mode == "DCR" else ((c, i, j), (channels, size, size))
        )
        y, x = b.quotient(h, size), b.quotient(w, size)
        return data.at(_laid_out(n, b.position(place, sizes), y, x, self.layout))


@operator("nn.space_to_batch_nd")
class SpaceToBatchND(Rearrangement):
    """The axes after the first, padded and cut into blocks of `block_shape`; the place in the block goes to
    the batch.

    relay> nn.space_to_batch_nd([[1, 2, 3]], block_shape=(2,), paddings=((0, 1),))
    [[1, 3], [2, 0]]
    """

    derivative = Derivative.RULES
    dtypes = ANY_NUMBER
    samples = (
        sample("2x4x6x3 float32", block_shape=(2, 3), paddings=((0, 0), (0, 0))),
        sample("1x3 int4", block_shape=(2,), paddings=((0, 1),), pad_value=2.0),
        sample("0x4 bool", block_shape=(2,), paddings=((1, 1),)),
    )

    block_shape: tuple[int, ...]
    paddings: tuple[tuple[int, int], ...]
    pad_value: float = 0.0

    def infer(self, t: Typing, x: Type) -> Type:
        dims = t.shape(x)
        check_blocks(t, self.block_shape, self.paddings, "paddings", len(dims))
        out: list[Dim] = [dims[0] * product(self.block_shape)]
        for d, b, (before, after) in zip(dims[1:], self.block_shape, self.paddings, strict=False):
            t.require(b, "divides", d + (before + after), f"the padded axis is cut into blocks of {b}")
            out.append((d + (before + after)) // b)
        return TensorType((*out, *dims[len(out) :]), t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        m = len(self.block_shape)
        widths = ((0, 0), *self.paddings, *((0, 0),) * (data.ndim - 1 - m))
        x = np.pad(data, widths, constant_values=np.asarray(self.pad_value).astype(data.dtype))
        cut = [n for d, b in zip(x.shape[1:], self.block_shape, strict=False) for n in (d // b, b)]
        x = x.reshape(x.shape[0], *cut, *x.shape[m + 1 :])
        rest = range(2 * m + 1, x.ndim)
        x = np.transpose(x, (*range(2, 2 * m + 1, 2), 0, *range(1, 2 * m + 1, 2), *rest))
        return x.reshape(x.shape[m] * int(product(x.shape[:m])), *x.shape[m + 1 :])  # pyright: ignore[reportArgumentType]

    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        rank, block, size = row_rank(data, True), product(self.block_shape), row_shape(data, True)[0]
        found = apply("reshape", self(merged(data)), newshape=(SPLIT, block, -1, REST))
        found = apply("reshape", found, newshape=(0, *split_sizes(n, size), REST))
        return apply("reshape", axis_moved(found, rank + 2, 0, 1), newshape=(0, MERGED, REST))

    def vjp(self, g: Expr, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (with_type_of(apply("nn.batch_to_space_nd", g, self.block_shape, self.paddings), data),)

    def jvp(self, dxs: Sequence[Any], y: Expr, data: Expr) -> Expr:
        return replace(self, pad_value=0.0)(dxs[0])

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """An element at a place in the block, or the padding."""
        m = len(self.block_shape)
        *block, batch = b.unravelled(index[0], (*self.block_shape, data.sizes[0]))
        steps = zip(index[1 : m + 1], self.block_shape, block, self.paddings, strict=True)
        place = [b.minus(b.plus(b.times(i, s), k), before) for i, s, k, (before, _) in steps]
        inside = [b.is_within(i, d) for i, d in zip(place, data.sizes[1:], strict=False)]
        fill = b.cast(b.const(self.pad_value, "float64"), data.dtype)
        return b.where(b.both(*inside), lambda: data.at([batch, *place, *index[m + 1 :]]), lambda: fill)


def check_blocks(
    t: Checker, blocks: Sequence[int], margins: Sequence[tuple[int, int]], name: str, rank: int
) -> None:
    """Blocks and the margins that go with them (`attribute-value`)."""
    if any(b < 1 for b in blocks) or len(blocks) >= max(rank, 1):
        attribute_fault(
            t, "block_shape", tuple(blocks), f"it has positive sizes for at most {max(rank - 1, 0)} axes"
        )
    if len(margins) != len(blocks) or any(m < 0 for pair in margins for m in pair):
        attribute_fault(t, name, tuple(margins), "it has a pair of widths, not negative, for each block size")


@operator("nn.batch_to_space_nd")
class BatchToSpaceND(Rearrangement):
    """The inverse of `nn.space_to_batch_nd`: blocks taken from the batch, then margins cropped.

    relay> nn.batch_to_space_nd([[1, 3], [2, 0]], block_shape=(2,), crops=((0, 1),))
    [[1, 2, 3]]
    """

    samples = (
        sample("12x2x2x3 float32", block_shape=(2, 3), crops=((0, 0), (1, 0))),
        sample("2x2 int4", block_shape=(2,), crops=((0, 1),)),
        sample("0x4 bool", block_shape=(2,), crops=((1, 1),)),
    )

    block_shape: tuple[int, ...]
    crops: tuple[tuple[int, int], ...]

    def infer(self, t: Typing, x: Type) -> Type:
        dims = t.shape(x)
        check_blocks(t, self.block_shape, self.crops, "crops", len(dims))
        block = product(self.block_shape)
        t.require(block, "divides", dims[0], f"the batch is made of blocks of {block}")
        out: list[Dim] = [dims[0] // block]
        for d, b, (before, after) in zip(dims[1:], self.block_shape, self.crops, strict=False):
            t.require(before + after, "<=", d * b, "what is cropped is there")
            out.append(d * b - (before + after))
        return TensorType((*out, *dims[len(out) :]), t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        m = len(self.block_shape)
        batch = data.shape[0] // int(product(self.block_shape))  # pyright: ignore[reportArgumentType]
        x = data.reshape(*self.block_shape, batch, *data.shape[1:])
        pairs = [axis for i in range(m) for axis in (m + 1 + i, i)]
        x = np.transpose(x, (m, *pairs, *range(2 * m + 1, x.ndim)))
        sizes = [d * b for d, b in zip(data.shape[1:], self.block_shape, strict=False)]
        x = x.reshape(batch, *sizes, *data.shape[m + 1 :])
        kept = [slice(before, d - after) for d, (before, after) in zip(sizes, self.crops, strict=True)]
        return x[(slice(None), *kept)]

    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        rank, block = row_rank(data, True), product(self.block_shape)
        blocks = apply("reshape", data, newshape=(0, SPLIT, block, -1, REST))
        rows = apply("reshape", axis_moved(blocks, rank + 2, 1, 0), newshape=(0, MERGED, REST))
        return split(self(merged(rows)), n, floor_divide(row_shape(data, True)[0], block))

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        return (with_type_of(apply("nn.space_to_batch_nd", g, self.block_shape, self.crops), data),)

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """The element of the block that the place is in."""
        m = len(self.block_shape)
        places = [b.plus(i, before) for i, (before, _) in zip(index[1:], self.crops, strict=False)]
        block = [b.rest(i, s) for i, s in zip(places, self.block_shape, strict=True)]
        batch = b.position((*block, index[0]), (*self.block_shape, b.sizes[0]))
        inner = [b.quotient(i, s) for i, s in zip(places, self.block_shape, strict=True)]
        return data.at([batch, *inner, *index[m + 1 :]])


def image_index(index: Sequence[Any], layout: str) -> tuple[Any, Any, Any, Any]:
    """An index as batch, channel, row and column."""
    n, a, b, c = index
    return (n, a, b, c) if layout == "NCHW" else (n, c, a, b)
