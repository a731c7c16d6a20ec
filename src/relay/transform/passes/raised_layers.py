"""Normalisations and attention that a program spells out: how they are recognised."""

from dataclasses import replace

import numpy as np

from relay.ir.expr import Call, Constant, Expr
from relay.ir.type import Dim, TensorType
from relay.op.arithmetic import Add, Multiply, Subtract
from relay.op.base import Operator
from relay.op.broadcast import BroadcastTo, Where
from relay.op.division import Divide
from relay.op.join import Repeat
from relay.op.math import Rsqrt, Sqrt
from relay.op.nn.activation import SafeSoftmax, Softmax
from relay.op.nn.attention import Attention
from relay.op.nn.dense import BatchMatMul, MatMul
from relay.op.nn.norm import LayerNorm, RmsNorm
from relay.op.reshape import ExpandDims, Reshape
from relay.op.statistics import Mean, Variance
from relay.transform.passes.raised_activations import ROUNDING, number_of, polynomial, scaled
from relay.transform.rewriting.rewriter import Rewriter, call
from relay.transform.rewriting.rulebook import Rulebook

LAYERS = Rulebook()


# --- normalisations ---


def last_axis(w: Rewriter, e: Expr, axes: tuple[int, ...]) -> int | None:
    """The size of the last axis, where these axes are that one alone and its size is known."""
    t = w.types(e)
    if not isinstance(t, TensorType) or not isinstance(t.shape, tuple) or axes != (len(t.shape) - 1,):
        return None
    size = t.shape[-1]
    return size if isinstance(size, int) else None


def mean_of(w: Rewriter, e: Expr) -> Expr | None:
    """What `e` is the mean of, along its last axis, which is kept."""
    inner = w.parts(e, Mean)
    if not inner or not inner[0].keepdims:
        return None
    (x,) = inner[1]
    t = w.types(x)
    rank = len(t.shape) if isinstance(t, TensorType) and isinstance(t.shape, tuple) else 0
    return x if last_axis(w, x, inner[0].axes(rank)) else None


def is_mean_square(w: Rewriter, e: Expr, x: Expr) -> bool:
    """Whether `e` is the mean of the squares of `x`, or its variance where `x` has the mean 0."""
    inner = w.parts(e, Variance)
    if inner and inner[0].keepdims and not inner[0].unbiased:
        centred = w.parts(x, Subtract)
        whole = inner[1][0]
        return bool(centred) and centred[1][0] is whole and mean_of(w, centred[1][1]) is whole
    square = mean_of(w, e)
    return square is not None and polynomial(w, square, x) == {2: 1.0}


@LAYERS.rule("x / sqrt(mean(x * x) + epsilon), x * rsqrt(mean(x * x) + epsilon) => nn.rms_norm(x)",
                 Divide, Multiply, but=ROUNDING)  # fmt: skip
def _rms_norm(w: Rewriter, e: Call) -> Expr | None:
    (a, b), is_quotient = e.args, isinstance(e.attrs, Divide)
    for x, share in ((a, b),) if is_quotient else ((a, b), (b, a)):
        root = w.parts(share, Sqrt if is_quotient else Rsqrt) or inverse_root(w, share)
        inner = root and w.is_only_here(share) and w.parts(root[1][0], Add)
        for square, shift in (inner[1], inner[1][::-1]) if inner else ():
            epsilon = number_of(w, shift)
            if epsilon is not None and epsilon >= 0 and is_mean_square(w, square, x):
                return call(RmsNorm(epsilon=epsilon), (x,), e)
    return None


def inverse_root(w: Rewriter, e: Expr) -> tuple[Operator, tuple[Expr, ...]] | None:
    """The root in `1 / sqrt(x)`."""
    inner = w.parts(e, Divide)
    return w.parts(inner[1][1], Sqrt) if inner and number_of(w, inner[1][0]) == 1 else None


def is_channel_vector(w: Rewriter, x: Expr, vector: Expr) -> bool:
    """Whether a vector has a number for each place along the last axis of `x`."""
    t, v = w.tensor(vector), w.types(x)
    if t is None or not isinstance(v, TensorType) or t.dtype != v.dtype:
        return False
    return t.shape == dims_of(w, x)[-1:]


@LAYERS.rule("nn.rms_norm(x) * gamma => nn.rms_norm(x, gamma)", Multiply)
def _scaled_norm(w: Rewriter, e: Call) -> Expr | None:
    for a, gamma in (e.args, e.args[::-1]):
        inner = w.parts(a, RmsNorm)
        if inner and len(inner[1]) == 1 and is_channel_vector(w, a, gamma):
            return call(inner[0], (*inner[1], gamma), e)
    return None


@LAYERS.rule("nn.rms_norm(x - mean(x), gamma) => nn.layer_norm(x, gamma, gamma, center=False)", RmsNorm,
                 but=ROUNDING)  # fmt: skip
def _layer_norm(w: Rewriter, e: Call) -> Expr | None:
    centred = w.parts(e.args[0], Subtract) if len(e.args) == 2 else None
    if not centred or mean_of(w, centred[1][1]) is not centred[1][0]:
        return None
    gamma = e.args[1]
    return call(LayerNorm(epsilon=e.attrs.epsilon, center=False), (centred[1][0], gamma, gamma), e)


@LAYERS.rule("nn.layer_norm(x, gamma, gamma, center=False) + beta => nn.layer_norm(x, gamma, beta)", Add)
def _shifted_norm(w: Rewriter, e: Call) -> Expr | None:
    for a, beta in (e.args, e.args[::-1]):
        inner = w.parts(a, LayerNorm)
        if inner and not inner[0].center and inner[0].scale and is_channel_vector(w, a, beta):
            x, gamma, _ = inner[1]
            if inner[0].axis == -1:
                return call(LayerNorm(epsilon=inner[0].epsilon), (x, gamma, beta), e)
    return None


# --- attention ---


@LAYERS.rule("nn.matmul(nn.softmax(nn.matmul(q, k, transpose_b=True) * scale + mask), v) =>"
                 " nn.attention(q, k, v, mask)", MatMul, BatchMatMul,
                 but="0 instead of NaN in rows whose chosen scores are all -inf")  # fmt: skip
def _attention(w: Rewriter, e: Call) -> Expr | None:
    weights, value = e.args
    if not is_product(w, e, transpose_b=False) or not w.is_only_here(weights):
        return None
    outer = w.parts(weights, Where)
    keep = None
    if outer and number_of(w, outer[1][2]) == 0:
        keep, weights = outer[1][:2]
    soft = w.parts(weights, Softmax, SafeSoftmax)
    t = w.types(weights)
    if not soft or not isinstance(t, TensorType) or not isinstance(t.shape, tuple) or len(t.shape) < 2:
        return None
    if soft[0].axis not in (-1, len(t.shape) - 1):
        return None
    found = masked_scores(w, soft[1][0], keep)
    if found is None:
        return None
    scores, mask, is_causal = found
    scale, product = scaled(w, scores)
    inner = w.parts(product, MatMul, BatchMatMul)
    if not inner or not w.is_only_here(product):
        return None
    made = call(inner[0], inner[1], e)
    if not is_product(w, made, transpose_b=True) or w.types(product) != t:
        return None
    heads = {dims_of(w, x)[-3:-2] for x in (*inner[1], value)}
    if len(heads) > 1:
        return None
    masked_rows = "nan" if keep is None and isinstance(soft[0], Softmax) else "zero"
    op = Attention(causal=is_causal, scale=scale, masked_rows=masked_rows)
    return call(op, (*inner[1], value, *mask), e)


@LAYERS.rule("nn.attention(q, repeat(k, n, axis=-3), repeat(v, n, axis=-3)) =>"
             " nn.attention(q, k, v, group_size=n)", Attention)  # fmt: skip
def _grouped_heads(w: Rewriter, e: Call) -> Expr | None:
    query, key, value, *mask = e.args
    keys, values = before_repetition(w, key), before_repetition(w, value)
    if e.attrs.group_size != 1 or keys is None or values is None:
        return None
    shared, of_values, heads = (dims_of(w, x)[-3] for x in (keys, values, query))
    if shared != of_values or not isinstance(heads, int) or not isinstance(shared, int) or not shared:
        return None
    op = replace(e.attrs, group_size=heads // shared)
    return call(op, (query, keys, values, *mask), e)


def before_repetition(w: Rewriter, e: Expr) -> Expr | None:
    """A stack of matrices of which `e` has each several times, one after the other."""
    whole = dims_of(w, e)
    repeated = w.parts(e, Repeat)
    if repeated and len(whole) > 2 and repeated[0].axis in (len(whole) - 3, -3):
        return repeated[1][0]
    joined = w.parts(e, Reshape)
    stretched = joined and w.parts(joined[1][0], BroadcastTo)
    apart = stretched and w.parts(stretched[1][0], ExpandDims)
    if not joined or not stretched or not apart:
        return None
    (x,), shape = apart[1], dims_of(w, joined[1][0])
    at = len(shape) - 3
    is_stretched = at >= 1 and dims_of(w, x) == (*shape[:at], *shape[at + 1 :])
    is_apart = dims_of(w, stretched[1][0]) == (*shape[:at], 1, *shape[at + 1 :])
    is_joined = whole[:-3] == shape[: at - 1] and whole[-2:] == shape[-2:]
    return x if is_stretched and is_apart and is_joined else None


def dims_of(w: Rewriter, e: Expr) -> tuple[Dim, ...]:
    """The sizes of a tensor of known rank."""
    t = w.types(e)
    return t.shape if isinstance(t, TensorType) and isinstance(t.shape, tuple) else ()


def is_product(w: Rewriter, e: Call, *, transpose_b: bool) -> bool:
    """Whether a call is a product of two stacks of as many axes, in their own dtype."""
    op, types = e.attrs, [w.types(x) for x in (*e.args, e)]
    ranks = {len(t.shape) for t in types if isinstance(t, TensorType) and isinstance(t.shape, tuple)}
    dtypes = {t.dtype for t in types if isinstance(t, TensorType)}
    product = op.product()
    is_plain = not product.transpose_a and product.transpose_b == transpose_b
    return is_plain and len(ranks) == len(dtypes) == 1 and ranks.isdisjoint({0, 1}) and len(types) == 3


def masked_scores(w: Rewriter, e: Expr, keep: Expr | None) -> tuple[Expr, tuple[Expr, ...], bool] | None:
    """Scores without their mask, the mask if there is one, and whether that is the causal one."""
    wanted = w.types(e)
    choice = w.parts(e, Where)
    if choice:
        condition, scores, other = choice[1]
        if keep not in (None, condition) or number_of(w, other) != -np.inf or not is_boolean(w, condition):
            return None
        if w.types(scores) != wanted:
            return None
        return (scores, (), True) if is_lower_triangle(w, condition) else (scores, (condition,), False)
    if keep is not None:
        return None
    added = w.parts(e, Add)
    for scores, mask in (added[1], added[1][::-1]) if added else ():
        if w.types(scores) == wanted and w.parts(scaled(w, scores)[1], MatMul, BatchMatMul):
            return scores, (mask,), False
    return None if added else (e, (), False)


def is_boolean(w: Rewriter, e: Expr) -> bool:
    """Whether a tensor is of booleans."""
    t = w.types(e)
    return isinstance(t, TensorType) and t.dtype == "bool"


def is_lower_triangle(w: Rewriter, e: Expr) -> bool:
    """Whether a constant says of each pair of places whether the second does not come after the first."""
    made = w.seen(e)
    if not isinstance(made, Constant) or made.value.ndim < 2:
        return False
    rows, columns = made.value.shape[-2:]
    is_matrix = made.value.size == rows * columns
    return is_matrix and bool((made.value.reshape(rows, columns) == np.tri(rows, columns, dtype=bool)).all())
