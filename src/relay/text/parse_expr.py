"""Expressions in text: operators by precedence, calls, literals.

A rule handles one level of brackets with lists of operands and of waiting operators; what stands inside further
brackets is a rule of its own.
"""

from typing import Any, NamedTuple

import numpy as np

from relay.diagnostic import RelayError, did_you_mean
from relay.ir.dtype import canonical
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Grad,
    If,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    RelayExpr,
    TupleGetItem,
    Var,
)
from relay.ir.type import BOOL, FuncType, Kind, TensorType
from relay.op.base import alias_of as op_aliases
from relay.op.base import attribute_types, get, instance, registry
from relay.text.cursor import Rule, SyntaxFault
from relay.text.literals import closed, number, opened, special_float, strict_dtype
from relay.text.parse_pattern import Patterns


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
    "**": Level(POWER, "power"),
}
PREFIXES = {"-": Level(PREFIX, "negative"), "!": Level(PREFIX, "logical_not")}
_AFTER_OPERAND = frozenset({",", ")", ";", "}", "]"})
_CANNOT_BEGIN_LINE = frozenset({*INFIX, "PROJ"} - {"-"})
_FORMS = {"ref": 1, "ref_read": 1, "ref_write": 2, "grad": 1, "vjp": 1, "jvp": 1}
_DTYPES = frozenset({"NAME", "STRING"})


class Form(NamedTuple):
    """A word that is called like an operator and builds a node of its own."""

    name: str


class Expressions(Patterns):
    """The rules of expressions within one statement."""

    def prepare(self) -> None:
        """Set up what a parse of expressions remembers."""
        self.plain: dict[str, tuple[Op, Any]] = {}

    # --- operators by precedence ----------------------------------------------------------------------------

    def expression(self, by_line: bool = False) -> Rule:
        """The expression here; `by_line` lets it end where a line does (after a graph binding)."""
        kinds = self.kinds
        i = self.i
        if kinds[i + 1] in _AFTER_OPERAND and kinds[i] == "LOCAL":
            self.i = i + 1
            return self.local(i)
        operands: list[tuple[Any, int, int]] = []
        waiting: list[tuple[str, Level, int]] = []
        while True:
            first = i = self.i
            kind = kinds[i]
            if kind in PREFIXES and not self._at_negative_number(i):
                waiting.append((kind, PREFIXES[kind], i))
                self.i = i + 1
                continue
            if kind == "LOCAL":
                self.i = i + 1
                e = self.local(i)
            elif kind == "NAME" and self.texts[i] not in _WORDS:
                self.i = i + 1
                e = self.bare_name(i)
            else:
                e = yield self._operand(by_line)
            while True:
                i = self.i
                kind = kinds[i]
                if kind in _AFTER_OPERAND or kind not in _POSTFIX or (by_line and self.on_new_line(i)):
                    break
                if kind == "(":
                    e = yield self._call(e, first, ())
                elif kind == "PROJ":
                    e = self._projection(e, first, i)
                elif (
                    kind == "<"
                    and self.ends[i - 1] == self.starts[i]
                    and (types := self._type_args(e, i)) is not None
                ):
                    e = yield self._call(e, first, types)
                else:
                    break
            if type(e) is Form:
                self.expected("`(`")
            operands.append((e, first, i - 1))
            level = INFIX.get(kind)
            if level is None or (by_line and self.on_new_line(i)):
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
        b, b_first, last = operands.pop()
        if level.strength == PREFIX:
            operands.append((self._operator_call(level.name, (b,), at, last), at, last))
            return
        a, first, _ = operands.pop()
        if level.name:
            e: Expr = self._operator_call(level.name, (a, b), first, last)
        else:
            decided = Constant(np.asarray(sign == "||"), BOOL, span=self.span(at))
            branches = (decided, b) if sign == "||" else (b, decided)
            e = If(a, *branches, span=self.span(first, last))
        operands.append((e, first, last))

    def _operator_call(self, name: str, args: tuple[Any, ...], first: int, last: int) -> Expr:
        """A call of an operator without attributes."""
        known = self.plain.get(name)
        if known is None:
            known = self.plain[name] = self._plain_operator(name, first, last)
        return Call(known[0], args, known[1], (), span=self.span(first, last))

    def _plain_operator(self, name: str, first: int, last: int) -> tuple[Op, Any]:
        try:
            op = get(name)
            return op, instance(op.name, {})
        except RelayError as error:
            raise self.located(error, first, last) from None

    # --- operands -------------------------------------------------------------------------------------------

    def _operand(self, by_line: bool) -> Rule:
        """What stands between infix operators, before its calls and projections."""
        i, kind = self.i, self.kinds[self.i]
        self.i = i + 1
        match kind:
            case "NAME":
                return (yield from self._bare(i))
            case "NUMBER":
                return self._number(i, i)
            case "GRAPH":
                return self.graph_node(i)
            case "GLOBAL":
                return self._instance_of_nullary(self.global_(i), i)
            case "(":
                return (yield self.group())
            case "-":
                self.i = i + 2
                return self._number(i, i + 1)
            case "[":
                return (yield self.tensor_literal())
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
                self.expected("an expression", hint=_MISSING_HINTS.get(kind, ""))

    def _number(self, first: int, i: int) -> Constant:
        text = self.texts[i]
        negative = first != i
        if self.kinds[i] == "NAME":
            special = special_float(text)
            assert special is not None
            value, dtype = special
            value = -value if negative else value
        else:
            try:
                value, dtype = number(text, negative)
            except RelayError as error:
                raise self.located(error, first, i) from None
        if dtype is None and self.strict:
            dtype = strict_dtype(value)
        span = self.span(first, i)
        return opened(value, span) if dtype is None else closed(value, dtype, span)

    def _bare(self, i: int) -> Rule:
        """A bare word that has a form of its own; a local of that name hides it."""
        name = self.texts[i]
        next_ = self.kinds[self.i]
        if self.env.get(name) is not None:
            return self.bare_name(i)
        if name in ("True", "False"):
            return Constant(np.asarray(name == "True"), BOOL, span=self.span(i))
        if name in _FORMS and next_ == "(":
            return Form(name)
        if name == "Constant" and next_ == "(":
            return (yield self.constant(i))
        if name == "meta" and next_ == "[":
            return self._metadata_expr(i)
        return self.bare_name(i)

    def bare_name(self, i: int) -> Expr:
        """A local bound without its sigil, a constructor, an operator, or a local bound with it, in that order."""
        name = self.texts[i]
        found = self.env.get(name)
        if found is not None:
            self.lint_sigil(i)
            return found
        constructor = self.constructors.get(name)
        if constructor is not None:
            return self._instance_of_nullary(constructor, i)
        if name in registry or name in op_aliases:
            return get(name)
        found = self.env.get(f"%{name}")
        if found is not None and not self.strict:
            self.lint_sigil(i)
            return found
        qualified = self._qualified_constructor(name)
        if qualified is not None:
            return qualified
        if special_float(name) is not None:
            return self._number(i, i)
        if self.is_open and self.kinds[self.i] != "(" and not self.strict and name[0] != "_":
            near = did_you_mean(name, [*registry, *self.constructors, "True", "False", "Constant"])
            if not near:
                self.lint_sigil(i)
                self.texts[i] = f"%{name}"
                return self.local(i)
        self.unknown_name(i, is_called=self.kinds[self.i] == "(")
        raise AssertionError

    def lint_sigil(self, i: int) -> None:
        """A local written without its sigil."""
        if self.strict:
            self.mistake(
                "missing-sigil",
                f"the local `{self.texts[i]}` has no sigil",
                i,
                hint=f"write %{self.texts[i]}",
            )
        else:
            self.lint(
                "missing-sigil",
                f"the local `{self.texts[i]}` has no sigil",
                i,
                hint=f"write %{self.texts[i]}",
            )

    def _qualified_constructor(self, name: str) -> Constructor | None:
        """`List.Nil`: the constructor itself, also where it has no fields."""
        data, _, short = name.rpartition(".")
        found = self.constructors.get(short) if data else None
        return found if found is not None and found.belong_to.name_hint == data else None

    def _instance_of_nullary(self, e: Expr, i: int) -> Expr:
        """A constructor without fields, not called, is its instance: `Nil` is `Nil()`."""
        if (
            type(e) is Constructor
            and not e.inputs
            and self.kinds[self.i] != "("
            and self.texts[i].removeprefix("@") == e.name_hint
        ):
            at_type_args = (
                self.kinds[self.i] == "<"
                and self.angle_partner.get(self.i) is not None
                and self.ends[i] == self.starts[self.i]
            )
            return e if at_type_args else Call(e, (), None, (), span=self.span(i))
        return e

    def _metadata_expr(self, i: int) -> Expr:
        found = self.metadata_object(i)
        if isinstance(found, Constant):
            return Constant(found.value, found.type, span=self.span(i, self.i - 1))
        if not isinstance(found, RelayExpr):
            self.fault(
                "missing-metadata",
                f"expected an expression, found metadata of {type(found).__name__}",
                i,
                to=self.i - 1,
            )
        return found  # pyright: ignore[reportReturnType]

    # --- calls ----------------------------------------------------------------------------------------------

    def _projection(self, e: Any, first: int, i: int) -> Expr:
        digits = self.texts[i][1:]
        if len(digits) > 9:
            self.fault("literal-out-of-range", "no tuple has that many fields", i)
        self.i = i + 1
        return TupleGetItem(e, int(digits), span=self.span(first, i))

    def _call(self, callee: Any, first: int, type_args: tuple[Any, ...]) -> Rule:
        """The arguments here, and the call they belong to."""
        kinds, env = self.kinds, self.env
        opener = self.i
        i = opener + 1
        args: list[Any] = []
        attrs: dict[str, Any] | None = None
        places: dict[str, int] = {}
        is_cast = type(callee) is Op and callee.name == "cast"
        while (kind := kinds[i]) != ")":
            if kind == "LOCAL" and kinds[i + 1] in _AFTER_OPERAND:
                found = env.get(self.texts[i])
                args.append(self.local(i) if found is None else found)
                i += 1
            elif kinds[i + 1] == "=" and self.at_attribute(i):
                self.i = i
                attrs = {} if attrs is None else attrs
                self.attribute(attrs, places)
                i = self.i
            elif is_cast and len(args) == 1 and kind in _DTYPES and kinds[i + 1] in _AFTER_OPERAND:
                self.i = i
                attrs = {"dtype": self.attribute_value(), **(attrs or {})}
                places["dtype"] = i
                i = self.i
            else:
                self.i = i
                args.append((yield self.expression()))
                i = self.i
            if kinds[i] == ",":
                i += 1
            elif kinds[i] != ")":
                self.i = i
                self.expected("`,` or `)`", opener=opener)
        self.i = i + 1
        if type(callee) is Op:
            if attrs is None and not type_args:
                return self._operator_call(callee.name, tuple(args), first, i)
            made = self._instance(callee.name, attrs or {}, places, first, i)
            return Call(callee, tuple(args), made, type_args, span=self.span(first, i))
        if type(callee) is Form:
            return self._form(callee.name, args, attrs, first, i)
        return Call(callee, tuple(args), attrs, type_args, span=self.span(first, i))

    def _instance(
        self, name: str, attrs: dict[str, Any], places: dict[str, int], first: int, last: int
    ) -> Any:
        """The operator with its attributes; a fault points at the attribute it is about."""
        if self.strict:
            attrs.pop("attrs_type_key", None)
        try:
            return instance(name, attrs)
        except RelayError as error:
            known = attribute_types(registry[name])
            message = error.diagnostics[0].message
            for key, at in places.items():
                if (error.codes[0] == "unknown-attribute" and key not in known) or (
                    error.codes[0] == "attribute-type" and f"`{key}`" in message
                ):
                    raise self.located(error, at, at) from None
            raise self.located(error, first, last) from None

    def _form(self, name: str, args: list[Any], attrs: dict[str, Any] | None, first: int, last: int) -> Expr:
        if len(args) != _FORMS[name] or attrs:
            n = _FORMS[name]
            self.fault(
                "argument-count",
                f"`{name}` takes {n} operand{'s' * (n != 1)}"
                + (" and no attributes" if attrs else f", {len(args)} given"),
                first,
                to=last,
            )
        span = self.span(first, last)
        match name:
            case "ref":
                return RefCreate(args[0], span=span)
            case "ref_read":
                return RefRead(args[0], span=span)
            case "ref_write":
                return RefWrite(args[0], args[1], span=span)
            case _:
                return Grad(name, args[0], span=span)  # pyright: ignore[reportArgumentType]

    def _type_args(self, callee: Any, i: int) -> tuple[Any, ...] | None:
        """The types of `<T1, T2>` at token `i` if a call follows; None where it is a comparison."""
        close = self.angle_partner.get(i)
        if close is None or self.kinds[close + 1] != "(":
            return self._looks_like_types(i)
        kinds = self._kinds_of(callee)
        self.i = i + 1
        found: list[Any] = []
        try:
            while self.i != close:
                found.append(
                    self.said_kind(self.type_(kinds[len(found)] if len(found) < len(kinds) else None))
                )
                if self.i != close:
                    self.take(",", opener=i)
        except SyntaxFault:
            if self._begins_type(i + 1):
                raise
            self.i = i
            return None
        self.i = close + 1
        return tuple(found)

    def _looks_like_types(self, i: int) -> None:
        """Where type arguments were clearly meant, say what is wrong with them rather than with a comparison."""
        if self.texts[i + 1] not in ("Tensor", "Tuple", "Ref") or self.kinds[i + 2] not in ("[", "<"):
            return
        self.i = i + 1
        self.type_()
        while self.kinds[self.i] == ",":
            self.i += 1
            self.type_()
        self.take_angle(i)
        self.take("(")

    def _begins_type(self, i: int) -> bool:
        name = self.texts[i]
        return (
            name in ("Tensor", "Tuple", "Ref", "fn", "fun")
            or name in self.data_kinds
            or canonical(name) is not None
        )

    def _kinds_of(self, callee: Any) -> tuple[Kind, ...]:
        """The kinds of a callee's type parameters, as far as its declaration is seen."""
        if type(callee) is GlobalVar:
            return self.param_kinds.get(callee.name_hint, ())
        if type(callee) is Constructor:
            return self.data_kinds.get(callee.belong_to.name_hint, ())
        if type(callee) is Function:
            return tuple([p.kind for p in callee.type_params])
        if type(callee) is Var:
            if isinstance(callee.type_annotation, FuncType):
                return tuple([p.kind for p in callee.type_annotation.type_params])
            return self.param_kinds.get(callee, ())
        return ()

    # --- what the other parts of the grammar supply ---------------------------------------------------------

    def group(self) -> Rule:
        """`()`, `(e)`, `(a, b)`: the parenthesis is read already."""
        raise AssertionError

    def braces(self) -> Rule:
        """`{ … }`."""
        raise AssertionError

    def sequence(self, *, is_value: bool = False, by_line: bool = False, opener: int | None = None) -> Rule:
        """Statements and a result."""
        raise AssertionError

    def function(self, start: int, var: Var | None = None) -> Rule:
        """A function; `fn` is read already."""
        raise AssertionError

    def if_(self, start: int) -> Rule:
        """A choice; `if` is read already."""
        raise AssertionError

    def match(self, start: int) -> Rule:
        """A `match`, which is read already."""
        raise AssertionError

    def constant(self, start: int) -> Rule:
        """`Constant(v, shape, dtype)`; the word is read already."""
        raise AssertionError

    def tensor_literal(self) -> Rule:
        """`[a, b]`; the bracket is read already."""
        raise AssertionError


_POSTFIX = frozenset({"(", "PROJ", "<"})
_WORDS = frozenset({"True", "False", "Constant", "meta", *_FORMS})
_MISSING_HINTS = {
    "}": "a block ends with its result: an expression without `;` behind it, `()` for none",
    "=": "a binding is `let %x = e;`",
    "else": "`else` follows the block of an `if`",
}
