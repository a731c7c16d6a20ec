"""Expressions over the variables of a stopped program."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relay.debugger.calls import Variable
from relay.diagnostic import Span, did_you_mean, fail
from relay.interpreter import code as op
from relay.interpreter.lines import Line, before_lines
from relay.interpreter.machine import Interpreter
from relay.interpreter.unit import Unit
from relay.interpreter.value import ConstructorValue, is_tensor, is_tuple, type_of_value
from relay.ir.bind import substitute
from relay.ir.expr import Expr, Function, Var
from relay.ir.module import IRModule
from relay.ir.subst import map_type, substitute_type
from relay.ir.type import ANY, Kind, TensorType, TupleType, Type, TypeCall, TypeVar
from relay.ir.vars import free_vars
from relay.text.api import parse_expr
from relay.typecheck.infer import infer_expr
from relay.typecheck.query import type_of

SOURCE = "<expression>"
LIMIT_S = 10.0
"""How long an expression may take, in seconds."""
MOST_PARTS = 200
"""How many parts of values are looked at to learn what type parameters are."""


class Evaluator:
    """Evaluates expressions; what was inferred for one holds while the variables keep their types."""

    def __init__(self, mod: IRModule, limit_s: float = LIMIT_S) -> None:
        """`mod` has the definitions; an expression may take `limit_s` seconds."""
        self.mod = mod
        self.machine = LimitedInterpreter(mod)
        self.machine.limit_s = limit_s
        self.parsed: dict[str, Expr] = {}
        self.typed: dict[tuple[str, tuple[Any, ...]], tuple[Any, Type | None]] = {}

    def evaluate(self, text: str, variables: Sequence[Variable]) -> tuple[Any, Type | None]:
        """The value of an expression, and its type (`unknown-variable`, `evaluation-limit`)."""
        e = self.parsed.get(text)
        if e is None:
            e = self.parsed[text] = parse_expr(text, SOURCE, self.mod)
        by_name = {v.name: v for v in variables}
        used = [(var, by_name.get(var.name)) for var in free_vars(e)]
        for var, known in used:
            if known is None:
                _unknown(var, by_name)
        found = [(var, known) for var, known in used if known is not None]
        types = self._types([known for _, known in found])
        key = (text, types)
        if key not in self.typed:
            self.typed[key] = self._closure(e, [var for var, _ in found], types)
        closure, t = self.typed[key]
        self.machine.deadline_s = time.monotonic() + self.machine.limit_s
        return self.machine.apply(closure, tuple([known.value for _, known in found])), t

    def is_true(self, text: str, variables: Sequence[Variable]) -> bool:
        """Whether a condition holds (`condition-type`)."""
        value, t = self.evaluate(text, variables)
        if not is_tensor(value) or value.dtype != bool or value.shape:
            fail("condition-type", f"the condition `{text}` is a {t}, not a bool", hint="compare, as %n > 3")
        return bool(value)

    def _closure(self, e: Expr, free: Sequence[Var], types: tuple[Any, ...]) -> tuple[Any, Type | None]:
        params = [Var(v.name, t, span=v.span) for v, t in zip(free, types, strict=True)]
        rigid = {leaf: None for t in types if t is not None for leaf in _parameters(t)}
        body = substitute(e, dict(zip(free, params, strict=True)))
        typed = infer_expr(Function(params, body, type_params=list(rigid), span=e.span), self.mod)
        assert isinstance(typed, Function)
        return self.machine.value_of(typed), typed.ret_type or type_of(typed.body)

    def _types(self, variables: Sequence[Variable]) -> tuple[Any, ...]:
        """The types of variables, with what their values tell of type parameters."""
        bound = known_parameters([(v.type, v.value) for v in variables], self.mod)

        def known(leaf: Any) -> Any:
            unknown = ANY if isinstance(leaf, TypeVar) and leaf.kind is Kind.Dim else leaf
            return bound.get(leaf, unknown)

        return tuple([_dynamic(v.value) or (v.type and map_type(v.type, known)) for v in variables])


def _unknown(var: Var, known: Mapping[str, Any]) -> None:
    names = ", ".join([f"`%{name}`" for name in list(known)[:8]]) or "none"
    hint = did_you_mean(var.name, known) or f"those here are {names}"
    fail("unknown-variable", f"`%{var.name}` has no value here", var.span, hint=hint)


def _parameters(t: Type) -> list[TypeVar]:
    found: list[TypeVar] = []

    def seen(leaf: Any) -> Any:
        if isinstance(leaf, TypeVar):
            found.append(leaf)
        return leaf

    map_type(t, seen)
    return found


def _sizes(t: TensorType) -> tuple[Any, ...]:
    return t.shape if isinstance(t.shape, tuple) else ()


def _dynamic(value: Any) -> Type | None:
    """The type of a tensor or a string."""
    return type_of_value(value) if isinstance(value, str) or is_tensor(value) else None


def known_parameters(pairs: Sequence[tuple[Type | None, Any]], mod: IRModule) -> dict[Any, Any]:
    """What values tell of the type parameters in their types."""
    bound: dict[Any, Any] = {}
    pending = list(reversed(pairs))
    for _ in range(MOST_PARTS):
        if not pending:
            break
        t, value = pending.pop()
        match t:
            case TypeVar():
                bound.setdefault(t, _dynamic(value) or t)
            case TensorType() if is_tensor(value):
                actual = type_of_value(value)
                assert isinstance(actual, TensorType)
                if isinstance(t.dtype, TypeVar):
                    bound.setdefault(t.dtype, actual.dtype)
                sizes = dict(zip(_sizes(t), _sizes(actual), strict=False))
                bound = {k: v for k, v in sizes.items() if isinstance(k, TypeVar)} | bound
            case TupleType() if is_tuple(value):
                pending += list(zip(t.fields, value, strict=False))
            case TypeCall() if isinstance(value, ConstructorValue):
                data = mod.type_definitions.get(value.constructor.belong_to)
                if data is not None and len(data.type_vars) == len(t.args):
                    by = dict(zip(data.type_vars, t.args, strict=True))
                    inputs = [substitute_type(i, by) for i in value.constructor.inputs]
                    pending += list(zip(inputs, value.fields, strict=False))
            case _:
                pass
    return bound


class LimitedInterpreter(Interpreter):
    """An interpreter that stops at a time (`evaluation-limit`)."""

    limit_s = LIMIT_S
    deadline_s = float("inf")

    def arrange(self, unit: Unit) -> None:
        """Look at the time before each line."""
        nothing = unit.draft.constant(None)

        def looking(_: Line, span: Span) -> list[list[Any]]:
            return [[op.OP1, unit.draft.fresh(), self._looking(span), nothing, 0]]

        before_lines(unit.draft, looking)

    def _looking(self, span: Span) -> Callable[[Any], None]:
        def look(_: Any) -> None:
            if time.monotonic() > self.deadline_s:
                fail(
                    "evaluation-limit",
                    f"the expression takes more than {self.limit_s:g} s",
                    span,
                    hint="evaluate a smaller part of it",
                )

        return look
