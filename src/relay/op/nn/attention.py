"""Attention: mixtures of values, weighted by how alike queries and keys are."""

from math import sqrt
from typing import Any, Literal

import numpy

from relay.ir.expr import Constant, Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.base import FLOATING, sample
from relay.op.composite import Composite
from relay.op.nn.dense import contract
from relay.op.numeric import apply, computing_dtype, count, dims, scalar, widened
from relay.op.registry import operator
from relay.op.relation import Typing


@operator("nn.attention")
class Attention(Composite):
    """`softmax(scale * query @ key.T + mask) @ value`: scaled dot-product attention.

    `query` is `(..., heads, n, d)`, `key` `(..., heads, m, d)`, `value` `(..., heads, m, e)`, and the result
    `(..., heads, n, e)`; all may lack the heads.  Keys and values may have fewer heads, each of which
    serves `group_size` neighbouring heads of the queries.  `mask` broadcasts to `(..., heads, n, m)`:
    booleans say which keys a query attends to, floats are added to the scores.  With `causal`, query `i`
    attends to the keys up to `i`.  `scale` is `1 / sqrt(d)` unless given.  The rows of queries that attend
    to no key, with scores that are all `-inf`, are 0, or NaN with `masked_rows="nan"`.  Weights below the
    least normal number of the dtype that they are computed in, float32 at least, are 0.

    Source: Vaswani et al., 2017; groups of heads: Ainslie et al., 2023.

    relay> nn.attention([[0.0, 0.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0], [3.0]])
    [[2.0]]
    """

    causal: bool = False
    scale: float | None = None
    group_size: int = 1
    masked_rows: Literal["zero", "nan"] = "zero"
    samples = (
        sample("2x3x5x4 float32", "2x3x7x4 float32", "2x3x7x6 float32"),
        sample("5x4 float64", "7x4 float64", "7x6 float64", causal=True, scale=0.5),
        sample(
            "2x4x5x4 float32", "2x2x5x4 float32", "2x2x5x3 float32", "2x1x5x5 bool", causal=True, group_size=2
        ),
        sample("2x4x5x4 float32", "2x2x7x4 float32", "2x2x7x3 float32", "4x5x7 float32", group_size=2),
        sample("3x5x4 float16", "3x7x4 float16", "3x7x6 float16", "3x1x7 bool"),
    )

    def infer(self, t: Typing, query: Type, key: Type, value: Type, mask: Type | None = None) -> Type:
        q, dtype = t.shape(query), t.dtype(query)
        t.dtype_in(query, FLOATING)
        if len(q) < 2:
            t.fail("rank-mismatch", "`nn.attention` takes matrices, not vectors")
        k, v = (t.shape(x, len(q), what) for x, what in ((key, "the keys"), (value, "the values")))
        for other in (key, value):
            t.equal(t.dtype(other), dtype, why="queries, keys and values have one dtype")
        contract(t, q[-1], k[-1], self.name)
        t.equal(v[-2], k[-2], why="there are as many values as keys")
        if len(q) > 2:
            t.equal(v[-3], k[-3], why="keys and values have the same heads")
            t.equal(
                q[-3], k[-3] * self.group_size, why="a head of the keys serves `group_size` of the queries"
            )
        stack = (*t.broadcast(q[:-3], k[:-3], v[:-3]), *q[-3:-2])
        if mask is not None:
            if t.tensor(mask).dtype != "bool":
                t.equal(t.dtype(mask), dtype, why="a mask is of booleans, or added to the scores")
            scores = (*stack, q[-2], k[-2])
            t.equal(TensorType(t.broadcast(scores, t.shape(mask)), dtype), TensorType(scores, dtype))
        return TensorType((*stack, q[-2], v[-1]), dtype)

    def decompose(self, types: Any, query: Expr, key: Expr, value: Expr, mask: Expr | None = None) -> Expr:
        dtype, at = types[0].dtype, len(dims(types[0])) - 3
        wide, is_grouped = computing_dtype(dtype), self.group_size != 1 and at >= 0
        keep = self.visible(types, query, key) if self.causal else None
        factor = None if self.scale == 1 else self.factor(query, types[0])
        if is_grouped:
            query = apply("reshape", query, newshape=(*[0] * at, -4, -1, self.group_size, 0, 0))
            key, value = (apply("expand_dims", x, axis=at + 1) for x in (key, value))
            mask = None if mask is None else grouped(mask, dims(types[3]), self.group_size)
        into = {} if wide == dtype else {"out_dtype": wide}
        scores = apply("nn.matmul", query, key, transpose_b=True, **into)
        scores = scores if factor is None else apply("multiply", scores, factor)
        if mask is not None and types[3].dtype == "bool":
            keep = mask if keep is None else apply("logical_and", keep, mask)
        elif mask is not None:
            scores = apply("add", scores, mask if wide == dtype else apply("cast", mask, dtype=wide))
        if keep is not None:
            scores = apply("where", keep, scores, scalar(-numpy.inf, wide))
        weights = apply("nn.safe_softmax" if self.masked_rows == "zero" else "nn.softmax", scores)
        mixed = apply("nn.matmul", weights if wide == dtype else apply("cast", weights, dtype=dtype), value)
        return apply("reshape", mixed, newshape=(*[0] * at, -3, 0, 0)) if is_grouped else mixed

    def factor(self, query: Expr, t: Any) -> Expr:
        """What scores are multiplied by."""
        wide, size = computing_dtype(t.dtype), dims(t)[-1]
        if self.scale is not None:
            return scalar(self.scale, wide)
        if isinstance(size, int):
            return scalar(1 / sqrt(size) if size else 1.0, wide)
        return apply("rsqrt", count(widened(query, t.dtype), t, (len(dims(t)) - 1,), wide))

    def visible(self, types: Any, query: Expr, key: Expr) -> Expr:
        """Whether a key does not come after a query."""
        n, m = dims(types[0])[-2], dims(types[1])[-2]
        if isinstance(n, int) and isinstance(m, int):
            return Constant(numpy.tril(numpy.ones((n, m), bool)), TensorType((n, m), "bool"))
        rows, columns = (apply("ones_like", apply("sum", x, axis=-2, exclude=True)) for x in (query, key))
        all_pairs = apply("multiply", apply("expand_dims", rows, axis=1), columns)
        return apply("cast", apply("trilu", all_pairs, scalar(0, "int32"), upper=False), dtype="bool")


def grouped(mask: Expr, shape: tuple[Dim, ...], group_size: int) -> Expr:
    """A mask for heads that have become two axes, groups and heads within."""
    at = len(shape) - 3
    if at < 0:
        return mask
    if shape[at] == 1:
        return apply("expand_dims", mask, axis=at)
    return apply("reshape", mask, newshape=(*[0] * at, -4, -1, group_size, 0, 0))
