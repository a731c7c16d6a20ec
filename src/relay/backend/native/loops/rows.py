"""Tensors computed in few passes: what is reduced goes row by row, and a row stays in the cache.

A row is what a reduction goes through for one element of its result.  All that a group computes of one row is
computed before the next begins: a pass over it for each reduction, one for the results.  What several passes
read and is long to compute is kept for them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from relay.backend.native.llvm.builder import Value
from relay.backend.native.llvm.vectors import OneByOne
from relay.backend.native.loops.indices import Index
from relay.backend.native.loops.lazy import Lazy, Room
from relay.backend.native.loops.loops import Loops
from relay.backend.native.loops.scalars import Number
from relay.backend.native.loops.space import Axes, below, in_lanes, is_pointwise, merged, width
from relay.backend.native.loops.transpose import turned
from relay.backend.native.loops.views import View
from relay.backend.native.loops.work_partition import each, each_lane, nanoseconds
from relay.backend.native.memory.representation import SIZES, memory, scalar

LARGEST_ROOM, LARGEST_ROOMS = 1 << 18, 1 << 20
"""Bytes that are kept of a row at most, for one tensor and for all of them: what lies in the cache beside all
else, and on the stack of a thread.
"""
WHOLE = 64
"""Elements that what is kept of a row is a multiple of: the most lanes."""
LANES_LOST = 10
"""How much longer an element takes that is computed alone."""
NEAR = 1 << 20
"""Bytes of a tensor that one core's cache may hold."""
WORTH_KEEPING = 3
"""What an element costs that is rather kept than computed again."""


Body = Callable[[tuple[Index, ...]], None]


def written(b: Loops, outs: Mapping[Lazy, View], by_rows: bool = False) -> None:
    """Compute tensors of one shape; if `by_rows`, of the rows that they share and what these are reduced to,
    which may turn out to be none (`OneByOne`).
    """
    nodes = nodes_of(outs)
    if not reductions(nodes):
        pointwise(b, outs)
        return
    mark = b.mark()
    try:
        rows_of(b, outs).write()
    except OneByOne:
        if by_rows:
            raise
        b.rewind(mark)
        for x in nodes:
            x.room, x.may_run = None, True
        one_by_one(b, outs)


def nodes_of(outs: Iterable[Lazy]) -> list[Lazy]:
    """All that is computed where it is read."""
    return [x for x in below(list(outs)) if isinstance(x, Lazy)]


def reductions(nodes: Sequence[Lazy]) -> list[Lazy]:
    """The reductions among nodes."""
    return [x for x in nodes if x.is_reduction and x.views[0].sizes]


def rows_of(b: Loops, outs: Mapping[Lazy, View]) -> "Rows":
    """Tensors that are computed row by row (`OneByOne`)."""
    nodes = nodes_of(outs)
    return Rows(b, outs, nodes, reductions(nodes))


def pointwise(b: Loops, outs: Mapping[Lazy, View]) -> None:
    """Compute tensors of one shape, an element after the other, several at a time where that can be said."""
    sizes = next(iter(outs)).sizes
    if len(outs) == 1 and turned(b, *next(iter(outs.items()))):
        return
    if any(isinstance(x, Lazy) and x.call.attrs.window_product() is not None for x in below(list(outs))):
        from relay.backend.native.kernels.depthwise import depthwise

        if depthwise(b, outs):
            return
    mark = b.mark()
    try:
        if len(outs) == 1 and joined(b, *next(iter(outs.items()))):
            return
        along(b, sizes, merged(sizes, [*outs, *outs.values()]), list(outs), lambda index: put(outs, index))
    except OneByOne:
        b.rewind(mark)
        one_by_one(b, outs)


def filled(b: Loops, out: View, element: Callable[[tuple[Index, ...]], Number]) -> None:
    """Write `element(index)` to each index of a tensor, several at a time where that can be said."""

    def move(index: tuple[Index, ...]) -> None:
        with b.inner():
            out.put(index, element(index))

    mark = b.mark()
    try:
        along(b, out.sizes, [Axes((i,), i) for i in range(len(out.sizes))], [out], move)
    except OneByOne:
        b.rewind(mark)
        each(b, out.sizes, move, nanoseconds([out]) * LANES_LOST)


def joined(b: Loops, x: Lazy, out: View) -> bool:
    """Compute a tensor if it is others joined along an axis, one after the other; else False."""
    if x.call.attrs.name != "concatenate":
        return False
    at: int = x.call.attrs.axis % len(x.sizes)
    begin: Index = 0
    for part in x.views[0]:

        def move(index: tuple[Index, ...], part: Any = part, begin: Index = begin) -> None:
            to = (*index[:at], b.plus(index[at], begin), *index[at + 1 :])
            out.put(to, part.at(index))

        along(b, part.sizes, merged(part.sizes, [part], range(at)), [part], move)
        begin = b.plus(begin, part.sizes[at])
    return True


def one_by_one(b: Loops, outs: Mapping[Lazy, View]) -> None:
    """Compute the results in scalar code, one element at a time."""
    each(
        b, next(iter(outs)).sizes, lambda index: put(outs, index), LANES_LOST * nanoseconds(below(list(outs)))
    )


def put(outs: Mapping[Lazy, View], index: Sequence[Index]) -> None:
    """Compute an element of each."""
    for x, out in outs.items():
        out.put(index, x.at(index))


def along(
    b: Loops,
    sizes: Sequence[Index],
    groups: Sequence[Axes],
    roots: Sequence[Any],
    body: Body,
    inner: Index = 1,
) -> None:
    """Run `body(index)` for every index of a shape, the last axes along the lanes; each goes through so many
    elements.
    """
    counts = [g.count(b, sizes) for g in groups]
    takes = nanoseconds(below(roots))
    if not groups or counts[-1] == 1:
        each(b, counts, lambda index: body(place(len(sizes), groups, index)), takes, inner)
        return
    lanes = width(counts[-1], roots)
    if len(groups) == 1:
        each_lane(b, counts[0], lanes, lambda i: body(place(len(sizes), groups, (i,))), takes, inner)
        return

    def row(front: tuple[Index, ...]) -> None:
        with b.code.in_lanes(lanes):
            in_lanes(b, counts[-1], (), lambda i, _: body(place(len(sizes), groups, (*front, i))) or ())

    each(b, counts[:-1], row, takes, b.times(counts[-1], inner))


def place(rank: int, groups: Sequence[Axes], index: Sequence[Index]) -> tuple[Index, ...]:
    """An index, given along groups of axes."""
    found: list[Index] = [0] * rank
    for g, i in zip(groups, index, strict=True):
        found[g.at] = i
    return tuple(found)


def is_near(b: Loops, x: View) -> bool:
    """Whether a tensor may well lie in the cache of a core."""
    count = b.count(x.sizes)
    return isinstance(count, int) and count * SIZES[memory(scalar(x.dtype))] <= NEAR


class Rows:
    """Tensors that are computed row by row."""

    def __init__(
        self, b: Loops, outs: Mapping[Lazy, View], nodes: Sequence[Lazy], shared: Sequence[Lazy]
    ) -> None:
        """`shared` are the reductions among all that is computed."""
        self.b = b
        self.outs = outs
        self.nodes = nodes
        self.shared = shared
        self.sizes = list(shared[0].views[0].sizes)
        rank = len(self.sizes)
        self.axes: tuple[int, ...] = tuple(shared[0].call.attrs.axes(rank))
        for x in shared:
            if x.views[0].sizes != self.sizes or tuple(x.call.attrs.axes(rank)) != self.axes:
                raise OneByOne
        self.kept = [i for i in range(rank) if i not in self.axes]
        roots = [x for x in nodes if x.sizes == self.sizes] + [x.views[0] for x in shared]
        self.roots = roots
        self.groups = merged(self.sizes, [*roots, *outs.values()], self.axes)
        self.rooms: list[Room] = []
        self.spare: Sequence[Value] = ()
        """Memory for whole rows, where it is not known how long these are."""

    def write(self) -> None:
        """The loops over the rows; along the lanes, if the rows themselves are not."""
        outer = [g for g in self.groups if g.axes[0] not in self.axes]
        inner = self.b.count([self.sizes[a] for a in self.axes])
        if self.is_across():
            along(self.b, self.sizes, outer, self.roots, self.row, inner)
        else:
            counts = [g.count(self.b, self.sizes) for g in outer]
            takes = nanoseconds(self.nodes) * (1 + len(self.shared))
            each(self.b, counts, lambda index: self.row(place(len(self.sizes), outer, index)), takes, inner)

    def is_across(self) -> bool:
        """Whether the lanes are neighbouring rows."""
        return self.groups[-1].axes[0] not in self.axes

    def row(self, index: tuple[Index, ...]) -> None:
        """One row."""
        self.keep()
        for x in self.nodes:
            if self.is_of_row(x):
                x.may_run = True
                x.at(self.spot(x, index))
                x.may_run = x not in self.shared
                self.passed()
        whole = {x: out for x, out in self.outs.items() if x.sizes == self.sizes and self.axes}
        for x, out in self.outs.items():
            if x not in whole:
                if not self.is_of_row(x):
                    raise OneByOne
                out.put(self.spot(x, index), x.at(self.spot(x, index)))
        if whole:
            self.final(index, whole)

    def final(self, index: tuple[Index, ...], whole: Mapping[Lazy, View]) -> None:
        """The pass over a row that writes results."""
        b, inner = self.b, [g for g in self.groups if g.axes[0] in self.axes]
        counts = [g.count(b, self.sizes) for g in inner]

        def put(at: Sequence[Index]) -> None:
            own = list(index)
            for g, i in zip(inner, at, strict=True):
                own[g.at] = i
            for x, out in whole.items():
                out.put(tuple(own), x.at(tuple(own)))

        def last(front: tuple[Index, ...]) -> None:
            with b.code.in_lanes(width(counts[-1], self.roots)):
                in_lanes(b, counts[-1], (), lambda i, _: put((*front, i)) or ())

        if self.is_across() or counts[-1] == 1:
            b.nest(counts, put)
        else:
            b.nest(counts[:-1], last)

    # --- places ---

    def is_of_row(self, x: Lazy) -> bool:
        """Whether a tensor has one element for each row."""
        return x.sizes in (
            [1 if i in self.axes else d for i, d in enumerate(self.sizes)],
            [self.sizes[i] for i in self.kept],
        )

    def spot(self, x: Lazy, index: tuple[Index, ...]) -> tuple[Index, ...]:
        """The place of the element of a row."""
        if len(x.sizes) == len(index):
            return tuple([0 if d == 1 else i for d, i in zip(x.sizes, index, strict=True)])
        return tuple([index[i] for i in self.kept])

    # --- what is kept of a row ---

    def keep(self) -> None:
        """Make room for what several passes read."""
        lanes, is_across = self.b.code.lanes, self.is_across()
        if is_across != bool(lanes) or self.groups[-1].count(self.b, self.sizes) == 1:
            return
        self.rooms, left = [], LARGEST_ROOMS
        ahead, spare = self.ahead(), list(self.spare)
        for x in self.several():
            counts = [self.sizes[a] for a in self.axes]
            count = self.b.count(counts)
            kind = memory(scalar(x.dtype))
            size = -(-count // WHOLE) * WHOLE * SIZES[kind] * max(1, lanes) if isinstance(count, int) else 0
            data: Value | None = None
            if not isinstance(count, int):
                data = spare.pop() if spare else None
            elif size <= min(left, LARGEST_ROOM):
                left -= size
                data = self.b.code.room(size)
            if data is not None:
                x.room, ahead = Room(data, kind, self.axes, counts, ahead), ()
                self.rooms.append(x.room)

    def ahead(self) -> Sequence[tuple[View, Index, bool]]:
        """What the first pass over a row fetches of large tensors: the results of this row, operands of the
        next; processors foresee no more than the rest of a page.
        """
        if self.is_across():
            return ()
        views = [x for x in [*below(self.roots), *self.outs.values()] if isinstance(x, View)]
        far = [x for x in views if x.sizes == self.sizes and not is_near(self.b, x)]
        row = self.b.count([self.sizes[a] for a in self.axes])
        results = list(self.outs.values())
        return [(x, 0, True) if x in results else (x, row, False) for x in far]

    def passed(self) -> None:
        """What has been put into rooms is there."""
        for room in self.rooms:
            room.is_full = room.is_full or room.is_used

    def several(self) -> list[Lazy]:
        """What is read in several passes and costs more than to keep it."""
        passes = self.passes()
        users: dict[Any, list[Lazy]] = {}
        for x in self.nodes:
            for y in dict.fromkeys(x.read):
                users.setdefault(y, []).append(x)
        costs: dict[Any, int] = {}
        found: list[Lazy] = []
        for x in self.nodes:
            if x.is_reduction or x.sizes != self.sizes:
                continue
            cost = x.call.attrs.element_cost + sum([costs.get(y, 1) for y in x.read])
            readers = users.get(x, [])
            is_alone = len(readers) == 1 and not readers[0].is_reduction and passes[readers[0]] == passes[x]
            is_read_whole = all(r.is_reduction or is_pointwise(r.call) for r in readers)
            if len(passes[x]) > 1 and cost >= WORTH_KEEPING and is_read_whole and not is_alone:
                found.append(x)
                cost = 1
            costs[x] = cost
        return found

    def passes(self) -> dict[Lazy, set[int]]:
        """In which passes each is computed if nothing is kept."""
        found: dict[Lazy, set[int]] = {x: set() for x in self.nodes}
        for x in self.outs:
            found[x].add(len(self.shared))
        numbers = {x: i for i, x in enumerate(self.shared)}
        for x in reversed(self.nodes):
            own = {numbers[x]} if x in numbers else found[x]
            for y in x.read:
                found[y] |= own
        return found
