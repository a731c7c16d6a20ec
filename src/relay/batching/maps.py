"""Maps over batched values by their type: one row for each, one or some of the rows, rows of two batches
together.

Tensors and tuples are mapped in place, data types by generated recursive functions.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from relay.autodiff.values import Block
from relay.batching.types import BatchedTypes
from relay.diagnostic import Diagnostic, RelayError, Span
from relay.ir.deep import with_room
from relay.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Match,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.pattern import PatternConstructor, PatternVar, PatternWildcard
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import (
    BOOL,
    UNIT,
    Dim,
    FuncType,
    GlobalTypeVar,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay.ir.type import (
    Any as AnySize,
)
from relay.ir.walk import post_order, type_post_order
from relay.op.batching import is_unknown, stretched
from relay.op.derivative import fields_of
from relay.op.numeric import apply, scalar

INDEX = "int64"
DIFFERENT = "rows of one value of a data type differ in structure"


class RowByRowError(RelayError):
    """A refusal to batch what the rows may still do one by one."""


class Maps:
    """Makes the maps; the functions that data types need are added to the module."""

    def __init__(self, types: BatchedTypes, supply: GlobalVarSupply) -> None:
        self.types = types
        self.supply = supply
        self.made: dict[tuple[str, Type, Any], GlobalVar] = {}
        self.waiting: dict[GlobalVar, tuple[str, TypeCall, Any]] = {}

    def stretch(self, x: Expr, t: Type, rows: Dim, witness: Expr | None, b: Block) -> Expr:
        """A value with a row for each, all the same; `witness` is a tensor of that many rows."""
        return self.apply("stretch", [x], t, (rows,), witness, b)

    def take(self, x: Expr, t: Type, before: Dim, index: Expr, rows: Dim, b: Block) -> Expr:
        """The rows of a value that an index names."""
        return self.apply("take", [x], t, (before, rows), index, b)

    def row(self, x: Expr, t: Type, rows: Dim, at: Expr, b: Block) -> Expr:
        """One row of a value, at a scalar index."""
        return self.apply("row", [x], t, (rows,), at, b)

    def merge(
        self, xs: Sequence[Expr], t: Type, before: tuple[Dim, Dim], place: Expr, rows: Dim, b: Block
    ) -> Expr:
        """The rows of two values; `place` says which each comes from, counting those of the first first."""
        return self.apply("merge", xs, t, (*before, rows), place, b)

    def join(self, xs: Sequence[Expr], t: Type, before: tuple[Dim, Dim], rows: Dim, b: Block) -> Expr:
        """The rows of two values, those of the first first."""
        return self.apply("join", xs, t, (*before, rows), None, b)

    def apply(
        self, kind: str, xs: Sequence[Expr], t: Type, rows: tuple[Dim, ...], by: Expr | None, b: Block
    ) -> Expr:
        """A map of values of type `t`, of these numbers of rows, the result's last."""
        if self.types.is_inert(t):
            if kind in ("merge", "join") and isinstance(t, TypeCall):
                self._call("same", xs, t, (), None, b)
            return xs[0]
        if isinstance(t, TupleType):
            return self._tuple(kind, xs, t, rows, by, b)
        if isinstance(t, TypeCall) and isinstance(t.func, GlobalTypeVar):
            return self._call(kind, xs, t, rows, by, b)
        if not isinstance(t, TensorType):
            refuse(t, xs[0].span)
        return b.bind(self._tensor(kind, xs, t, rows[-1], by), self.result_type(kind, t, rows), "x")

    def _tensor(self, kind: str, xs: Sequence[Expr], t: TensorType, rows: Dim, by: Expr | None) -> Expr:
        if kind in ("take", "row"):
            assert by is not None
            return apply("take", xs[0], by, axis=0)
        if kind in ("merge", "join"):
            both = apply("concatenate", Tuple(tuple(xs)), axis=0)
            return both if by is None else apply("take", both, by, axis=0)
        if isinstance(rows, AnySize):
            assert by is not None
            return apply("take", apply("expand_dims", xs[0], axis=0), apply("zeros_like", by), axis=0)
        if isinstance(rows, int) and type_params_of(t):  # sizes that no parameter of a map need have
            return apply("repeat", apply("expand_dims", xs[0], axis=0), repeats=rows, axis=0)
        x = xs[0] if isinstance(xs[0], Constant) else Var("x", t)
        made = stretched(rows, x, False)
        if x is xs[0]:
            return made
        inner = made.args[0]
        return made.rebuild((made.op, inner.rebuild((inner.op, xs[0]))))

    @with_room
    def _tuple(
        self, kind: str, xs: Sequence[Expr], t: TupleType, rows: tuple[Dim, ...], by: Expr | None, b: Block
    ) -> Expr:
        parts: list[Expr] = []
        for i, f in enumerate(t.fields):
            inner = [b.bind(TupleGetItem(x, i), self.source_type(kind, j, f, rows)) for j, x in enumerate(xs)]
            parts.append(self.apply(kind, inner, f, rows, by, b))
        return b.bind(Tuple(tuple(parts)), self.result_type(kind, t, rows))

    def source_type(self, kind: str, i: int, t: Type, rows: tuple[Dim, ...]) -> Type:
        """The type of an argument of a map."""
        return t if kind in ("stretch", "same") else self.types.batched(t, rows[i])

    def result_type(self, kind: str, t: Type, rows: tuple[Dim, ...]) -> Type:
        """The type of what a map gives."""
        if kind == "row":
            return t
        return UNIT if kind == "same" else self.types.batched(t, rows[-1])

    def _call(
        self, kind: str, xs: Sequence[Expr], t: TypeCall, rows: tuple[Dim, ...], by: Expr | None, b: Block
    ) -> Expr:
        """The map of a data type: a call of the function that does it."""
        static = rows if all(isinstance(d, int) for d in rows) else None
        key = (kind, t, static)
        if key not in self.made:
            assert isinstance(t.func, GlobalTypeVar)
            self.made[key] = self.supply.fresh_global(f"{t.func.name_hint}_{kind}")
            self.waiting[self.made[key]] = kind, t, static
        free = () if static is not None else rows
        args = (*xs, by) if by is not None and not (kind == "stretch" and static) else tuple(xs)
        made = Call(self.made[key], args, None, (*free, *type_params_of(t)))
        return b.bind(made, self.result_type(kind, t, rows))

    def define_used(self, roots: Iterable[Expr]) -> None:
        """Define the functions that `roots` use, and those that they use."""
        stack = list(roots)
        while stack:
            for e in post_order(stack.pop()):
                if isinstance(e, GlobalVar) and e in self.waiting:
                    self.types.mod[e] = definition = self._function(*self.waiting.pop(e))
                    stack.append(definition)

    def _function(self, kind: str, t: TypeCall, static: Any) -> Function:
        """`fn(x, …) { match (x) { C(a, …) => C(map(a), …), … } }`."""
        count = {"stretch": 1, "row": 1, "take": 2, "merge": 3, "join": 3, "same": 0}[kind]
        free = tuple([TypeVar(f"b{i}", Kind.Dim) for i in range(0 if static else count)])
        rows: tuple[Dim, ...] = free if static is None else static
        operands = 2 if kind in ("merge", "join", "same") else 1
        xs = [Var("x", self.source_type(kind, i, t, rows)) for i in range(operands)]
        by: tuple[Var, ...] = ()
        if kind not in ("join", "same") and not (kind == "stretch" and static is not None):
            by = (Var("by", TensorType(() if kind == "row" else (rows[-1],), INDEX)),)
        clauses = tuple(
            [self._clause(kind, t, c, fields, xs, rows, by) for c, fields in self.types.fields(t)]
        )
        params = (*xs, *by)
        own = (*free, *type_params_of(t))
        return Function(params, Match(xs[0], clauses), self.result_type(kind, t, rows), own)

    def _clause(
        self,
        kind: str,
        t: TypeCall,
        c: Constructor,
        fields: Any,
        xs: list[Var],
        rows: Any,
        by: tuple[Var, ...],
    ) -> Clause:
        b = Block()
        taken = [[Var("a", self.source_type(kind, i, f, rows)) for f in fields] for i in range(len(xs))]
        results = [
            self.apply(kind, [names[j] for names in taken], f, rows, by[0] if by else None, b)
            for j, f in enumerate(fields)
        ]
        source = c if kind in ("stretch", "same") else self.types.constructor(c)
        made = c if kind == "row" else self.types.constructor(c)
        out: Expr = Tuple(()) if kind == "same" else Call(made, tuple(results))
        body = b.finish(out)
        if len(xs) == 2:
            checked = Block()
            pattern = PatternConstructor(source, tuple([PatternWildcard() for _ in fields]))
            is_same = Match(
                xs[1], (Clause(pattern, scalar(1, "bool")), Clause(PatternWildcard(), scalar(0, "bool")))
            )
            checked.bind(apply("assert", checked.bind(is_same, BOOL), message=DIFFERENT), UNIT, "_")
            pattern = PatternConstructor(source, tuple([PatternVar(v) for v in taken[1]]))
            body = checked.finish(Match(xs[1], (Clause(pattern, body),), False))
        return Clause(PatternConstructor(source, tuple([PatternVar(v) for v in taken[0]])), body)


def may_differ(t: Type, types: BatchedTypes) -> bool:
    """Return whether rows of type `t` may differ in structure, or in the sizes of tensors."""
    for part in types.reachable(t):
        if isinstance(part, TensorType) and any(map(is_unknown, fields_of(part.shape))):
            return True
        if isinstance(part, GlobalTypeVar) and len(types.mod.type_definitions[part].constructors) > 1:
            return True
    return False


def type_params_of(t: Type) -> tuple[TypeVar, ...]:
    """The type parameters in a type."""
    return tuple([v for v in dict.fromkeys(type_post_order(t)) if isinstance(v, TypeVar)])


def refuse(t: Type, span: Span | None) -> NoReturn:
    """Report a value that has no batched form."""
    match t:
        case FuncType():
            code, what = "batch-function", "a function that is not statically known"
            hint = "let the rows share it, or call it where it is known"
        case RefType():
            code, what = "batch-reference", "a reference"
            hint = "call it, or read it, before the rows go different ways"
        case TypeVar():
            code, what = "batch-type", "a value whose type is a parameter"
            hint = "let a recursion whose types grow go the same way for all rows"
        case _:
            code, what = "batch-type", "the structure or the size of a value"
            hint = "give the rows values of one structure and one size"
    message = f"{what} depends on the row, in a value of type {t}"
    raise RowByRowError(Diagnostic(code, message, span, hint=hint))
