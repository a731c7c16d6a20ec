"""Dropout: some elements, chosen at random, are left out while a network is trained."""

from collections.abc import Sequence
from typing import Any

import numpy

from relay.ir.expr import Call, Expr, Op, TupleGetItem, as_expr
from relay.ir.type import Dim, TensorType, TupleType, Type
from relay.op import random_words
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, Array, Numpy, Operator, sample
from relay.op.batching import is_unknown, row_shape, some_row, stretched
from relay.op.conversion import accumulator, accumulator_name
from relay.op.derivative import tensor_type
from relay.op.kind import Derivative, Precision, Wide
from relay.op.native import Loops, Output, View
from relay.op.numeric import apply, computing_dtype, narrow, narrowed, scalar, widened
from relay.op.random_keys import OF_KEY, as_key, check_key, random_key
from relay.op.registry import builders, operator
from relay.op.relation import Typing
from relay.op.threefry import draw_words


@operator("nn.dropout")
class Dropout(Operator):
    """The pair of the data, of which a share `rate` is dropped, and the mask: 1 where kept, 0 where dropped.

    With a `key` (`random.threefry_key`) each element is dropped, that is 0, with the probability `rate`; the
    others are divided by `1 - rate`, so that the mean stays.  One key gives one mask, in the derivative as
    well, on every backend: element `i` is dropped if word `i` of the key's words is below `rate * 2**64`.
    Without a key nothing is dropped, which is dropout outside of training.  In Python a whole number in the
    place of the key is a seed.

    `relay.nn.dropout(x, key, rate)` is the first of the pair, `relay.nn.dropout_raw(x, key, rate)` the pair.
    Source: Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov, 2014.

    relay> nn.dropout([1.0, 2.0], rate=0.5)
    ([1.0, 2.0], [1.0, 1.0])

    relay> nn.dropout([1.0, 2.0, 3.0, 4.0], random.threefry_key(seed=1), rate=0.5)
    ([0.0, 4.0, 0.0, 8.0], [0.0, 1.0, 0.0, 1.0])
    """

    precision = Precision.STORED
    wide = Wide.ARITHMETIC
    rate: float = 0.5
    results = 2
    derivative = Derivative.RULES
    samples = (
        sample("3x4 float32"),
        sample("float32", rate=0.2),
        sample("3x5 float32", random_key(1), rate=0.25),
        sample("7 float64", random_key(2)),
        sample("0x3 float32", random_key(2)),
        sample("5 float32", random_key(3), rate=1.0),
    )

    def infer(self, t: Typing, data: Type, key: Type | None = None) -> Type:
        if not 0 <= self.rate <= 1:
            attribute_fault(t, "rate", self.rate, "it is a share, from 0 to 1")
        t.dtype_in(data, FLOATING, "the data")
        if key is not None:
            known = t.resolve(key)
            if isinstance(known, TensorType) and known.shape == ():
                hint = (
                    f"write {self.name}(…, random.threefry_key(1), rate=…), the rate as `rate=0.5`; "
                    "without a key nothing is dropped"
                )
                message = f"the second operand of `{self.name}` is a random key: {OF_KEY}"
                t.fail("rank-mismatch", message, hint=hint)
            check_key(t, key)
        return TupleType([data, data])

    @property
    def threshold(self) -> int:
        """Words below it drop their element."""
        return int(self.rate * 2.0**64)

    @property
    def growth(self) -> float:
        """What the elements that are kept are multiplied by."""
        return 1 / (1 - self.rate) if self.rate < 1 else 0.0

    def reference(self, np: Numpy, data: Array, key: Array | None = None) -> Any:
        if key is None:
            return data, np.ones_like(data)
        words, _ = draw_words(np, key, data.size)
        kept = np.zeros(data.shape, bool)
        if self.rate < 1:
            kept = words.reshape(data.shape) >= numpy.uint64(self.threshold)
        x = accumulator(data)
        return narrow(
            np.where(kept, x * x.dtype.type(self.growth), x.dtype.type(0)), data.dtype
        ), kept.astype(data.dtype)

    def batch(self, n: Dim, which: Sequence[bool], data: Expr, key: Expr | None = None) -> Any:
        """By the words of the key of each row, or of the one for all: then they share a mask."""
        if key is None:
            return self(data)
        if self.rate == 1:
            none = apply("zeros_like", stretched(n, data, which[0]))
            return none, none
        dtype, shape = tensor_type(data).dtype, row_shape(data, which[0])
        if any(map(is_unknown, shape)):
            sizes = apply("shape_of", some_row(data) if which[0] else data)
            words = TupleGetItem(apply("dyn.random.threefry_generate", key, sizes), 1)
        else:
            words = TupleGetItem(apply("random.threefry_generate", key, shape), 1)
        kept = apply("greater_equal", words, scalar(self.threshold, "uint64"))
        mask = apply("cast", kept, dtype=dtype)
        return self._dropped(data, mask, data), mask if which[1] else apply("broadcast_to_like", mask, data)

    def vjp(self, g: Sequence[Expr | None], y: Any, data: Expr, key: Expr | None = None) -> Any:
        """That of the data, dropped and scaled alike; the mask is constant."""
        return (g[0],) if key is None else (self._dropped(g[0], y[1], data), None)

    def jvp(
        self, dxs: Sequence[Expr], y: Any, data: Expr, key: Expr | None = None
    ) -> tuple[Expr | None, None]:
        """That of the data, dropped and scaled alike; the mask is constant."""
        return dxs[0] if key is None else self._dropped(dxs[0], y[1], data), None

    def _dropped(self, g: Expr | None, mask: Expr, data: Expr) -> Expr | None:
        if g is None:
            return None
        dtype = tensor_type(data).dtype
        none = scalar(0, computing_dtype(dtype))
        grown = apply("multiply", widened(g, dtype), scalar(self.growth, computing_dtype(dtype)))
        kept = apply("greater", mask, scalar(0, dtype))
        return narrowed(apply("where", kept, grown, none), dtype)

    @staticmethod
    def builder(data: Any, key: Any = None, rate: float | None = None) -> Expr:
        """Return the data, of which a share `rate` (0.5) is dropped by `key`; without a key, the data.

        A whole number in the place of the key is a seed, and a float, as TVM has it, the rate.
        """
        return TupleGetItem(dropout_raw(data, key, rate), 0)

    def compute(self, b: Loops, out: Sequence[Output], data: View, key: View | None = None) -> None:
        """The data that is kept, and the mask."""
        one, none = b.const(1, data.dtype), b.const(0, data.dtype)
        if key is None or self.rate == 1:
            b.fill(out[0], data.at if key is None else lambda _: none)
            b.fill(out[1], lambda _: one if key is None else none)
            return
        n = b.count(data.sizes)
        words = random_words.room_for(b, n)
        random_words.emit_words(b, words, random_words.with_room(b, random_words.read(b, key), n), n)
        acc, least = accumulator_name(data.dtype), b.const(self.threshold, "uint64")

        def keep(index: Sequence[Any]) -> None:
            kept = b.compare("ge", words.at([b.position(index, data.sizes)]), least)
            grown = b.multiply(b.cast(data.at(index), acc), b.const(self.growth, acc))
            out[0].put(index, b.select(kept, b.cast(grown, data.dtype), none))
            out[1].put(index, b.select(kept, one, none))

        b.nest(data.sizes, keep)


def dropout_raw(data: Any, key: Any = None, rate: float | None = None) -> Expr:
    """Return the pair of the data, of which a share `rate` (0.5) is dropped by `key`, and the mask.

    A whole number in the place of the key is a seed, and a float, as TVM has it, the rate.
    """
    if isinstance(key, float):
        if rate is not None:
            raise TypeError("nn.dropout: multiple values for argument 'rate': a key is a seed, or ten words")
        key, rate = None, key
    operands = (as_expr(data),) if key is None else (as_expr(data), as_key(key))
    return Call(Op.get("nn.dropout"), operands, {"rate": 0.5 if rate is None else rate})


builders["nn.dropout_raw"] = dropout_raw
