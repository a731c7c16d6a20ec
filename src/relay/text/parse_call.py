"""Calls in text: arguments, attributes, type arguments; projections."""

from dataclasses import replace
from math import inf
from typing import Any

from relay.diagnostic import RelayError, did_you_mean
from relay.ir.axes import expect_axes
from relay.ir.dtype import canonical
from relay.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Grad,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    TupleGetItem,
    Var,
    VMap,
)
from relay.ir.type import FuncType, Kind
from relay.op.attribute import attribute_types
from relay.op.places import attribute_order, computed_hint, most_operands
from relay.op.registry import get, instance, registry
from relay.text.cursor import ParseError, Rule
from relay.text.parse_attrs import sizes_in
from relay.text.parse_words import FORMS, Form, Words

AFTER_OPERAND = frozenset({",", ")", ";", "}", "]", "|]"})
"""What ends an operand for certain."""
VALUES = frozenset({"(", "[", "-", "NUMBER", "STRING", "NAME"})
"""What the value of an attribute begins with."""
AXES = ("in_axes", "out_axes")
"""The attributes of `vmap`, in the order in which they may be given without names."""


class Calls(Words):
    """The rules of calls."""

    def projection(self, e: Any, first: int, i: int) -> Expr:
        digits = self.texts[i][1:]
        if len(digits) > 9:
            self.fault("literal-out-of-range", "no tuple has that many fields", i)
        self.i = i + 1
        return TupleGetItem(e, int(digits), span=self.span(first, i))

    def call(self, callee: Any, first: int, type_args: tuple[Any, ...]) -> Rule:
        """The arguments here, and the call they belong to."""
        kinds, env = self.kinds, self.env
        opener = self.i
        i = opener + 1
        args: list[Any] = []
        attrs: dict[str, Any] | None = None
        places: dict[str, int] = {}
        unnamed = 0
        while (kind := kinds[i]) != ")":
            if kind == "LOCAL" and kinds[i + 1] in AFTER_OPERAND:
                found = env.get(self.texts[i])
                args.append(self.local(i) if found is None else found)
                i += 1
            elif kind == "GRAPH" and kinds[i + 1] in AFTER_OPERAND:
                args.append(self.graph_node(i))
                i += 1
            elif kinds[i + 1] == "=" and self.at_attribute(i):
                self.i = i
                attrs = {} if attrs is None else attrs
                self.attribute(attrs, places, callee if type(callee) is Op else None)
                i = self.i
            elif kind == "NAME" and type(callee) is Op and self.is_attributes(i):
                self.i = i + 1
                attrs = {**(attrs or {}), **self.stored_attributes(i, callee.name)}
                i = self.i
            elif (
                kind in VALUES
                and (kind != "NAME" or kinds[i + 1] != "(")
                and (key := self.unnamed_key(callee, i, len(args), attrs, unnamed))
            ):
                self.i = i
                attrs = {} if attrs is None else attrs
                self.unnamed_attribute(key, attrs, places, callee)
                unnamed += 1
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
                return self.operator_call(callee.name, tuple(args), first, i)
            made = self._instance(callee.name, attrs or {}, places, len(args), first, i)
            return Call(callee, tuple(args), made, type_args, span=self.span(first, i))
        if type(callee) is Form:
            return self._form(callee.name, args, attrs, first, i)
        return Call(callee, tuple(args), attrs, type_args, span=self.span(first, i))

    def places(self, op: Op) -> tuple[float, int]:
        """How many arguments of an operator are operands, those behind them being attributes; and how many
        are attributes before them.
        """
        if self.strict and op.name != "cast":
            return inf, 0
        cls = registry[op.name]
        return most_operands(cls), cls.attributes_first

    def unnamed_key(self, op: Any, i: int, count: int, attrs: dict[str, Any] | None, unnamed: int) -> str:
        """The attribute that the argument at token `i` gives without a name, behind `count` operands and
        `unnamed` such attributes; the empty text where it is an operand.
        """
        if type(op) is not Op:
            is_axes = type(op) is Form and op.name == "vmap" and count == 1 and unnamed < len(AXES)
            return AXES[unnamed] if is_axes and self.is_value(i) else ""
        most, first = self.places(op)
        leads = self.kinds[i] == "STRING" and unnamed < first and not (count or attrs)
        if not (count >= most or leads):
            return ""
        cls = registry[op.name]
        given = cls.operands[:count]  # `arange` has attributes of the names of operands
        order = [name for name in attribute_order(cls) if name not in given]
        key = order[unnamed] if unnamed < len(order) else ""
        return key if key and self.is_value(i, sizes_in(op, key)) else ""

    def operator_call(self, name: str, args: tuple[Any, ...], first: int, last: int) -> Expr:
        """A call of an operator without attributes."""
        known = self.plain.get(name)
        if known is None:
            known = self.plain[name] = self._plain_operator(name, len(args), first, last)
        return Call(known[0], args, known[1], (), span=self.span(first, last))

    def _plain_operator(self, name: str, count: int, first: int, last: int) -> tuple[Op, Any]:
        try:
            op = get(name)
            return op, instance(op.name, registry[op.name].tvm_attributes if self.strict else {})
        except RelayError as error:
            raise self._without_attribute(error, name, count, first, last) from None

    def _without_attribute(
        self, error: RelayError, name: str, count: int, first: int, last: int
    ) -> ParseError:
        """The fault of a call of `count` operands; one of them may be meant as the attribute that lacks."""
        fault = self.located(error, first, last)
        if error.codes[0] == "missing-attribute" and count > most_operands(registry[name]):
            hint = computed_hint(registry[name])
            return ParseError(replace(fault.diagnostic, hint=hint), fault.at)
        return fault

    def _instance(
        self, name: str, attrs: dict[str, Any], places: dict[str, int], count: int, first: int, last: int
    ) -> Any:
        """The operator with its attributes; a fault points at the attribute it is about."""
        if self.strict:
            attrs.pop("attrs_type_key", None)
            # A device is an object of another compiler's; of which one there is nothing to say.
            attrs = {k: v for k, v in attrs.items() if v is not None or not k.endswith("_device")}
            attrs = {**registry[get(name).name].tvm_attributes, **attrs}
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
            raise self._without_attribute(error, name, count, first, last) from None

    def _form(self, name: str, args: list[Any], attrs: dict[str, Any] | None, first: int, last: int) -> Expr:
        if len(args) != FORMS[name] or (attrs and name != "vmap"):
            n = FORMS[name]
            self.fault(
                "argument-count",
                f"`{name}` takes {n} operand{'s' * (n != 1)}"
                + (" and no attributes" if attrs and name != "vmap" else f", {len(args)} given"),
                first,
                to=last,
                hint="what it makes is called: `vmap(f, in_axes=…)(x)`" if name == "vmap" and args else "",
            )
        span = self.span(first, last)
        match name:
            case "ref":
                return RefCreate(args[0], span=span)
            case "ref_read":
                return RefRead(args[0], span=span)
            case "ref_write":
                return RefWrite(args[0], args[1], span=span)
            case "vmap":
                return self._vmap(args[0], attrs or {}, first, last)
            case _:
                return Grad(name, args[0], span=span)  # pyright: ignore[reportArgumentType]

    def _vmap(self, function: Any, attrs: dict[str, Any], first: int, last: int) -> VMap:
        """`vmap(f, in_axes=…, out_axes=…)`."""
        wrong = next((key for key in attrs if key not in AXES), None)
        if wrong is not None:
            hint = did_you_mean(wrong, AXES) or "it takes `in_axes` and `out_axes`"
            self.fault("unknown-attribute", f"`vmap` has no attribute `{wrong}`", first, to=last, hint=hint)
        try:
            axes = [expect_axes(attrs.get(name, 0), name) for name in AXES]
        except RelayError as error:
            raise self.located(error, first, last) from None
        return VMap(function, *axes, span=self.span(first, last))

    def type_args(self, callee: Any, i: int) -> tuple[Any, ...] | None:
        """The types of `<T1, T2>` at token `i` if a call follows; None where it is a comparison."""
        close = self.angle_partner.get(i)
        is_record = type(callee) is Constructor and close is not None and self.kinds[close + 1] == "{"
        if close is None or (self.kinds[close + 1] != "(" and not is_record):
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
        except ParseError:
            if self._begins_type(i + 1):
                raise
            self.i = i
            return None
        self.i = close + 1
        return tuple(found)

    def _looks_like_types(self, i: int) -> None:
        """Where type arguments were clearly meant, say what is wrong with them, not with a comparison."""
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
