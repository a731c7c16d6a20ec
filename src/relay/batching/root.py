"""`vmap(f)` as a function of batched values: rows are brought to the front, `f` is batched, and results go
where `out_axes` says.
"""

from collections.abc import Callable, Sequence

from relay.autodiff.values import Block
from relay.batching.batcher import Batcher, NeedsPartitionError
from relay.batching.maps import RowByRowError
from relay.batching.one_by_one import OneByOne
from relay.batching.partition import Partitioner
from relay.batching.references import refuse_write
from relay.batching.type_params import type_params_in
from relay.batching.values import Fields, Pattern, Rows, Value, pattern_of
from relay.diagnostic import fail
from relay.ir.axes import Axes
from relay.ir.deep import with_room
from relay.ir.expr import Expr, Function, GlobalVar, RefWrite, Tuple, TupleGetItem, Var, VMap, replace
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import Dim, GlobalTypeVar, Kind, TensorType, TupleType, Type, TypeVar
from relay.ir.walk import post_order, run, type_post_order
from relay.op.derivative import fields_of
from relay.op.numeric import apply
from relay.transform.rewriting.anf_conversion import anf_module
from relay.transform.rewriting.lifting import lifted
from relay.typecheck.infer import infer
from relay.typecheck.types import Types
from relay.typecheck.vmaps import batched, checked_axes, field_axes, one_axis, position

ROOT = "vmap"


class Batching:
    """Expands the `vmap`s of one module."""

    def __init__(self, mod: IRModule, supply: GlobalVarSupply, *, may_select: bool) -> None:
        """`mod` is annotated; it gets the batched definitions, and must not be shared.

        Branches that are cheap may run for all rows only where nothing is differentiated: what a row does not
        choose may be infinite, and its derivative NaN even times 0.
        """
        self.mod = mod
        self.supply = supply
        self.may_select = may_select

    def root(self, e: VMap, f: Function, captured: list[Var], rows: Dim | None) -> Function:
        """`fn(xs) { … }` for a function literal whose free variables are `captured`; of any number of rows
        unless `rows` are given.
        """
        name = self.supply.fresh_global(ROOT)
        whole = self._closed(f, captured)
        source = self._lifted(name, whole)
        declared = dict(self.mod.type_definitions)
        try:
            try:
                return self._expanded(e, f, captured, rows, name, source, is_partitioned=False)
            except NeedsPartitionError:
                return self._expanded(e, f, captured, rows, name, source, is_partitioned=True)
        except RowByRowError:
            _expect_no_writes(f, captured)
            self.mod.type_definitions = declared
            self.mod[name] = whole
            return self._one_by_one(e, f, captured, rows, name)

    def partitioned(self, e: VMap, f: Function, captured: list[Var]) -> Function | None:
        """As `root`, if a condition differs from row to row; else None."""
        name = self.supply.fresh_global(ROOT)
        source = self._lifted(name, self._closed(f, captured))
        declared = dict(self.mod.type_definitions)
        try:
            scratch = Batching(self.mod.copy(), self.supply, may_select=False)
            scratch._expanded(e, f, captured, 1, name, source, is_partitioned=False)
        except RowByRowError:
            return None
        except NeedsPartitionError:
            try:
                return self._expanded(e, f, captured, None, name, source, is_partitioned=True)
            except RowByRowError:
                self.mod.type_definitions = declared
        return None

    def _closed(self, f: Function, captured: list[Var]) -> Function:
        """A function with what it captures, and the type parameters around it, as its own."""
        params = (*captured, *f.params)
        whole = Function(params, f.body, f.ret_type, f.type_params, {}, f.constraints, span=f.span)
        around = type_params_in(whole, Types(self.mod))
        return replace(whole, type_params=(*around, *f.type_params))

    def _lifted(self, name: GlobalVar, f: Function) -> IRModule:
        """The function, and what it calls, without functions inside."""
        part = self.mod.copy()
        part.functions = {name: f}
        stack: list[Expr] = [f]
        while stack:
            for x in post_order(stack.pop()):
                if isinstance(x, GlobalVar) and x not in part.functions:
                    part.functions[x] = self.mod.functions[x]
                    stack.append(self.mod.functions[x])
        return lifted(anf_module(infer(part)), self.supply)

    def _expanded(
        self,
        e: VMap,
        f: Function,
        captured: list[Var],
        rows: Dim | None,
        name: GlobalVar,
        source: IRModule,
        *,
        is_partitioned: bool,
    ) -> Function:
        fixed = rows if isinstance(rows, int) and not is_partitioned else None
        kind = Partitioner if is_partitioned else Batcher
        this = kind(source, self.mod, self.supply, fixed, may_select=self.may_select)
        while True:
            made = self._function(this, e, f, captured, rows, lambda args, b: run(this.body(name, args, b)))
            if this.define():
                break
        definitions = this.reached(made)
        this.maps.define_used((made, *definitions.values()))
        for v, definition in definitions.items():
            self.mod[v] = definition
        return made

    def _one_by_one(
        self, e: VMap, f: Function, captured: list[Var], rows: Dim | None, name: GlobalVar
    ) -> Function:
        """Return a function as `root` does, which calls the definition `name` for each row."""
        this = Batcher(self.mod, self.mod, self.supply, None, may_select=False)
        definition = self.mod.functions[name]
        assert isinstance(definition, Function)
        loop = OneByOne(this, name, definition)
        made = self._function(this, e, f, captured, rows, loop.call)
        this.maps.define_used((made, self.mod.functions[loop.name]))
        return made

    def _function(
        self,
        this: Batcher,
        e: VMap,
        f: Function,
        captured: list[Var],
        rows: Dim | None,
        value_of: Callable[[Sequence[Value], Block], Value],
    ) -> Function:
        """The function of all rows, by the value of the body for its arguments."""
        own = TypeVar("b", Kind.Dim)
        free = (own,) if rows is None else ()
        this.rows = own if rows is None else rows
        b = Block()
        axes = checked_axes(e, len(f.params))
        types: list[Type] = [this.type_of(p) for p in f.params]
        assert f.ret_type is not None
        for a, t in zip((*axes, e.out_axes), (*types, f.ret_type), strict=True):
            _expect_parameters(this, a, t, e)
        params = tuple([Var(p.name_hint, batched(a, t, this.rows), span=p.span)
                        for p, a, t in zip(f.params, axes, types, strict=True)])  # fmt: skip
        args: list[Value] = [this.shared(v, this.type_of(v), b) for v in captured]
        args += [self._moved(this, p, t, a, b) for p, t, a in zip(params, types, axes, strict=True)]
        if this.fixed_rows is None:
            counted = apply("zeros", shape=(this.rows,), dtype="int64")
            this.witness = b.bind(counted, TensorType((this.rows,), "int64"), "rows")
        value = value_of(args, b)
        pattern = _pattern(this, e.out_axes, f.ret_type)
        value = this.coerced(value, pattern, b)
        if pattern_of(value) != pattern:
            fail("batch-axes", f"`out_axes` is {e.out_axes}, but the result differs from row to row",
                 e.span, hint="None is for results that are the same for all rows")  # fmt: skip
        result = self._placed(this, this.atom(value, pattern, b), f.ret_type, e.out_axes, b)
        out = batched(e.out_axes, f.ret_type, this.rows)
        return Function(
            params, b.finish(result), out, (*free, *f.type_params), {}, f.constraints, span=e.span
        )

    @with_room
    def _moved(self, this: Batcher, x: Expr, t: Type, axes: Axes, b: Block) -> Value:
        """A parameter with its rows in front."""
        if axes is None:
            return this.shared(x, t, b)
        if isinstance(t, TupleType):
            several = field_axes(axes, len(t.fields))
            parts = [
                self._moved(this, b.bind(TupleGetItem(x, i), batched(a, f, this.rows), "x"), f, a, b)
                for i, (f, a) in enumerate(zip(t.fields, several, strict=True))
            ]
            return Fields(tuple(parts))
        if isinstance(t, TensorType):
            return Rows(_with_axis_moved(x, t, one_axis(axes, t), 0, this, b), t)
        return this.open(x, this.full(t), t, b)

    @with_room
    def _placed(self, this: Batcher, x: Expr, t: Type, axes: Axes, b: Block) -> Expr:
        """A result with its rows where they are wanted."""
        if isinstance(t, TupleType):
            several = field_axes(axes, len(t.fields))
            patterns = fields_of(_pattern(this, axes, t))
            parts = [
                self._placed(this, b.bind(TupleGetItem(x, i), this.type_at(p, f, this.rows), "y"), f, a, b)
                for i, (p, f, a) in enumerate(zip(patterns, t.fields, several, strict=True))
            ]
            return b.bind(Tuple(tuple(parts)), batched(axes, t, this.rows), "y")
        if isinstance(t, TensorType) and axes is not None:
            return _with_axis_moved(x, t, 0, one_axis(axes, t), this, b)
        return x


def _expect_no_writes(f: Function, captured: Sequence[Var]) -> None:
    """Report a write into a reference that all rows share."""
    for e in post_order(f):
        if isinstance(e, RefWrite) and e.ref in captured:
            refuse_write(e.span)


def _expect_parameters(this: Batcher, axes: Axes, t: Type, e: VMap) -> None:
    """Report an argument or a result of a data type whose tensors have types of their own: with the rows it
    is of another type, which has no name outside.
    """
    stack: list[tuple[Axes, Type]] = [(axes, t)]
    while stack:
        axes, t = stack.pop()
        if axes is None:
            continue
        if isinstance(t, TupleType):
            stack += zip(field_axes(axes, len(t.fields)), t.fields, strict=True)
            continue
        for part in type_post_order(t):
            if isinstance(part, GlobalTypeVar) and this.types.has_twin(part):
                name = part.name_hint
                fail(
                    "batch-type",
                    f"`{name}` fixes the types of its tensors, which have one axis more in many rows",
                    e.span,
                    hint=f"make these types parameters, `type {name}[T]`, or pass the tensors themselves",
                )


@with_room
def _pattern(this: Batcher, axes: Axes, t: Type) -> Pattern:
    """What of a result is batched."""
    if isinstance(t, TupleType) and axes is not None:
        several = field_axes(axes, len(t.fields))
        return tuple([_pattern(this, a, f) for a, f in zip(several, t.fields, strict=True)])
    return this.least(t) if axes is None else this.full(t)


def _with_axis_moved(x: Expr, t: TensorType, source: int, target: int, this: Batcher, b: Block) -> Expr:
    """A batched tensor with the axis of its rows in another place."""
    assert isinstance(t.shape, tuple)
    rank = len(t.shape) + 1
    at, to = position(source, rank), position(target, rank)
    if at == to:
        return x
    order = [i for i in range(rank) if i != at]
    order.insert(to, at)
    return b.bind(apply("transpose", x, axes=tuple(order)), batched(to, t, this.rows), "x")
