"""Random programs to batch, with arguments for every row: what they do depends on their arguments, which
decide conditions and how often loops go round.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from generators.programs import random_argument
from generators.typed import FLOAT, INT, Scope, Typed
from relay.interpreter.value import ConstructorValue
from relay.ir.axes import Axes
from relay.ir.expr import Call, Expr, Function, GlobalVar, Grad, Let, Op, Var, VMap, constant
from relay.ir.module import IRModule
from relay.ir.type import UNIT, Dim, FuncType, Kind, RefType, TensorType, TupleType, Type, TypeCall, TypeVar
from relay.ir.walk import type_post_order


class Varied(Typed):
    """Programs whose conditions and counters come from their arguments where they can."""

    least_params = 1
    fails = False
    """Whether some of them fail, for some arguments."""

    def expr(self, t: Type, scope: Scope, size: int) -> Expr:
        e = super().expr(t, scope, size)
        given = scope.of_type(FLOAT)
        if not self.fails or not given or size < 3 or self.rng.random() > 0.1:
            return e
        needs = Call(Op.get("less"), (self.rng.choice(given), constant(self.rng.choice([0.5, 1.0, 2.0]))))
        checked = Call(Op.get("assert"), (needs,), {"message": FAILED})
        return Let(Var("_", UNIT), checked, e)

    def rounds(self, most: int, scope: Scope) -> Expr:
        given = scope.of_type(INT)
        if not given or self.rng.random() < 0.3:
            return super().rounds(most, scope)
        return Call(Op.get("minimum"), (self.rng.choice(given), constant(most)))

    def branch(self, t: Type, scope: Scope, size: int) -> Expr:
        """A branch on a comparison of what is at hand."""
        kind = self.rng.choice([INT, FLOAT])
        given = scope.of_type(kind)
        if not given or self.rng.random() < 0.3:
            return super().branch(t, scope, size)
        other = self.number(kind) if self.rng.random() < 0.5 else self.rng.choice(given)
        cond = Call(Op.get("less"), (self.rng.choice(given), other))
        return self.chosen(cond, t, scope, size)


@dataclass(frozen=True)
class Rows:
    """A module whose `@main` is `vmap` of its `@row`, with the arguments of the rows and of `@main`."""

    seed: int
    mod: IRModule
    rows: tuple[tuple[Any, ...], ...]
    args: tuple[Any, ...]
    result: Type
    out_axes: Axes


FAILED = "a row fails"
COUNTS = (3, 3, 3, 2, 1, 4)


def random_rows(
    seed: int, size: int = 30, count: int | None = None, *, fails: bool = False, differentiates: bool = False
) -> Rows | None:
    """A random program, or its derivative, with random rows; None where its arguments or its result cannot be
    batched.
    """
    rng = Random(seed)
    writer = Varied(rng, size)
    writer.fails = fails
    mod = writer.module()
    row = mod["main"]
    assert isinstance(row, Function)
    assert row.ret_type is not None
    types = [p.type_annotation for p in row.params]
    in_axes = tuple([random_axes(t, rng) for t in types])
    if not any(map(has_rows, in_axes, types)) or not is_data(row.ret_type):
        return None
    out_axes = random_axes(row.ret_type, rng, shares=False)
    count = rng.choice(COUNTS) if count is None else count
    first = tuple([random_argument(t, mod, rng) for t in types])
    rows = tuple(
        [
            tuple([another(v, t, a, rng) for v, t, a in zip(first, types, in_axes, strict=True)])
            for _ in range(count)
        ]
    )
    has_tensor = any(isinstance(t, TensorType) and a is not None for t, a in zip(types, in_axes, strict=True))
    n = TypeVar("n", Kind.Dim) if has_tensor and rng.random() < 0.5 else None
    name = GlobalVar("row")
    del mod.functions[mod.get_global_var("main")]
    mod[name] = gradient(row, mod) if differentiates else row
    size_of_rows = count if n is None else n
    params = tuple(
        [
            Var(p.name_hint, batched_type(t, a, size_of_rows))
            for p, t, a in zip(row.params, types, in_axes, strict=True)
        ]
    )
    mod["main"] = Function(
        params,
        Call(VMap(name, in_axes, 0 if differentiates else out_axes), params),
        None,
        () if n is None else (n,),
    )
    args = tuple(
        [
            stacked([r[i] for r in rows], t, a, first[i])
            for i, (t, a) in enumerate(zip(types, in_axes, strict=True))
        ]
    )
    result = TupleType((row.ret_type, TupleType(types))) if differentiates else row.ret_type
    return Rows(seed, mod, rows, args, result, 0 if differentiates else out_axes)


def gradient(f: Function, mod: IRModule) -> Function:
    """Add a function to a module, and return one that computes its value and its derivative."""
    name = GlobalVar("f")
    mod[name] = f
    params = tuple([Var(p.name_hint, p.type_annotation) for p in f.params])
    return Function(params, Call(Grad("grad", name), params), None)


def is_data(t: Type) -> bool:
    return not any(isinstance(p, FuncType | RefType) for p in type_post_order(t))


def has_rows(axes: Axes, t: Type | None) -> bool:
    """Whether a tensor in values of type `t` has rows."""
    if axes is None or t is None:
        return False
    if isinstance(axes, tuple) and isinstance(t, TupleType):
        return any(map(has_rows, axes, t.fields))
    return any(isinstance(p, TensorType) for p in type_post_order(t))


def random_axes(t: Type | None, rng: Random, shares: bool = True) -> Axes:
    """Where the rows of values of type `t` lie."""
    if shares and rng.random() < 0.25:
        return None
    if isinstance(t, TupleType) and rng.random() < 0.7:
        return tuple([random_axes(f, rng, shares) for f in t.fields])
    if isinstance(t, TensorType) and rng.random() < 0.4:
        rank = len(t.concrete_shape) + 1
        return rng.randint(-rank, rank - 1)
    return 0


def batched_type(t: Type | None, axes: Axes, rows: Dim) -> Type:
    """The type of the values of many rows."""
    assert t is not None
    match t:
        case _ if axes is None:
            return t
        case TupleType():
            several = axes if isinstance(axes, tuple) else (axes,) * len(t.fields)
            return TupleType([batched_type(f, a, rows) for f, a in zip(t.fields, several, strict=True)])
        case TypeCall():
            return TypeCall(t.func, [batched_type(a, 0, rows) for a in t.args])
        case TensorType():
            assert isinstance(axes, int)
            shape = list(t.concrete_shape)
            shape.insert(axes % (len(shape) + 1), rows)  # pyright: ignore
            return TensorType(tuple(shape), t.dtype)
        case _:
            raise AssertionError(t)


def another(value: Any, t: Type | None, axes: Axes, rng: Random) -> Any:
    """A value of the same structure with other numbers; the same where rows share it."""
    if axes is None:
        return value
    match t:
        case TupleType():
            several = axes if isinstance(axes, tuple) else (axes,) * len(t.fields)
            return tuple([another(v, f, a, rng) for v, f, a in zip(value, t.fields, several, strict=True)])
        case TypeCall():
            types = [t.args[0] if isinstance(f, TypeVar) else t for f in value.constructor.inputs]
            fields = [another(v, f, 0, rng) for v, f in zip(value.fields, types, strict=True)]
            return ConstructorValue(value.constructor, tuple(fields))
        case _:
            return random_argument(t, IRModule(), rng)


def stacked(values: Sequence[Any], t: Type | None, axes: Axes, like: Any) -> Any:
    """The values of many rows as one; of no rows, those of a value `like` this one."""
    if axes is None:
        return like
    match t:
        case TupleType():
            several = axes if isinstance(axes, tuple) else (axes,) * len(t.fields)
            return tuple(
                [
                    stacked([v[i] for v in values], f, a, like[i])
                    for i, (f, a) in enumerate(zip(t.fields, several, strict=True))
                ]
            )
        case TypeCall():
            types = [t.args[0] if isinstance(f, TypeVar) else t for f in like.constructor.inputs]
            if any(v.constructor != like.constructor for v in values):
                raise DifferentError
            fields = [
                stacked([v.fields[i] for v in values], f, 0, like.fields[i]) for i, f in enumerate(types)
            ]
            return ConstructorValue(like.constructor, tuple(fields))
        case _:
            assert isinstance(axes, int)
            if not values:
                x = np.asarray(like)
                return np.zeros(
                    (*x.shape[: axes % (x.ndim + 1)], 0, *x.shape[axes % (x.ndim + 1) :]), x.dtype
                )
            return np.stack(values, axis=axes)


class DifferentError(Exception):
    """Rows have results of different structure."""
