"""Rounds: functions that call themselves, which carry states and collect what each round gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from relay.frontend.support import loosened
from relay.frontend.value import Value, call, constant, fields, sizes_of, union
from relay.ir.expr import Call, Expr, Function, If, Let, Tuple, Var
from relay.ir.type import ANY, Dim, TensorType, TupleType, Type

INT64_SCALAR = TensorType((), "int64")
BOOL_SCALAR = TensorType((), "bool")
UNBOUNDED_ROUNDS = 1 << 62
"""The trip count of a loop that only its condition ends."""
MAX_LOOSENINGS = 8
"""How often the types of loop states may be loosened."""


@dataclass(frozen=True)
class Round:
    """What a round gives: `parts`, which are collected, the next states, and whether another may follow.

    `going` is None where one always may; `around` puts bindings around an expression of these values.
    """

    parts: list[Value]
    states: list[Value]
    going: Value | None = None
    around: Callable[[Expr], Expr] = lambda e: e


Turn = Callable[[Value, list[Value]], Round]
"""Round number `i` from some states; it is asked anew where the types of the states must be looser."""


class Settled(NamedTuple):
    """A round whose states have types that it keeps."""

    number: Var
    states: list[Var]
    types: list[Type]
    round: Round


def settled(turn: Turn, states: Sequence[Value], names: Sequence[str]) -> Settled:
    """Loosen the types of states until a round keeps them."""
    index = Var("i", INT64_SCALAR)
    types = [v.type for v in states]
    for _ in range(MAX_LOOSENINGS):
        held = [Var(n, t) for n, t in zip(names, types, strict=True)]
        one = turn(Value(index, INT64_SCALAR), [Value(v, t) for v, t in zip(held, types, strict=True)])
        looser = [loosened(t, v.type) for t, v in zip(types, one.states, strict=True)]
        if looser == types:
            return Settled(index, held, types, one)
        types = looser
    raise ValueError("the sizes of the loop's state do not converge")


def rounds(
    turn: Turn,
    states: Sequence[Value],
    count: Value | None,
    nothing: Callable[[list[Value]], list[Value]],
    names: Sequence[str] | None = None,
    begins: Value | None = None,
) -> Value:
    """The parts of all rounds, stacked, and the last states, as a tuple.

    There are `count` rounds, or so many until one after which none may follow; `begins` says whether there
    is a first one.  `nothing` gives what is collected in no rounds from the parts of one.
    """
    one = settled(turn, states, names or [f"state{k}" for k in range(len(states))])
    found = (collected if one.round.parts else carried)(one, states, count, nothing, begins)
    used = [*states, *one.round.parts, *one.round.states]
    return Value(*found, sources=union([*used, *[v for v in (count, begins, one.round.going) if v]]))


def carried(
    one: Settled, states: Sequence[Value], count: Value | None, _: object, begins: Value | None
) -> tuple[Expr, Type]:
    """Rounds that collect nothing: a loop."""
    result = TupleType(one.types)
    recur, more = Var("rounds"), Var("more", BOOL_SCALAR)
    going = one.round.going
    asked = going is not None or begins is not None
    test = both(
        Value(more, BOOL_SCALAR) if asked else None,
        count and call("less", Value(one.number, INT64_SCALAR), count),
    )
    test = constant(True) if test is None else test
    flag = (constant(True) if going is None else going,) if asked else ()
    following = Value(one.number, INT64_SCALAR) + 1
    again = Call(recur, tuple([v.expr for v in (following, *flag, *one.round.states)]))
    params = (one.number, *([more] if asked else []), *one.states)
    function = Function(params, If(test.expr, one.round.around(again), Tuple(tuple(one.states))), result)
    flag = (constant(True) if begins is None else begins,) if asked else ()
    begun = Call(recur, tuple([v.expr for v in (constant(0, "int64"), *flag, *states)]))
    return Let(recur, function, begun), result


def collected(
    one: Settled,
    states: Sequence[Value],
    count: Value | None,
    nothing: Callable[[list[Value]], list[Value]],
    begins: Value | None,
) -> tuple[Expr, Type]:
    """A function of the first round and their number, which does one half of them after the other.

    So every part is copied as often as their number can be halved, not once for each round that follows.
    """
    parts, going = one.round.parts, one.round.going
    flag = [] if going is None else [going]
    rows = [TensorType((ANY, *p.shape), p.dtype) for p in parts]
    result = TupleType([*rows, *one.types, *[BOOL_SCALAR for _ in flag]])
    recur, number = Var("rounds"), Value(Var("count", INT64_SCALAR), INT64_SCALAR)
    last = Tuple(
        tuple([v.expr for v in (*[call("expand_dims", p, axis=0) for p in parts], *one.round.states, *flag)])
    )
    several = halves(
        recur, Value(one.number, INT64_SCALAR), number, one.states, result, len(rows), bool(flag)
    )
    body = If(call("equal", number, 1).expr, one.round.around(last), several)
    function = Function((one.number, number.expr, *one.states), body, result)  # pyright: ignore[reportArgumentType]
    total = constant(UNBOUNDED_ROUNDS, "int64") if count is None else count
    whole: Expr = Call(recur, tuple([v.expr for v in (constant(0, "int64"), total, *states)]))
    some = both(call("greater", total, 0), begins)
    if some is not None:
        none = [*nothing(parts), *states, *[constant(False) for _ in flag]]
        whole = If(some.expr, whole, Tuple(tuple([v.expr for v in none])))
    whole = Let(recur, function, whole)
    if flag:
        every = Var("collected", result)
        kept = [v.expr for v in fields(Value(every, result))[:-1]]
        return Let(every, whole, Tuple(tuple(kept))), TupleType(result.fields[:-1])
    size = ANY if begins is not None else number_of(count)
    if size is ANY:
        return whole, result
    every = Var("collected", TupleType([*[TensorType((size, *p.shape), p.dtype) for p in parts], *one.types]))
    return Let(every, whole, every), every.type_annotation or result


def both(a: Value | None, b: Value | None) -> Value | None:
    """Whether both hold; None for what is certain."""
    a, b = (None if v is None or (v.array is not None and v.array) else v for v in (a, b))
    return a or b if a is None or b is None else call("logical_and", a, b)


def number_of(rounds: Value | None) -> Dim:
    """How many rounds there are, where it is known."""
    sizes = None if rounds is None else sizes_of(rounds)
    found: Any = ANY if sizes is None else sizes[()]
    return max(found, 0) if isinstance(found, int) else found


def halves(
    recur: Var, first: Value, count: Value, states: Sequence[Expr], result: TupleType, rows: int, asked: bool
) -> Expr:
    """The first half of some rounds and then the second, if the last one of the first half lets it follow."""
    half = call("floor_divide", count, 2)
    early, late = Var("early", result), Var("late", result)
    a, b = fields(Value(early, result)), fields(Value(late, result))
    begun = Call(recur, (first.expr, half.expr, *states))
    held = [v.expr for v in a[rows : rows + len(states)]]
    ended = Call(recur, ((first + half).expr, (count - half).expr, *held))
    whole = [call("concatenate", (a[k], b[k]), axis=0) for k in range(rows)]
    done = Let(late, ended, Tuple(tuple([v.expr for v in (*whole, *b[rows:])])))
    return Let(early, begun, If(a[-1].expr, done, early) if asked else done)
