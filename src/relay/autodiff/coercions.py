"""Places where a value passes as one of another type: sizes that are known to one of them alone.

A cotangent has the type of its tensor, and gathers in a reference, whose type is exact.  So a value whose
type changes is copied: the copy has a cotangent of its own type.
"""

from collections.abc import Generator, Sequence
from typing import Any

from relay.ir.expr import (
    Call,
    Clause,
    Expr,
    Function,
    If,
    Let,
    LetRec,
    Match,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    replace,
)
from relay.ir.subst import substitute_type
from relay.ir.type import FuncType, TensorType, TupleType, Type
from relay.ir.walk import rewrite, run
from relay.op.rounding import Copy
from relay.typecheck.query import Types

Bindings = list[tuple[Var, Expr]]


def with_copies(f: Function, types: Types) -> Function:
    """A function in A-normal form with a copy wherever the type of a tensor changes without an operator."""

    def rule(e: Expr) -> Expr | None:
        match e:
            case Let(var, value, body) if not is_operator_call(value):
                made: Bindings = []
                while isinstance(value, Let):  # a call whose arguments are copied
                    made.append((value.var, value.value))
                    value = value.body
                found, wanted = types(value), types(var)
                if not changes(found, wanted):
                    return _around(made, Let(var, value, body, span=e.span)) if made else None
                first = Var(var.name_hint, found, span=var.span)
                made.append((first, value))
                copied = run(_copied(first, found, wanted, var, made))
                return _around(made, body if copied is var else Let(var, copied, body, span=e.span))
            case If(cond, yes, no):
                wanted = types(e)
                branches = [_result_as(b, wanted, types) for b in (yes, no)]
                return None if branches == [yes, no] else If(cond, *branches, span=e.span)
            case Match():
                wanted = types(e)
                clauses = [_clause_as(c, wanted, types) for c in e.clauses]
                return None if clauses == [*e.clauses] else replace(e, clauses=tuple(clauses))
            case Function(ret_type=ret) if ret is not None:
                body = _result_as(e.body, ret, types)
                return None if body is e.body else replace(e, body=body)
            case Call() if not isinstance(e.op, Op):
                return _arguments_as(e, types)
            case _:
                return None

    made = rewrite(f, rule)
    assert isinstance(made, Function)
    return made


def is_operator_call(e: Expr) -> bool:
    """Whether an expression is a call of an operator: its result has the type of the variable at once."""
    return isinstance(e, Call) and isinstance(e.op, Op)


def changes(found: Type, wanted: Type) -> bool:
    """Whether a value of type `found`, a tensor or a tuple, has another type where it is `wanted`."""
    return found != wanted and (
        (isinstance(found, TensorType) and isinstance(wanted, TensorType))
        or (isinstance(found, TupleType) and isinstance(wanted, TupleType))
    )


def _copied(
    e: Expr, found: Type, wanted: Type, into: Var | None, made: Bindings
) -> Generator[Any, Any, Expr]:
    """`e` as a value of another type; what is bound for that goes to `made`, the whole as `into` if given."""
    if not changes(found, wanted):
        return e
    if isinstance(found, TensorType):
        var = Var("copied", wanted, span=e.span) if into is None else into
        made.append((var, Call(Op.get(Copy.name), (e,), Copy(), span=e.span)))
        return var
    assert isinstance(found, TupleType)
    assert isinstance(wanted, TupleType)
    parts: list[Expr] = []
    for i, (t, u) in enumerate(zip(found.fields, wanted.fields, strict=True)):
        part = Var("part", t, span=e.span)
        made.append((part, TupleGetItem(e, i, span=e.span)))
        parts.append((yield _copied(part, t, u, None, made)))
    if into is not None:
        return Tuple(tuple(parts), span=e.span)
    whole = Var("copied", wanted, span=e.span)
    made.append((whole, Tuple(tuple(parts), span=e.span)))
    return whole


def _around(made: Bindings, body: Expr) -> Expr:
    for var, value in reversed(made):
        body = Let(var, value, body, span=value.span)
    return body


def _result_as(e: Expr, wanted: Type, types: Types) -> Expr:
    """A block whose result has the type `wanted`."""
    found = types(e)
    if not changes(found, wanted):
        return e
    around: list[Let | LetRec] = []
    while isinstance(e, Let | LetRec):
        around.append(e)
        e = e.body
    result = Var("result", found, span=e.span)
    made: Bindings = [(result, e)]
    e = _around(made, run(_copied(result, found, wanted, None, made)))
    for outer in reversed(around):
        e = replace(outer, body=e)
    return e


def _clause_as(c: Clause, wanted: Type, types: Types) -> Clause:
    rhs = _result_as(c.rhs, wanted, types)
    return c if rhs is c.rhs else replace(c, rhs=rhs)


def _arguments_as(e: Call, types: Types) -> Expr | None:
    """A call whose arguments have the types of the parameters."""
    t = types(e.op)
    if not isinstance(t, FuncType):
        return None
    by = dict(zip(t.type_params, e.written_type_args, strict=False))
    made: Bindings = []
    args: list[Expr] = []
    for a, p in zip(e.args, _parameters(t, by), strict=True):
        args.append(run(_copied(a, types(a), p, None, made)))
    return _around(made, replace(e, args=tuple(args))) if made else None


def _parameters(t: FuncType, by: dict[Any, Any]) -> Sequence[Type]:
    return [substitute_type(p, by) for p in t.arg_types]
