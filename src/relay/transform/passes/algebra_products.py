"""Rules that bring rearrangements and products of matrices together: attention as frameworks export it."""

from relay.ir.dtype import FLOATS
from relay.ir.expr import Call, Expr, replace
from relay.ir.type import HAS_ANY, Dim, TensorType
from relay.op.arithmetic import Multiply
from relay.op.axes import SIZES
from relay.op.native import Product
from relay.op.nn.dense import BatchMatMul, Dense, MatMul
from relay.op.reduce import Sum
from relay.op.reshape import ExpandDims, Reshape, Squeeze, Transpose
from relay.transform.passes.algebra_numbers import ZERO_SIGN, dtype_of
from relay.transform.rewriting.rewriter import Rewriter, call
from relay.transform.rewriting.rulebook import Rulebook

PRODUCTS = Rulebook()


def static_shape(w: Rewriter, e: Expr) -> tuple[Dim, ...] | None:
    """The sizes of a tensor, if all of them are said."""
    t = w.types(e)
    if not isinstance(t, TensorType) or not isinstance(t.shape, tuple) or t.flags & HAS_ANY:
        return None
    return t.shape


@PRODUCTS.rule("reshape(transpose(reshape(x))) => transpose(x) if reshapes join leading axes and part them",
               Reshape)  # fmt: skip
def _transposed_inside(w: Rewriter, e: Call) -> Expr | None:
    outer = w.parts(e.args[0], Transpose)
    inner = outer and w.parts(outer[1][0], Reshape)
    if not outer or not inner:
        return None
    (x,), joined = inner[1], outer[1][0]
    before, between, after = static_shape(w, x), static_shape(w, joined), static_shape(w, e)
    if before is None or between is None or after is None or len(before) != len(after):
        return None
    order: tuple[int, ...] = outer[0].order(SIZES, len(between))
    more = len(before) - len(between)
    axes = (*range(more + 1), *[i + more for i in order[1:]])
    is_kept = order[:1] == (0,) and before[more + 1 :] == between[1:]
    if more < 1 or not is_kept or after != tuple([before[a] for a in axes]):
        return None
    return call(Transpose(axes=axes), (x,), e)


@PRODUCTS.rule(
    "transpose(x) * c, reshape(x) * c => transpose(x * c), reshape(x * c) for a number c", Multiply
)
def _scaled_before(w: Rewriter, e: Call) -> Expr | None:
    for x, c in (e.args, e.args[::-1]):
        number, inner = w.types(c), w.parts(x, Transpose, Reshape)
        if inner and isinstance(number, TensorType) and number.shape == () and w.is_only_here(x):
            scaled = (inner[1][0], c) if x is e.args[0] else (c, inner[1][0])
            return call(inner[0], (call(Multiply(), scaled, e),), e)
    return None


@PRODUCTS.rule(
    "nn.matmul(x, transpose(y)) => nn.matmul(x, y) with transpose_b if rows become columns", MatMul
)
def _transposed_in_product(w: Rewriter, e: Call) -> Expr | None:
    x, y = e.args
    inner, shape = w.parts(y, Transpose), static_shape(w, y)
    if not inner or shape is None or len(shape) < 2:
        return None
    *front, row, column = inner[0].order(SIZES, len(shape))
    if row != len(shape) - 1:
        return None
    axes = (*front, column, row)
    is_same = axes == tuple(range(len(shape)))
    turned = inner[1][0] if is_same else call(Transpose(axes=axes), inner[1], e)
    return call(replace(e.attrs, transpose_b=not e.attrs.transpose_b), (x, turned), e)


@PRODUCTS.rule("nn.matmul(x, y) => x * y where the sum is of one product; likewise nn.dense, nn.batch_matmul",
               MatMul, BatchMatMul, Dense, but=ZERO_SIGN)  # fmt: skip
def _outer_product(w: Rewriter, e: Call) -> Expr | None:
    product: Product = e.attrs.product()
    x, y = e.args
    first, second = _rank(w, x), _rank(w, y)
    if min(first, second) < 2 or any(dtype_of(w, a) != dtype_of(w, e) for a in e.args):
        return None
    t = w.types(x)
    assert isinstance(t, TensorType)
    assert isinstance(t.shape, tuple)
    if t.shape[-2 if product.transpose_a else -1] != 1:
        return None
    x = _axis_moved(x, first - 2, first - 1, e) if product.transpose_a else x
    y = _axis_moved(y, second - 1, second - 2, e) if product.transpose_b else y
    return call(Multiply(), (x, y), e)


@PRODUCTS.rule("sum(x * y, axis=0) => nn.matmul(x, y) where x has columns and y rows for each of many", Sum)
def _sum_of_outer_products(w: Rewriter, e: Call) -> Expr | None:
    op: Sum = e.attrs  # pyright: ignore[reportAssignmentType]
    inner = w.parts(e.args[0], Multiply)
    if not inner or op.keepdims or not w.is_only_here(e.args[0]):
        return None
    for x, y in (inner[1], inner[1][::-1]):
        columns, rows = w.types(x), w.types(y)
        if not (isinstance(columns, TensorType) and isinstance(rows, TensorType)):
            continue
        if not (is_stack(columns) and is_stack(rows)) or columns.dtype not in FLOATS:
            continue
        (b, m, one), (c, other, n) = columns.shape, rows.shape  # pyright: ignore[reportUnknownVariableType, reportGeneralTypeIssues]
        if one == other == 1 and 1 not in (m, n) and b == c and op.axes(3) == (0,):
            first = call(Squeeze(axis=(2,)), (x,), e)
            return call(MatMul(transpose_a=True), (first, call(Squeeze(axis=(1,)), (y,), e)), e)
    return None


def is_stack(t: TensorType) -> bool:
    """Whether a tensor is a stack of matrices whose sizes are said."""
    return isinstance(t.shape, tuple) and len(t.shape) == 3 and not t.flags & HAS_ANY


def _rank(w: Rewriter, e: Expr) -> int:
    """The rank of a tensor; -1 if it is open."""
    t = w.types(e)
    return len(t.shape) if isinstance(t, TensorType) and isinstance(t.shape, tuple) else -1


def _axis_moved(x: Expr, begin: int, end: int, source: Call) -> Expr:
    """`x` with an axis of size 1 at another place."""
    return call(ExpandDims(axis=end), (call(Squeeze(axis=(begin,)), (x,), source),), source)
