"""A function for each operator that builds its calls: operands, then fields, by position or name."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import lru_cache
from itertools import takewhile
from math import inf
from typing import Any

from relay.ir.expr import Call, Expr, Op, RelayExpr, as_expr
from relay.op.computed_attributes import call_of_form, is_computed, with_constants_read


def make_builder(
    cls: Any, instance: Callable[[str, dict[str, Any]], Any], registry: Mapping[str, Any]
) -> Callable[..., Expr]:
    """`relay.nn.dense(data, weight, units=None)`: operands, then fields, by position or name.

    `instance` makes the operator of a name with attributes; `registry` has the classes by name.
    """
    attrs = [f.name for f in fields(cls)]  # pyright: ignore[reportArgumentType]
    params: list[inspect.Parameter] = []
    kinds = inspect.Parameter
    required = len(cls.operands) - cls.optional
    for i, operand in enumerate(cls.operands):
        if cls.variadic and i == len(cls.operands) - 1:
            params.append(kinds(operand, kinds.VAR_POSITIONAL))
        else:
            default = kinds.empty if i < required else None
            params.append(kinds(operand, kinds.POSITIONAL_OR_KEYWORD, default=default))
    for f in fields(cls):  # pyright: ignore[reportArgumentType]
        default = f.default if f.default is not MISSING else kinds.empty
        kind = kinds.KEYWORD_ONLY if cls.variadic else kinds.POSITIONAL_OR_KEYWORD
        params.append(kinds(f.name, kind, default=default))
    if cls.builder_order:
        by_name = {p.name: p for p in params}
        params = [by_name[n] for n in cls.builder_order]
    after_optional = False
    for i, p in enumerate(params):
        if after_optional and p.default is kinds.empty and p.name in attrs:
            params[i] = p.replace(kind=kinds.KEYWORD_ONLY)
        after_optional |= p.default is not kinds.empty
    params.sort(key=lambda p: p.kind)
    signature = inspect.Signature(params)
    leading = list(takewhile(lambda p: p.name in cls.operands, params))
    most = inf if leading and leading[-1].kind is kinds.VAR_POSITIONAL else len(leading)
    leaf, names = Op.get(cls.name), frozenset(attrs)

    @lru_cache(maxsize=64, typed=True)
    def configured(**given: Any) -> Any:
        return instance(cls.name, given)

    def build(*args: Any, **kwargs: Any) -> Expr:
        is_plain = required <= len(args) <= most and kwargs.keys() <= names and all(map(is_expr, args))
        if is_plain and not (cls.dynamic_form and any(map(is_computed, kwargs.values()))):
            try:
                return Call(leaf, args, configured(**kwargs))
            except TypeError:  # an attribute that has no hash
                return Call(leaf, args, kwargs)
        return spelt_out(args, kwargs)

    def spelt_out(args: Sequence[Any], kwargs: dict[str, Any]) -> Expr:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{cls.name}{signature}: {error}") from None
        given = bound.arguments
        if cls.dynamic_form:
            given = {name: with_constants_read(v) if name in names else v for name, v in given.items()}
            if any(is_computed(v) for name, v in given.items() if name in names):
                return call_of_form(registry[cls.dynamic_form], given)
        xs: list[Any] = []
        for operand in cls.operands:
            value = given.get(operand)
            if cls.variadic and operand == cls.operands[-1]:
                xs += given.get(operand, ())
            elif value is not None:
                xs.append(value)
        return Call(leaf, tuple([as_expr(x) for x in xs]), {a: given[a] for a in attrs if a in given})

    build.__name__ = build.__qualname__ = cls.name.rpartition(".")[2]
    build.__doc__ = cls.__doc__
    build.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return build


def is_expr(x: Any) -> bool:
    """Whether an operand is an expression already."""
    return isinstance(x, RelayExpr)
