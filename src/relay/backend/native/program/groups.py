"""Fused functions: the operators of a group as one nest of loops where they can be.

What one element of the result needs of the others is computed in its place; it goes to memory first where
several read it in different places, or where it would be computed again and again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from relay.analysis.annotated_regions import compiler_of
from relay.backend.native.kernels.attention_recognition import attention_in
from relay.backend.native.kernels.choice import sums_of, weight_of
from relay.backend.native.kernels.sums import OpenSums, Sums
from relay.backend.native.loops import nodes as ir
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.cost import lanes_for
from relay.backend.native.loops.deferred import Deferred, below, may_wait, rows_of
from relay.backend.native.loops.merge_axes import apart_axes
from relay.backend.native.loops.nodes import Block, Index
from relay.backend.native.loops.reuse import Output, Tensor, reuse_operands
from relay.backend.native.loops.rules import is_pointwise, is_reduction, writes_whole
from relay.backend.native.loops.schedule import schedule
from relay.backend.native.loops.shapes import check_sizes
from relay.backend.native.loops.strides import is_first_part, sizes_of
from relay.backend.native.loops.value_builder import Scope
from relay.backend.native.loops.views import View, new_output, operand, views_in
from relay.backend.native.memory.representation import is_scalar, parts_of
from relay.backend.native.program.operators import check_shapes, materialize
from relay.backend.native.program.program import Program
from relay.backend.native.program.results import build_results
from relay.ir.expr import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem, Var
from relay.ir.type import ANY, Dim, TensorType, Type, TypeVar
from relay.ir.walk import post_order
from relay.op.kind import Fusion
from relay.transform.passes.fusion_rules import is_decoded_by, is_rounded_by
from relay.transform.passes.fusion_rules import row as row_of

NO_OUTPUTS: Mapping[int, Output] = MappingProxyType({})


def is_fused(fn: Function) -> bool:
    """Whether a function is a group that `fuse_ops` has made."""
    return bool(fn.attrs.get("Primitive")) and not compiler_of(fn)


class Group:
    """A group of operators, as loops over the tensors that it takes and gives."""

    def __init__(
        self, program: Program, fn: Function, outputs: Mapping[int, Output], by_rows: bool = True
    ) -> None:
        """`outputs` are those of its results that the caller of the program may have arrays for.  Without
        `by_rows` each reduction has loops of its own.
        """
        self.outputs = outputs
        self.program = program
        self.fn = fn
        self.bound = {e.var: e.value for e in post_order(fn.body) if isinstance(e, Let)}
        self.views: dict[Expr, Any] = {}
        self.made: list[ir.Value] = []
        """The tensors that it makes."""
        self.pending: tuple[Sums, OpenSums] | None = None
        """A product that is still to be computed, so that what follows it can be done block by block."""
        self.after: set[Expr] = set()
        """What reads it."""
        self.once: set[ir.Value] = set()
        """Results that follow a product, each element of which is written once."""
        self.sizes: dict[Dim, Index] = {}
        """What the sizes that types name are; one that several operands have is one value."""
        self.scope = Scope()
        self.params = [
            [
                ir.Var(str(cast("TensorType", t).dtype) if is_scalar(t) else ir.OBJECT, "p")
                for t in parts_of(p)
            ]
            for p in [cast("Type", p.type_annotation) for p in fn.params]
        ]
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
        """Return the nodes that read each node, once for each time.  The fields of a tuple that a call takes
        are read by the call.
        """
        users: dict[Expr, list[Expr]] = {}
        for e in self.nodes():
            parts = [self.resolved(part) for part in (e.args if isinstance(e, Call) else e.children)]
            for part in parts:
                users.setdefault(part, []).append(e)
        for e in self.nodes():
            readers = users.get(e, [])
            if isinstance(e, Tuple) and readers and all(isinstance(u, Call) for u in readers):
                for part in map(self.resolved, e.fields):
                    users[part] = [r for u in users[part] for r in (readers if u is e else [u])]
        return users

    def has_rows(self) -> bool:
        """Whether there are reductions, and all go through the same rows."""
        types, calls = self.program.types, [e for e in self.nodes() if isinstance(e, Call)]
        rows = {row_of(e, types) for e in calls if is_reduction(e.attrs)}
        kinds = {e.attrs.fusion for e in calls}
        return len(rows) == 1 and None not in rows and not kinds & {Fusion.KERNEL, Fusion.OPAQUE}

    def built(self) -> Block:
        """The loops; they end with the leaves of the result."""
        b = Builder(self.program, self.scope, cast("Any", self.root))
        for p, row in zip(self.fn.params, self.params, strict=True):
            t = p.type_annotation
            assert t is not None
            self.views[p] = self.sized(operand(b, t, row), t)
        if not self.attends(b):
            for e in self.nodes():
                self.views[e] = self.node(e)
                self.note(e)
        found = self.results(b)
        for x in self.made:
            if x not in found:
                b.add_statement(ir.Release(x))
        given = [v for row in self.params for v in row]
        block = Block(self.scope.built().statements, tuple(found))
        block = reuse_operands(block, self.tensors(), self.outputs, self.once)
        return schedule(b, block, given)

    def tensors(self) -> list[Tensor]:
        """The tensors that it takes."""
        views = [x for p in self.fn.params for x in views_in(self.views[p])]
        return [Tensor(x.found, x.dtype, x.sizes) for x in views if x.sizes]

    def sized(self, view: Any, t: Type) -> Any:
        """What an operand is read through; calls have seen to it that its sizes are those of its type."""
        for x, part in zip(views_in(view), parts_of(t), strict=True):
            dims = cast("tuple[Dim, ...]", cast("TensorType", part).shape)
            pairs = zip(dims, x.sizes, strict=True)
            x.sizes = [size if d is ANY else self.sizes.setdefault(d, size) for d, size in pairs]
        return view

    def view(self, e: Expr) -> Any:
        """What a node is read through."""
        e = self.resolved(e)
        if isinstance(e, Constant):
            return self.constant(e)
        return self.views[e]

    def constant(self, e: Constant) -> View:
        """A constant."""
        b = Builder(self.program, self.scope, cast("Any", e))
        t = cast("TensorType", e.type)
        if is_scalar(t) and t.dtype != "string":
            return View(b, t, b.const(e.value[()], str(t.dtype)))
        return View(b, t, b.constant(e), is_in_memory=True)

    def node(self, e: Expr) -> Any:
        """A node as a view, or as several."""
        if isinstance(e, Tuple):
            return tuple([self.view(f) for f in e.fields])
        if isinstance(e, TupleGetItem):
            return self.view(e.tuple_value)[e.index]
        assert isinstance(e, Call)
        b = Builder(self.program, self.scope, e)
        b.named = self.sizes
        views = self.operands(e)
        shapes = check_shapes(b, e, views)
        found = sums_of(b, e, views, shapes)
        if found is not None:
            return self.product(e, found)
        is_one_by_one = not writes_whole(e.attrs) or self.is_decoded(e)
        deferred = Deferred(b, e, views, shapes[0]) if shapes and is_one_by_one else None
        if deferred is not None and is_scalar(self.program.types(e)):
            self.complete(e)
            return View(b, cast("TensorType", self.program.types(e)), deferred.at(()))
        if deferred is not None and self.waits(e, deferred):
            return deferred
        self.complete(e)
        outs = materialize(b, e, views, shapes)
        self.made += [out.found for out in outs]
        is_tuple = not isinstance(self.program.types(e), TensorType)
        return tuple(outs) if is_tuple else outs[0]

    def waits(self, e: Call, deferred: Deferred) -> bool:
        """Whether a node is computed where it is read."""
        if e is self.root:
            return True
        readers = self.users.get(e, [])
        if self.is_decoded(e):
            return True
        if any(self.is_turning(x) for x in (e, *readers)) or any(map(self.is_decoded, readers)):
            return False
        if self.by_rows and (deferred.is_reduction or is_pointwise(e) or not deferred.read):
            return True
        if isinstance(self.root, Tuple) and any(u is self.root for u in readers):
            return all(u is self.root or is_pointwise(u) for u in readers) and self.has_shape(e, readers)
        return may_wait(e, readers, self.has_shape(e, readers), deferred.depth)

    def decodes(self, user: Expr, e: Expr) -> bool:
        """Whether a product decodes or rounds what a node does."""
        parts = [self.resolved(a) for a in user.args] if isinstance(user, Call) else []
        types = self.program.types
        return is_decoded_by(e, user, parts, types) or is_rounded_by(e, user, parts, types)

    def is_decoded(self, e: Expr) -> bool:
        """Whether all that read a node are products that decode or round it."""
        readers = self.users.get(e, [])
        return bool(readers) and all(self.decodes(u, e) for u in readers)

    def is_turning(self, e: Expr) -> bool:
        """Whether a node is a tensor whose last axis changes its place: it is made block by block, from
        memory, since nothing else reads whole vectors.
        """
        if not isinstance(e, Call) or e.attrs.name != "transpose":
            return False
        from relay.backend.native.kernels.transpose import moves_last

        return moves_last(e, self.program.types(e))

    def has_shape(self, e: Expr, readers: Sequence[Expr]) -> bool:
        """Whether all who read a node have its shape."""
        shape = getattr(self.program.types(e), "shape", None)
        return all(
            isinstance(u, Tuple) or getattr(self.program.types(u), "shape", None) == shape for u in readers
        )

    # --- attention ---

    def attends(self, b: Builder) -> bool:
        """Compute the group block by block, if it is attention."""
        products = [e for e in self.nodes() if isinstance(e, Call) and e.attrs.product() is not None]
        types = self.program.types
        plan = attention_in(self.fn.body, types) if len(products) == 2 else None
        if plan is None or not self.may_attend:
            return False
        from relay.backend.native.kernels.attention import Attending, Operand, Scores
        from relay.backend.native.kernels.few_rows_attention import FewRows

        b.values.update({d: v for d, v in self.sizes.items() if isinstance(d, TypeVar)})
        if any(isinstance(d, TypeVar) and d not in b.values for d in plan.dimensions()):
            return False
        sizes, whole = ([b.size(d) for d in sizes_of(e, types) or ()] for e in (plan.scores, self.root))
        scores = self.views[plan.scores] = Scores(b, plan.dtype, sizes)
        for e in filter(is_first_part, self.nodes()):
            own = Builder(self.program, self.scope, cast("Call", e))
            own.values = b.values
            check_sizes(own, cast("Call", e), types)
        for e in plan.between:
            own = Builder(self.program, self.scope, e)
            own.named = self.sizes
            views = self.operands(e)
            self.views[e] = Deferred(own, e, views, check_shapes(own, e, views)[0])
        made = self.views[self.root] = new_output(b, cast("TensorType", types(self.root)), whole)
        self.made.append(made.found)
        rows = rows_of([self.views[plan.rows]])
        assert rows is not None, "attention has rows"
        kind = FewRows if plan.reads_in_place else Attending
        attending = kind(b, plan, scores, rows, {self.views[plan.rows]: scores})
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
        sums = OpenSums(b, matrices.sums, matrices.sizes)
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
        self,
        put: Callable[[Sequence[Index]], None] | None,
        lanes: int = 0,
        merges_rows: bool = False,
        by_blocks: bool = False,
    ) -> None:
        """Compute the product; `put(index)` follows for each element, or for so many at a time.  With
        `by_blocks` nothing else reads its sums.
        """
        if self.pending is not None:
            matrices, sums = self.pending
            self.pending = None
            if not (by_blocks and matrices.keep_in_blocks()):
                self.made.append(sums.allocate())
            matrices.run(sums, put, lanes, merges_rows)
            matrices.b.done()

    def joined(self, fields: Sequence[Any], outs: dict[Deferred, View]) -> list[Deferred]:
        """Compute the product, and those results with it that can be."""
        if self.pending is None:
            return []
        matrices, sums = self.pending
        follows = all(self.keeps_place(e) for e in self.after)
        inside = [x for x in fields if isinstance(x, Deferred) and follows and x.sizes == matrices.sizes]
        others = [x for x in fields if x not in inside]
        by_blocks = sums not in below(others)
        for x in inside:
            own = x.type.dtype == matrices.sums and not isinstance(self.root, Tuple)
            own = own and not (self.could_take(x) and matrices.keep_in_blocks())
            outs[x] = sums if own else self.output(matrices.b, x)
            by_blocks = by_blocks and not own
        if by_blocks and inside and matrices.keep_in_blocks():
            self.once.update([outs[x].found for x in inside])

        def put(index: Sequence[Index]) -> None:
            for x in inside:
                outs[x].put(index, x.at(index))

        if inside:
            self.multiply(put, *epilogue_lanes(matrices.b, matrices.sizes, put), by_blocks)
        else:
            self.multiply(None)
        return inside

    def could_take(self, x: Deferred) -> bool:
        """Whether a result could lie in the memory of an operand, each element in that of one it reads."""
        given = [v for p in self.fn.params for v in views_in(self.views[p])]
        return any(v in given and v.dtype == x.type.dtype and v.sizes == x.sizes for v in below([x]))

    def keeps_place(self, e: Expr) -> bool:
        """Whether a node reads the product, if it does, at the place of the element that it computes."""
        if not isinstance(e, Call):
            return True
        op: Any = e.attrs
        return op.fusion in (Fusion.ELEMENTWISE, Fusion.BROADCAST, Fusion.KERNEL)

    # --- results ---

    def results(self, b: Builder) -> list[ir.Value]:
        """The leaves of the result."""
        fields = views_in(self.views[self.root])
        outs: dict[Deferred, View] = {}
        inside = self.joined(list(dict.fromkeys(fields)), outs)
        waiting = [x for x in dict.fromkeys(fields) if isinstance(x, Deferred) and x not in inside]
        outs.update({x: self.output(b, x) for x in waiting})
        for several in [waiting] if self.by_rows and waiting else group_by_size(waiting):
            build_results(b, {x: outs[x] for x in several})
        views = [outs[x] if isinstance(x, Deferred) else x for x in fields]
        # An operator that writes whole results has left numbers in memory.
        return [x.found if x.sizes or x.found.dtype != ir.OBJECT else x.at(()) for x in views]

    def output(self, b: Builder, x: Deferred) -> View:
        """A new tensor for a result."""
        made = new_output(b, x.type, x.sizes)
        self.made.append(made.found)
        return made


def epilogue_lanes(
    b: Builder, sizes: Sequence[Index], put: Callable[[Sequence[Index]], None]
) -> tuple[int, bool]:
    """How many elements of a row an epilogue takes at once, and whether the rows are one axis for it."""
    indices = tuple([ir.Var(ir.INDEX, "i") for _ in sizes])
    body = Block(b.added(lambda: put(indices)))
    rows = [i for i, n in zip(indices[:-1], sizes, strict=False) if n != 1]
    apart = apart_axes(ir.For(indices, tuple(sizes), body), rows)
    return lanes_for(body, sizes[-1]), not apart


def group_by_size(results: Sequence[Deferred]) -> list[list[Deferred]]:
    """Results by their sizes."""
    found: dict[Any, list[Deferred]] = {}
    for x in results:
        found.setdefault(tuple(x.sizes), []).append(x)
    return list(found.values())


def build_group(
    program: Program, fn: Function, outputs: Mapping[int, Output] = NO_OUTPUTS
) -> tuple[Group, Block]:
    """The loops of a group: by rows, unless that would reduce a row again for each element."""
    group = Group(program, fn, outputs)
    block = group.built()
    if group.by_rows and group.scope.recomputes:
        group = Group(program, fn, outputs, by_rows=False)
        block = group.built()
    return group, block
