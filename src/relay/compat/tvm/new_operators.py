"""Operators that scripts register by name, and describe step by step: `op.register("custom")`.

The type of a call is what the relation says that `add_type_rel` gave, and what it computes is the expression
that the function of `register_legalize` makes of it.
"""

import inspect
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy

from relay.diagnostic import caller_span, did_you_mean, fail
from relay.ir.bind import substitute
from relay.ir.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem, Var, as_expr
from relay.ir.type import IncompleteType, TensorType, TupleType, Type
from relay.ir.walk import post_order
from relay.op.arrays import array_type
from relay.op.attribute import attribute_parts, freeze
from relay.op.base import Numpy
from relay.op.builder import is_expr
from relay.op.composite import Composite, as_operand, evaluate_dataflow
from relay.op.family import family
from relay.op.op_attributes import OpAttributes
from relay.op.registry import alias_of, operator, registry
from relay.op.relation import Typing, relations
from relay.typecheck.infer import infer_expr

__all__ = ["register"]

RELATIONS = {"Identity": "Identity", "Broadcast": "Broadcast", "BroadcastComp": "BroadcastCompare"}
"""Relations that operators may name, as they are called here."""
PLAIN = (bool, int, float, str, type(None))


class Attributes(dict[str, Any]):
    """The attributes of a call by name, in brackets or after a dot; false where there are none."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"there is no attribute {name!r}: there are {', '.join(self) or 'none'}")
        return self[name]


@family
class RegisteredOperator(Composite):
    """An operator that a script has registered: any number of operands, and attributes of any names."""

    operands = ("inputs",)
    optional = 1
    variadic = True
    is_described = True
    given: tuple[tuple[str, Any], ...] = ()
    """The attributes, by their names."""

    @classmethod
    def accepted(cls, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"given": [(key, plain(cls.name, key, attrs[key])) for key in sorted(attrs)]}

    def attributes(self) -> dict[str, Any]:
        return Attributes(self.given)

    changed_attributes = attributes

    def keys(self) -> list[str]:
        return [name for name, _ in self.given]

    def __getitem__(self, name: str) -> Any:
        return dict(self.given)[name]

    def __getattr__(self, name: str) -> Any:
        return getattr(Attributes(self.given), name)

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        said = OpAttributes(self.name)
        if said.num_inputs not in (-1, len(args)):
            t.fail("arity", f"`{self.name}` takes {said.num_inputs} operands, found {len(args)}")
        if "type_rel" not in said:
            hint = f'`relay.op.get("{self.name}").add_type_rel(name, f)` says it'
            t.fail("operator-rule", f"nothing says which type a call of `{self.name}` has", hint=hint)
        name, rule = said["type_rel"]
        if rule is None:
            relate_by_name(t, self.name, name, args, out)
            return
        found = rule([known(t, a) for a in args], self.attributes())
        if not isinstance(found, Type):
            message = f"the relation {name!r} of `{self.name}` gave {found!r:.80}, which is not a type"
            t.fail("operator-rule", message, hint="it returns a type, such as a `relay.TensorType`")
        t.equal(out, found)

    def decompose(self, types: Sequence[Type], *xs: Any) -> Expr:
        legalize = OpAttributes(self.name).get("FTVMLegalize")
        if legalize is None:
            fail(
                "operator-rule",
                f"nothing says what a call of `{self.name}` computes",
                caller_span(),
                hint=f'`register_legalize("{self.name}", f)` does: `f(attrs, inputs, types)` returns an'
                " expression of other operators",
            )
        params, body = legal_form(self, legalize, tuple(types))
        return substitute(body, {p: as_expr(x) for p, x in zip(params, xs, strict=True)})

    def reference(self, np: Numpy, *xs: Any, **_: Any) -> Any:
        params = [Var(f"x{i}", array_type(x), span=None) for i, x in enumerate(xs)]
        types = [array_type(x) for x in xs]
        operands = [as_operand(p, t) for p, t in zip(params, types, strict=True)]
        return evaluate_dataflow(self.decompose(types, *operands), dict(zip(params, xs, strict=True)), np)


def plain(op: str, key: str, value: Any) -> Any:
    """The value of an attribute, lists as tuples (`attribute-type` unless it is of numbers and texts)."""
    value = freeze(value.item() if isinstance(value, numpy.generic) else value)
    if not all(isinstance(part, PLAIN) for part in attribute_parts(value)):
        hint = "it is a number, a text, True, False or None, or lists of them"
        fail("attribute-type", f"attribute `{key}` of `{op}` cannot be {value!r:.80}", hint=hint)
    return value


def known(t: Typing, a: Type) -> Type:
    """The type of an operand once all of it is known."""
    stack = [a]
    while stack:
        found = t.resolve(stack.pop())
        if isinstance(found, TupleType):
            stack += found.fields
        elif isinstance(found, TensorType):
            parts: list[Any] = [*t.shape(found), t.dtype(found)]
            for part in parts:
                t.settled(part)
        elif isinstance(found, IncompleteType):
            t.fields(found)  # waits, whatever it will be
    return t.resolve(a)


def relate_by_name(t: Typing, op: str, name: str, args: Sequence[Type], out: Type) -> None:
    """Let a relation of Relay's hold between operands and result; one between two types, of each operand."""
    if name not in RELATIONS:
        hint = did_you_mean(name, RELATIONS) or "give the relation as a function: `add_type_rel(name, f)`"
        t.fail("unknown-relation", f"there is no relation `{name}` for `{op}`", hint=hint)
    rule = relations[RELATIONS[name]]
    between = len(inspect.signature(rule).parameters) - 1
    if between == 2:
        for a in args:
            rule(t, a, out)
    elif len(args) == between - 1:
        rule(t, *args, out)
    else:
        t.fail("arity", f"the relation `{name}` is between {between} types, found {len(args) + 1}")


@lru_cache(maxsize=1024)
def legal_form(op: RegisteredOperator, legalize: Any, types: tuple[Type, ...]) -> tuple[list[Var], Expr]:
    """What a call of an operator on operands of these types is, as variables and an expression of them."""
    params = [Var(f"x{i}", t, span=None) for i, t in enumerate(types)]
    wanted = op(*params).checked_type
    made: Any = legalize(op.attributes(), list(params), [*types, wanted])
    if not is_expr(made):
        hint = "it returns an expression of other operators"
        message = f"what `{op.name}` computes was to be an expression, not {made!r:.80}"
        fail("operator-rule", message, caller_span(), hint=hint)
    body = infer_expr(made)
    found = body.checked_type
    if found != wanted:
        hint = "the relation of its types and the function of `register_legalize` are to agree"
        message = f"what `{op.name}` computes is {found}, not {wanted}"
        fail("operator-rule", message, caller_span(), hint=hint)
    for e in post_order(body):
        is_call = isinstance(e, Call) and isinstance(e.op, Op) and e.op.name != op.name
        if not is_call and not isinstance(e, Constant | Op | Tuple | TupleGetItem) and e not in params:
            hint = "it is made of calls of other operators, tuples and constants"
            fail("operator-rule", f"what `{op.name}` computes has {e!r} in it", caller_span(), hint=hint)
    return params, body


def register(op_name: str, describe: str = "") -> None:
    """Register an operator by name: `relay.op.get(op_name)` is it, whose methods say what is known of it.

    Raises `operator-rule` where there is one of that name.
    """
    if op_name in registry or op_name in alias_of:
        hint = "give yours another name; `relay.op.get` gives the one that is there"
        fail("operator-rule", f"there is an operator `{op_name}` already", caller_span(), hint=hint)
    rules = {"__doc__": describe, "builder": Op.get(op_name).__call__}
    operator(op_name)(type(op_name, (RegisteredOperator,), rules))
