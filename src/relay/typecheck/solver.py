"""The constraint solver: goals that run, wait for what they need to know, and run again."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from relay.diagnostic import Diagnostic, RelayError, Report, counted
from relay.ir.expr import Call, Expr
from relay.ir.type import HAS_INCOMPLETE, Kind, Type, TypeVar
from relay.ir.type_base import HAS_ERROR, HAS_OBJECT
from relay.op.base import Operator
from relay.op.places import computed_hint
from relay.typecheck.goals import ClassGoal, DeferredGoal, Givens, Goal, OperatorGoal, Silenced, Stuck, Wait
from relay.typecheck.messages import Fault
from relay.typecheck.relating import Relating
from relay.typecheck.unknown import ERROR, Mismatch, Unknown, head, unknowns, zonk

_memo: dict[tuple[Operator, tuple[Type, ...]], Type] = {}
"""What operators make of closed types of tensors and tuples: relations are functional, so one process needs
to ask once.  A data type of a name may be another one in the next module.
"""
MEMO_SIZE = 200_000


def remember_result(op: Operator, types: tuple[Type, ...], result: Type) -> None:
    """Keep what `op` makes of operands of these types."""
    if len(_memo) > MEMO_SIZE:
        _memo.clear()
    with suppress(TypeError):  # an attribute without a hash
        _memo[op, types] = result


def remembered(op: Operator, types: tuple[Type, ...]) -> Type | None:
    """What `op` makes of operands of these types, if somebody has asked before."""
    try:
        return _memo.get((op, types))
    except TypeError:  # an attribute without a hash
        return None


class Solver(Relating):
    """Goals and what they have found out.  `pending` holds the goals that wait."""

    def __init__(self, report: Report) -> None:
        """Diagnostics go to `report`."""
        super().__init__()
        self.report = report
        self.pending: list[Goal] = []
        self.givens: Givens = None
        self.needs = 0
        self.placeholders: set[TypeVar] = set()
        self.failed = False

    # --- goals --------------------------------------------------------------------------------------------

    def apply(self, op: Operator, types: tuple[Any, ...], call: Expr | None) -> Any:
        """The type of `op` applied to operands of these types."""
        flags = 0
        for a in types:
            flags |= a.flags
        is_kept = not flags & (HAS_INCOMPLETE | HAS_ERROR | HAS_OBJECT)
        found = remembered(op, types) if is_kept else None
        if found is not None:
            return found
        if not self.takes(op, len(types), call):
            return ERROR
        out = Unknown(Kind.Type, self.level)
        goal = OperatorGoal(op, (*types, out), call)
        needs, said = self.needs, len(self.report.diagnostics)
        self.post(goal)
        if not goal.done or goal.entailed:
            return out
        result = head(out)
        if is_kept and needs == self.needs and said == len(self.report.diagnostics):
            result = zonk(result)
            if not result.flags & (HAS_INCOMPLETE | HAS_ERROR):
                remember_result(op, types, result)
        return result

    def takes(self, op: Operator, count: int, call: Expr | None) -> bool:
        """Whether an operator takes that many operands; reports it where not."""
        least, most = len(op.operands) - op.optional, len(op.operands)
        if count >= least and (count <= most or op.variadic):
            return True
        self.diagnose(
            "arity",
            f"`{op.name}` takes {_operands(op, least, most)}, found {count}",
            call,
            hint=_operands_hint(op, count > most),
        )
        return False

    def post(self, goal: Goal) -> None:
        """Try a goal; keep it if it has to wait."""
        goal.level, goal.givens = self.level, self.givens
        self.attempt(goal)
        if not goal.done:
            self.pending.append(goal)

    def enqueue(self, goal: Goal) -> None:
        """Try a goal when the present one is done, so that goals do not nest as types do."""
        goal.level, goal.givens = self.level, self.givens
        self.pending.append(goal)
        self.queue.append(goal)

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
            self._advance(goal)
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

    def _advance(self, goal: Goal) -> None:
        """Run a goal, or park it.  On types that are parameters an operator could only spoil its result."""
        if any(type(head(t)) is TypeVar for t in goal.types) and self._entailed(goal):
            return
        try:
            goal.run(self)
            goal.done = True
        except Wait as wait:
            self._park(goal, wait.on)
        except Stuck:
            self._park(goal, unknowns(goal.types))

    def _park(self, goal: Goal, on: Iterable[Unknown]) -> None:
        if self._entailed(goal):
            return
        if goal.givens is not None and not goal.is_given:
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
        """Finish a goal if a declared constraint says it: same relation, same inputs, so same result."""
        givens = goal.givens
        if not goal.outputs or goal.is_given:
            return False
        wanted = [zonk(t) for t in goal.types]
        while givens is not None:
            given, givens = givens
            if given.name != goal.name or given.attrs != goal.attrs or len(given.types) != len(wanted):
                continue
            known = [zonk(t) for t in given.types]
            if known[:-1] == wanted[:-1]:
                self.unify(goal.types[-1], given.types[-1])
                goal.done = goal.entailed = True
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

    # --- what is looked at again --------------------------------------------------------------------------

    def when_known(self, about: tuple[Any, ...], rule: "Callable[[Solver], None]") -> None:
        """See `Relating`."""
        goal = DeferredGoal(rule, about, self.cause)
        goal.level = self.level
        self._park(goal, unknowns(about))

    def later(self, a: Any, b: Any, strict: bool) -> None:
        """See `Unifier`."""
        self.when_known((a, b), lambda t: t.unify(a, b, strict))

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

    # --- reports ------------------------------------------------------------------------------------------

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


def _operands_hint(op: Operator, has_more: bool) -> str:
    """What the operands of an operator are; with more of them, what takes an attribute that is computed."""
    if has_more and op.more_means:
        return op.more_means
    names = ", ".join(op.operands)
    hint = f"its operands are {names}" if names else "it has no operands"
    computed = computed_hint(type(op)) if has_more else ""
    return f"{hint}; {computed}" if computed else hint


def _operands(op: Operator, least: int, most: int) -> str:
    """How many operands an operator takes, in words."""
    if op.variadic:
        return f"at least {counted(least, 'operand')}"
    return counted(most, "operand") if least == most else f"{least} to {most} operands"
