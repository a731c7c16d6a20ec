"""A match with guards, literals, alternatives and names for parts, as matches that have none of these.

Each clause becomes a pattern that a match may have, and tests behind it.  Where a test fails, what follows is
the next clause, if its pattern matches the same values; else the rest of the clauses, which stand in place if
they are needed once, or are a local function `next` that is called where they are needed.  The body that
several alternatives share is a function of their variables.  So nothing is copied, and the result is as long
as the match.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay.diagnostic import Span
from relay.ir.expr import Call, Clause, Constant, Constructor, Expr, Function, If, Let, Match, Pattern, Var
from relay.ir.module import IRModule
from relay.ir.pattern import (
    PatternAs,
    PatternConstructor,
    PatternLiteral,
    PatternOr,
    PatternVar,
    PatternWildcard,
    is_lowered,
    pattern_nodes,
    pattern_vars,
)
from relay.ir.type import BOOL, FuncType, Type
from relay.ir.walk import rebuild_pattern, renamed_pattern, run
from relay.op.registry import get, instance
from relay.typecheck.exhaustive import analyse

Steps = Generator[Any, Any, Any]
Otherwise = Callable[[], Expr] | None
"""Makes the expression for values that fail a test; None where none does, or where that is an error."""


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on the variables that are bound so far."""

    cond: Expr


@dataclass(frozen=True, slots=True)
class Choice:
    """Further patterns, one of which a value that is bound so far has to match."""

    var: Var
    patterns: tuple[Pattern, ...]

    @property
    def bound(self) -> list[Var]:
        """The variables that each of the patterns binds."""
        return pattern_vars(self.patterns[0])


@dataclass(slots=True)
class Row:
    """A clause: its pattern, the tests behind that, its body."""

    pattern: Pattern
    body: Expr
    span: Span | None
    guard: Expr | None = None


@dataclass(slots=True)
class Group:
    """The clauses of one match, from the last to the first, and the function that they call."""

    clauses: list[Clause] = field(default_factory=list[Clause])
    function: tuple[Var, Function] | None = None


def needs_lowering(e: Match) -> bool:
    """Whether a match has what passes do not meet."""
    return any(c.guard is not None or not is_lowered(c.lhs) for c in e.clauses)


def lowered(e: Match, data_type: Type, result: Type, types: Mapping[Pattern, Type], mod: IRModule) -> Expr:
    """An annotated match without guards, literals, alternatives and names for parts.

    `types` are those of the values that alternatives are matched with.
    """
    clauses = list(e.clauses)
    while e.complete and clauses[-1].guard is not None:
        clauses.pop()  # without it all values are covered
    rows = [Row(c.lhs, c.rhs, c.span, c.guard) for c in clauses]
    data = e.data if type(e.data) is Var else Var("matched", data_type, span=e.data.span)
    body = run(_Lowering(types, mod, e).rows(data, rows, result, None))
    return body if data is e.data else Let(data, e.data, body, span=e.span)


class _Lowering:
    def __init__(self, types: Mapping[Pattern, Type], mod: IRModule, e: Match) -> None:
        self.types = dict(types)
        self.mod = mod
        self.span = e.span
        self.is_complete = e.complete

    def rows(self, of: Var, rows: Sequence[Row], result: Type, otherwise: Otherwise) -> Steps:
        """The first of several clauses that the value of a variable matches, with tests and all."""
        group = Group()
        if otherwise is not None:
            group.clauses.append(Clause(_wildcard(self.span), otherwise(), span=self.span))
        for row in reversed(rows):
            lhs, tests = self.taken_apart(of, row.pattern)
            if row.guard is not None:
                tests.append(Test(row.guard))
            if not tests:
                group.clauses.append(Clause(lhs, row.body, span=row.span))
                continue
            if not group.clauses:
                body = yield self.tested(tests, row.body, result, None)
                group.clauses.append(Clause(lhs, body, span=row.span))
                continue
            joined = joined_patterns(lhs, group.clauses[-1].lhs)
            if joined is not None:
                lhs, same = joined
                rest = group.clauses.pop().rhs
                for v, w in reversed(same):
                    rest = Let(w, v, rest, span=row.span)
                body = yield self.tested_before(rest, tests, row, result)
                group.clauses.append(Clause(lhs, body, span=row.span))
                continue
            rest, fails = self.matched(of, group), self.may_fail(lhs)
            group = Group()
            again = _always(rest)
            if _tries(tests) + fails > 1 and rest.children:
                var = Var("next", FuncType((), result), span=self.span)
                group.function = var, Function((), rest, result, span=rest.span)
                again = _calls(var, self.span)
            if fails:
                group.clauses.append(Clause(_wildcard(row.span), again(), span=row.span))
            body = yield self.tested(tests, row.body, result, again)
            group.clauses.append(Clause(lhs, body, span=row.span))
        return self.matched(of, group)

    def tested_before(self, rest: Expr, tests: Sequence[Test | Choice], row: Row, result: Type) -> Steps:
        """The body of a row, or where a test fails `rest`, which is not copied."""
        if _tries(tests) < 2 or not rest.children:
            return (yield self.tested(tests, row.body, result, _always(rest)))
        var = Var("next", FuncType((), result), span=self.span)
        body = yield self.tested(tests, row.body, result, _calls(var, self.span))
        return Let(var, Function((), rest, result, span=rest.span), body, span=row.span)

    def matched(self, of: Var, group: Group) -> Expr:
        """The match of a group of clauses, or what it comes to."""
        clauses = group.clauses[::-1]
        end = next((i for i, c in enumerate(clauses) if not self.may_fail(c.lhs)), None)
        clauses = clauses if end is None else clauses[: end + 1]
        first = clauses[0]
        if isinstance(first.lhs, PatternWildcard):
            e: Expr = first.rhs
        elif isinstance(first.lhs, PatternVar):
            e = Let(first.lhs.var, of, first.rhs, span=first.span)
        else:
            covers = analyse([c.lhs for c in clauses], self.mod, 1) if end is None else None
            complete = covers is None or (covers.is_certain and not covers.missing)
            e = Match(of, tuple(clauses), complete, span=self.span)
        return e if group.function is None else Let(*group.function, e, span=self.span)

    def may_fail(self, pattern: Pattern) -> bool:
        """Whether some value does not match a pattern of constructors and tuples."""
        for p in pattern_nodes(pattern):
            if isinstance(p, PatternConstructor):
                data = self.mod.type_definitions.get(p.constructor.belong_to)
                if data is None or len(data.constructors) > 1:
                    return True
        return False

    # --- patterns -------------------------------------------------------------------------------------------

    def taken_apart(self, of: Var, root: Pattern) -> tuple[Pattern, list[Test | Choice]]:
        """A pattern for the value of `of` that a match may have, and what else has to hold."""
        if is_lowered(root):
            return root, []
        tests: list[Test | Choice] = []
        done: list[Pattern] = []
        stack: list[tuple[Pattern, bool]] = [(root, False)]
        while stack:
            p, ready = stack.pop()
            if isinstance(p, PatternLiteral | PatternOr | PatternAs):
                done.append(self._part(p, of if p is root else None, tests))
            elif p.children and not ready:
                stack.append((p, True))
                stack += [(c, False) for c in reversed(p.children)]
            elif p.children:
                n = len(p.children)
                children = tuple(done[-n:])
                del done[-n:]
                done.append(rebuild_pattern(p, children))
            else:
                done.append(p)
        return done[0], tests

    def _part(self, p: PatternLiteral | PatternOr | PatternAs, of: Var | None, tests: list[Any]) -> Pattern:
        """A variable in place of a pattern, unless `of` is one already, and the test that it stands for."""
        if isinstance(p, PatternAs):
            if not isinstance(p.pattern, PatternWildcard):
                tests.append(Choice(p.var, (p.pattern,)))
            return PatternVar(p.var, span=p.span)
        var = of
        if var is None:
            t = p.value.type if isinstance(p, PatternLiteral) else self.types[p]
            var = Var("part", t, span=p.span)
        tests.append(
            Test(_equals(var, p.value)) if isinstance(p, PatternLiteral) else Choice(var, p.patterns)
        )
        return _wildcard(p.span) if of is not None else PatternVar(var, span=p.span)

    # --- tests ----------------------------------------------------------------------------------------------

    def tested(self, tests: Sequence[Test | Choice], body: Expr, result: Type, otherwise: Otherwise) -> Steps:
        """`body` where all tests hold, else `otherwise`; without that they cannot fail, and are left out."""
        conds: list[Expr] = []
        for test in reversed(tests):
            is_partial = otherwise is None and not self.is_complete
            if isinstance(test, Choice) and (test.bound or is_partial):
                body = self._if_all(conds, body, otherwise)
                conds = []
                body = yield self.chosen(test, body, result, otherwise)
            elif otherwise is not None:
                conds.append(test.cond if isinstance(test, Test) else (yield self.holds(test)))
        return self._if_all(conds, body, otherwise)

    def _if_all(self, conds: Sequence[Expr], body: Expr, otherwise: Otherwise) -> Expr:
        """`if (c && …) { body } else { … }`; the conditions come from the last to the first."""
        if not conds or otherwise is None:
            return body
        cond = conds[0]
        for c in conds[1:]:
            cond = If(c, cond, _truth(False, c.span), span=c.span)
        other = otherwise()
        if _is_truth(body, True) and _is_truth(other, False):
            return cond
        return If(cond, body, other, span=cond.span)

    def holds(self, choice: Choice) -> Steps:
        """Whether one of the patterns, which bind nothing, matches."""
        rows = [Row(p, _truth(True, p.span), p.span) for p in choice.patterns]
        return (yield self.rows(choice.var, rows, BOOL, lambda: _truth(False, self.span)))

    def chosen(self, choice: Choice, body: Expr, result: Type, otherwise: Otherwise) -> Steps:
        """`body` for the first of the patterns that matches, with its variables."""
        if len(choice.patterns) == 1:
            row = Row(choice.patterns[0], body, self.span)
            return (yield self.rows(choice.var, [row], result, otherwise))
        bound = choice.bound
        types = [v.type_annotation for v in bound]
        call = Var("clause", FuncType(types, result), span=self.span)  # pyright: ignore[reportArgumentType]
        rows: list[Row] = []
        for p in choice.patterns:
            own = {v: Var(v.name_hint, v.type_annotation, span=v.span) for v in bound}
            renamed = renamed_pattern(p, own.__getitem__)
            rows.append(Row(renamed, Call(call, tuple(own.values()), None, (), span=p.span), p.span))
            self.types |= _same_types(p, renamed, self.types)
        inner = yield self.rows(choice.var, rows, result, otherwise)
        return Let(call, Function(tuple(bound), body, result, span=body.span), inner, span=self.span)


def joined_patterns(p: Pattern, q: Pattern) -> tuple[Pattern, list[tuple[Var, Var]]] | None:
    """A pattern that binds what two of one form do, and which variables are equal; None for other ones."""
    same: list[tuple[Var, Var]] = []
    done: list[Pattern] = []
    stack: list[tuple[Pattern, Pattern, bool]] = [(p, q, False)]
    while stack:
        p, q, ready = stack.pop()
        n = len(p.children)
        if ready:
            children = tuple(done[len(done) - n :])
            del done[len(done) - n :]
            done.append(rebuild_pattern(p, children))
        elif isinstance(p, PatternVar | PatternWildcard) and isinstance(q, PatternVar | PatternWildcard):
            done.append(q if isinstance(p, PatternWildcard) else p)
            if isinstance(p, PatternVar) and isinstance(q, PatternVar):
                same.append((p.var, q.var))
        elif type(p) is not type(q) or n != len(q.children) or _constructor(p) != _constructor(q):
            return None
        elif n:
            stack.append((p, q, True))
            stack += [(a, b, False) for a, b in zip(p.children[::-1], q.children[::-1], strict=True)]
        else:
            done.append(p)
    return done[0], same


def _constructor(p: Pattern) -> Constructor | None:
    return p.constructor if isinstance(p, PatternConstructor) else None


def _same_types(p: Pattern, q: Pattern, types: Mapping[Pattern, Type]) -> dict[Pattern, Type]:
    """The types of the alternatives inside `q`, a copy of `p`."""
    pairs = zip(pattern_nodes(p), pattern_nodes(q), strict=True)
    return {b: types[a] for a, b in pairs if isinstance(a, PatternOr)}


def _tries(tests: Sequence[Test | Choice]) -> int:
    """How often what follows a failure would stand there: once for each choice and for tests in a row."""
    count, in_row = 0, False
    for test in tests:
        is_plain = isinstance(test, Test) or not test.bound
        count += not (is_plain and in_row)
        in_row = is_plain
    return count


def _always(e: Expr) -> Callable[[], Expr]:
    return lambda: e


def _calls(var: Var, span: Span | None) -> Callable[[], Expr]:
    """Calls of a function without parameters."""
    return lambda: Call(var, (), None, (), span=span)


def _is_truth(e: Expr, value: bool) -> bool:
    return isinstance(e, Constant) and e.type is BOOL and bool(e.value) is value


def _wildcard(span: Span | None) -> PatternWildcard:
    return PatternWildcard(span=span)


def _truth(value: bool, span: Span | None) -> Constant:
    return Constant(np.asarray(value), BOOL, span=span)


def _equals(var: Var, literal: Constant) -> Expr:
    """Whether a variable has the value of a literal."""
    span = literal.span
    if literal.type is BOOL:
        negated = Call(get("logical_not"), (var,), instance("logical_not", {}), (), span=span)
        return var if literal.value else negated
    return Call(get("equal"), (var, literal), instance("equal", {}), (), span=span)
