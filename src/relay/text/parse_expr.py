"""Expressions in text: operators by precedence.

A rule handles one level of brackets with lists of operands and of waiting operators; what stands inside
further brackets is a rule of its own.
"""

from typing import Any, NamedTuple

import numpy as np

from relay.ir.expr import Constant, Constructor, Expr, If
from relay.ir.type import BOOL, TensorType
from relay.text.cursor import Rule
from relay.text.literals import special_float
from relay.text.parse_call import AFTER_OPERAND
from relay.text.parse_record import Records
from relay.text.parse_words import WORDS, Form


class Level(NamedTuple):
    """How tightly an infix operator binds, and the operator it is sugar for."""

    strength: int
    name: str


OR, AND, EQUALITY, ORDER, SUM, PRODUCT, PREFIX, POWER = range(1, 9)
INFIX = {
    "||": Level(OR, ""),
    "&&": Level(AND, ""),
    "==": Level(EQUALITY, "equal"),
    "!=": Level(EQUALITY, "not_equal"),
    "<": Level(ORDER, "less"),
    "<=": Level(ORDER, "less_equal"),
    ">": Level(ORDER, "greater"),
    ">=": Level(ORDER, "greater_equal"),
    "+": Level(SUM, "add"),
    "-": Level(SUM, "subtract"),
    "*": Level(PRODUCT, "multiply"),
    "/": Level(PRODUCT, "divide"),
    "%": Level(PRODUCT, "mod"),
    "@": Level(PRODUCT, "nn.matmul"),
    "**": Level(POWER, "power"),
}
PREFIXES = {"-": Level(PREFIX, "negative"), "!": Level(PREFIX, "logical_not")}
_CANNOT_BEGIN_LINE = frozenset({*INFIX, "PROJ"} - {"-"})
_POSTFIX = frozenset({"(", "PROJ", "<", ".", "[", "{", "NAME"})
_MISSING_HINTS = {
    "}": "a block ends with its result: an expression without a `;` after it, or `()`",
    "=": "a binding is `let %x = e;`",
    "else": "`else` follows the block of an `if`",
    "@": "a global is `@name`",
}


class Expressions(Records):
    """The rules of expressions within one statement."""

    def expression(self, by_line: bool = False) -> Rule:
        """The expression here; `by_line` lets it end where a line does (after a graph binding)."""
        kinds, env = self.kinds, self.env
        i = self.i
        if kinds[i + 1] in AFTER_OPERAND and kinds[i] == "LOCAL":
            self.i = i + 1
            return self.local(i)
        operands: list[tuple[Any, int, int]] = []
        waiting: list[tuple[str, Level, int]] = []
        while True:
            first = i = self.i
            kind = kinds[i]
            if kind == "LOCAL":
                self.i = i + 1
                e = env.get(self.texts[i])
                if e is None:
                    e = self.local(i)
            elif kind == "GRAPH":
                self.i = i + 1
                e = self.graph_node(i)
            elif kind == "NAME" and self.texts[i] not in WORDS:
                self.i = i + 1
                e = self.bare_name(i)
            elif kind in PREFIXES and not self._at_negative_number(i):
                waiting.append((kind, PREFIXES[kind], i))
                self.i = i + 1
                continue
            else:
                e = yield self._operand(by_line)
            while True:
                i = self.i
                kind = kinds[i]
                if kind not in _POSTFIX or (by_line and self.on_new_line(i)):
                    break
                if kind == "(":
                    e = yield self.call(e, first, ())
                elif kind == "PROJ":
                    e = self.projection(e, first, i)
                elif kind == "[" and not self.strict:
                    e = yield self.subscripts(e, first)
                elif kind == ".":
                    e = self.member(first) if self.names_type(e, first) else self.field(e, first)
                elif (
                    kind == "<"
                    and self.ends[i - 1] == self.starts[i]
                    and (types := self.type_args(e, i)) is not None
                ):
                    if type(e) is Constructor and kinds[self.i] == "{":
                        e = yield self.record(e, first, types)
                    else:
                        e = yield self.call(e, first, types)
                elif kind == "{" and type(e) is Constructor:
                    e = yield self.record(e, first, ())
                elif kind == "NAME" and self.at_with(i):
                    e = yield self.changed(e, first)
                else:
                    break
            if type(e) is Form:
                self.expected("`(`")
            operands.append((e, first, i - 1))
            level = INFIX.get(kind)
            if level is None or (kind == "@" and self.strict) or (by_line and self.on_new_line(i)):
                if by_line:
                    self._check_line(i)
                break
            strength = level.strength
            while waiting and (
                waiting[-1][1].strength > strength
                or (waiting[-1][1].strength == strength and strength != POWER)
            ):
                if strength in (EQUALITY, ORDER) and waiting[-1][1].strength == strength:
                    self._refuse_chain(operands, waiting[-1], i)
                self._reduce(operands, waiting.pop())
            waiting.append((kind, level, i))
            self.i = i + 1
        while waiting:
            self._reduce(operands, waiting.pop())
        return operands[0][0]

    def _at_negative_number(self, i: int) -> bool:
        """Whether token `i` is a minus that belongs to the number right behind it."""
        if self.kinds[i] != "-" or self.ends[i] != self.starts[i + 1]:
            return False
        return self.kinds[i + 1] == "NUMBER" or (
            self.kinds[i + 1] == "NAME"
            and special_float(self.texts[i + 1]) is not None
            and self.env.get(self.texts[i + 1]) is None
        )

    def _check_line(self, i: int) -> None:
        """A line that ended a graph binding: what begins the next one must not look like its continuation."""
        if not self.on_new_line(i):
            return
        if self.kinds[i] in _CANNOT_BEGIN_LINE:
            self.fault(
                "line-begins-with-operator",
                f"a line begins with {self.spelled(i)}, but the graph binding ended with the line before",
                i,
                hint="put the operator at the end of the line, or end the binding with `;`",
            )
        if self.kinds[i] == "-":
            self.lint(
                "line-begins-with-minus",
                "this line begins with a minus: the graph binding ended with the line before",
                i,
                hint="put the `-` at the end of that line if it was meant as a subtraction",
            )

    def _refuse_chain(self, operands: list[tuple[Any, int, int]], op: tuple[str, Level, int], i: int) -> None:
        _, first, last = operands[-1]
        middle = self.source.text[self.starts[first] : self.ends[last]]
        middle = middle if len(middle) <= 20 and "\n" not in middle else "…"
        self.fault(
            "comparison-chain",
            "comparisons do not chain",
            i,
            hint=f"write (… {op[0]} {middle}) && ({middle} {self.kinds[i]} …)",
        )

    def _reduce(self, operands: list[tuple[Any, int, int]], op: tuple[str, Level, int]) -> None:
        """Apply a waiting operator to the last operands."""
        sign, level, at = op
        b, _, last = operands.pop()
        if level.strength == PREFIX:
            operands.append((self.operator_call(level.name, (b,), at, last), at, last))
            return
        a, first, _ = operands.pop()
        if level.name:
            e: Expr = self.operator_call(level.name, (a, b), first, last)
        else:
            decided = Constant(np.asarray(sign == "||"), BOOL, span=self.span(at))
            branches = (decided, b) if sign == "||" else (b, decided)
            e = If(a, *branches, span=self.span(first, last))
        operands.append((e, first, last))

    def _operand(self, by_line: bool) -> Rule:
        """What stands between infix operators, before its calls and projections."""
        i, kind = self.i, self.kinds[self.i]
        self.i = i + 1
        match kind:
            case "NAME":
                return (yield from self.word(i))
            case "NUMBER":
                return self.number(i, i)
            case "GLOBAL":
                return self.instance_of_nullary(self.global_(i), i)
            case "(":
                return (yield self.group())
            case "-":
                self.i = i + 2
                return self.number(i, i + 1)
            case "[":
                return (yield self.tensor_literal())
            case "[|":
                return (yield self.list_literal())
            case "STRING":
                return Constant(
                    np.asarray(self.string(i), object), TensorType((), "string"), span=self.span(i)
                )
            case "{":
                self.i = i
                return (yield self.braces())
            case "fn" | "fun":
                return (yield self.function(i))
            case "if":
                return (yield self.if_(i))
            case "match":
                return (yield self.match(i))
            case "let":
                self.i = i
                return (yield self.sequence(is_value=True, by_line=by_line))
            case _:
                self.i = i
                self._refuse_assignment(i)
                self.expected("an expression", hint=_MISSING_HINTS.get(kind, ""))

    def _refuse_assignment(self, i: int) -> None:
        """A fault where token `i` is the second sign of `+=` or `++`."""
        sign = self.texts[i - 1] + self.texts[i] if i and self.ends[i - 1] == self.starts[i] else ""
        if sign == "++" or (sign[:-1] in INFIX and sign.endswith("=")):
            hint = f"a value gets another name: `let %y = %x {sign[0]} 2;`"
            self.fault(
                "unexpected-token", f"there is no `{sign}`: no variable changes", i - 1, to=i, hint=hint
            )
