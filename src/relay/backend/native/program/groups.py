"""Fused functions: the operators of a group as one nest of loops where they can be.

What one element of the result needs of the others is computed in its place; it goes to memory first where
several read it in different places, or where it would be computed again and again.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from relay.backend.native.kernels.attention_recognition import attention_in
from relay.backend.native.kernels.choice import sums_of, weight_of
from relay.backend.native.kernels.sums import Sums
from relay.backend.native.llvm.builder import CONTEXT, Code, Value
from relay.backend.native.llvm.vectors import OneByOne
from relay.backend.native.loops.indices import Index
from relay.backend.native.loops.lazy import Lazy, may_wait
from relay.backend.native.loops.loops import Loops
from relay.backend.native.loops.rows import rows_of, written
from relay.backend.native.loops.space import Axes, is_pointwise, merged, width
from relay.backend.native.loops.strides import sizes_of
from relay.backend.native.loops.transpose import moves_last
from relay.backend.native.loops.views import View, new_output, operand, views_in
from relay.backend.native.memory.objects import release, retain
from relay.backend.native.memory.representation import POINTER, is_scalar, parts_of
from relay.backend.native.program.code_dedup import ROW, Row, Shared, form
from relay.backend.native.program.operators import prepared, whole
from relay.backend.native.program.program import Program, give, result_type
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Let, Tuple, TupleGetItem, Var
from relay.ir.type import ANY, Dim, TensorType, Type, TypeVar
from relay.ir.walk import post_order
from relay.op.kind import Fusion, NativeRule
from relay.transform.passes.fusion_rules import row as row_of


def is_fused(fn: Function) -> bool:
    """Whether a function is a group that `fuse_ops` has made."""
    return bool(fn.attrs.get("Primitive"))


class Fused:
    """A group of operators, as a function that takes and gives references as definitions do."""

    def __init__(self, program: Program, symbol: str, fn: Function, by_rows: bool = True) -> None:
        """`symbol` is the name of its code; without `by_rows` each reduction has loops of its own."""
        self.program = program
        self.fn = fn
        self.bound = {e.var: e.value for e in post_order(fn.body) if isinstance(e, Let)}
        self.views: dict[Expr, Any] = {}
        self.made: list[Value] = []
        self.pending: tuple[Sums, View] | None = None
        """A product that is still to be computed, so that what follows it can be done block by block."""
        self.after: set[Expr] = set()
        """What reads it."""
        self.sizes: dict[Dim, Index] = {}
        """What the sizes that types name are; one that several operands have is one value."""
        self.kinds = program.leaves(fn.ret_type)
        rows = [program.leaves(p.type_annotation) for p in fn.params]
        count = iter(range(sum(map(len, rows))))
        self.rows = [[Value(x, f"%p{next(count)}") for x in row] for row in rows]
        params = [v for row in self.rows for v in row]
        # LLVM's time grows faster than a function; numbers alone are better off where they are needed.
        sums = any(isinstance(e, Call) and e.attrs.native_rule is NativeRule.REDUCTION for e in self.nodes())
        self.stays_apart = POINTER in self.kinds or sums
        """Whether its code is a function for good, and not part of those that call it."""
        traits = "nounwind noinline" if self.stays_apart else "nounwind"
        self.code = Code(symbol, result_type(self.kinds), params, traits=traits)
        self.code.runtime = "relay_"
        self.row = Row()
        self.code.types[ROW.ref] = ROW.type
        self.root = self.resolved(fn.body)
        self.users = self.find_users()
        self.may_attend = by_rows
        """Whether attention may be computed block by block."""
        self.by_rows = by_rows and self.has_rows()

    def resolved(self, e: Expr) -> Expr:
        """What a node stands for, behind names."""
        while isinstance(e, Let) or (isinstance(e, Var) and e in self.bound):
            e = e.body if isinstance(e, Let) else self.bound[e]
        return e

    def nodes(self) -> Iterator[Expr]:
        """The operators, tuples and projections, operands first."""
        return (e for e in post_order(self.fn.body) if isinstance(e, Call | Tuple | TupleGetItem))

    def find_users(self) -> dict[Expr, list[Expr]]:
        """Who reads each node, once for each time."""
        users: dict[Expr, list[Expr]] = {}
        for e in self.nodes():
            parts = e.args if isinstance(e, Call) else e.children
            for part in parts:
                users.setdefault(self.resolved(part), []).append(e)
        return users

    def has_rows(self) -> bool:
        """Whether there are reductions, and all go through the same rows."""
        types, calls = self.program.types, [e for e in self.nodes() if isinstance(e, Call)]
        rows = {row_of(e, types) for e in calls if e.attrs.native_rule is NativeRule.REDUCTION}
        kinds = {e.attrs.fusion for e in calls}
        return len(rows) == 1 and None not in rows and not kinds & {Fusion.KERNEL, Fusion.OPAQUE}

    def text(self) -> str:
        """The code of the function."""
        try:
            return self.lines()
        except OneByOne:
            return Fused(self.program, self.code.name, self.fn, by_rows=False).lines()

    def lines(self) -> str:
        """The same; rows may turn out to be none (`OneByOne`)."""
        self.program.row = self.row
        b = Loops(self.program, self.code, cast("Any", self.root))
        if POINTER in self.kinds:
            self.code.do(f"call void @relay.check({CONTEXT})")
        for p, row in zip(self.fn.params, self.rows, strict=True):
            t = p.type_annotation
            assert t is not None
            self.views[p] = self.sized(operand(b, t, row), t)
        if not self.attends(b):
            for e in self.nodes():
                self.views[e] = self.node(b, e)
                self.note(e)
        found = self.results(b)
        kept = {v.ref for v in found}
        release(self.code, [v for v in self.made if v.ref not in kept])
        self.keep(found)
        release(self.code, [v for row in self.rows for v in row])
        give(self.program, self.code, self.kinds, found)
        self.program.row = None
        if self.row.places:
            self.code.params = (ROW, *self.code.params)
        return self.code.text()

    def sized(self, view: Any, t: Type) -> Any:
        """What an operand is read through; calls have seen to it that its sizes are those of its type."""
        for x, part in zip(views_in(view), parts_of(t), strict=True):
            dims = cast("tuple[Dim, ...]", cast("TensorType", part).shape)
            pairs = zip(dims, x.sizes, strict=True)
            x.sizes = [size if d is ANY else self.sizes.setdefault(d, size) for d, size in pairs]
        return view

    def keep(self, found: Sequence[Value]) -> None:
        """Results that are not new, or come twice, need references of their own."""
        new = {v.ref for v in self.made}
        for v in found:
            if v.type == POINTER and v.ref not in new:
                retain(self.code, [v])
            new.discard(v.ref)

    def view(self, e: Expr) -> Any:
        """What a node is read through."""
        e = self.resolved(e)
        if isinstance(e, Constant):
            return self.constant(e)
        return self.views[e]

    def constant(self, e: Constant) -> View:
        """A constant."""
        b = Loops(self.program, self.code, cast("Any", e))
        t = cast("TensorType", e.type)
        if is_scalar(t):
            return View(b, t, self.program.number(self.code, e))
        return View(b, t, self.program.constant(self.code, e))

    def node(self, outer: Loops, e: Expr) -> Any:
        """A node as a view, or as several."""
        if isinstance(e, Tuple):
            return tuple([self.view(f) for f in e.fields])
        if isinstance(e, TupleGetItem):
            return self.view(e.tuple_value)[e.index]
        assert isinstance(e, Call)
        b = Loops(self.program, self.code, e)
        b.known = outer.known
        b.named = self.sizes
        views = self.operands(e)
        shapes = prepared(b, e, views)
        found = sums_of(b, e, views, shapes)
        if found is not None:
            return self.product(e, found)
        is_whole = not shapes or e.attrs.native_rule is NativeRule.WHOLE
        lazy = None if is_whole else Lazy(b, e, views, shapes[0])
        if lazy is not None and is_scalar(self.program.types(e)):
            self.complete(e)
            return View(b, cast("TensorType", self.program.types(e)), lazy.at(()).value)
        if lazy is not None and self.waits(e, lazy):
            return lazy
        self.complete(e)
        outs = whole(b, e, views, shapes)
        self.made += [out.found for out in outs]
        is_tuple = not isinstance(self.program.types(e), TensorType)
        return tuple(outs) if is_tuple else outs[0]

    def waits(self, e: Call, lazy: Lazy) -> bool:
        """Whether a node is computed where it is read."""
        if e is self.root:
            return True
        readers = self.users.get(e, [])
        if any(self.is_turning(x) for x in (e, *readers)):
            return False
        if self.by_rows and (lazy.is_reduction or is_pointwise(e) or not lazy.read):
            return True
        if isinstance(self.root, Tuple) and any(u is self.root for u in readers):
            return all(u is self.root or is_pointwise(u) for u in readers) and self.has_shape(e, readers)
        return may_wait(e, readers, self.has_shape(e, readers), lazy.depth)

    def is_turning(self, e: Expr) -> bool:
        """Whether a node is a tensor whose last axis changes its place: it is made block by block, from
        memory, since nothing else reads whole vectors.
        """
        return isinstance(e, Call) and moves_last(e, self.program.types(e))

    def has_shape(self, e: Expr, readers: Sequence[Expr]) -> bool:
        """Whether all who read a node have its shape."""
        shape = getattr(self.program.types(e), "shape", None)
        return all(
            isinstance(u, Tuple) or getattr(self.program.types(u), "shape", None) == shape for u in readers
        )

    # --- attention ---

    def attends(self, b: Loops) -> bool:
        """Compute the group block by block, if it is attention."""
        products = [e for e in self.nodes() if isinstance(e, Call) and e.attrs.product() is not None]
        types = self.program.types
        plan = attention_in(self.fn.body, types) if len(products) == 2 else None
        if plan is None or not self.may_attend:
            return False
        from relay.backend.native.kernels.attention import Attending, Operand, Scores

        b.values.update({d: cast("Value", v) for d, v in self.sizes.items() if isinstance(d, TypeVar)})
        if any(isinstance(d, TypeVar) and d not in b.values for d in plan.dimensions()):
            return False
        dtype = str(cast("TensorType", types(plan.scores)).dtype)
        sizes, whole = ([b.size(d) for d in sizes_of(e, types) or ()] for e in (plan.scores, self.root))
        scores = self.views[plan.scores] = Scores(b, dtype, sizes)
        for e in plan.between:
            own = Loops(self.program, self.code, e)
            own.known, own.named = b.known, self.sizes
            views = self.operands(e)
            self.views[e] = Lazy(own, e, views, prepared(own, e, views)[0])
        made = self.views[self.root] = new_output(b, cast("TensorType", types(self.root)), whole)
        self.made.append(made.found)
        attending = Attending(b, plan, scores, rows_of(b, {self.views[plan.rows]: scores}))
        operands = [Operand.of(b, x, self.view(x.source)) for x in (plan.queries, plan.keys, plan.values)]
        attending.write(operands, Operand.of(b, plan.out, made))
        b.done()
        return True

    # --- products ---

    def operands(self, e: Call) -> list[Any]:
        """What a call reads its operands through."""
        parts = [self.resolved(a) for a in e.args]
        return [weight_of(self.program, e, i, a) or self.view(a) for i, a in enumerate(parts)]

    def product(self, e: Call, matrices: Sums) -> Any:
        """A product, which is computed later; at once if it is a result that its sums have to be made to."""
        self.complete(*self.after)
        b = matrices.b
        if not matrices.is_in_place and (e is self.root or self.root in self.users.get(e, [])):
            out = matrices.whole(cast("TensorType", self.program.types(e)))
            self.made.append(out.found)
            return out
        sums = new_output(b, TensorType(b.dims(matrices.sizes), matrices.sums), matrices.sizes)
        self.made.append(sums.found)
        self.pending, self.after = (matrices, sums), {e}
        return matrices.seen(sums)

    def note(self, e: Expr) -> None:
        """Keep in mind whether a node reads the product."""
        parts = e.args if isinstance(e, Call) else e.children
        if any(self.resolved(part) in self.after for part in parts):
            self.after.add(e)

    def complete(self, *readers: Expr) -> None:
        """Compute the product if some nodes that need all of it read it."""
        parts = [p for e in readers for p in (e.args if isinstance(e, Call) else e.children)]
        if any(e in self.after for e in (*readers, *map(self.resolved, parts))):
            self.multiply(None)

    def multiply(
        self, put: Callable[[Sequence[Any]], None] | None, lanes: int = 0, axes: Sequence[Axes] = ()
    ) -> None:
        """Compute the product; `put(index)` follows for each element, or for so many at a time."""
        if self.pending is not None:
            matrices, sums = self.pending
            self.pending = None
            matrices.run(sums, put, lanes, axes)
            matrices.b.done()

    def joined(self, waiting: Sequence[Lazy], outs: dict[Lazy, View]) -> list[Lazy]:
        """Compute the product, and those results with it that can be."""
        if self.pending is None:
            return []
        matrices, sums = self.pending
        follows = all(self.keeps_place(e) for e in self.after)
        inside = [x for x in waiting if follows and x.sizes == matrices.sizes]
        for x in inside:
            own = x.type.dtype == matrices.sums and not isinstance(self.root, Tuple)
            outs[x] = sums if own else self.output(matrices.b, x)

        def put(index: Sequence[Any]) -> None:
            self.put(inside, outs, index)

        if inside:
            rank = len(matrices.sizes)
            axes = merged(matrices.sizes, [*inside, *outs.values()], [rank - 1])
            self.multiply(put, width(matrices.sizes[-1], inside), axes)
        else:
            self.multiply(None)
        return inside

    def keeps_place(self, e: Expr) -> bool:
        """Whether a node reads the product, if it does, at the place of the element that it computes."""
        if not isinstance(e, Call):
            return True
        op: Any = e.attrs
        return op.fusion in (Fusion.ELEMENTWISE, Fusion.BROADCAST, Fusion.KERNEL)

    # --- results ---

    def results(self, b: Loops) -> list[Value]:
        """The leaves of the result."""
        fields = views_in(self.views[self.root])
        waiting = [x for x in dict.fromkeys(fields) if isinstance(x, Lazy)]
        outs: dict[Lazy, View] = {}
        inside = self.joined(waiting, outs)
        waiting = [x for x in waiting if x not in inside]
        outs.update({x: self.output(b, x) for x in waiting})
        for several in [waiting] if self.by_rows and waiting else grouped(waiting):
            written(b, {x: outs[x] for x in several}, self.by_rows)
        views = [outs[x] if isinstance(x, Lazy) else x for x in fields]
        # An operator that writes whole results has left numbers in memory.
        pairs = zip(views, self.kinds, strict=True)
        return [x.found if x.found.type == kind else x.at(()).value for x, kind in pairs]

    def put(self, several: Sequence[Lazy], outs: dict[Lazy, View], index: Sequence[Any]) -> None:
        """Compute an element of each."""
        for x in several:
            outs[x].put(index, x.at(index))

    def output(self, b: Loops, x: Lazy) -> View:
        """A new tensor for a result."""
        made = new_output(b, x.type, x.sizes)
        self.made.append(made.found)
        return made


def define_group(program: Program, v: GlobalVar, fn: Function) -> None:
    """Add the code of a group, unless there is such code; one that may fail says where it does so."""
    of = form(fn)
    shared = program.groups.get(of.key)
    if shared is None:
        sites, pieces = len(program.sites), len(program.pieces)
        program.has_loops = False
        made = Fused(program, program.symbol(v), fn)
        program.pieces.append(made.text())
        if made.stays_apart and not program.has_loops:
            program.plain.update(range(pieces, len(program.pieces)))
        shared = Shared(f"@{program.symbol(v)}", list(made.row.places), of.constants)
        if len(program.sites) == sites:
            program.groups[of.key] = shared
    row = shared.row_of(of.constants)
    first = [program.place(program.placed(row))] if row else []
    program.callees[v] = (shared.symbol, first)


def grouped(results: Sequence[Lazy]) -> list[list[Lazy]]:
    """Results by their sizes."""
    found: dict[Any, list[Lazy]] = {}
    for x in results:
        found.setdefault(tuple(x.sizes), []).append(x)
    return list(found.values())
