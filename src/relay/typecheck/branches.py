"""The typing of `if` and `match`."""

from collections.abc import Sequence
from typing import Any

from relay.ir.expr import Constant, Expr, If, Match, Var
from relay.ir.type import BOOL, Kind
from relay.typecheck.inference import Inference, Rule, rule
from relay.typecheck.join import join
from relay.typecheck.lowered_match import needs_lowering
from relay.typecheck.messages import show
from relay.typecheck.patterns import check_clauses, type_pattern
from relay.typecheck.places import end, place, result_place
from relay.typecheck.unknown import ERROR, Mismatch


@rule(If)
def if_(inf: Inference, e: If, want: Any) -> Rule:
    """A conditional."""
    t = inf.quick(e.cond)
    is_bool = _condition(inf, (yield e.cond) if t is None else t, e.cond, e, e)
    types: list[Any] = []
    for branch in (e.true_branch, e.false_branch):
        t = inf.quick(branch)
        if t is None:
            inf.want = want
            t = yield branch
        types.append(t)
    if not is_bool and _logical(e):  # one fault: the operands are not scalars
        return ERROR
    return _joined(inf, types, (e.true_branch, e.false_branch), e, want, "the branches of this `if`")


@rule(Match)
def match(inf: Inference, e: Match, want: Any) -> Rule:
    """Patterns agree with the value, clauses with each other, and together they are complete."""
    t = inf.quick(e.data)
    if t is None:
        t = yield e.data
    failed, inf.failed = inf.failed, False
    if needs_lowering(e):
        inf.matched[e] = t
    for clause in e.clauses:
        type_pattern(inf, clause.lhs, t, e.data)
    inf.settle()
    patterns_fail, inf.failed = inf.failed, failed or inf.failed
    types: list[Any] = []
    for clause in e.clauses:
        if clause.guard is not None:
            t = inf.quick(clause.guard)
            _condition(inf, (yield clause.guard) if t is None else t, clause.guard, e, clause.lhs)
        t = inf.quick(clause.rhs)
        if t is None:
            inf.want = want
            t = yield clause.rhs
        types.append(t)
    if not patterns_fail:
        check_clauses(inf, e)
    what = "what follows this `let` and its `else` block" if _is_let(e) else "the clauses of this `match`"
    return _joined(inf, types, [c.rhs for c in e.clauses], e, want, what)


def _is_let(e: Match) -> bool:
    """Whether a `match` is written `let P = e else { d };`: its last pattern is placed at the `else`."""
    place = e.clauses[-1].lhs.span if len(e.clauses) > 1 else None
    return place is not None and place.source.text[place.start : place.end] == "else"


def _joined(inf: Inference, types: list[Any], branches: Sequence[Expr], e: Expr, want: Any, what: str) -> Any:
    """The type of one of several branches."""
    if want is not None:
        for t, b in zip(types, branches, strict=True):
            if not inf.agree(want, t, result_place(b, e), what, operands=(b,)):
                return ERROR
        return want
    if not types:
        return inf.fresh_of(Kind.Type)
    joined = types[0]
    for t, b in zip(types[1:], branches[1:], strict=True):
        if joined is t:
            continue
        inf.cause = e
        try:
            joined = join(inf, joined, t)
        except Mismatch as m:
            _differ(inf, m, (joined, t), (branches[0], b), e, what)
            return ERROR
        inf.settle()
    return joined


def _differ(
    inf: Inference, m: Mismatch, types: tuple[Any, Any], branches: tuple[Expr, Expr], e: Expr, what: str
) -> None:
    """Report two branches that have no type in common."""
    f = inf.describe(m, *types)
    hint = f.hint
    if m.code == "shape-mismatch":
        hint = "declare the size that differs as `?`: `let %y: Tensor[(?,), …] = if …`"
    elif m.code == "literal-kind":
        hint = "make them of one type"
    elif isinstance(e, If) and _logical(e):
        hint = f"for tensors use `{_logical(e)}`"
    message = f"{what} differ: {show(types[0])} and {show(types[1])}"
    operands = (end(branches[0]), end(branches[1]))
    inf.diagnose(f.code, message, result_place(branches[1], e), label=f.label, hint=hint, operands=operands)


def _condition(inf: Inference, t: Any, cond: Expr, e: If | Match, around: Any) -> bool:
    """Demand a scalar bool of the condition or a guard of `e`; `around` shows where a variable stands."""
    t = inf.resolve(t)
    if t is BOOL or t is ERROR:
        return True
    inf.cause = cond
    try:
        inf.unify(BOOL, t)
    except Mismatch as m:
        is_shape = m.code in ("rank-mismatch", "shape-mismatch")
        hint = "reduce it to one value with `all(…)` or `any(…)`"
        if isinstance(e, If) and _logical(e):
            hint = f"`{_OPERATORS[_logical(e)]}` is for scalars; for tensors use `{_logical(e)}`"
        elif m.code in ("dtype-mismatch", "literal-kind", "dtype-not-supported"):
            hint = "compare it: `%x != 0`"
        inf.diagnose(
            "condition-shape" if is_shape else "condition-type",
            f"a condition is Tensor[(), bool], found {show(t)}",
            place(cond, around),
            hint=hint,
            operands=(cond,) if isinstance(cond, Var) else cond.children[1:],
        )
        return False
    inf.settle()
    return True


_OPERATORS = {"logical_and": "&&", "logical_or": "||"}


def _logical(e: If) -> str:
    """`logical_and` for what `&&` becomes, `logical_or` for `||`, else nothing."""
    for branch, value, name in ((e.false_branch, False, "logical_and"), (e.true_branch, True, "logical_or")):
        if isinstance(branch, Constant) and branch.type is BOOL and bool(branch.value) is value:
            return name
    return ""
