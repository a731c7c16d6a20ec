"""Choices between graphs of different ranks: what follows them is converted once for each.

PyTorch exports `squeeze` as an `If` on a size, of which one branch has an axis less.  A rank is part of a
type, so no `if` of Relay gives both.  Mostly the nodes behind can follow one branch only; that branch is
taken, and the program asserts that it is the right one.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from relay.diagnostic import RelayError, Span
from relay.frontend.onnx.containers import Items, Nothing
from relay.frontend.support import same_kind, scalar
from relay.frontend.value import NeedsValueError, Value, call, fields, tuple_of, type_in, union
from relay.ir.expr import Call, Expr, If, Let, Op, Var
from relay.ir.module import IRModule
from relay.ir.type import UNIT
from relay.op.registry import instance

if TYPE_CHECKING:
    from relay.frontend.onnx.graph import Scope

Results = list[Value | None]
"""The values of a graph's outputs; None for those of a function that it leaves out."""
MAX_FORKS = 64
"""The most choices of a model whose branches have different ranks, counted for each way to them."""


class RanksDifferError(Exception):
    """The branches of an `If` give tensors of different ranks or dtypes."""

    def __init__(self, name: str, condition: Value) -> None:
        """`name` is that of the node."""
        super().__init__(name)
        self.name = name
        self.condition = condition


def forked(scope: "Scope", found: RanksDifferError, go_on: Callable[["Scope"], Results]) -> Results:
    """The results of a graph, of which a node is a choice between ranks.

    `go_on` converts that node, with its branch decided, and those after it, in a copy of the scope.
    """
    importer, place = scope.importer, scope.span
    unknown = NeedsValueError("which branch is taken", found.condition.sources)
    unknown.span = place
    importer.forks += 1
    if importer.forks > MAX_FORKS:
        raise unknown
    ways: list[tuple[bool, Scope, Results]] = []
    for taken in (True, False):
        trial = scope.copy()
        trial.choices[found.name] = taken
        try:
            ways.append((taken, trial, go_on(trial)))
        except (RelayError, NeedsValueError):
            continue
    if not ways:
        raise unknown
    if len(ways) == 1:
        ((taken, trial, results),) = ways
        check = assertion(scope, found, taken, place)
        scope.bindings.made += [check, *trial.bindings.made]
        return [after(check[0], v) for v in results]
    (_, yes, then), (_, no, otherwise) = ways
    pairs = [(a, b) for a, b in zip(then, otherwise, strict=True) if a is not None and b is not None]
    if len(pairs) < len(then) or not all(may_join(a, b) for a, b in pairs):
        raise unknown
    both = [tuple_of(values) for values in zip(*pairs, strict=True)]
    return [*bound_fields(scope, found.name, chosen(importer.mod, found.condition, yes, no, *both), place)]


def may_join(a: Value, b: Value) -> bool:
    """Whether one variable can hold either value."""
    known = isinstance(a, Items | Nothing) or isinstance(b, Items | Nothing)
    return not known and same_kind(a.type) == same_kind(b.type)


def assertion(scope: "Scope", found: RanksDifferError, taken: bool, place: Span | None) -> tuple[Var, Expr]:
    """That the branch is taken which alone can be followed, bound to a variable."""
    flag = scalar(found.condition)
    if not taken:
        flag = call("logical_not", flag)
    branch = "then" if taken else "else"
    message = (
        f"`{found.name}` must take its {branch} branch: the other one gives tensors of ranks that do not fit"
    )
    check = Call(Op.get("assert"), (flag.expr,), instance("assert", {"message": message}), span=place)
    return Var(f"{scope.prefix}{found.name}.taken", UNIT, span=place), check


def after(check: Var, x: Value | None) -> Value | None:
    """A value behind an assertion."""
    if x is None or x.array is not None or isinstance(x, Items | Nothing):
        return x
    return x.named(Let(Var("_", UNIT), check, x.expr))


def chosen(mod: IRModule, condition: Value, yes: "Scope", no: "Scope", a: Value, b: Value) -> Value:
    """A choice between two values, each within the bindings of its scope."""
    flag = scalar(condition)
    probe = If(flag.stand_in, a.stand_in, b.stand_in)
    t = type_in(probe, mod)
    choice = If(flag.expr, yes.bindings.around(a.expr), no.bindings.around(b.expr))
    return Value(choice, t, sources=union([condition, a, b]))


def bound_fields(scope: "Scope", name: str, whole: Value, span: Span | None) -> tuple[Value, ...]:
    """The fields of a tuple, which is bound to a variable first."""
    var = Var(f"{scope.prefix}{name}", span=span)
    scope.bindings.made.append((var, whole.expr))
    return fields(Value(var, whole.type, sources=whole.sources))
