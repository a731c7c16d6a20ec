"""Checks of shapes while a program runs: where the static type of a value leaves open whether it fits.

The places are those that the interpreter checks: arguments of calls, results of functions, annotations.
"""

from collections.abc import Iterator, Sequence
from typing import cast

from relay.backend.native.llvm.builder import Code, Value
from relay.backend.native.loops.emit_indices import IndexEmitter
from relay.backend.native.memory.layout import TENSOR_SIZES_OFFSET
from relay.backend.native.memory.representation import parts_of
from relay.interpreter.checks import spell_shape, unbound, variables
from relay.ir.expr import Call
from relay.ir.subst import substitute_type
from relay.ir.type import ANY, HAS_ANY, Dim, DimExpr, FuncType, Kind, TensorType, Type, TypeVar


def sizes_of(code: Code, t: Type, row: Sequence[Value]) -> Iterator[tuple[TypeVar, Value]]:
    """The type parameters that are dimensions of an argument, and what they stand for."""
    for (part, _), v in zip(leaf_types(t, t), row, strict=True):
        if isinstance(part, TensorType):
            for i, d in enumerate(dims(part)):
                if isinstance(d, TypeVar):
                    yield d, size(code, v, i)


def size(code: Code, tensor: Value, axis: int) -> Value:
    """A size of a tensor."""
    return code.load("i64", code.at(tensor, TENSOR_SIZES_OFFSET + 8 * axis))


def dims(t: TensorType) -> tuple[Dim, ...]:
    """The shape of a type, whose rank is known here."""
    return cast("tuple[Dim, ...]", t.shape)


def leaf_types(t: Type, static: Type) -> list[tuple[Type, Type]]:
    """What a required type and a static one say of each leaf of a value."""
    return list(zip(parts_of(t), parts_of(static), strict=True))


def may_misfit(t: Type, static: Type) -> bool:
    """Whether a value of a static type may not have the shapes of the type that is required."""
    pairs = [] if t == static else [d for leaf in leaf_types(t, static) for d in dim_pairs(*leaf)]
    return any(d is not ANY and d != e for d, e in pairs)


def dim_pairs(t: Type, static: Type) -> list[tuple[Dim, Dim]]:
    """The dimensions of two types of a tensor, side by side; none for anything else."""
    if isinstance(t, TensorType) and isinstance(static, TensorType):
        return list(zip(dims(t), dims(static), strict=True))
    return []


def required_types(call: Call, callee: FuncType) -> tuple[Type, ...]:
    """The types that arguments must have; dimensions stay parameters that nobody knows before the call."""
    given = dict(zip(callee.type_params, call.written_type_args, strict=False))
    known = {p: t if p.kind is Kind.Type or not has_any(t) else unbound(p) for p, t in given.items()}
    return tuple([substitute_type(t, known) for t in callee.arg_types])


def has_any(d: object) -> bool:
    """Whether a dimension is open."""
    return isinstance(d, Type) and bool(d.flags & HAS_ANY)


def check(b: IndexEmitter, whose: str, t: Type, static: Type, row: Sequence[Value]) -> None:
    """Fail unless a value has the shapes of a type (`shape-check`).

    The type parameters in it are in `b.values`, or become what the value says they are.
    """
    for (x, y), v in zip(leaf_types(t, static), row, strict=True):
        for i, (d, e) in enumerate(dim_pairs(x, y)):
            if d is ANY or d == e:
                continue
            found = size(b.code, v, i)
            if isinstance(d, TypeVar) and d not in b.values:
                b.values[d] = found
                continue
            if isinstance(d, DimExpr):
                solve(b, d, found)
            if all(p in b.values for p in variables(d)):
                shape = spell_shape(dims(cast("TensorType", x)))
                fits = b.is_same(found, b.size(d))
                for n in variables(d):
                    fits = b.bits("and", fits, b.is_less(-1, b.values[n]))
                b.require(fits, "shape-check", f"{whose} does not have the shape {shape}")


def solve(b: IndexEmitter, d: DimExpr, found: Value) -> None:
    """Bind `n` of `a * n + b` to what makes it nearly a size, if nothing has bound it."""
    if d.linear is None:
        return
    n, factor, constant = d.linear
    if isinstance(n, TypeVar) and n not in b.values:
        b.values[n] = b.quotient(b.minus(found, constant), factor)
