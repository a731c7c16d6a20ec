"""What a type relation may ask and demand: the implementation of `relay.op.relation.Typing`."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from relay.ir import dim as arithmetic
from relay.ir.module import IRModule
from relay.ir.type import (
    HAS_INCOMPLETE,
    Dim,
    DType,
    Kind,
    Shape,
    TensorType,
    TupleType,
    Type,
    TypeVar,
)
from relay.op.relation import Comparison, refutation
from relay.typecheck import dims
from relay.typecheck.goals import Goal, Silenced, Stuck, Wait
from relay.typecheck.messages import Fault, describe, listed, show
from relay.typecheck.records import field_type
from relay.typecheck.unify import Unifier
from relay.typecheck.unknown import ERROR, Mismatch, Term, Unknown, has_unknown, head, kind_of, unknowns, zonk

if TYPE_CHECKING:
    from relay.typecheck.solver import Solver


class Relating(Unifier):
    """Answers what the `goal` that is being tried asks; raises `Wait`, `Stuck`, `Silenced` or `Fault`."""

    mod: IRModule
    """The module whose data types are meant."""

    def __init__(self) -> None:
        """No goal is being tried."""
        super().__init__()
        self.goal: Goal | None = None

    def describe(self, m: Mismatch, expected: Any, found: Any, why: str = "") -> Fault:
        """A mismatch in the user's words."""
        return describe(m, expected, found, why, f"{self.subject}: " if self.subject else "")

    @property
    def subject(self) -> str:
        """What is being related, for a message."""
        return "" if self.goal is None or not self.goal.what else f"`{self.goal.what}`"

    def when_known(self, about: tuple[Any, ...], rule: "Callable[[Solver], None]") -> None:
        """Look again when an unknown of `about` is bound."""

    def resolve(self, t: Any) -> Any:
        """See `Typing`."""
        t = head(t)
        if type(t) is not TensorType or not t.flags & HAS_INCOMPLETE:
            return t
        shape: Shape = head(t.shape)
        dtype: DType = head(t.dtype)
        if isinstance(shape, tuple):
            shape = tuple([zonk(d) if isinstance(d, Type) else d for d in shape])
        return t if shape is t.shape and dtype is t.dtype else TensorType(shape, dtype)

    def know(self, t: Any) -> None:
        """Wait until the structure of `t` is known, ranks and fields of tuples included."""
        stack = [t]
        while stack:
            t = self.resolve(stack.pop())
            if type(t) is TensorType:
                if not isinstance(t.shape, tuple):
                    self.shape(t)
            elif type(t) is TupleType:
                stack += t.fields
            elif type(t) is Unknown:
                raise Wait(t)
            elif type(t) is TypeVar:
                raise Stuck

    def tensor(self, t: Any) -> TensorType:
        """See `Typing`."""
        t = self.resolve(t)
        if type(t) is TensorType:
            return t
        if type(t) is Unknown:
            made = TensorType(self.fresh_of(Kind.Shape), self.fresh_of(Kind.BaseType))
            self.bind(t, made)
            return made
        if t is ERROR:
            raise Silenced
        if type(t) is TypeVar:
            raise Stuck
        hint = ""
        if type(t) is TupleType and len(t.fields) == 2 and type(self.resolve(t.fields[1])) is TupleType:
            hint = "of the result of `grad`, `e.1.0` is the gradient by the first argument, `e.0` the value"
        message = f"{self.subject or 'this'} expects a tensor, found {show(t)}"
        raise Fault("expected-tensor", message, hint=hint)

    def shape(self, t: Any, rank: int | None = None, what: str = "") -> tuple[Dim, ...]:
        """See `Typing`."""
        s: Shape = self.tensor(t).shape
        if isinstance(s, tuple):
            if rank is not None and len(s) != rank:
                raise Fault(
                    "rank-mismatch",
                    f"{what or 'an operand'} has rank {len(s)}, expected rank {rank}",
                    label=f"found shape {show(s)}",
                )
            return s
        if s is ERROR:
            raise Silenced
        if type(s) is not Unknown:
            raise Stuck
        if rank is None:
            raise Wait(s)
        made = tuple([self.fresh_of(Kind.Dim) for _ in range(rank)])
        self.bind(s, made)
        return made

    def dtype(self, t: Any) -> DType:
        """See `Typing`."""
        return self.tensor(t).dtype

    def known_dtype(self, t: Any) -> str:
        """See `Typing`."""
        d = self.tensor(t).dtype
        if isinstance(d, str):
            return d
        if type(d) is Unknown:
            raise Wait(d)
        raise Silenced if d is ERROR else Stuck

    def fields(self, t: Any) -> tuple[Type, ...]:
        """See `Typing`."""
        t = self.resolve(t)
        if type(t) is TupleType:
            return t.fields
        if type(t) is Unknown:
            raise Wait(t)
        if t is ERROR:
            raise Silenced
        if type(t) is TypeVar:
            raise Stuck
        hint = "a tuple is `(a, b)`, in parentheses; `[a, b]` is one tensor"
        raise Fault("expected-tuple", f"expected a tuple, found {show(t)}", hint=hint)

    def field(self, t: Any, name: str) -> Type:
        """See `Typing`."""
        return field_type(self.resolve(t), name, self.mod)

    def static(self, d: Any) -> int | None:
        """See `Typing`."""
        d = zonk(d)
        return d if isinstance(d, int) else None

    def settled(self, d: Dim) -> Dim:
        """See `Typing`."""
        d = zonk(d)
        if has_unknown(d):
            raise Wait(*unknowns(d))
        return d

    def equal(self, a: Term | list[Any], b: Term | list[Any], why: str = "") -> None:
        """See `Typing`."""
        a = tuple(a) if isinstance(a, list) else a
        b = tuple(b) if isinstance(b, list) else b
        try:
            self.unify(b, a)
        except Mismatch as m:
            raise self.describe(m, b, a, why) from None

    def require(
        self, a: Dim, comparison: Comparison, b: Dim, why: str, code: str = "shape-constraint"
    ) -> None:
        """See `Typing`."""
        a, b = zonk(a), zonk(b)
        true = dims.holds(a, comparison, b)
        if true is False:
            raise Fault(code, f"{why}, but {refutation(show(a), comparison, show(b))}")
        if true is None and (has_unknown(a) or has_unknown(b)):
            self.when_known((a, b), lambda t: t.require(a, comparison, b, why, code))

    def broadcast(self, *shapes: Any) -> Any:
        """See `Typing`.  One shape of unknown rank, or several the same, need not be known."""
        kept: list[Any] = []
        for s in shapes:
            s = zonk(head(s))
            if s != () and not any(s is k or s == k for k in kept):
                kept.append(s)
        if len(kept) < 2:
            return kept[0] if kept else ()
        for s in kept:
            if not isinstance(s, tuple):
                if s is ERROR:
                    raise Silenced
                raise Wait(*[k for k in kept if type(k) is Unknown]) if type(s) is Unknown else Stuck
        result = kept[0]
        for s in kept[1:]:
            result = self._broadcast_two(result, s)
        return result

    def _broadcast_two(self, a: tuple[Dim, ...], b: tuple[Dim, ...]) -> tuple[Dim, ...]:
        if len(a) < len(b):
            a, b = b, a
        extra = len(a) - len(b)
        out = list(a[:extra])
        for x, y in zip(a[extra:], b, strict=True):
            if x != y and x != 1 and y != 1:
                open_ = [d for d in (x, y) if isinstance(d, Type) and d.flags & HAS_INCOMPLETE]
                if open_:  # either may turn out to be the other
                    raise Wait(*[v for d in open_ for v in unknowns(d)])
            both = arithmetic.broadcast(x, y)
            if both is None:
                axis = len(out) - len(a)
                raise Fault(
                    "broadcast-mismatch",
                    f"cannot broadcast {show(a)} with {show(b)}",
                    label=f"the {_last(axis)} axes are {show(x)} and {show(y)}",
                    hint="two sizes broadcast when they are equal or one of them is 1",
                )
            out.append(both)
        return tuple(out)

    def scalars(self, types: tuple[Any, ...], wait: Wait) -> None:
        """Shapes that broadcast to `()` are all `()`: the one result that decides its operands."""
        out: Any = self.tensor(types[-1]).shape
        if out != ():
            raise Wait(*wait.on, out) if type(out) is Unknown else wait
        for a in types[:-1]:
            self.equal(self.tensor(a).shape, ())

    def dtype_in(self, t: Any, allowed: Collection[str], what: str = "") -> None:
        """See `Typing`."""
        d = t if kind_of(t) is Kind.BaseType else self.dtype(t)
        try:
            self.restrict(d, frozenset(allowed))
        except Mismatch as m:
            found = zonk(d)
            if m.code == "literal-kind":
                raise self.describe(m, d, d) from None
            if isinstance(found, Unknown):
                found = f"one of {listed(m.a)}" if isinstance(m.a, frozenset) else "it"
            raise Fault(
                "dtype-not-supported",
                f"{what or self.subject or 'this'} does not work on {show(found)}",
                hint=f"it works on {listed(allowed)}; `cast` converts",
            ) from None

    def decided_dtype_in(self, t: Any, allowed: Collection[str], what: str = "") -> None:
        """See `Typing`."""
        d: Any = head(self.dtype(t))
        if type(d) is Unknown and d.is_literal and d.allowed is not None and not d.allowed <= {*allowed}:
            raise Wait(d)
        self.dtype_in(t, allowed, what)

    def fresh(self, like: Literal["type", "tensor", "shape", "dim", "dtype"] = "type") -> Any:
        """See `Typing`."""
        if like == "tensor":
            return TensorType(self.fresh_of(Kind.Shape), self.fresh_of(Kind.BaseType))
        return self.fresh_of(_KINDS[like])

    def fail(self, code: str, message: str, label: str = "", hint: str = "") -> NoReturn:
        """See `Typing`."""
        raise Fault(code, message, label, hint)


_KINDS = {"type": Kind.Type, "shape": Kind.Shape, "dim": Kind.Dim, "dtype": Kind.BaseType}


def _last(axis: int) -> str:
    return {-1: "last", -2: "second last", -3: "third last"}.get(axis, f"{-axis}th last")
