"""The constraint solver: goals that run, wait for what they need to know, and run again.

It implements `relay.op.relation.Typing`, which operators' type relations speak to.
"""

import inspect
from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import Any, Literal, NoReturn

from relay.diagnostic import Diagnostic, RelayError, Report, did_you_mean
from relay.ir import dim as arithmetic
from relay.ir.dtype import BASE_TYPES
from relay.ir.expr import Call, Expr
from relay.ir.type import (
    ANY,
    HAS_INCOMPLETE,
    Dim,
    DType,
    Kind,
    Shape,
    TensorType,
    TupleType,
    Type,
    TypeRelation,
    TypeVar,
)
from relay.op.base import Operator, registry
from relay.op.base import instance as operator_instance
from relay.op.composite import Composite
from relay.op.relation import Comparison, refutation, relations
from relay.typecheck import dims
from relay.typecheck.literals import class_named
from relay.typecheck.unify import (
    ERROR,
    HAS_ERROR,
    Mismatch,
    Unifier,
    Unknown,
    has_unknown,
    head,
    kind_of,
    unknowns,
    zonk,
)

Givens = tuple[Any, ...] | None
"""Constraints that a function declares, innermost first: `(given, outer givens)`."""


class Wait(Exception):  # noqa: N818
    """A goal needs to know these unknowns first."""

    def __init__(self, *on: Unknown) -> None:
        super().__init__(*on)
        self.on = on


class Stuck(Exception):  # noqa: N818
    """A goal asks for the inside of a type parameter: only a declared constraint can help."""


class Silenced(Exception):  # noqa: N818
    """A goal met an ill-typed expression, which has been reported."""


class Fault(Exception):  # noqa: N818
    """What is wrong, before it has a place."""

    def __init__(self, code: str, message: str, label: str = "", hint: str = "") -> None:
        super().__init__(code, message)
        self.code, self.message, self.label, self.hint = code, message, label, hint


class Goal:
    """A relation between `types` (the result last) that is to hold for `call`."""

    __slots__ = (
        "attrs",
        "call",
        "done",
        "entailed",
        "givens",
        "is_given",
        "level",
        "name",
        "parked",
        "types",
    )
    optional = False
    outputs = 1

    def __init__(self, name: str, types: tuple[Any, ...], attrs: Any, call: Expr | None) -> None:
        self.name, self.types, self.attrs, self.call = name, types, attrs, call
        self.done = self.entailed = self.is_given = False
        self.givens: Givens = None
        self.level = 0
        self.parked: set[Unknown] | None = None

    def run(self, t: "Solver") -> None:
        """Do what can be done; raises `Wait` or `Stuck` where something is not known."""
        try:
            relations[self.name](t, *self.types, **dict(self.attrs))
        except Wait as wait:
            if self.name not in BROADCASTS:
                raise
            t.scalars(self.types, wait)

    def constraint(self) -> TypeRelation:
        """The goal as a constraint of a scheme."""
        return TypeRelation(self.name, tuple([zonk(t) for t in self.types]), self.attrs)

    @property
    def what(self) -> str:
        """What it is called in a message."""
        return self.name

    @property
    def unsolved(self) -> Fault | None:
        """What is wrong if it is still open where its function is generalised; None if it may be a constraint."""
        return None


class OperatorGoal(Goal):
    """The type relation of an operator."""

    __slots__ = ("op",)

    def __init__(self, op: Operator, types: tuple[Any, ...], call: Expr | None) -> None:
        name = op.relation_name
        attrs = () if name in relations else tuple(sorted(op.changed_attributes().items()))
        super().__init__(name, types, attrs, call)
        self.op = op

    def run(self, t: "Solver") -> None:
        args = self.types[:-1]
        if isinstance(self.op, Composite) and type(self.op).infer is Composite.infer:
            for a in args:
                t.know(a)
        try:
            self.op.relate(t, args, self.types[-1])
        except (Wait, Stuck) as wait:
            if self.name in relations:
                self._bound_dtypes(t)
            if self.name not in BROADCASTS or isinstance(wait, Stuck):
                raise
            t.scalars(self.types, wait)

    def _bound_dtypes(self, t: "Solver") -> None:
        """A family's relation does not say which base types its operator is for: demand that separately."""
        for a in self.types[:-1]:
            if type(head(a)) is TensorType:
                self.op.check_dtype(t, a)

    @property
    def what(self) -> str:
        return self.op.name


class DeferredGoal(Goal):
    """Something to look at again when unknowns are bound; dropped if they never are."""

    __slots__ = ("rule",)
    optional = True
    outputs = 0

    def __init__(self, rule: "Callable[[Solver], None]", types: tuple[Any, ...], call: Expr | None) -> None:
        super().__init__("", types, (), call)
        self.rule = rule

    def run(self, t: "Solver") -> None:
        self.rule(t)


class ClassGoal(Goal):
    """A type parameter of kind `BaseType` that is to be one of some base types."""

    __slots__ = ("allowed",)
    outputs = 0

    def __init__(self, var: TypeVar, allowed: frozenset[str], call: Expr | None) -> None:
        name, attrs = class_named(allowed)
        super().__init__(name, (var,), attrs, call)
        self.allowed = allowed

    def run(self, t: "Solver") -> None:
        (var,) = self.types
        if not t.classes.get(var, _ALL) <= self.allowed:
            raise Stuck


_ALL = frozenset(BASE_TYPES)
BROADCASTS = frozenset({"Broadcast", "BroadcastCompare"})
_memo: dict[tuple[Operator, tuple[Type, ...]], Type] = {}
"""What operators make of closed types: relations are functional, so one process needs to ask once."""
MEMO_SIZE = 200_000


def remembered(op: Operator, types: tuple[Type, ...]) -> Type | None:
    """What `op` makes of operands of these types, if somebody has asked before."""
    try:
        return _memo.get((op, types))
    except TypeError:  # an attribute without a hash
        return None


class Solver(Unifier):
    """Goals and what they have found out.  `pending` holds the goals that wait."""

    def __init__(self, report: Report) -> None:
        """Diagnostics go to `report`."""
        super().__init__()
        self.report = report
        self.pending: list[Goal] = []
        self.givens: Givens = None
        self.goal: Goal | None = None
        self.needs = 0
        self.placeholders: set[TypeVar] = set()
        self.failed = False

    # --- goals ------------------------------------------------------------------------------------------------

    def apply(self, op: Operator, types: tuple[Any, ...], call: Expr | None) -> Any:
        """The type of `op` applied to operands of these types."""
        flags = 0
        for a in types:
            flags |= a.flags
        is_open = flags & (HAS_INCOMPLETE | HAS_ERROR)
        if not is_open:
            try:
                found = _memo.get((op, types))
            except TypeError:  # an attribute without a hash
                is_open = True
            else:
                if found is not None:
                    return found
        out = Unknown(Kind.Type, self.level)
        goal = OperatorGoal(op, (*types, out), call)
        needs, said = self.needs, len(self.report.diagnostics)
        self.post(goal)
        if not goal.done or goal.entailed:
            return out
        result = head(out)
        if not is_open and needs == self.needs and said == len(self.report.diagnostics):
            result = zonk(result)
            if not result.flags & (HAS_INCOMPLETE | HAS_ERROR):
                if len(_memo) > MEMO_SIZE:
                    _memo.clear()
                _memo[op, types] = result
        return result

    def post(self, goal: Goal) -> None:
        """Try a goal; keep it if it has to wait."""
        goal.level, goal.givens = self.level, self.givens
        self.attempt(goal)
        if not goal.done:
            self.pending.append(goal)

    def settle(self) -> None:
        """Try again every goal whose unknowns have been bound."""
        while self.queue:
            queue, self.queue = self.queue, []
            for goal in queue:
                if not goal.done:
                    self.attempt(goal)

    def attempt(self, goal: Goal) -> None:
        """Run a goal; it is done, or parked on what it waits for."""
        saved = self.level, self.cause, self.goal, self.givens
        self.level, self.cause, self.goal, self.givens = goal.level, goal.call, goal, goal.givens
        try:
            goal.run(self)
            goal.done = True
        except Wait as wait:
            self._park(goal, wait.on)
        except Stuck:
            self._park(goal, unknowns(goal.types))
        except Silenced:
            self._give_up(goal)
        except Fault as fault:
            self.fault(fault, goal)
            self._give_up(goal)
        except Mismatch as mismatch:
            self.fault(self.describe(mismatch, *goal.types[-2:]), goal)
            self._give_up(goal)
        except RelayError as error:
            for d in error.diagnostics:
                self.fault(Fault(d.code, d.message, d.label, d.hint), goal)
            self._give_up(goal)
        finally:
            self.level, self.cause, self.goal, self.givens = saved

    def _park(self, goal: Goal, on: Iterable[Unknown]) -> None:
        if goal.givens is not None and not goal.is_given:
            if self._entailed(goal):
                goal.done = goal.entailed = True
                return
            on = unknowns(goal.types)
        if goal.parked is None:
            goal.parked = set()
        for v in on:
            if v not in goal.parked:
                goal.parked.add(v)
                if v.waiting is None:
                    v.waiting = [goal]
                else:
                    v.waiting.append(goal)

    def _entailed(self, goal: Goal) -> bool:
        """Whether a declared constraint says what the goal asks: same relation, same inputs, so same result."""
        givens = goal.givens
        if not goal.outputs:
            return False
        wanted = [zonk(t) for t in goal.types]
        while givens is not None:
            given, givens = givens
            if given.name != goal.name or given.attrs != goal.attrs or len(given.types) != len(wanted):
                continue
            known = [zonk(t) for t in given.types]
            if known[:-1] == wanted[:-1]:
                self.unify(goal.types[-1], given.types[-1])
                return True
        return False

    def _give_up(self, goal: Goal) -> None:
        goal.done = True
        for t in goal.types[-goal.outputs :] if goal.outputs else ():
            self.silence(t)

    def silence(self, t: Any) -> None:
        """Make what is unknown of an ill-typed expression's type agree with everything."""
        for v in unknowns(t):
            v.bound, v.allowed = ERROR, None
            if v.waiting:
                self.queue += v.waiting
                v.waiting = None

    # --- reports ----------------------------------------------------------------------------------------------

    def fault(self, fault: Fault, goal: Goal) -> None:
        """Report what is wrong with a goal, at its call."""
        call = goal.call
        self.diagnose(
            fault.code,
            fault.message,
            call,
            label=fault.label,
            hint=fault.hint,
            operands=call.args if type(call) is Call else (),
        )

    def diagnose(
        self,
        code: str,
        message: str,
        at: Expr | None,
        *,
        label: str = "",
        hint: str = "",
        operands: Iterable[Expr] = (),
    ) -> None:
        """Report an error at an expression, explaining the types of `operands`."""
        self.failed = True
        notes = self.explain(operands)
        self.report.add(Diagnostic(code, message, None if at is None else at.span, label, notes, hint))

    def explain(self, operands: Iterable[Expr]) -> tuple[Any, ...]:
        """Notes on where the types of `operands` come from."""
        return ()

    def describe(self, m: Mismatch, expected: Any, found: Any, why: str = "") -> Fault:
        """A mismatch in the user's words."""
        from relay.typecheck.explain import describe

        return describe(m, expected, found, why, self.goal)

    # --- what relations ask -----------------------------------------------------------------------------------

    def resolve(self, t: Any) -> Any:
        """See `Typing`."""
        t = head(t)
        if type(t) is not TensorType or not t.flags & HAS_INCOMPLETE:
            return t
        shape, dtype = head(t.shape), head(t.dtype)
        if type(shape) is tuple:
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
        raise Fault("expected-tensor", f"{self._subject()}expects a tensor, found {show(t)}")

    def shape(self, t: Any, rank: int | None = None, what: str = "") -> tuple[Dim, ...]:
        """See `Typing`."""
        s: Any = self.tensor(t).shape
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
        raise Fault("expected-tuple", f"expected a tuple, found {show(t)}")

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

    def equal(self, a: Any, b: Any, why: str = "") -> None:
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
            self._when_known((a, b), lambda t: t.require(a, comparison, b, why, code))

    def _when_known(self, about: tuple[Any, ...], rule: "Callable[[Solver], None]") -> None:
        """Look again when an unknown of `about` is bound."""
        goal = DeferredGoal(rule, about, self.cause)
        goal.level, goal.givens = self.level, None
        self._park(goal, unknowns(about))
        goal.done = False

    def later(self, a: Any, b: Any, strict: bool) -> None:
        """See `Unifier`."""
        self._when_known((a, b), lambda t: t.unify(a, b, strict))

    def need_class(self, t: TypeVar, allowed: frozenset[str]) -> None:
        """See `Unifier`."""
        self.needs += 1
        goal = ClassGoal(t, allowed, self.cause)
        goal.level, goal.givens = self.level, self.givens
        if not any(
            type(g) is ClassGoal and g.types == goal.types and g.allowed == allowed and not g.done
            for g in self.pending[-64:]
        ):
            self.pending.append(goal)

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
                raise Wait(s) if type(s) is Unknown else Stuck
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
                for d in (x, y):
                    if isinstance(d, Type) and d.flags & HAS_INCOMPLETE:
                        raise Wait(*unknowns(d))
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
        """Shapes that broadcast to `()` are all `()`: the one case in which the result decides the operands."""
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
                found = "one of " + ", ".join(sorted(m.a)) if isinstance(m.a, frozenset) else "it"
            subject = what or (f"`{self.goal.what}`" if self.goal is not None else "this")
            raise Fault(
                "dtype-not-supported",
                f"{subject} does not work on {show(found)}",
                hint=f"it works on {listed(allowed)}; `cast` converts",
            ) from None

    def fresh(self, like: Literal["type", "tensor", "shape", "dim", "dtype"] = "type") -> Any:
        """See `Typing`."""
        if like == "tensor":
            return TensorType(self.fresh_of(Kind.Shape), self.fresh_of(Kind.BaseType))
        return self.fresh_of(_KINDS[like])

    def fail(self, code: str, message: str, label: str = "", hint: str = "") -> NoReturn:
        """See `Typing`."""
        raise Fault(code, message, label, hint)

    def _subject(self) -> str:
        return "" if self.goal is None else f"`{self.goal.what}` "


_KINDS = {"type": Kind.Type, "shape": Kind.Shape, "dim": Kind.Dim, "dtype": Kind.BaseType}


def _last(axis: int) -> str:
    return (
        "last"
        if axis == -1
        else f"{-axis}th last"
        if axis < -3
        else {-2: "second last", -3: "third last"}[axis]
    )


def show(t: Any) -> str:
    """A type, shape, dimension or base type for a message."""
    from relay.typecheck.explain import show_type

    return show_type(t)


def listed(names: Collection[str]) -> str:
    """Base types in their usual order."""
    return ", ".join([d for d in BASE_TYPES if d in names])


@cache
def relation_arity(rule: Callable[..., None]) -> int | None:
    """How many types a relation is between; None for any number."""
    params = list(inspect.signature(rule).parameters.values())[1:]
    if any(p.kind is p.VAR_POSITIONAL for p in params):
        return None
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in params)


def relation_goal(name: str, types: tuple[Any, ...], attrs: Any, call: Expr | None) -> Goal:
    """The goal that a relation named in a `where` clause stands for (`unknown-relation`, `arity`)."""
    if name in relations:
        wanted = relation_arity(relations[name])
        if wanted is not None and len(types) != wanted:
            raise Fault(
                "arity",
                f"the relation `{name}` is between {wanted} types, found {len(types)}",
                hint="without arguments it relates all parameters and the result",
            )
        return Goal(name, types, attrs, call)
    if name in registry:
        op = operator_instance(name, dict(attrs))
        count = len(types) - 1
        if not (len(op.operands) - op.optional <= count and (op.variadic or count <= len(op.operands))):
            raise Fault(
                "arity",
                f"the relation `{name}` is between {len(op.operands)} operands and a result, "
                f"found {len(types)} types",
            )
        return OperatorGoal(op, types, call)
    raise Fault(
        "unknown-relation",
        f"there is no relation `{name}`",
        hint=did_you_mean(name, [*relations, *registry])
        or f"some relations are {', '.join(list(relations)[:6])}; every operator's name is one",
    )


__all__ = [
    "ANY",
    "ClassGoal",
    "DeferredGoal",
    "Fault",
    "Goal",
    "OperatorGoal",
    "Shape",
    "Solver",
    "Stuck",
    "Wait",
    "listed",
    "relation_goal",
    "show",
]
