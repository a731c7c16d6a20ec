"""Choices as text: `if` and `match`."""

from collections.abc import Sequence
from typing import Any

from relay.ir.expr import Function, If, Let, LetRec, Match, Pattern, Tuple
from relay.ir.pattern import (
    PatternAs,
    PatternConstructor,
    PatternLiteral,
    PatternOr,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    pattern_nodes,
    pattern_vars,
)
from relay.text import names
from relay.text.layout import MAX_INDENT_LEVEL, Multi, Text, flatten, indented, pad, wrapped
from relay.text.print_body import Bodies
from relay.text.print_list import list_patterns
from relay.text.print_scope import Block, Key, Steps


class Choices(Bodies):
    """Prints branches and clauses."""

    # --- if -------------------------------------------------------------------------------------------------

    def if_(self, e: If, room: int) -> Steps:
        """`if (c) { a } else { b }`, `a && b`, `a || b`."""
        connective = self.connective(e)
        if connective is not None:
            sign, strength, other = connective
            return (yield self.infix(sign, (e.cond, other), (strength, strength + 1), room))
        cond = yield self.part(e.cond, room - 10)
        return (yield self.branches(e, cond, room))

    def branches(self, e: If, cond: str, room: int) -> Steps:
        """An `if` whose condition is written; a false branch that is an `if` itself follows as `else if`."""
        start = f"if ({cond}) {{"
        yes = yield self.scope(e.true_branch, (e, 1))
        margin = self.block.margin
        middle: list[Any] = []
        opened: list[Block] = []
        while (
            type(e.false_branch) is If
            and e.false_branch not in self.shared
            and (e, 2) not in self.homes
            and not self.comments
            and not self.name_each_call
            and self.connective(e.false_branch) is None
        ):
            middle.append([f"{pad(self.block.level + 1)}{yes}"] if isinstance(yes, str) else yes)
            around, inner = self.enter((e, 2), deeper=0), e.false_branch
            cond = yield self.part(inner.cond, room - 17)
            if self.block.lines:
                yes, no = None, (yield self.late_block(inner, cond, around))
                break
            opened.append(around)
            middle.append(f"{margin}}} else if ({cond}) {{")
            e = inner
            yes = yield self.scope(e.true_branch, (e, 1))
        else:
            no = yield self.scope(e.false_branch, (e, 2))
            if not middle and isinstance(yes, str) and isinstance(no, str):
                line = f"{start} {yes} }} else {{ {no} }}"
                if len(line) <= room:
                    return line
        for around in reversed(opened):
            self.leave(around)
        inside = pad(self.block.level + 1)
        if yes is not None:
            middle.append([inside + yes] if isinstance(yes, str) else yes)
        middle += [f"{margin}}} else {{", [inside + no] if isinstance(no, str) else no]
        return Multi(start, middle, "}")

    def late_block(self, e: If, cond: str, around: Block) -> Steps:
        """The lines of an `else` that is not an `else if`, because its condition needed lines of its own."""
        block = self.block
        block.level += 1
        block.margin = pad(block.level)
        block.lines = indented(block.lines) if block.margin != around.margin else block.lines
        text = yield self.branches(e, cond, block.room - 2)
        self.statement("", text, "")
        return self.leave(around)

    # --- let P = e ------------------------------------------------------------------------------------------

    def is_destructuring(self, e: Any) -> bool:
        """Whether `e` is a `match` of one clause, whose pattern takes every value apart; or of two, of which
        the first goes on with bindings and the second takes what is left.
        """
        if not self._takes_apart(e):
            return False
        rhs = e.clauses[0].rhs
        goes_on = type(rhs) in (Let, LetRec) or self._takes_apart(rhs)
        return len(e.clauses) == 1 or (goes_on and rhs not in self.shared)

    def _takes_apart(self, e: Any) -> bool:
        if type(e) is not Match or not self.sugar or not e.complete or not 1 <= len(e.clauses) <= 2:
            return False
        first, *others = e.clauses
        if not isinstance(first.lhs, PatternTuple | PatternConstructor) or any(
            c.guard is not None for c in e.clauses
        ):
            return False
        if self._may_fail(first.lhs) != bool(others) or self.taken_field(e) or self.changed_field(e):
            return False
        return all(type(c.lhs) is PatternWildcard for c in others)

    def _may_fail(self, pattern: Pattern) -> bool:
        """Whether some value may not match."""
        for p in pattern_nodes(pattern):
            if isinstance(p, PatternLiteral | PatternOr):
                return True
            if isinstance(p, PatternConstructor):
                data = None if self.mod is None else self.mod.type_definitions.get(p.constructor.belong_to)
                if data is None or len(data.constructors) > 1:
                    return True
        return False

    def destructuring(self, e: Match) -> Steps:
        first, *others = e.clauses
        room = self.block.room - 12
        data: Text = yield self.expr(e.data, room)
        if others:
            other = yield self.scope(others[0].rhs, (e, 2))
            inside = [pad(self.block.level + 1) + other] if isinstance(other, str) else other
            is_short = isinstance(other, str) and isinstance(data, str) and len(data) + len(other) + 12 < room
            data = wrapped(data, "", f" else {{ {other} }}" if is_short else " else {")
            if not is_short:
                before = [] if isinstance(data, str) else [data.middle, self.block.margin + data.last]
                data = Multi(data if isinstance(data, str) else data.first, [*before, inside], "}")
        self.statement(f"let {self.pattern(first.lhs)} = ", data, ";")
        self.goes_on((e, 1))

    def parameter_patterns(self, e: Function) -> list[Match]:
        """The `match`es that a body begins with, of parameters in their order that nothing else mentions and
        that have the names which parsing gives.
        """
        found: list[Match] = []
        body, taken = e.body, {v.name_hint for v in e.params}
        for i, v in enumerate(e.params):
            if v.name_hint == f"arg{i}" and type(body) is Match and body.data is v:
                if not self._is_parameter(body, taken):
                    break
                found.append(body)
                body = body.clauses[0].rhs
        return found

    def _is_parameter(self, e: Match, taken: set[str]) -> bool:
        """Whether a `match` of a parameter may print as it; its names, which become taken, must be free."""
        first, *others = e.clauses
        if others or e in self.shared or not self.is_destructuring(e):
            return False
        bound = {v.name_hint for v in pattern_vars(first.lhs)}
        if e.data in self.survey.repeated or bound & taken:
            return False
        taken |= bound
        return True

    # --- match ----------------------------------------------------------------------------------------------

    def match(self, e: Match, room: int) -> Steps:
        """`match (e) { P => e, }`."""
        data = yield self.part(e.data, room - 12)
        clauses: list[Any] = []
        margin = pad(self.block.level + 1)
        for i, clause in enumerate(e.clauses):
            rhs = clause.rhs
            has_lines = (e, i + 1) in self.homes or (
                (type(rhs) in (Let, LetRec) or self.is_destructuring(rhs)) and rhs not in self.shared
            )
            around = self.enter((e, i + 1), deeper=2 if has_lines else 1)
            lhs = self.pattern(clause.lhs)
            if clause.guard is not None:
                lhs += yield self.guard(clause.guard, (e, i + 1))
            self.block.room = max(self.block.room - len(lhs) - 5, 24)
            last = yield self.body(rhs)
            clauses += self.clause(lhs, last, margin)
            self.leave(around)
        data = data if type(e.data) is Tuple and data[0] == "(" and len(e.data.fields) > 1 else f"({data})"
        return Multi(f"match{'' if e.complete else '?'} {data} {{", clauses, "}")

    def clause(self, lhs: str, last: Text, margin: str) -> list[Any]:
        """The lines of one clause, whose body is written but for its last expression."""
        block = self.block
        if block.lines or block.margin != margin:
            self.statement("", last, "")
            lines = (
                indented(block.lines)
                if block.margin == margin and block.level < MAX_INDENT_LEVEL
                else block.lines
            )
            return [f"{margin}{lhs} => {{", lines, f"{margin}}},"]
        text = wrapped(last, f"{margin}{lhs} => ", ",")
        return [text] if isinstance(text, str) else [text.first, text.middle, margin + text.last]

    def guard(self, e: Any, key: Key) -> Steps:
        """` if (c)`, in the scope of its clause, on one line."""
        text = yield self.scope(e, key)
        if not isinstance(text, str):
            text = " ".join([line.strip() for line in flatten(text)])
        return f" if ({text})"

    def pattern(self, root: Pattern) -> str:
        """A pattern; binds its variables, which need names of their own, and `%_` would bind nothing."""
        out: list[str] = []
        bound = pattern_vars(root)
        for v in bound:
            if v.name_hint == "_" and v not in self.renamed:
                self._rename(v)
        texts = dict(zip(bound, self.bind_group(bound), strict=True))
        stack: list[Any] = [root]
        while stack:
            p = stack.pop()
            match p:
                case str():
                    out.append(p)
                case PatternWildcard():
                    out.append("_")
                case PatternVar():
                    out.append(texts[p.var])
                case PatternLiteral(value=value):
                    out.append(self.constant(value))
                case PatternConstructor() | PatternTuple():
                    stack += reversed(self._fields(p))
                case PatternOr(patterns=inner):
                    stack += reversed(
                        _separated([_enclosed(q, (PatternOr, PatternAs)) for q in inner], " | ")
                    )
                case PatternAs(pattern=inner, var=var):
                    stack += (f" as {texts[var]}", _enclosed(inner, PatternAs))
                case list():
                    stack += reversed(p)  # pyright: ignore[reportUnknownArgumentType]
                case _:
                    raise AssertionError(f"a pattern of class {type(p).__name__}")
        return "".join(out)

    def _fields(self, p: PatternConstructor | PatternTuple) -> list[Any]:
        """The pieces of a pattern with patterns for its fields."""
        inner = p.patterns
        if isinstance(p, PatternTuple):
            return ["(", *_separated(inner), ",)" if len(inner) == 1 else ")"]
        cells = list_patterns(p) if self.sugar else None
        if cells is not None:
            elements, rest = cells
            tail = [] if rest is None else [", .."] if type(rest) is PatternWildcard else [", ..", rest]
            return ["[| ", *_separated(elements), *tail, " |]"]
        name = names.constructor(p.constructor.name_hint)
        if self.is_record(p.constructor, len(inner), ""):
            return _named_fields(name, p)
        return [name, "(", *_separated(inner), ")"] if inner else [name]


def _enclosed(p: Pattern, kinds: Any) -> Any:
    """A pattern, in parentheses if it is of one of these kinds."""
    return ["(", p, ")"] if isinstance(p, kinds) else p


def _named_fields(name: str, p: PatternConstructor) -> list[Any]:
    """The pieces of a pattern for a record: `..` for the fields that do not matter."""
    named = [
        [f"{field}: ", q]
        for field, q in zip(p.constructor.field_names, p.patterns, strict=True)
        if not isinstance(q, PatternWildcard)
    ]
    rest = [".."] if len(named) < len(p.patterns) else []
    return [f"{name} {{ ", *_separated([*named, *rest]), " }"]


def _separated(several: Sequence[Any], sign: str = ", ") -> list[Any]:
    pieces: list[Any] = []
    for i, p in enumerate(several):
        pieces += [sign, p] if i else [p]
    return pieces
