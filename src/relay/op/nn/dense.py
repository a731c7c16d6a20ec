"""Matrix products: `nn.dense`, `nn.matmul`, `nn.batch_matmul`."""

from collections.abc import Sequence
from math import prod
from typing import Any

from relay.ir.dtype import to_numpy
from relay.ir.expr import Expr
from relay.ir.type import ANY, Dim, TensorType, Type
from relay.op.attribute import Size
from relay.op.base import NUMERIC, Array, Numpy, sample
from relay.op.derivative import rank_of, tensor_type, unbroadcast
from relay.op.family import Kernel
from relay.op.kind import Derivative, Precision
from relay.op.native import Loops, Product, View
from relay.op.nn.contract import product
from relay.op.nn.cotangent import into, meeting, reshaped_like, rows
from relay.op.nn.layout import OutDType, result_dtype, same_size
from relay.op.nn.loops import sum_type, times_added
from relay.op.nn.product_batch import batch_of_batch_matmul, batch_of_dense, batch_of_matmul
from relay.op.numeric import apply, dims
from relay.op.registry import operator
from relay.op.relation import Typing


def contract(t: Typing, a: Dim, b: Dim, op: str) -> None:
    """Demand that the summed dimensions agree (`contraction-mismatch`)."""
    m, n = t.static(a), t.static(b)
    if m is not None and n is not None and m != n:
        t.fail(
            "contraction-mismatch",
            f"`{op}` sums over {m} elements of its first operand, {n} of its second",
            hint="the summed dimensions must be equal; look at the transposes",
        )
    t.equal(b, a, why=f"`{op}` sums over this dimension")


def said_units(n: Dim, units: Size | None) -> Dim:
    """Return the units of a weight: those that an attribute says, which `check_units` demands."""
    return n if units is None else units


def check_units(t: Typing, n: Dim, units: Size | None, op: str) -> None:
    """Demand that a weight has the units an attribute says."""
    if units is not None:
        same_size(t, n, units, f"`{op}` has units={units}")


def matmul_cotangents(g: Expr, data: Expr, matrix: Expr, transposed: bool) -> tuple[Expr, Expr]:
    """The cotangents of data of any rank and a matrix, whose product has the cotangent `g`."""
    dtype, (h, x, w) = meeting(g, data, matrix)
    d_data = apply("nn.matmul", h, w, transpose_b=not transposed, **into(dtype, tensor_type(data).dtype))
    left, right = rows(h, rank_of(data)), rows(x, rank_of(data))
    if not transposed:
        left, right = right, left
    d_matrix = apply("nn.matmul", left, right, transpose_a=True, **into(dtype, tensor_type(matrix).dtype))
    (*lead, inputs), (first, last) = dims(tensor_type(data)), dims(tensor_type(matrix))
    units = dims(tensor_type(g))[-1]  # an attribute may say it where the matrix does not
    if transposed:
        return reshaped_like(d_data, (*lead, last), data), reshaped_like(d_matrix, (units, inputs), matrix)
    return reshaped_like(d_data, (*lead, first), data), reshaped_like(d_matrix, (inputs, units), matrix)


def column_cotangents(g: Expr, data: Expr, column: Expr) -> tuple[Expr, Expr]:
    """The cotangents of data of any rank and a column, whose product has the cotangent `g`."""
    dtype, (h, x, w) = meeting(g, data, column)
    up, across = apply("expand_dims", h, axis=rank_of(g)), apply("expand_dims", w, axis=0)
    d_data = apply("nn.matmul", up, across, **into(dtype, tensor_type(data).dtype))
    lines = rows(x, rank_of(data)) if rank_of(data) > 1 else apply("expand_dims", x, axis=0)
    line = apply("reshape", h, newshape=(-1,))
    d_column = apply("nn.matmul", line, lines, **into(dtype, tensor_type(column).dtype))
    (k,), sizes = dims(tensor_type(column)), dims(tensor_type(data))
    whole = (*dims(tensor_type(g)), k)
    return reshaped_like(d_data, whole, data), reshaped_like(d_column, sizes[-1:], column)


def by_stack(name: str, g: Expr, a: Expr, b: Expr, ta: bool, tb: bool) -> tuple[Expr, Expr]:
    """The cotangents of stacks of matrices, whose product by the operator `name` has the cotangent `g`."""
    dtype, (h, x, w) = meeting(g, a, b)
    is_row = rank_of(a) == 1
    if is_row:
        h, x = apply("expand_dims", h, axis=rank_of(g) - 1), apply("expand_dims", x, axis=0)
    first = (w, h, tb, True) if ta else (h, w, False, not tb)
    second = (h, x, True, ta) if tb else (x, h, not ta, False)
    d_a, d_b = (
        apply(
            name,
            left,
            right,
            transpose_a=flip_left,
            transpose_b=flip_right,
            **into(dtype, tensor_type(of).dtype),
        )
        for (left, right, flip_left, flip_right), of in ((first, a), (second, b))
    )
    stack = dims(tensor_type(g))[: -1 if is_row else -2]
    agreed = dims(tensor_type(a))[-2 if ta else -1] == dims(tensor_type(b))[-1 if tb else -2]
    return unstacked(d_a, stack, a, agreed), unstacked(d_b, stack, b, agreed)


def unstacked(d: Expr, stack: Sequence[Dim], x: Expr, agreed: bool) -> Expr:
    """The cotangent of a factor, summed over those axes of the `stack` of products that the factor has not.

    `agreed` says whether the size that the product sums over is known to be the same in both factors.
    """
    known = agreed and ANY not in stack and tuple(stack) == dims(tensor_type(x))[:-2]
    return d if known else unbroadcast(d, x)


@operator("nn.dense")
class Dense(Kernel):
    """`data @ weight.T` for data `(..., k)` and weight `(units, k)`: `(..., units)`.

    `out_dtype` is the dtype of the result, wider than the operands' for integers.

    relay> nn.dense([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]])
    [[11.0, 17.0]]
    """

    precision = Precision.ALWAYS
    units: Size | None = None
    out_dtype: OutDType = ""
    dtypes = NUMERIC
    batch = batch_of_dense
    derivative = Derivative.MULTILINEAR
    samples = (
        sample("3x4 float32", "5x4 float32"),
        sample("2x3x4 float32", "5x4 float32", units=5),
        sample("3x4 int8", "5x4 int8", out_dtype="int32"),
        sample("0x4 float32", "5x4 float32"),
        sample("3x0 float32", "5x0 float32"),
        sample("3x4 float16", "5x4 float16"),
    )

    def infer(self, t: Typing, data: Type, weight: Type) -> Type:
        dtype = result_dtype(t, data, weight, self.out_dtype)
        shape = t.shape(data)
        if not shape:
            t.fail(
                "rank-mismatch", "`nn.dense` needs data of rank 1 or more", hint="give it an axis of inputs"
            )
        units, inputs = t.shape(weight, 2, "the weight")
        contract(t, shape[-1], inputs, self.name)
        check_units(t, units, self.units, self.name)
        return TensorType((*shape[:-1], said_units(units, self.units)), dtype)

    def reference(self, np: Numpy, data: Array, weight: Array) -> Array:
        dtype = to_numpy(self.out_dtype) if self.out_dtype else data.dtype
        return product(np, data, np.swapaxes(weight, 0, 1), dtype)

    def transpose(self, g: Expr, data: Expr, weight: Expr) -> tuple[Expr, Expr]:
        """`g @ weight`, and `g.T @ data` with the leading axes as one."""
        return matmul_cotangents(g, data, weight, transposed=True)

    def multiplications(self, out: Sequence[int], *operands: Sequence[int]) -> int:
        """Each element of the result is a dot product of a row of the data."""
        return prod(out) * operands[0][-1]

    def product(self) -> Product:
        """The weight is turned."""
        return Product(transpose_a=False, transpose_b=True)

    def element(self, b: Loops, index: Sequence[Any], data: View, weight: View) -> Any:
        """The sum over the inputs."""
        *lead, unit = index
        out = self.out_dtype or data.dtype

        def step(k: Any, totals: Sequence[Any]) -> Sequence[Any]:
            return [times_added(b, totals[0], data.at([*lead, k]), weight.at([unit, k]))]

        zero = b.const(0, sum_type(out, data.dtype, weight.dtype))
        return b.cast(b.loop(weight.sizes[1], [zero], step)[0], out)


@operator("nn.matmul")
class MatMul(Kernel):
    """The matrix product `x @ y` of `(..., n, k)` and `(k, m)`: `(..., n, m)`.

    A second operand of higher rank is a stack of matrices, and leading dimensions broadcast.  A first operand
    of rank 1 is a row, a second one a column; the result has no axis for it.  `transpose_a` and `transpose_b`
    swap the last two axes first.

    relay> nn.matmul([[1.0, 2.0]], [[3.0], [4.0]])
    [[11.0]]
    relay> [[1.0, 2.0]] @ [3.0, 4.0]
    [11.0]
    """

    precision = Precision.ALWAYS
    units: Size | None = None
    out_dtype: OutDType = ""
    transpose_a: bool = False
    transpose_b: bool = False
    dtypes = NUMERIC
    batch = batch_of_matmul
    derivative = Derivative.MULTILINEAR
    samples = (
        sample("3x4 float32", "4x5 float32"),
        sample("4x3 float32", "5x4 float32", transpose_a=True, transpose_b=True),
        sample("2x3x4 float32", "2x4x5 float32"),
        sample("2x1x3x4 float64", "3x4x5 float64"),
        sample("4 float32", "4x5 float32"),
        sample("2x3x4 float32", "4 float32"),
        sample("4 float32", "4 float32"),
        sample("3x4 int8", "4x5 int8", out_dtype="int32"),
    )

    def infer(self, t: Typing, tensor_a: Type, tensor_b: Type) -> Type:
        dtype = result_dtype(t, tensor_a, tensor_b, self.out_dtype)
        is_matrix = self.units is not None and not isinstance(t.tensor(tensor_b).shape, tuple)
        a, b = t.shape(tensor_a), t.shape(tensor_b, 2 if is_matrix else None, "the second operand")
        turned = self.transpose_a or self.transpose_b
        if not a or not b or (turned and (len(b) < 2 or (self.transpose_a and len(a) < 2))):
            t.fail(
                "rank-mismatch",
                f"`nn.matmul` cannot multiply tensors of rank {len(a)} and {len(b)}",
                hint="the operands are matrices, or stacks of them; vectors where nothing is transposed",
            )
        first: Sequence[Dim] = a if len(a) > 1 else (1, *a)
        *_, k, n = first if self.transpose_a else (first[-1], first[-2])
        second: Sequence[Dim] = b if len(b) > 1 else (*b, 1)
        *_, m, l = second if self.transpose_b else (second[-1], second[-2])  # noqa: E741
        contract(t, k, l, self.name)
        check_units(t, m, self.units, self.name)
        batch = t.broadcast(a[:-2], b[:-2]) if len(b) > 2 else a[:-2]
        row, column = (n,) if len(a) > 1 else (), (said_units(m, self.units),) if len(b) > 1 else ()
        return TensorType((*batch, *row, *column), dtype)

    def reference(self, np: Numpy, tensor_a: Array, tensor_b: Array) -> Array:
        a = np.swapaxes(tensor_a, -1, -2) if self.transpose_a else tensor_a
        b = np.swapaxes(tensor_b, -1, -2) if self.transpose_b else tensor_b
        return product(np, a, b, to_numpy(self.out_dtype) if self.out_dtype else tensor_a.dtype)

    def transpose(self, g: Expr, tensor_a: Expr, tensor_b: Expr) -> tuple[Expr, Expr]:
        """A product by one matrix is one product however many axes the data has."""
        if rank_of(tensor_b) == 1:
            return column_cotangents(g, tensor_a, tensor_b)
        if rank_of(tensor_b) == 2 and not self.transpose_a:
            return matmul_cotangents(g, tensor_a, tensor_b, self.transpose_b)
        return by_stack(self.name, g, tensor_a, tensor_b, self.transpose_a, self.transpose_b)

    def multiplications(self, out: Sequence[int], *operands: Sequence[int]) -> int:
        """Each element of the result is a dot product over the axis that the result does not have."""
        return prod(out) * operands[0][-2 if self.transpose_a else -1]

    def product(self) -> Product:
        """As the attributes say."""
        return Product(self.transpose_a, self.transpose_b)

    def element(self, b: Loops, index: Sequence[Any], tensor_a: View, tensor_b: View) -> Any:
        """The sum over a row and a column."""
        return product_element(b, index, tensor_a, tensor_b, self)


@operator("nn.batch_matmul")
class BatchMatMul(Kernel):
    """Products of matrices in stacks `(b, n, k)` and `(b, m, k)`: `(b, n, m)`; a stack of 1 serves all.

    The second operand is transposed unless `transpose_b=False`, the first with `transpose_a`.

    relay> nn.batch_matmul([[[1.0, 2.0]]], [[[3.0, 4.0]]])
    [[[11.0]]]
    """

    precision = Precision.ALWAYS
    out_dtype: OutDType = ""
    transpose_a: bool = False
    transpose_b: bool = True
    dtypes = NUMERIC
    batch = batch_of_batch_matmul
    derivative = Derivative.MULTILINEAR
    samples = (
        sample("2x3x4 float32", "2x5x4 float32"),
        sample("1x3x4 float32", "2x5x4 float32"),
        sample("2x4x3 float32", "2x4x5 float32", transpose_a=True, transpose_b=False),
        sample("2x3x4 int8", "2x5x4 int8", out_dtype="int32"),
        sample("0x3x4 float32", "0x5x4 float32"),
    )

    def infer(self, t: Typing, tensor_a: Type, tensor_b: Type) -> Type:
        dtype = result_dtype(t, tensor_a, tensor_b, self.out_dtype)
        (i, *a), (j, *b) = (
            t.shape(tensor_a, 3, "the first operand"),
            t.shape(tensor_b, 3, "the second operand"),
        )
        k, n = a if self.transpose_a else reversed(a)
        m, l = b if self.transpose_b else reversed(b)  # noqa: E741
        contract(t, k, l, self.name)
        return TensorType((*t.broadcast((i,), (j,)), n, m), dtype)

    def reference(self, np: Numpy, tensor_a: Array, tensor_b: Array) -> Array:
        a = np.swapaxes(tensor_a, 1, 2) if self.transpose_a else tensor_a
        b = np.swapaxes(tensor_b, 1, 2) if self.transpose_b else tensor_b
        return product(np, a, b, to_numpy(self.out_dtype) if self.out_dtype else tensor_a.dtype)

    def transpose(self, g: Expr, tensor_a: Expr, tensor_b: Expr) -> tuple[Expr, Expr]:
        """Each is the product of the cotangent and the other; a stack of 1 gets the sum."""
        return by_stack(self.name, g, tensor_a, tensor_b, self.transpose_a, self.transpose_b)

    def multiplications(self, out: Sequence[int], *operands: Sequence[int]) -> int:
        """Each element of the result is a dot product over the axis that the result does not have."""
        return prod(out) * operands[0][-2 if self.transpose_a else -1]

    def product(self) -> Product:
        """As the attributes say."""
        return Product(self.transpose_a, self.transpose_b)

    def element(self, b: Loops, index: Sequence[Any], tensor_a: View, tensor_b: View) -> Any:
        """The sum over a row and a column."""
        return product_element(b, index, tensor_a, tensor_b, self)


def product_element(b: Loops, index: Sequence[Any], x: View, y: View, op: "MatMul | BatchMatMul") -> Any:
    """An element of the product of matrices in stacks."""
    is_column = len(y.sizes) == 1
    stack = list(index)
    column = [] if is_column else [stack.pop()]
    row = [] if len(x.sizes) == 1 else [stack.pop()]
    first, second = b.stretched(stack, x.sizes[:-2]), b.stretched(stack, y.sizes[:-2])
    out = op.out_dtype or x.dtype

    def step(k: Any, totals: Sequence[Any]) -> Sequence[Any]:
        left = [k, *row] if op.transpose_a else [*row, k]
        right = [*column, k] if op.transpose_b else [k, *column]
        return [times_added(b, totals[0], x.at([*first, *left]), y.at([*second, *right]))]

    zero = b.const(0, sum_type(out, x.dtype, y.dtype))
    return b.cast(b.loop(y.sizes[-1 if op.transpose_b or is_column else -2], [zero], step)[0], out)
