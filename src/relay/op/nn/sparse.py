"""Sparse matrices, kept by rows: the elements, which may be blocks, their columns, and where rows begin."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, cast

import numpy

from relay.ir.expr import Call, Expr, Op, Tuple, as_expr, constant
from relay.ir.type import Dim, TensorType, TupleType, Type
from relay.op.axes import attribute_fault, check_indices, placed_index
from relay.op.base import ANY_NUMBER, INTEGRAL, NUMERIC, Array, Numpy, Operator, sample
from relay.op.composite import Composite
from relay.op.conversion import accumulator, accumulator_name
from relay.op.derivative import tensor_type
from relay.op.kind import Derivative
from relay.op.native import Index, Loops, View
from relay.op.nn.loops import times_added
from relay.op.nn.sparse_batch import batch_of_sparse_dense
from relay.op.numeric import apply, dims, index_numbers, narrow
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.traced import loop, placed

INDICES, INDPTR = numpy.array([0, 2, 1, 0], "int32"), numpy.array([0, 2, 2, 3, 4], "int32")
"""Four rows of three columns with four elements: two in the first row, none in the second."""
IN_NO_ROW = numpy.array([1, 2, 2, 3], "int32")
"""Three rows with two of these elements: the first and the last one are in none."""
LAST = 2**31 - 1
MATRIX = 3
"""Tensors of a sparse matrix."""
SQUARE = numpy.array([0, 2, 3, 4], "int32")
ROWS_OF_BLOCKS = (numpy.array([0, 1, 1], "int32"), numpy.array([0, 2, 3], "int32"))


def check_sparse_matrix(t: Typing, data: Type, indices: Type, indptr: Type) -> Dim:
    """How many rows a sparse matrix has, whose elements are numbers `(n,)` or blocks `(n, rows, columns)`."""
    for x in (indices, indptr):
        t.dtype_in(x, INTEGRAL, "the places of a sparse matrix")
    shape = t.shape(data)
    if len(shape) not in (1, 3):
        t.fail("rank-mismatch", "the elements of a sparse matrix are numbers or blocks: of rank 1 or 3")
    (count,), (ends,) = t.shape(indices, 1, "the columns"), t.shape(indptr, 1, "where rows begin")
    t.equal(count, shape[0], why="each element has a column")
    rows = ends - 1
    return rows * shape[1] if len(shape) == 3 else rows


def rows_of(ends: Expr, indices: Expr) -> Expr:
    """The row of each element, as int64; a row that there is not for elements in no row.

    `ends` are the borders of the rows, as int64.
    """
    ones = apply("ones_like", apply("cast", indices, dtype="int64"))
    row_after = apply("searchsorted", ends, places_of(indices), right=True, dtype="int64")
    return apply("subtract", row_after, ones)


def places_of(indices: Expr) -> Expr:
    """The place of each element, as int64."""
    ones = apply("ones_like", apply("cast", indices, dtype="int64"))
    return apply("cumsum", ones, axis=0, exclusive=True)


def is_in_a_row(ends: Expr, indices: Expr) -> Expr:
    """Return which elements are in a row: others count for nothing.  `ends` are as of `rows_of`."""
    places = places_of(indices)
    behind = apply("greater_equal", places, apply("min", ends))
    return apply("logical_and", behind, apply("less", places, apply("max", ends)))


def matrix_and_options(
    name: str, args: Sequence[Any], options: Mapping[str, Any]
) -> tuple[list[Expr], dict[str, Any]]:
    """Return the tensors of a sparse matrix and the options after it, which `options` has by name or as None.

    The matrix is given as its tensors one by one, as a tuple, or as a matrix of SciPy.
    """
    first: Any = args[0]
    is_one = isinstance(first, tuple | list) or hasattr(first, "indptr")
    count = 1 if is_one else MATRIX
    rest = args[count:]
    if len(rest) > len(options):
        raise TypeError(f"{name}: {len(rest)} arguments after the matrix, which are {len(options)} at most")
    for option in list(options)[: len(rest)]:
        if options[option] is not None:
            raise TypeError(f"{name}: multiple values for argument {option!r}")
    chosen = {**options, **dict(zip(options, rest, strict=False))}
    parts: Any = args[0] if is_one else args[:count]
    if hasattr(parts, "indptr"):
        parts = (parts.data, parts.indices, parts.indptr)
    tensors = [as_expr(part) for part in cast("Sequence[Any]", parts)]
    return tensors, {option: value for option, value in chosen.items() if value is not None}


def sparse_builder(name: str) -> Any:
    """Return a builder of products that takes a sparse matrix as one argument, or its three tensors."""

    def build(dense_mat: Any, sparse_mat: Any, *rest: Any, sparse_lhs: bool | None = None) -> Expr:
        tensors, attrs = matrix_and_options(name, (sparse_mat, *rest), {"sparse_lhs": sparse_lhs})
        return Call(Op.get(name), (as_expr(dense_mat), *tensors), attrs)

    build.__name__ = name.rpartition(".")[2]
    build.__doc__ = "The dense operand, and the sparse one as `(data, indices, indptr)` or a matrix of SciPy."
    return build


@operator("nn.sparse_dense")
class SparseDense(Operator):
    """`dense @ sparse.T` for data `(m, k)` and a sparse matrix `(n, k)`: `(m, n)`.

    Data of higher rank have more leading axes.  With `sparse_lhs` it is `sparse @ dense.T`: `(n, m)`.  The
    matrix is kept by rows, of numbers or of blocks.

    relay> nn.sparse_dense([[1.0, 2.0, 3.0]], [4.0, 5.0], [2, 0], [0, 1, 1, 2])
    [[12.0, 0.0, 5.0]]
    """

    sparse_lhs: bool = False
    derivative = Derivative.MULTILINEAR
    samples = (
        sample("2x3 float32", "4 float32", INDICES, INDPTR),
        sample("2x4 float32", "3x2x2 float32", *ROWS_OF_BLOCKS),
        sample("5x3 float32", "4 float32", INDICES, INDPTR, sparse_lhs=True),
        sample("0x3 float32", "4 float32", INDICES, INDPTR),
        sample("2x3 float32", "4 float32", INDICES, IN_NO_ROW),
    )
    builder = staticmethod(sparse_builder("nn.sparse_dense"))

    def infer(
        self, t: Typing, data: Type, weight_data: Type, weight_indices: Type, weight_indptr: Type
    ) -> Type:
        t.dtype_in(data, NUMERIC, "the data")
        t.equal(t.dtype(weight_data), t.dtype(data), why="both operands have one dtype")
        rows = check_sparse_matrix(t, weight_data, weight_indices, weight_indptr)
        shape = t.shape(data)
        if len(shape) < 2 or (self.sparse_lhs and len(shape) > 2):
            t.fail("rank-mismatch", f"`{self.name}` does not multiply data of rank {len(shape)}")
        return TensorType((rows, shape[0]) if self.sparse_lhs else (*shape[:-1], rows), t.dtype(data))

    def reference(
        self, np: Numpy, data: Array, weight_data: Array, weight_indices: Array, weight_indptr: Array
    ) -> Array:
        blocks = accumulator(weight_data if weight_data.ndim == 3 else weight_data[:, None, None])
        _, high, wide = blocks.shape
        columns = check_indices(np, weight_indices, data.shape[-1] // wide, negative=False)
        ends = check_indices(np, weight_indptr, len(blocks) + 1, negative=False)
        *lead, size = data.shape
        parts = accumulator(data).reshape(prod(lead), size // wide, wide)
        count = max(len(ends) - 1, 0)
        own = np.searchsorted(ends, numpy.arange(len(blocks)), side="right") - 1
        own = np.where(own < 0, count, own)  # what is in no row is added up behind the last one

        def step(place: Any, out: Array) -> Array:
            row = own[place]
            return placed(np, out, row, out[row] + blocks[place] @ parts[:, columns[place]].T)

        out = np.zeros((count + 1, high, parts.shape[0]), parts.dtype)
        out = loop(np, len(blocks), step, out)[:count]
        rows = count * high
        found = narrow(out.reshape(rows, len(parts)), data.dtype)
        return found if self.sparse_lhs else found.T.reshape(*lead, rows)

    batch = batch_of_sparse_dense

    def transpose(
        self, g: Expr, data: Expr, weight_data: Expr, weight_indices: Expr, weight_indptr: Expr
    ) -> Any:
        """Each element of the matrix meets its row of the cotangent and its column of the data."""
        blocks, (high, wide) = as_blocks(weight_data)
        ends = index_numbers(weight_indptr, tensor_type(weight_indptr).dtype)
        rows = rows_of(ends, weight_indices)
        flat = apply("transpose", g) if self.sparse_lhs else apply("reverse_reshape", g, newshape=(-1, 0))
        lines = in_groups(flat, high)
        parts = in_groups(apply("reverse_reshape", data, newshape=(-1, 0)), wide)
        at = apply("take", lines, rows, axis=1)  # (m, elements, high)
        inside = apply("expand_dims", is_in_a_row(ends, weight_indices), axis=1)
        at = apply("where", inside, at, apply("zeros_like", at))
        seen = apply("take", parts, weight_indices, axis=1)  # (m, elements, wide)
        d_blocks = apply("einsum", (at, seen), equation="mzr,mzc->zrc")
        back = apply("einsum", (at, blocks), equation="mzr,zrc->zmc")
        columns = index_numbers(weight_indices, tensor_type(weight_indices).dtype)
        places = apply("expand_dims", columns, axis=0)
        zeros = apply("zeros_like", apply("transpose", parts, axes=(1, 0, 2)))
        added = apply("scatter_nd", zeros, places, back, mode="add")
        d_data = apply("reshape_like", apply("transpose", added, axes=(1, 0, 2)), data)
        return d_data, apply("reshape_like", d_blocks, weight_data), None, None

    def element(
        self, b: Loops, index: Sequence[Index], data: View, weight: View, at: View, ends: View
    ) -> Any:
        """The sum over the elements of a row."""
        *lead, j = reversed(index) if self.sparse_lhs else index
        blocked = len(weight.sizes) == 3
        row, inside = (b.quotient(j, weight.sizes[1]), b.rest(j, weight.sizes[1])) if blocked else (j, 0)
        limit = b.plus(weight.sizes[0], 1)
        begin, end = (placed_index(b, ends.at([r]), limit, negative=False) for r in (row, b.plus(row, 1)))
        zero = b.const(0, accumulator_name(data.dtype))
        wide: Index = weight.sizes[2] if blocked else 1
        columns = b.quotient(data.sizes[-1], wide)

        def step(k: Index, totals: Sequence[Any]) -> Sequence[Any]:
            place = b.plus(begin, k)
            column = placed_index(b, at.at([place]), columns, negative=False)
            if not blocked:
                return [times_added(b, totals[0], data.at([*lead, column]), weight.at([place]))]

            def one(c: Index, sums: Sequence[Any]) -> Sequence[Any]:
                x = data.at([*lead, b.plus(b.times(column, wide), c)])
                return [times_added(b, sums[0], x, weight.at([place, inside, c]))]

            return list(b.loop(wide, totals, one))

        return b.cast(b.loop(b.larger(b.minus(end, begin), 0), [zero], step)[0], data.dtype)


def as_blocks(weight: Expr) -> tuple[Expr, tuple[Dim | Expr, Dim | Expr]]:
    """The elements of a sparse matrix as blocks, with the size of a block."""
    shape = dims(tensor_type(weight))
    if len(shape) == 1:
        return apply("expand_dims", weight, axis=1, num_newaxis=2), (1, 1)
    sizes = apply("shape_of", weight, dtype="int64")
    high, wide = (
        d if isinstance(d, int) else apply("take", sizes, constant(numpy.array([k])), axis=0)
        for k, d in zip((1, 2), shape[1:], strict=True)
    )
    return weight, (high, wide)


def in_groups(rows: Expr, size: Any) -> Expr:
    """Rows `(m, n)` as `(m, n / size, size)`, for a size that may be known at run time."""
    if isinstance(size, int):
        return apply("reshape", rows, newshape=(0, -4, -1, size))
    codes = [constant(numpy.array([code])) for code in (0, -1)]
    return apply("dyn.reshape", rows, apply("concatenate", (*codes, size)))


@operator("nn.internal.sparse_dense_padded")
class SparseDensePadded(Composite):
    """`nn.sparse_dense`, for backends that want rows of the matrix filled up to a common length.

    relay> nn.internal.sparse_dense_padded([[1.0, 2.0, 3.0]], [4.0, 5.0], [2, 0], [0, 1, 1, 2])
    [[12.0, 0.0, 5.0]]
    """

    sparse_lhs: bool = False
    samples = SparseDense.samples[:2]
    operands = SparseDense.operands
    builder = staticmethod(sparse_builder("nn.internal.sparse_dense_padded"))

    def infer(self, t: Typing, *types: Type) -> Type:
        return SparseDense(sparse_lhs=self.sparse_lhs).infer(t, *types)

    def decompose(self, types: Any, *xs: Expr) -> Expr:
        return SparseDense(sparse_lhs=self.sparse_lhs)(*xs)


@operator("nn.sparse_add")
class SparseAdd(Composite):
    """`dense + sparse`, for a sparse matrix of the same shape, kept by rows of numbers.

    relay> nn.sparse_add([[1.0, 2.0], [3.0, 4.0]], [10.0, 20.0], [1, 0], [0, 1, 2])
    [[1.0, 12.0], [23.0, 4.0]]
    """

    dtypes = ANY_NUMBER
    samples = (
        sample("4x3 float32", "4 float32", INDICES, INDPTR),
        sample("3x3 float32", "4 float32", INDICES, IN_NO_ROW),
    )

    @staticmethod
    def builder(dense_mat: Any, sparse_mat: Any, *rest: Any) -> Expr:
        """The dense operand, and the sparse one as `(data, indices, indptr)` or a matrix of SciPy."""
        tensors, _ = matrix_and_options("nn.sparse_add", (sparse_mat, *rest), {})
        return Call(Op.get("nn.sparse_add"), (as_expr(dense_mat), *tensors), {})

    def infer(
        self, t: Typing, dense_data: Type, sparse_data: Type, sparse_indices: Type, sparse_indptr: Type
    ) -> Type:
        t.equal(t.dtype(sparse_data), t.dtype(dense_data), why="both operands have one dtype")
        rows = check_sparse_matrix(t, sparse_data, sparse_indices, sparse_indptr)
        t.shape(sparse_data, 1, "the elements")
        t.equal(t.shape(dense_data, 2, "the dense operand")[0], rows, why="both operands have one shape")
        return t.tensor(dense_data)

    def decompose(
        self, types: Any, dense_data: Expr, sparse_data: Expr, sparse_indices: Expr, sparse_indptr: Expr
    ) -> Expr:
        ends = index_numbers(sparse_indptr, types[3].dtype)
        inside, rows = is_in_a_row(ends, sparse_indices), rows_of(ends, sparse_indices)
        rows, added = (apply("where", inside, x, apply("zeros_like", x)) for x in (rows, sparse_data))
        points = apply("stack", (rows, index_numbers(sparse_indices, types[2].dtype)), axis=0)
        return apply("scatter_nd", dense_data, points, added, mode="add")


@operator("nn.sparse_transpose")
class SparseTranspose(Composite):
    """The transpose of a square sparse matrix, kept by rows again: `(data, indices, indptr)`.

    relay> nn.sparse_transpose([4.0, 5.0], [1, 1], [0, 1, 2])
    ([4.0, 5.0], [0, 1], [0, 0, 2])
    """

    results = 3
    samples = (
        sample("4 float32", INDICES, SQUARE),
        sample("3x2x2 float32", *ROWS_OF_BLOCKS),
    )

    @staticmethod
    def builder(x: Any, *rest: Any) -> Expr:
        """The matrix as `(data, indices, indptr)`, as a matrix of SciPy, or its three tensors."""
        tensors, _ = matrix_and_options("nn.sparse_transpose", (x, *rest), {})
        return Call(Op.get("nn.sparse_transpose"), tuple(tensors), {})

    def infer(self, t: Typing, sparse_data: Type, sparse_indices: Type, sparse_indptr: Type) -> Type:
        check_sparse_matrix(t, sparse_data, sparse_indices, sparse_indptr)
        t.equal(t.dtype(sparse_indptr), t.dtype(sparse_indices), why="places have one dtype")
        return TupleType([sparse_data, sparse_indices, sparse_indptr])

    def decompose(self, types: Any, sparse_data: Expr, sparse_indices: Expr, sparse_indptr: Expr) -> Expr:
        ends = index_numbers(sparse_indptr, types[2].dtype)
        rows = apply("cast_like", rows_of(ends, sparse_indices), sparse_indices)
        order = apply("argsort", sparse_indices, dtype="int64")
        data = apply("take", sparse_data, order, axis=0)
        if len(dims(types[0])) == 3:
            data = apply("transpose", data, axes=(0, 2, 1))
        columns = apply("take", sparse_indices, order, axis=0)
        ones = apply("ones_like", apply("cast", sparse_indptr, dtype="int64"))
        limits = apply("cumsum", ones, axis=0, exclusive=True)
        begins = apply("searchsorted", index_numbers(columns, types[1].dtype), limits, dtype="int64")
        return Tuple((data, apply("take", rows, order, axis=0), apply("cast_like", begins, sparse_indptr)))


@operator("nn.sparse_conv2d")
class SparseConv2D(Composite):
    """A convolution of data `(n, h, w, c)` with a window of 1 or of 3 by 3, padded so that sizes stay.

    The weight is a sparse matrix `(channels, window * c)`; the columns are ordered by the rows of the window.

    relay> nn.sparse_conv2d([[[[1.0, 2.0]]]], [4.0, 5.0], [1, 0], [0, 1, 1, 2])
    [[[[8.0, 0.0, 5.0]]]]
    """

    dtypes = NUMERIC

    layout: str = "NHWC"
    kernel_size: tuple[int, ...] = (1, 1)
    samples = (
        sample("2x3x2x3 float32", "4 float32", INDICES, INDPTR),
        sample(
            "1x3x4x2 float32", "3x2x2 float32", ROWS_OF_BLOCKS[0] + 7, ROWS_OF_BLOCKS[1], kernel_size=(3, 3)
        ),
        sample("2x4x2x3 float32", "3x2x2 float32", *ROWS_OF_BLOCKS, layout="NCHW"),
    )

    @staticmethod
    def builder(
        dense_mat: Any, sparse_mat: Any, *rest: Any, layout: str | None = None, kernel_size: Any = None
    ) -> Expr:
        """The data, and the weight as `(data, indices, indptr)`, a matrix of SciPy, or its three tensors."""
        options = {"layout": layout, "kernel_size": kernel_size}
        tensors, attrs = matrix_and_options("nn.sparse_conv2d", (sparse_mat, *rest), options)
        return Call(Op.get("nn.sparse_conv2d"), (as_expr(dense_mat), *tensors), attrs)

    def infer(self, t: Typing, dense_mat: Type, data: Type, indices: Type, indptr: Type) -> Type:
        t.equal(t.dtype(data), t.dtype(dense_mat), why="both operands have one dtype")
        shape = t.shape(dense_mat, 4, "the data")
        if self.layout not in ("NHWC", "NCHW"):
            attribute_fault(t, "layout", self.layout, "it is NHWC or NCHW")
        if self.kernel_size not in ((1, 1), (3, 3)):
            attribute_fault(t, "kernel_size", self.kernel_size, "it is (1, 1) or (3, 3)")
        rows = check_sparse_matrix(t, data, indices, indptr)
        place = self.layout.index("C")
        return TensorType((*shape[:place], rows, *shape[place + 1 :]), t.dtype(dense_mat))

    def decompose(self, types: Any, dense_mat: Expr, data: Expr, indices: Expr, indptr: Expr) -> Expr:
        turned = self.layout == "NCHW"
        x = apply("transpose", dense_mat, axes=(0, 2, 3, 1)) if turned else dense_mat
        if self.kernel_size == (3, 3):
            x = apply("nn.pad", x, pad_width=((0, 0), (1, 1), (1, 1), (0, 0)))
            parts = [
                apply("strided_slice", x, begin=(i, j), end=(i - 2 or LAST, j - 2 or LAST), axes=(1, 2))
                for i in range(3)
                for j in range(3)
            ]
            x = apply("concatenate", tuple(parts), axis=3)
        found = SparseDense()(x, data, indices, indptr)
        return apply("transpose", found, axes=(0, 3, 1, 2)) if turned else found
