"""Borders around a tensor."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from relay.ir.dim import maximum, minimum
from relay.ir.dtype import dtype_name
from relay.ir.expr import Call, Expr, Op, as_expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.attribute import Size, is_dimension
from relay.op.axes import attribute_fault
from relay.op.base import ANY_NUMBER, Array, Numpy, sample
from relay.op.batching import by, stretched, with_row_rank
from relay.op.computed_attributes import is_computed, operand, with_constants_read
from relay.op.conversion import converted
from relay.op.derivative import cast_back, const_like, is_floating, tensor_type, written
from relay.op.kind import Batching, Derivative, Fusion
from relay.op.native import Index, Loops, View
from relay.op.numeric import apply
from relay.op.registry import builders, operator
from relay.op.relation import Typing
from relay.op.reshape import Rearrangement
from relay.op.scattering import scattered
from relay.op.slice_range import BEYOND
from relay.op.term import Term, iota
from relay.op.traced import placed

Widths = tuple[tuple[Size, Size], ...]
"""How much to add before and after each axis."""


NEEDED: dict[str, Callable[[Dim], Dim]] = {
    "constant": lambda width: 0,
    "edge": lambda width: minimum(width, 1),
    "reflect": lambda width: width + minimum(width, 1),
    "symmetric": lambda width: width,
}
"""How many elements an axis has at least, by how wide a border of a kind is."""
MIRROR = {"edge": None, "reflect": -1, "symmetric": 0}
"""How `inner` finds the element that stands for a place of a border of a kind."""


def padded(t: Typing, x: Type, widths: Widths, needed: Callable[[Dim], Dim]) -> Type:
    """The type of `x` with a border; an axis has the size that `needed` asks of it by its wider border."""
    dims = t.shape(x)
    if len(widths) != len(dims):
        attribute_fault(t, "pad_width", widths, f"it has a pair of widths for each of {len(dims)} axes")
    if needed is not NEEDED["constant"] and any(w < 0 for w in known_widths(widths)):
        attribute_fault(t, "pad_width", widths, "a border that repeats the tensor is never negative")
    for d, pair in zip(dims, widths, strict=True):
        least = needed(maximum(*pair))
        if least != 0:
            t.require(least, "<=", d, "a border that repeats the tensor needs enough of it")
        cut = -sum(min(w, 0) for w in pair if not is_dimension(w))
        if cut:
            t.require(cut, "<=", d, "negative widths cut off what is there", "slice-out-of-range")
    return TensorType(
        [before + d + after for d, (before, after) in zip(dims, widths, strict=True)], t.dtype(x)
    )


def known_widths(widths: Widths) -> list[int]:
    """The widths that are numbers."""
    return [w for pair in widths for w in pair if not is_dimension(w)]


def _lost(width: Any) -> int:
    """How much a width cuts off."""
    return 0 if is_dimension(width) else max(-width, 0)


def not_cut_off(d: Dim, before: Dim, after: Dim) -> slice:
    """What is left of an axis where a width is negative."""
    assert isinstance(d, int)
    assert isinstance(before, int)
    assert isinstance(after, int)
    return slice(max(-before, 0), d + min(after, 0))


@operator("nn.pad")
class Pad(Rearrangement):
    """A border around the tensor, as wide before and after each axis as `pad_width` says; a negative width
    cuts off so much, with `pad_mode="constant"`.

    It holds `pad_value`, a scalar (0), with `pad_mode="constant"`; the nearest element with `"edge"`; the
    tensor mirrored at its outermost elements with `"reflect"`.

    relay> nn.pad([1, 2], 9, pad_width=((1, 2),))
    [9, 1, 2, 9, 9]
    """

    fusion = Fusion.BROADCAST
    derivative = Derivative.RULES
    dtypes = ANY_NUMBER
    samples = (
        sample("2x3 float32", pad_width=((1, 0), (0, 2))),
        sample("2x3 float32", "float32", pad_width=((0, 1), (2, 0))),
        sample("2x3 int4", "int4", pad_width=((0, 0), (1, 1))),
        sample("3 bfloat16", pad_width=((2, 1),), pad_mode="edge"),
        sample("3x4 float64", pad_mode="reflect", pad_width=((2, 0), (1, 3))),
        sample("0x2 int32", "int32", pad_width=((1, 1), (0, 0))),
        sample("float32", pad_width=()),
        sample("2x3 float32", "float32", pad_width=((0, 1), (-1, 2))),
        sample("4 int32", pad_width=((-1, -2),)),
    )

    pad_width: Widths
    pad_mode: Literal["constant", "edge", "reflect"] = "constant"

    @staticmethod
    def builder(data: Any, pad_width: Any, pad_value: Any = 0, pad_mode: str = "constant") -> Expr:
        """A tensor with a border; see the operator."""
        pad_width = with_constants_read(pad_width)
        if is_computed(pad_width):
            return builders["dyn.nn.pad"](data, operand(pad_width), pad_value, pad_mode)
        plain = isinstance(pad_value, int | float) and pad_value == 0
        operands = (data,) if plain else (data, pad_value)
        return Call(
            Op.get("nn.pad"),
            tuple([as_expr(x) for x in operands]),
            {"pad_width": pad_width, "pad_mode": pad_mode},
        )

    def infer(self, t: Typing, x: Type, value: Type | None = None) -> Type:
        if value is not None:
            t.shape(value, rank=0, what="the value of the border")
            # As stored programs have it, a number of another dtype is cast; an open one takes
            # the tensor's.
            if not isinstance(t.dtype(value), str):
                t.equal(t.dtype(value), t.dtype(x))
        return padded(t, x, self.pad_width, NEEDED[self.pad_mode])

    def reference(self, np: Numpy, data: Array, pad_value: Array | None = None) -> Array:
        if self.pad_mode != "constant":
            return np.pad(data, self.pad_width, mode=self.pad_mode) if data.ndim else data
        value = (
            np.zeros((), data.dtype)
            if pad_value is None
            else converted(np, pad_value, dtype_name(data.dtype))
        )
        pairs = list(zip(data.shape, self.pad_width, strict=True))
        out = np.full([b + d + a for d, (b, a) in pairs], value, data.dtype)
        data = data[tuple([not_cut_off(d, b, a) for d, (b, a) in pairs])]
        at = tuple(
            [slice(max(b, 0), max(b, 0) + n) for n, (_, (b, _)) in zip(data.shape, pairs, strict=True)]
        )
        return placed(np, out, at, data)

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, *pad_value: Expr) -> Expr:
        wider = replace(self, pad_width=((0, 0), *self.pad_width))
        if not any(which[1:]):
            return wider(data, *pad_value)
        if self.pad_mode != "constant":
            return wider(stretched(n, data, which[0]))
        plain = wider if which[0] else self
        inside = plain(apply("cast", apply("ones_like", data), dtype="bool"))
        border = apply("cast_like", with_row_rank(pad_value[0], len(self.pad_width)), data)
        return apply("where", inside, plain(data), border)

    def vjp(self, g: Expr, y: Expr, data: Expr, pad_value: Expr | None = None) -> tuple[Expr | None, ...]:
        if self.pad_mode != "constant":
            return scattered(g, self, data), *([] if pad_value is None else [None])
        begin = [before if is_dimension(before) else max(before, 0) for before, _ in self.pad_width]
        end = [-after if is_dimension(after) or after > 0 else BEYOND for _, after in self.pad_width]
        inner = apply("strided_slice", g, begin=begin, end=end) if begin else g
        cut = tuple([(_lost(before), _lost(after)) for before, after in self.pad_width])
        if any(pair != (0, 0) for pair in cut):
            inner = replace(self, pad_width=cut)(inner)
        if pad_value is None or not is_floating(pad_value):
            return inner, *([] if pad_value is None else [None])
        border = apply("strided_set", g, const_like(0, g), begin, end) if begin else apply("zeros_like", g)
        return inner, cast_back(apply("sum", border), pad_value, tensor_type(g).dtype)

    def jvp(self, dxs: Sequence[Any], y: Expr, data: Expr, pad_value: Expr | None = None) -> Expr | None:
        dx, dvalue = (*dxs, None)[:2]
        if dx is None and (dvalue is None or self.pad_mode != "constant"):
            return None
        return self(written(dx, data), *([] if dvalue is None else [dvalue]))

    def element(self, b: Loops, index: Sequence[Any], data: View, *pad_value: View) -> Any:
        """An element of the tensor, or of the border."""
        place = [b.minus(i, before) for i, (before, _) in zip(index, self.pad_width, strict=True)]
        if self.pad_mode != "constant":
            mirror = MIRROR[self.pad_mode]
            return data.at([inner(b, i, d, mirror) for i, d in zip(place, data.sizes, strict=True)])
        inside = [
            b.is_within(i, d)
            for i, d, pair in zip(place, data.sizes, self.pad_width, strict=True)
            if pair != (0, 0)
        ]

        def border() -> Any:
            return b.cast(pad_value[0].at(()), data.dtype) if pad_value else b.const(0, data.dtype)

        return b.where(b.both(*inside), lambda: data.at(place), border) if inside else data.at(place)


@operator("nn.mirror_pad")
class MirrorPad(Rearrangement):
    """A border of the tensor mirrored at its edges.

    `"SYMMETRIC"` repeats the outermost elements, `"REFLECT"` does not.

    relay> nn.mirror_pad([1, 2, 3], pad_width=((2, 1),))
    [2, 1, 1, 2, 3, 3]
    """

    samples = (
        sample("2x3 float32", pad_width=((1, 0), (0, 2))),
        sample("3x2 int4", pad_width=((1, 2), (0, 0)), mode="REFLECT"),
        sample("0x2 bool", pad_width=((0, 0), (1, 1))),
    )

    pad_width: Widths
    mode: Literal["SYMMETRIC", "REFLECT"] = "SYMMETRIC"

    def infer(self, t: Typing, x: Type) -> Type:
        return padded(t, x, self.pad_width, NEEDED[self.mode.lower()])

    def reference(self, np: Numpy, data: Array) -> Array:
        if data.size == 0:
            return np.zeros(
                [b + d + a for d, (b, a) in zip(data.shape, self.pad_width, strict=True)], data.dtype
            )
        return np.pad(data, self.pad_width, mode=self.mode.lower())

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        return replace(self, pad_width=((0, 0), *self.pad_width))(data)

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        return (scattered(g, self, data),)

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """The element that the place mirrors."""
        place = [b.minus(i, before) for i, (before, _) in zip(index, self.pad_width, strict=True)]
        if 0 in data.sizes:
            return b.const(0, data.dtype)
        mirror = MIRROR[self.mode.lower()]
        return data.at([inner(b, i, d, mirror) for i, d in zip(place, data.sizes, strict=True)])


def inner(b: Loops, i: Index, d: Index, mirror: int | None) -> Index:
    """The place within an axis of size `d` that stands for place `i`: the nearest, or the mirrored one.

    `mirror` is 0 if the outermost element is repeated, -1 if it is not.
    """
    last = b.minus(d, 1)
    if mirror is None:
        return b.smaller(b.larger(i, 0), last)
    front = b.larger(i, b.minus(-1 - mirror, i))
    return b.smaller(front, b.minus(b.plus(b.times(2, last), 1 + mirror), front))


def with_border(x: Expr, axis: int, size: Term, before: Term, after: Term, mirror: int | None) -> Expr:
    """`x` with a border along an axis whose size and widths are computed (`index-out-of-range`).

    `mirror` is that of `inner`.
    """
    place, last = iota(before + size + after) - before, size - 1
    if mirror is None:
        place = place.of("maximum", 0).of("minimum", last)
    else:
        front = place.of("maximum", -place + (-1 - mirror))
        place = front.of("minimum", last * 2 + (1 + mirror) - front)
        place = (place < 0).where(size, place)
    return apply("take", x, place.expr, axis=axis)
