"""`relay.scan`: a loop along the leading axis that keeps what each round gives.

Where the number of rounds is known, blocks of 1, 2, 4, … rounds are local functions, each of which calls the
one before twice and joins what they give: every element is copied as often as the number of rounds has bits.
Where it is not known, a recursive function runs the first half of the rounds and then the other, and joins
what they give: no element is copied more often.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relay.diagnostic import caller_span, fail
from relay.ir.expr import Call, Expr, Function, If, Let, Tuple, TupleGetItem, Var, constant
from relay.ir.type import ANY, Dim, TensorType, TupleType, Type
from relay.tracing.function import as_function
from relay.tracing.indexing import apply
from relay.tracing.loops import Carry, carried, leaves_of
from relay.tracing.nested import as_leaf, in_trace, typed_leaf
from relay.tracing.types import Bindings, around, current
from relay.tracing.value import TracedValue


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> Any:
    """The last carry and all `y`, stacked, of `carry, y = f(carry, x)` for each `x` along the leading axis of
    the tensors in `xs`.

    `init`, `xs` and `y` are nested values; the carry keeps its structure, shapes and dtypes.  `length` is the
    number of rounds where `xs` has no tensors; `reverse` goes from the last `x` to the first, and `y` of each
    stands where its `x` stands.

    Raises `structure-mismatch`, `ValueError` where nothing says how many rounds there are.
    """
    if current.get() is None:
        whole = as_function(lambda carry, rows: scan(f, carry, rows, length, reverse))  # pyright: ignore[reportUnknownLambdaType]
        return whole(init, xs)
    of_trace = in_trace()
    carry, first = carried(init, of_trace)
    rows, tree = leaves_of(xs, typed_leaf, of_trace)
    given = Carry(tree, tuple([of_trace(e) for e in rows]), of_trace)
    count = rounds(given.types, length)
    last = number(count - 1) if isinstance(count, int) else apply("subtract", size_of(rows[0]), number(1))
    one = traced_round(f, carry, given, rows, last if reverse else None)
    made = doubled(one, first, count) if isinstance(count, int) else halved(one, first, rows[0])
    made = of_trace.done(made) if one.effects else made
    fields = [TupleGetItem(made, i) for i in range(len(first) + len(one.results))]
    return carry.value(fields[: len(first)]), one.result.value(fields[len(first) :])


def rounds(types: Sequence[Type], length: int | None) -> Dim:
    """How many rounds there are: the size of the leading axes."""
    sizes = [
        t.shape[0] for t in types if isinstance(t, TensorType) and isinstance(t.shape, tuple) and t.shape
    ]
    sizes += [] if length is None else [length]
    if not sizes or len(sizes) < len(types):
        raise ValueError("relay.scan needs tensors of rank 1 or more in `xs`, or `length`")
    if any(d is not sizes[0] and d != sizes[0] for d in sizes):
        raise ValueError(f"the leading axes of `xs` have different sizes: {', '.join(map(str, sizes))}")
    return sizes[0]


def number(n: int) -> Expr:
    """A number of rounds."""
    return constant(n, "int32")


def size_of(x: Expr) -> Expr:
    """The size of the leading axis, as a scalar of int32."""
    return apply("take", apply("shape_of", x, dtype="int32"), number(0), axis=0)


@dataclass(frozen=True)
class Round:
    """One round: a function of its number and what is carried, with the structure of its result."""

    index: Var
    params: tuple[Var, ...]
    after: list[Expr]
    results: list[Expr]
    """The leaves of the result, each with a leading axis of size 1."""
    result: Carry
    last: Expr | None
    """The last row, where rounds go backwards."""
    effects: Bindings

    def function(self) -> Function:
        """The round as a function; it gives what is carried on, and the results."""
        body = around(self.effects, Tuple((*self.after, *self.results)))
        return Function((self.index, *self.params), body)

    def copies(self) -> tuple[Var, ...]:
        """Other variables of the types of those that it carries."""
        return tuple([Var(p.name_hint, p.type_annotation) for p in self.params])

    def both(self, first: Expr, second: Expr) -> Tuple:
        """What two runs give together, the second of which went on where the first ended."""
        carried = [TupleGetItem(second, i) for i in range(len(self.params))]
        return Tuple((*carried, *self.joined([first, second])))

    def joined(self, runs: Sequence[Expr]) -> list[Expr]:
        """The results of several runs, one after the other."""
        runs = runs if self.last is None else runs[::-1]
        places = range(len(self.params), len(self.params) + len(self.results))
        if len(runs) == 1:
            return [TupleGetItem(runs[0], i) for i in places]
        return [apply("concatenate", tuple([TupleGetItem(r, i) for r in runs]), axis=0) for i in places]

    def empty(self) -> list[Expr]:
        """The results of no round."""
        return [apply("zeros", shape=(0, *shape_of(t)), dtype=dtype_of(t)) for t in self.result.types]


def shape_of(t: Type) -> tuple[Dim, ...]:
    """The shape of a result (`structure-mismatch` where it is not a tensor)."""
    if isinstance(t, TensorType) and isinstance(t.shape, tuple):
        return t.shape
    message = f"relay.scan stacks tensors, and a result is {t}"
    fail("structure-mismatch", message, caller_span(), hint="return tensors, or carry the value")


def dtype_of(t: Type) -> str:
    """The dtype of a result."""
    assert isinstance(t, TensorType)
    return str(t.dtype)


def traced_round(
    f: Callable[[Any, Any], tuple[Any, Any]],
    carry: Carry,
    given: Carry,
    rows: Sequence[Expr],
    last: Expr | None,
) -> Round:
    """`f` run on what is carried and a row of each tensor; backwards where `last` is the last."""
    index, params = Var("i", TensorType((), "int32")), carry.params()
    at = index if last is None else apply("subtract", last, index)
    row = Carry(given.tree, (), given.of_trace).value([apply("take", x, at, axis=0) for x in rows])
    with carry.of_trace.block() as effects:
        made: Any = f(carry.value(params), row)
        if isinstance(made, TracedValue) and made.is_tuple():
            made = tuple(made)
        if not isinstance(made, tuple) or len(made) != 2:  # pyright: ignore[reportUnknownArgumentType]
            message = f"the function of relay.scan returns {made!r:.60}, not the carry and a result"
            fail("structure-mismatch", message, caller_span(), hint="return `carry, y`; y may be None")
        results, tree = leaves_of(made[1], as_leaf, carry.of_trace)
        after = carry.leaves_of(made[0], "scan")
    result = Carry(tree, tuple([carry.of_trace(e) for e in results]), carry.of_trace)
    for t in result.types:
        shape_of(t)
    stacked = [apply("expand_dims", y, axis=0) for y in results]
    return Round(index, params, after, stacked, result, last, effects)


def doubled(one: Round, first: Sequence[Expr], count: int) -> Expr:
    """`count` rounds by blocks of 1, 2, 4, … of them."""
    blocks = [(Var("rounds"), one.function())]
    while 2 << (len(blocks) - 1) <= count:
        before, n = blocks[-1][0], 1 << (len(blocks) - 1)
        i, params = Var("i", one.index.type_annotation), one.copies()
        low = Call(before, (i, *params))
        middle = apply("add", i, number(n))
        high = Call(before, (middle, *[TupleGetItem(low, k) for k in range(len(params))]))
        blocks.append((Var("rounds"), Function((i, *params), one.both(low, high))))
    at, state, runs = 0, list(first), list[Expr]()
    for k, (block, _) in reversed(list(enumerate(blocks))):
        if count >> k & 1:
            runs.append(Call(block, (number(at), *state)))
            state = [TupleGetItem(runs[-1], j) for j in range(len(state))]
            at += 1 << k
    body: Expr = Tuple((*state, *(one.joined(runs) if runs else one.empty())))
    for block, function in reversed(blocks):
        body = Let(block, function, body)
    return body


def halved(one: Round, first: Sequence[Expr], rows: Expr) -> Expr:
    """A round for each row, however many there are: a recursive function runs one half and then the other."""
    step, runs = Var("round"), Var("rounds")
    i, n, params = Var("i", one.index.type_annotation), Var("n", one.index.type_annotation), one.copies()
    carried = [p.type_annotation for p in params]
    stacked = [TensorType((ANY, *sizes_of(t)), dtype_of(t)) for t in one.result.types]
    whole = TupleType([t for t in (*carried, *stacked) if t is not None])
    half = apply("right_shift", n, number(1))
    low = Call(runs, (i, half, *params))
    state = [TupleGetItem(low, k) for k in range(len(params))]
    high = Call(runs, (apply("add", i, half), apply("subtract", n, half), *state))
    several = If(apply("less", n, number(1)), Tuple((*params, *one.empty())), one.both(low, high))
    body = If(apply("equal", n, number(1)), Call(step, (i, *params)), several)
    function = Function((i, n, *params), body, whole)
    made = Var("results", whole)
    kept = [TupleGetItem(made, k) for k in range(len(params))]
    results = [as_many(TupleGetItem(made, len(params) + k), rows) for k in range(len(one.results))]
    start = Let(made, Call(runs, (number(0), size_of(rows), *first)), Tuple((*kept, *results)))
    return Let(step, one.function(), Let(runs, function, start))


def as_many(x: Expr, rows: Expr) -> Expr:
    """Results for as many rows as there are, which the type says then."""
    return apply("reshape_like", x, rows, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=1)


def sizes_of(t: Type) -> tuple[Dim, ...]:
    """The sizes of a result, which are needed where there are no rounds (`traced-type`)."""
    shape = shape_of(t)
    if any(d is ANY for d in shape):
        message = f"relay.scan along an axis of unknown size gives results of known sizes, not {t}"
        fail("traced-type", message, caller_span(), hint="annotate the parameters with numbers for the sizes")
    return shape
