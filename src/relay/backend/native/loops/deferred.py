"""Tensors that are not in memory: elements are computed where they are read, and rows by rows.

A row is what a reduction goes through for one element of its result.  All that a group computes of one row is
computed before the next begins: a loop over it for each reduction, one for the results.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Index, Value
from relay.backend.native.loops.rules import is_pointwise, is_reduction, writes_whole
from relay.backend.native.loops.views import View
from relay.ir.dtype import is_float
from relay.ir.expr import Call, Expr
from relay.ir.type import TensorType
from relay.op.kind import Fusion

NAMED_OPERATORS = 8
"""Operators that a nest of loops is called by, at most."""
NESTED_OPERATORS = 16
"""Operators that read at other places, behind each other, at most: each is a few frames of Python."""


class Deferred:
    """The result of an operator, an element at a time."""

    def __init__(self, b: Builder, call: Call, views: Sequence[Any], sizes: Sequence[Index]) -> None:
        """`views` are the operands."""
        self.b = b
        self.call = call
        self.views = views
        self.sizes = list(sizes)
        self.type = cast("TensorType", b.program.types(call))
        self.dtype = str(self.type.dtype)
        self.is_reduction = is_reduction(call.attrs)
        self.is_known = False
        """Whether its elements, those of rows, have been computed where they are read."""
        below = self.read = [x for x in source_views(self) if isinstance(x, Deferred)]
        self.same = [x for x in below if is_pointwise(call) and x.sizes == self.sizes]
        """Operands that are read at the very index at which this is."""
        self.depth = max([x.depth + (x not in self.same) for x in below], default=0)
        self.chosen: Container[Deferred] = ()
        """If it chooses between values of a row, what is computed only for one that is chosen."""

    def optional_parts(self, needed: Container["Deferred"]) -> set["Deferred"]:
        """Return the operands, and theirs, that a choice computes only for the value that it takes.

        There are none unless reductions are among them, and all that is not `needed` can be left out.
        """
        rest = [x for x in below(self.views[1:]) if isinstance(x, Deferred) and x not in needed]
        reductions = [x for x in rest if x.is_reduction]
        if not reductions or any(x.sizes != self.sizes for x in reductions):
            return set()
        if not all(is_float(x.dtype) or x.dtype == "bool" for x in rest):
            return set()
        if not all(x.is_reduction or is_pointwise(x.call) for x in rest):
            return set()
        return {x for x in rest if x.sizes == self.sizes}

    def choose_among(self, parts: Container["Deferred"]) -> None:
        """Compute these parts only for the value that is chosen."""
        self.chosen = parts
        self.same = [x for x in self.same if x is self.views[0]]

    def choose(self, place: tuple[Index, ...]) -> Value:
        """Return an element of the value that is chosen; the other one is not computed."""
        b, (condition, *values) = self.b, self.views

        def compute(view: Any) -> Value:
            for x in below([view]):
                if x in self.chosen:
                    x.at(place)
            return view.at(b.spread(place, view))

        return b.where(condition.at(b.spread(place, condition)), *[partial(compute, v) for v in values])

    def at(self, index: Sequence[Index]) -> Value:
        """The element at an index; one that has been computed on the way here is not again."""
        place = self.place(index)
        b = self.b
        pending = [self]
        while pending:
            x = pending[-1]
            missing = [y for y in x.same if not b.knows((y, place))]
            if missing:
                pending += missing
            else:
                b.once((x, place), lambda x=x: x.computed(place))
                pending.pop()
        return b.once((self, place), self.never)

    def place(self, index: Sequence[Index]) -> tuple[Index, ...]:
        """An index as the element there is known by, however it has been computed."""
        return tuple([0 if d == 1 else i for i, d in zip(index, self.sizes, strict=True)])

    def computed(self, place: tuple[Index, ...]) -> Value:
        """An element."""
        self.b.scope.recomputes = self.b.scope.recomputes or self.is_known
        if self.chosen:
            return self.choose(place)
        return element(self.b, self.call.attrs, self.views, place)

    def never(self) -> Value:
        """It has just been computed."""
        raise AssertionError("an element that was computed is known")


# --- elements, by the rules that operators have for them ---


def element(b: Builder, op: Any, views: Sequence[Any], index: Sequence[Index]) -> Value:
    """One element of the result."""
    return reduced(b, op, views[0], index) if is_reduction(op) else op.element(b, index, *views)


def reduced(b: Builder, op: Any, x: Any, index: Sequence[Index]) -> Value:
    """One element of a reduction."""
    rank = len(x.sizes)
    axes: Sequence[int] = op.axes(rank)
    kept = [i for i in range(rank) if i not in axes]
    place: list[Index] = [0] * rank
    for i, a in enumerate(kept):
        place[a] = index[a if op.keepdims else i]
    totals: Sequence[Value] = op.start(b, x.dtype)

    def step(found: tuple[Index, ...], inner: Sequence[Value]) -> Sequence[Value]:
        for a, i in zip(axes, found, strict=True):
            place[a] = i
        return op.combine(b, inner, x.at(tuple(place)))

    if axes:
        found = b.for_each(
            [x.sizes[a] for a in axes], totals, step, reduction=op if may_split(b, op, totals) else None
        )
    else:
        found = step((), totals)
    return op.finish(b, found, x.dtype)


def may_split(b: Builder, op: Any, totals: Sequence[Value]) -> bool:
    """Whether parts of the elements can be combined first, those of every so many."""
    return len(totals) == 1 or op.of_lane(b, totals, totals[1], 1) is not None


# --- which are computed where they are read ---


def source_views(x: Deferred) -> list[Any]:
    """What an element is computed from, fields of tuples one by one."""
    return [z for y in x.views for z in (cast("tuple[Any, ...]", y) if isinstance(y, tuple) else (y,))]


def below(roots: Iterable[Any]) -> list[Any]:
    """All tensors that some are computed from where they are read, operands first, and themselves."""
    found: dict[Any, None] = {}
    pending = [(x, False) for x in roots]
    while pending:
        x, is_done = pending.pop()
        if is_done:
            found.setdefault(x)
        elif x not in found:
            pending.append((x, True))
            if isinstance(x, Deferred):
                pending += [(y, False) for y in source_views(x)]
    return list(found)


def may_wait(e: Call, readers: Sequence[Expr], same_shape: bool, depth: int) -> bool:
    """Whether an element is computed where it is read: once, and not again for each of many that read it."""
    op: Any = e.attrs
    if depth >= NESTED_OPERATORS or any(not isinstance(u, Call) or reads_often(u) for u in readers):
        return False
    if len(readers) > 1:
        return same_shape and all(map(is_pointwise, readers))
    (reader,) = readers
    if op.fusion in (Fusion.REDUCTION, Fusion.KERNEL, Fusion.OPAQUE):
        return same_shape and cast("Any", reader).attrs.fusion in (Fusion.ELEMENTWISE, Fusion.BROADCAST)
    return same_shape or not is_pointwise(reader) or not e.args or op.fusion is Fusion.INJECTIVE


def reads_often(e: Expr) -> bool:
    """Whether an operator reads an element of its operands any number of times."""
    op: Any = cast("Call", e).attrs
    return writes_whole(op) or op.fusion in (Fusion.KERNEL, Fusion.OPAQUE)


# --- loops over results ---


def build_loops(b: Builder, outs: Mapping[Deferred, View]) -> None:
    """Compute tensors of one shape: row by row, if some are rows of what others reduce."""
    names = [x.call.attrs.name for x in below(outs) if isinstance(x, Deferred)]
    b.origin = ", ".join(names[-NAMED_OPERATORS:])
    rows = rows_of(outs)
    if rows is not None:
        rows.build(b, outs)
        return
    (first, *_) = outs
    if len(outs) == 1 and first.call.attrs.name == "concatenate":
        build_concatenation(b, first, outs[first])
        return

    if len(outs) == 1 and first.sizes:
        x, out = in_own_shape(first), outs[first]
        source = x.views[0] if x.call.attrs.keeps_order else None
        if isinstance(source, View) and source.data is not None and source.dtype == out.dtype:
            b.reshape_to(out, source)
            return

        def move(index: tuple[Index, ...], _: Any) -> None:
            out.put_place(index, x.sizes, x.at(index))

        b.for_each(x.sizes, (), move, any_order=True)
        return

    def put(index: tuple[Index, ...], _: Any) -> None:
        for x, out in outs.items():
            out.put(index, x.at(index))

    if first.sizes:
        b.for_each(first.sizes, (), put, any_order=True)
    else:
        put((), ())


def in_own_shape(x: Deferred) -> Deferred:
    """What a tensor is that others are but reshaped from: its loops take no division."""
    while x.call.attrs.keeps_order and isinstance(x.views[0], Deferred) and x.views[0].sizes:
        x = x.views[0]
    return x


def build_concatenation(b: Builder, x: Deferred, out: View) -> None:
    """Tensors joined along an axis, one after the other."""
    at: int = x.call.attrs.axis % len(x.sizes)
    begin: Index = 0
    for part in x.views[0]:

        def move(index: tuple[Index, ...], _: Any, part: Any = part, begin: Index = begin) -> None:
            out.put((*index[:at], b.plus(index[at], begin), *index[at + 1 :]), part.at(index))

        b.for_each(part.sizes, (), move, any_order=True)
        begin = b.plus(begin, part.sizes[at])


def rows_of(outs: Iterable[Deferred]) -> "Rows | None":
    """The rows that tensors are computed by; None if their reductions have none in common, or need none."""
    nodes = [x for x in below(outs) if isinstance(x, Deferred)]
    reductions = [x for x in nodes if x.is_reduction and x.views[0].sizes]
    if not reductions:
        return None
    rows = Rows(nodes, reductions)
    if any(x.views[0].sizes != rows.sizes or rows.axes_of(x) != rows.axes for x in reductions):
        return None
    is_whole = [rows.are_in(x) for x in outs]
    above = set[Deferred]()  # what reads a reduction
    for x in nodes:
        if any(y.is_reduction or y in above for y in x.read):
            above.add(x)
    is_nested = any(x in above for x in reductions)
    if not (any(is_whole) or (is_nested and rows.axes)):
        return None
    if not all(w or rows.has_one_each(x) for w, x in zip(is_whole, outs, strict=True)):
        return None
    return rows


def long_axes(sizes: Sequence[Index]) -> list[Index]:
    """Sizes without those of 1."""
    return [d for d in sizes if d != 1]


class Rows:
    """Tensors that are computed row by row."""

    def __init__(self, nodes: Sequence[Deferred], reductions: Sequence[Deferred]) -> None:
        """`reductions` are those among `nodes`, all that is computed; they go through the same rows."""
        self.nodes = nodes
        self.reductions = reductions
        self.sizes = list(reductions[0].views[0].sizes)
        self.axes = self.axes_of(reductions[0])
        self.kept = [i for i in range(len(self.sizes)) if i not in self.axes]

    def axes_of(self, x: Deferred) -> tuple[int, ...]:
        """The axes that a reduction combines."""
        op: Any = x.call.attrs
        return tuple(op.axes(len(x.views[0].sizes)))

    def build(self, b: Builder, outs: Mapping[Deferred, View]) -> None:
        """The loops over the rows."""

        def row(index: tuple[Index, ...], _: Any) -> None:
            place: list[Index] = [0] * len(self.sizes)
            for a, i in zip(self.kept, index, strict=True):
                place[a] = i
            self.build_row(b, outs, place)

        if self.kept:
            b.for_each([self.sizes[a] for a in self.kept], (), row, any_order=True)
        else:
            row((), ())

    def build_row(self, b: Builder, outs: Mapping[Deferred, View], index: Sequence[Index]) -> None:
        """One row."""
        needed, optional = self.demand(outs)
        for x, parts in optional.items():
            x.choose_among(parts)
        for x in self.nodes:
            if x in needed and self.has_one_each(x):
                x.is_known = False
                x.at(self.place(x, index))
                x.is_known = x in self.reductions
        whole = {x: out for x, out in outs.items() if self.are_in(x)}
        for x, out in outs.items():
            if x not in whole:
                out.put(self.place(x, index), x.at(self.place(x, index)))

        def put(inner: tuple[Index, ...], _: Any) -> None:
            own = list(index)
            for a, i in zip(self.axes, inner, strict=True):
                own[a] = i
            for x, out in whole.items():
                out.put(self.place_in(x, own), x.at(self.place_in(x, own)))

        if whole:
            b.for_each([self.sizes[a] for a in self.axes], (), put, any_order=True)

    def demand(self, outs: Iterable[Deferred]) -> tuple[set[Deferred], dict[Deferred, set[Deferred]]]:
        """Return the tensors that each row needs in any case, and the optional parts of choices."""
        needed: set[Deferred] = set()
        optional: dict[Deferred, set[Deferred]] = {}
        choices: list[Deferred] = []
        pending = [*outs]
        while pending or choices:
            if not pending:
                for x in choices:
                    parts = x.optional_parts(needed)
                    if parts:
                        optional[x] = parts
                    else:
                        pending += x.read
                choices = []
                continue
            x = pending.pop()
            if x in needed:
                continue
            needed.add(x)
            if x.call.attrs.name == "where" and self.has_one_each(x):
                choices.append(x)
                pending += [y for y in x.read if y is x.views[0]]
            else:
                pending += x.read
        return needed, optional

    def are_in(self, x: Deferred) -> bool:
        """Whether a tensor has an element for each number of the rows: their sizes, but for axes of 1."""
        return bool(self.axes) and long_axes(x.sizes) == long_axes(self.sizes)

    def place_in(self, x: Deferred, index: Sequence[Index]) -> tuple[Index, ...]:
        """The index of the element for a number of the rows."""
        if x.sizes == self.sizes:
            return tuple(index)
        along = iter([i for i, d in zip(index, self.sizes, strict=True) if d != 1])
        return tuple([0 if d == 1 else next(along) for d in x.sizes])

    def has_one_each(self, x: Deferred) -> bool:
        """Whether a tensor has one element for each row."""
        return x.sizes in (
            [1 if i in self.axes else d for i, d in enumerate(self.sizes)],
            [self.sizes[i] for i in self.kept],
        )

    def place(self, x: Deferred, index: Sequence[Index]) -> tuple[Index, ...]:
        """The index of the element of a row."""
        if len(x.sizes) == len(index):
            return tuple([0 if d == 1 else i for d, i in zip(x.sizes, index, strict=True)])
        return tuple([index[i] for i in self.kept])
