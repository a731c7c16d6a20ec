"""Keys of the generator of random words, and the words (see `relay.op.threefry`)."""

from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any, SupportsIndex

import numpy

from relay.diagnostic import fail
from relay.ir.dtype import is_integer
from relay.ir.expr import Call, Expr, Op, RelayExpr, as_expr, constant
from relay.ir.traced import Traced, current
from relay.ir.type import ANY, Dim, TensorType, TupleType, Type
from relay.op import random_words
from relay.op.attribute import Size, is_size
from relay.op.axes import SIZES, attribute_fault, check_sizes
from relay.op.base import Array, Numpy, Operator, sample
from relay.op.batching import by, same
from relay.op.dynamic_shape import result_rank, size_at
from relay.op.kind import Batching, Derivative
from relay.op.native import Index, Loops, Output, View
from relay.op.numeric import apply
from relay.op.random_words import TOP, UINT64_MAX
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.threefry import draw_words, split_key
from relay.op.traced import DECIDES, values_of

KEY = TensorType((10,), "uint64")
OF_KEY = "ten words of uint64, as `random.threefry_key` makes them"
"""What a key is, in messages."""


def check_key(t: Typing, key: Type) -> None:
    """Demand a key."""
    t.equal(key, KEY, why=f"a key is {OF_KEY}")


def random_key(seed: int) -> Array:
    """The key of a seed from 0 to 2**256 - 1 (`attribute-value` for another)."""
    if not 0 <= seed < 2**256:
        fail("attribute-value", f"`seed` cannot be {seed}: a seed goes from 0 to 2**256 - 1")
    return numpy.asarray([*[seed >> (64 * i) & UINT64_MAX for i in range(4)], 0, 0, 0, 0, TOP, 0], "uint64")


def as_key(x: Any) -> Expr:
    """Return a key as an expression: also that of a seed, which may be a value of the trace at hand.

    A seed of a program is an integer scalar, read as uint64.
    """
    if isinstance(x, SupportsIndex) and not isinstance(x, bool | numpy.ndarray | RelayExpr | Traced):
        return constant(random_key(index(x)))
    e, trace = as_expr(x), current.get()
    t = None if trace is None else trace.get(e)
    if not isinstance(t, TensorType) or t.shape != () or not is_integer(str(t.dtype)):
        return e
    word = apply("expand_dims", apply("cast", e, dtype="uint64"), axis=0)
    rest = constant(numpy.array([0, 0, 0, 0, 0, 0, 0, TOP, 0], "uint64"))
    return apply("concatenate", (word, rest), axis=0)


def rows_of_keys(t: Typing, keys: Type) -> tuple[Dim, ...]:
    """The axes of a stack of keys, `(..., 10)`; of a single key, and of what may yet be one, none."""
    found = t.resolve(keys)
    if not isinstance(found, TensorType) or not isinstance(found.shape, tuple) or len(found.shape) < 2:
        check_key(t, keys)
        return ()
    rows = found.shape[:-1]
    t.equal(keys, key_type(rows), why=f"a key is {OF_KEY}")
    return rows


def key_type(rows: Sequence[Dim]) -> TensorType:
    """The type of a stack of keys."""
    return TensorType((*rows, 10), "uint64")


@operator("random.threefry_key")
class ThreefryKey(Operator):
    """The key of a seed from 0 to 2**256 - 1: ten words of uint64.

    relay> random.threefry_key(seed=7)
    [7, 0, 0, 0, 0, 0, 0, 0, 9223372036854775808, 0]
    """

    seed: int
    derivative = Derivative.ZERO
    samples = (sample(seed=0), sample(seed=2**256 - 1))

    def infer(self, t: Typing) -> Type:
        if not 0 <= self.seed < 2**256:
            attribute_fault(t, "seed", self.seed, "a seed goes from 0 to 2**256 - 1")
        return KEY

    def reference(self, np: Numpy) -> Array:
        return random_key(self.seed)

    @staticmethod
    def builder(seed: Any) -> Expr:
        """The key of a seed from 0 to 2**256 - 1, as a constant; or of a seed that the program has."""
        return as_key(seed)

    def compute(self, b: Loops, out: Output) -> None:
        """Write the key."""
        random_words.write(out, [b.const(int(w), "uint64") for w in random_key(self.seed)])


@operator("random.threefry_generate")
class ThreefryGenerate(Operator):
    """`(new_key, words)`: random uint64 of shape `out_shape`, and the key to go on with.

    A stack of keys, `(..., 10)`, gives a stack of both.

    Source: Salmon, Moraes, Dror and Shaw, 2011.

    relay> random.threefry_generate(Constant(1, (10,), uint64), out_shape=(1,)).1
    [14749052437769182381]
    """

    out_shape: tuple[Size, ...]
    derivative = Derivative.ZERO
    results = 2
    samples = (
        sample(random_key(1), out_shape=(2, 4)),
        sample(random_key(2), out_shape=(5,)),
        sample(random_key(3), out_shape=(0,)),
        sample(random_key(3), out_shape=()),
    )

    def infer(self, t: Typing, key: Type) -> Type:
        rows = rows_of_keys(t, key)
        return TupleType([key_type(rows), TensorType((*rows, *self.out_shape), "uint64")])

    def reference(self, np: Numpy, key: Array) -> Any:
        words, rest = draw_words(np, key, prod(self.out_shape))
        return rest, words.reshape((*key.shape[:-1], *self.out_shape))

    @by(Batching.SAME)
    def batch(self, n: Dim, which: Sequence[Any], key: Expr) -> Expr:
        return self(key)

    @staticmethod
    def builder(key: Any, shape: Sequence[int]) -> Call:
        """`random.threefry_generate(key, shape)`: the pair of a new key and random uint64 of that shape."""
        return Call(Op.get("random.threefry_generate"), (as_key(key),), {"out_shape": sizes_of(shape)})

    def compute(self, b: Loops, outs: Sequence[Output], key: View) -> None:
        """Write the next key and the words."""
        write_words(b, outs, key)


def write_words(b: Loops, outs: Sequence[Output], key: View) -> None:
    """Write the next key, and as many words as there is room for; of a stack of keys for each."""
    rest, out = outs
    front = len(key.sizes) - 1
    sizes = out.sizes[front:]
    count = b.count(sizes)
    words = random_words.room_for(b, count)

    def of_key(row: Sequence[Index]) -> None:
        random_words.emit_row(b, words, rest, key, count, row)
        b.nest(sizes, lambda index: out.put([*row, *index], words.at([b.position(index, sizes)])))

    b.nest(key.sizes[:front], of_key)


@operator("dyn.random.threefry_generate")
class DynThreefryGenerate(Operator):
    """`random.threefry_generate` of a shape that is a tensor of rank 1.

    relay> dyn.random.threefry_generate(Constant(1, (10,), uint64), [1]).1
    [14749052437769182381]
    """

    derivative = Derivative.ZERO
    results = 2
    samples = (
        sample(random_key(1), numpy.array([2, 4])),
        sample(random_key(2), numpy.array([5], "int32")),
        sample(random_key(3), numpy.array([0])),
    )

    def infer(self, t: Typing, key: Type, shape: Type) -> Type:
        rows = rows_of_keys(t, key)
        return TupleType([key_type(rows), TensorType([*rows, *[ANY] * result_rank(t, shape)], "uint64")])

    def reference(self, np: Numpy, key: Array, shape: Array) -> Any:
        sizes = tuple(values_of(shape, DECIDES))
        check_sizes(SIZES, sizes, "shape")
        words, rest = draw_words(np, key, prod(sizes))
        return rest, words.reshape((*key.shape[:-1], *sizes))

    @by(Batching.SAME)
    def batch(self, n: Dim, which: Sequence[Any], key: Expr, shape: Expr) -> Expr | None:
        return None if which[1] else self(key, shape)  # each row would have a shape of its own

    def extent(self, b: Loops, key: View, shape: View) -> Any:
        """The sizes."""
        (count,) = shape.sizes
        sizes = [size_at(b, shape, k) for k in range(count)]
        proper = [b.negation(b.is_less(d, 0)) for d in sizes]
        b.require(b.both(*proper), "attribute-value", "a size is never negative")
        return [key.sizes, [*key.sizes[:-1], *sizes]]

    def compute(self, b: Loops, outs: Sequence[Output], key: View, shape: View) -> None:
        """Write the next key and the words."""
        write_words(b, outs, key)


@operator("random.threefry_split")
class ThreefrySplit(Operator):
    """Two keys whose numbers have nothing to do with one another.  Source: Claessen and Palka, 2013.

    Of a stack of keys, `(..., 10)`, two stacks.

    relay> random.threefry_split(Constant(1, (10,), uint64)).1
    [1, 1, 1, 1, 1, 1, 1, 1, 0, 9223372036854775808]
    """

    derivative = Derivative.ZERO
    results = 2
    samples = (sample(random_key(1)),)

    def infer(self, t: Typing, key: Type) -> Type:
        return TupleType([key_type(rows_of_keys(t, key))] * 2)

    def reference(self, np: Numpy, key: Array) -> Any:
        return split_key(np, key)

    batch = same

    @staticmethod
    def builder(key: Any) -> Call:
        """`random.threefry_split(key)`: two keys whose numbers have nothing to do with one another."""
        return Call(Op.get("random.threefry_split"), (as_key(key),))

    def compute(self, b: Loops, outs: Sequence[Output], key: View) -> None:
        """Write the two keys."""
        left, right = outs
        b.nest(key.sizes[:-1], lambda row: random_words.emit_split_key(b, left, right, key, row))


def sizes_of(shape: Any) -> tuple[int, ...]:
    """A shape, or one size, as a tuple."""
    return (shape,) if is_size(shape) else tuple(shape)
