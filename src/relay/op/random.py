"""Random numbers from explicit keys (see `relay.op.threefry`).

From words to floats: `uniform` takes the top 23 bits of a word for float32 (52 for float64, 10 for float16,
7 for bfloat16), divides by their number, scales by `high - low` and adds `low`, each step rounded in the
dtype.  `normal` is `sqrt(-2 log(1 - u)) cos(2 pi v)` for two draws `u` and `v` of float64 (Box and
Muller, 1958), where `v` follows all of `u`, rounded to the dtype before it is scaled.
"""

from collections.abc import Sequence
from math import pi, prod
from typing import Any, ClassVar

import numpy

from relay.ir.dtype import to_numpy
from relay.ir.expr import Call, Expr, Op, TupleGetItem, as_expr, constant
from relay.ir.type import Dim, DType, TensorType, TupleType, Type
from relay.op import random_words
from relay.op.arithmetic import lesser
from relay.op.attribute import DTypeName, Size, is_dimension
from relay.op.base import FLOATING, Array, Numpy, Operator, sample
from relay.op.batching import row_shape, stretched, with_row_rank
from relay.op.conversion import accumulator
from relay.op.derivative import broadcast_like, const_like, tensor_type, times, total
from relay.op.kind import Derivative
from relay.op.native import Loops, Output, View
from relay.op.numeric import apply, narrow
from relay.op.random_keys import KEY, as_key, check_key, random_key, sizes_of
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.slice_range import BEYOND
from relay.op.term import Term, term
from relay.op.threefry import draw_words

BITS = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}


def unit_floats(words: Array, dtype: str) -> Array:
    """Words as floats from 0 up to 1, 1 left out."""
    bits = BITS[dtype]
    return (words >> numpy.uint64(64 - bits)).astype("float64") / 2.0**bits


def units(words: Expr, bits: int) -> Term:
    """Words as float64 from 0 up to 1, 1 left out."""
    return (Term(words, "uint64") >> (64 - bits)).cast("float64") * 2.0**-bits


class Draw(Operator):
    """Numbers of a shape and two scalar parameters: `values` says them in terms of random words."""

    words_shape: ClassVar[tuple[int, ...]] = ()
    """The axes that words have before those of the numbers."""

    def values(self, words: Expr, rank: int, *parameters: Expr) -> Expr:
        """The numbers, of that rank, from words that may have more axes in front, as parameters may."""
        raise AssertionError(f"{self.name} does not say what it draws")

    def batch(self, n: Dim, which: Sequence[Any], key: Expr, *parameters: Expr) -> tuple[Expr, Expr]:
        sizes = self["out_shape"]
        words = apply("random.threefry_generate", key, (*self.words_shape, *sizes))
        rest, drawn = TupleGetItem(words, 0), TupleGetItem(words, 1)
        spread = [
            with_row_rank(p, len(sizes)) if w else p for p, w in zip(parameters, which[1:], strict=True)
        ]
        values = self.values(drawn, len(sizes), *spread)
        if not which[0]:
            rest = apply("broadcast_to", rest, shape=(n, 10))
        return rest, values


@operator("random.uniform")
class Uniform(Draw):
    """`(new_key, values)`: values of shape `out_shape`, evenly between scalars `low` and `high` (left out).

    Each is the top bits of a word of `random.threefry_generate` (23 of them for float32) as a fraction.

    relay> random.uniform(Constant(1, (10,), uint64), 0.0, 1.0, out_shape=(1,)).1
    [0.7995477]
    """

    out_shape: tuple[Size, ...]
    out_dtype: DTypeName = "float32"  # pyright: ignore[reportAssignmentType]
    derivative = Derivative.RULES
    results = 2
    samples = (
        sample(random_key(1), numpy.float32(0), numpy.float32(1), out_shape=(2, 3)),
        sample(random_key(1), numpy.float64(-1), numpy.float64(3), out_shape=(5,), out_dtype="float64"),
    )

    def infer(self, t: Typing, key: Type, low: Type, high: Type) -> Type:
        check_key(t, key)
        check_float(t, self.out_dtype, self.name)
        for bound in (low, high):
            t.equal(
                bound,
                TensorType((), self.out_dtype),
                why="the bounds are scalars of the dtype of the result",
            )
        return TupleType([KEY, TensorType(self.out_shape, self.out_dtype)])

    def reference(self, np: Numpy, key: Array, low: Array, high: Array) -> Any:
        words, rest = draw_words(np, key, prod(self.out_shape))
        dtype = to_numpy(self.out_dtype)
        x = unit_floats(words, self.out_dtype).astype(dtype).reshape(self.out_shape)
        span = narrow(accumulator(high) - accumulator(low), dtype)
        grown = narrow(accumulator(x) * accumulator(span), dtype)
        return rest, narrow(accumulator(grown) + accumulator(low), dtype)

    def values(self, words: Expr, rank: int, *parameters: Expr) -> Expr:
        low, high = (Term(p, self.out_dtype) for p in parameters)
        return (units(words, BITS[self.out_dtype]).cast(self.out_dtype) * (high - low) + low).expr

    def vjp(self, g: Any, y: Any, key: Expr, low: Expr, high: Expr) -> tuple[Expr | None, ...]:
        of_high = apply("sum", times(g[1], _standard(self, key)))
        return None, apply("subtract", apply("sum", g[1]), of_high), of_high

    def jvp(self, dxs: Sequence[Any], y: Any, key: Expr, low: Expr, high: Expr) -> Any:
        _, lower, higher = dxs
        share = _standard(self, key)
        rest = apply("subtract", const_like(1, low), share)
        return None, total([times(d, s) for d, s in ((lower, rest), (higher, share)) if d is not None])

    @staticmethod
    def builder(
        key: Any, shape: Sequence[int], dtype: str = "float32", low: Any = 0.0, high: Any = 1.0
    ) -> Call:
        """`random.uniform(key, shape)`: the pair of a new key and values evenly from `low` up to `high`."""
        return _drawn("random.uniform", key, shape, dtype, low, high)

    def compute(self, b: Loops, outs: Sequence[Output], key: View, low: View, high: View) -> None:
        """Write the next key and the values."""
        rest, out = outs
        words = random_words.emit_draw(b, rest, key, prod(self.out_shape))
        least = low.at(())
        span = b.subtract(high.at(()), least)

        def one(index: Sequence[Any]) -> None:
            x = random_words.emit_unit(b, words.at([b.position(index, out.sizes)]), BITS[self.out_dtype])
            out.put(index, b.add(b.multiply(b.cast(x, out.dtype), span), least))

        b.nest(out.sizes, one)


@operator("random.normal")
class Normal(Draw):
    """`(new_key, values)`: values of shape `out_shape`, normal with scalars `mean` and standard
    deviation `scale`.

    Source: Box and Muller, 1958.

    relay> random.normal(Constant(1, (10,), uint64), 0.0, 0.0, out_shape=(2,)).1
    [0.0, 0.0]
    """

    out_shape: tuple[Size, ...]
    out_dtype: DTypeName = "float32"  # pyright: ignore[reportAssignmentType]
    derivative = Derivative.RULES
    results = 2
    samples = (
        sample(random_key(1), numpy.float32(0), numpy.float32(1), out_shape=(2, 3)),
        sample(random_key(1), numpy.float64(-1), numpy.float64(3), out_shape=(5,), out_dtype="float64"),
    )

    def infer(self, t: Typing, key: Type, mean: Type, scale: Type) -> Type:
        check_key(t, key)
        check_float(t, self.out_dtype, self.name)
        for x in (mean, scale):
            t.equal(
                x,
                TensorType((), self.out_dtype),
                why="mean and scale are scalars of the dtype of the result",
            )
        return TupleType([KEY, TensorType(self.out_shape, self.out_dtype)])

    def reference(self, np: Numpy, key: Array, mean: Array, scale: Array) -> Any:
        words, rest = draw_words(np, key, 2 * prod(self.out_shape))
        dtype = to_numpy(self.out_dtype)
        u, v = unit_floats(words, "float64").reshape(2, *self.out_shape)
        x = (np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)).astype(dtype)
        grown = narrow(accumulator(x) * accumulator(scale), dtype)
        return rest, narrow(accumulator(grown) + accumulator(mean), dtype)

    words_shape = (2,)

    def values(self, words: Expr, rank: int, *parameters: Expr) -> Expr:
        mean, scale = (Term(p, self.out_dtype) for p in parameters)
        both = units(words, BITS["float64"])
        u, v = (both.of("take", term(k, "int64"), axis=-1 - rank) for k in (0, 1))
        standard = ((1.0 - u).of("log") * -2.0).of("sqrt") * (v * (2 * pi)).of("cos")
        return (standard.cast(self.out_dtype) * scale + mean).expr

    def vjp(self, g: Any, y: Any, key: Expr, mean: Expr, scale: Expr) -> tuple[Expr | None, ...]:
        return None, apply("sum", g[1]), apply("sum", times(g[1], _standard(self, key)))

    def jvp(self, dxs: Sequence[Any], y: Any, key: Expr, mean: Expr, scale: Expr) -> Any:
        _, shift, growth = dxs
        moved = [] if shift is None else [broadcast_like(shift, y[1])]
        return None, total(moved if growth is None else [*moved, times(growth, _standard(self, key))])

    @staticmethod
    def builder(
        key: Any, shape: Sequence[int], dtype: str = "float32", mean: Any = 0.0, scale: Any = 1.0
    ) -> Call:
        """`random.normal(key, shape)`: the pair of a new key and normal values."""
        return _drawn("random.normal", key, shape, dtype, mean, scale)

    def compute(self, b: Loops, outs: Sequence[Output], key: View, mean: View, scale: View) -> None:
        """Write the next key and the values."""
        rest, out = outs
        n = prod(self.out_shape)
        words = random_words.emit_draw(b, rest, key, 2 * n)
        one, minus_two, turn = (b.const(x, "float64") for x in (1, -2, 2 * pi))

        def value(index: Sequence[Any]) -> None:
            i = b.position(index, out.sizes)
            u, v = (random_words.emit_unit(b, words.at([j]), 52) for j in (i, b.plus(i, n)))
            size = b.function("sqrt", b.multiply(minus_two, b.function("log", b.subtract(one, u))))
            x = b.cast(b.multiply(size, b.function("cos", b.multiply(turn, v))), out.dtype)
            out.put(index, b.add(b.multiply(x, scale.at(())), mean.at(())))

        b.nest(out.sizes, value)


@operator("random.multinomial")
class Multinomial(Operator):
    """`(new_key, indices)`: `num_samples` int32 indices for each row of `probs` `(..., n)`.

    The row says how likely each index is.

    A row need not sum to 1.  An index is the number of running sums, in float64, that do not exceed a draw of
    `random.uniform` times the row's sum.

    relay> random.multinomial(Constant(1, (10,), uint64), [0.0, 1.0, 0.0], num_samples=3).1
    [1, 1, 1]
    """

    num_samples: Size = 1
    derivative = Derivative.ZERO
    results = 2
    samples = (
        sample(random_key(1), numpy.asarray([0.25, 0.75], "float32"), num_samples=4),
        sample(random_key(1), numpy.asarray([[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]]), num_samples=2),
    )

    def infer(self, t: Typing, key: Type, probs: Type) -> Type:
        check_key(t, key)
        t.dtype_in(probs, FLOATING, "the probabilities")
        shape = t.shape(probs)
        if not shape or (not is_dimension(self.num_samples) and self.num_samples < 1):
            t.fail(
                "attribute-value" if shape else "rank-mismatch",
                "`random.multinomial` has nothing to draw",
                hint="it needs a row of probabilities, and num_samples of at least 1",
            )
        t.require(0, "<", shape[-1], "`random.multinomial` needs a probability")
        return TupleType([KEY, TensorType((*shape[:-1], self.num_samples), "int32")])

    @staticmethod
    def builder(key: Any, probs: Any, num_samples: Any = 1) -> Call:
        """`random.multinomial(key, probs, num_samples)`: the pair of a new key and indices."""
        leaf = Op.get("random.multinomial")
        return Call(leaf, (as_key(key), as_expr(probs)), {"num_samples": num_samples})

    def reference(self, np: Numpy, key: Array, probs: Array) -> Any:
        rows = probs.astype("float64").reshape(-1, probs.shape[-1])
        words, rest = draw_words(np, key, len(rows) * self.num_samples)
        sums = np.cumsum(rows, axis=1)
        at = unit_floats(words, "float64").reshape(len(rows), self.num_samples) * sums[:, -1:]
        found = np.minimum((sums[:, None, :] <= at[:, :, None]).sum(axis=2), probs.shape[-1] - 1)
        return rest, found.astype("int32").reshape(*probs.shape[:-1], self.num_samples)

    def batch(self, n: Dim, which: Sequence[Any], key: Expr, probs: Expr) -> tuple[Expr, Expr]:
        sizes = (*row_shape(probs, which[1])[:-1], self.num_samples)
        words = apply("random.threefry_generate", key, sizes)
        rest, drawn = TupleGetItem(words, 0), TupleGetItem(words, 1)
        if not which[0]:
            rest = apply("broadcast_to", rest, shape=(n, 10))
            drawn = apply("broadcast_to", drawn, shape=(n, *sizes))
        return rest, self.places(drawn, stretched(n, probs, which[1]), tensor_type(probs).dtype)

    def places(self, words: Expr, probs: Expr, dtype: DType) -> Expr:
        """The indices by random words: places of draws among the running sums of a row."""
        sums = Term(probs, dtype).cast("float64").of("cumsum", axis=-1)
        whole = sums.of("strided_slice", begin=(-1,), end=(BEYOND,), axes=(-1,))
        found = sums.of("searchsorted", units(words, BITS["float64"]) * whole, to="int32", right=True)
        count = Term(apply("sum", apply("ones_like", sums.expr), axis=-1, keepdims=True), "float64")
        return found.of("minimum", count.cast("int32") - 1).expr

    def compute(self, b: Loops, outs: Sequence[Output], key: View, probs: View) -> None:
        """Write the next key and the indices."""
        rest, out = outs
        words = random_words.emit_draw(b, rest, key, prod(out.sizes))
        n = probs.sizes[-1]
        none = b.const(0, "float64")

        def place(row: Sequence[Any], i: Any) -> Any:
            return b.cast(probs.at([*row, i]), "float64")

        def one(index: Sequence[Any]) -> None:
            row = index[:-1]
            (whole,) = b.loop(n, [none], lambda i, t: [b.add(t[0], place(row, i))])
            at = b.multiply(random_words.emit_unit(b, words.at([b.position(index, out.sizes)]), 52), whole)

            def count(i: Any, totals: Sequence[Any]) -> Sequence[Any]:
                total = b.add(totals[0], place(row, i))
                return [total, b.add(totals[1], b.cast(b.compare("le", total, at), "int32"))]

            _, found = b.loop(n, [none, b.const(0, "int32")], count)
            out.put(index, lesser(b, found, b.as_number(b.minus(n, 1), "int32")))

        b.nest(out.sizes, one)


def check_float(t: Typing, dtype: str, op: str) -> None:
    """Demand a dtype that has a rule from words to floats."""
    if dtype not in BITS:
        t.fail("dtype-not-supported", f"`{op}` cannot draw {dtype}", hint=f"it draws {', '.join(BITS)}")


def _standard(op: Uniform | Normal, key: Expr) -> Expr:
    """Draws from 0 to 1, or standard normal, before the parameters scale and shift them."""
    return TupleGetItem(_drawn(op.name, key, op.out_shape, op.out_dtype, 0.0, 1.0), 1)


def _drawn(name: str, key: Any, shape: Sequence[int], dtype: str, *parameters: Any) -> Call:
    """A call of `uniform` or `normal`, whose parameters are expressions or numbers."""
    xs: list[Expr] = [constant(p, dtype) if isinstance(p, int | float) else as_expr(p) for p in parameters]
    return Call(Op.get(name), (as_key(key), *xs), {"out_shape": sizes_of(shape), "out_dtype": dtype})
