"""One element of an operator's result, by the rules that operators have for it."""

from collections.abc import Sequence
from typing import Any

from relay.backend.native.llvm.vectors import OneByOne, counting, element_of
from relay.backend.native.loops.indices import Index
from relay.backend.native.loops.loops import Loops
from relay.backend.native.loops.scalars import Number
from relay.backend.native.loops.space import in_lanes, merged, width
from relay.op.kind import NativeRule


def one(b: Loops, op: Any, views: Sequence[Any], index: Sequence[Index]) -> Number:
    """One element of the result."""
    if op.native_rule is NativeRule.REDUCTION:
        return reduced(b, op, views[0], index)
    return op.element(b, index, *views)


def reduced(b: Loops, op: Any, x: Any, index: Sequence[Index]) -> Number:
    """One element of a reduction."""
    rank = len(x.sizes)
    axes: Sequence[int] = op.axes(rank)
    kept = [i for i in range(rank) if i not in axes]
    place: list[Index] = [0] * rank
    for i, a in enumerate(kept):
        place[a] = index[a if op.keepdims else i]
    totals: Sequence[Number] = op.start(b, x.dtype)
    if b.code.lanes or not axes or axes[-1] != rank - 1 or not has_lanes(b, op, x, axes, totals):
        return op.finish(b, one_by_one(b, op, x, axes, place, totals), x.dtype)
    mark = b.mark()
    try:
        found = in_vectors(b, op, x, axes, place, totals)
    except OneByOne:
        b.rewind(mark)
        found = one_by_one(b, op, x, axes, place, totals)
    return op.finish(b, found, x.dtype)


def has_lanes(b: Loops, op: Any, x: Any, axes: Sequence[int], totals: Sequence[Number]) -> bool:
    """Whether the lanes of a vector can each combine a part of the elements."""
    if len(totals) == 1:
        return True
    is_one = sum([g.axes[0] in axes for g in merged(x.sizes, [x], axes)]) == 1
    return is_one and op.of_lane(b, totals, totals[1], 1) is not None


def one_by_one(
    b: Loops, op: Any, x: Any, axes: Sequence[int], place: list[Index], totals: Sequence[Number]
) -> Sequence[Number]:
    """What elements combine to, one after the other."""

    def step(index: tuple[Index, ...], inner: Sequence[Number]) -> Sequence[Number]:
        for a, i in zip(axes, index, strict=True):
            place[a] = i
        return op.combine(b, inner, x.at(tuple(place)))

    return b.fold([x.sizes[a] for a in axes], totals, step)


def in_vectors(
    b: Loops, op: Any, x: Any, axes: Sequence[int], place: list[Index], totals: Sequence[Number]
) -> Sequence[Number]:
    """Vectorise a reduction whose axes include the last one; the lanes are combined at the end."""
    groups = [g for g in merged(x.sizes, [x], axes) if g.axes[0] in axes]
    lanes = width(groups[-1].count(b, x.sizes), [x])
    code, before = b.code, list(place)
    with code.in_lanes(lanes):
        totals = [Number(t.dtype, code.spread(t.value)) for t in totals]

        def row(front: tuple[Index, ...], outer: Sequence[Number]) -> Sequence[Number]:
            def step(i: Index, inner: Sequence[Number]) -> Sequence[Number]:
                now = list(before)
                for g, k in zip(groups, (*front, i), strict=True):
                    now[g.at] = k
                return op.combine(b, inner, x.at(tuple(now)))

            return in_lanes(b, groups[-1].count(b, x.sizes), outer, step)

        found = b.fold([g.count(b, x.sizes) for g in groups[:-1]], totals, row)
        if len(found) > 1:
            found = op.of_lane(b, found, Number("int32", counting("i32", lanes)), lanes)
    return folded(b, op, found, lanes)


def folded(b: Loops, op: Any, totals: Sequence[Number], lanes: int) -> Sequence[Number]:
    """The lanes of totals combined: the first half with the second, again and again."""
    code = b.code
    while lanes > 1:
        lanes //= 2
        halves = [
            [Number(x.dtype, code.shuffled(x.value, x.value, range(k, k + lanes))) for x in totals]
            for k in (0, lanes)
        ]
        with code.in_lanes(lanes):
            is_one = len(totals) == 1
            totals = op.combine(b, halves[0], halves[1][0]) if is_one else op.merge(b, *halves)
    return [
        Number(x.dtype, code.set(element_of(x.value.type), f"extractelement {x.value}, i64 0"))
        for x in totals
    ]
