"""Elements in another order along their axes, and parts of matrices and sequences replaced."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy

from relay.ir.dim import minimum
from relay.ir.expr import Expr, constant
from relay.ir.type import Dim, TensorType, Type
from relay.op.axes import as_index, attribute_fault, axes_of, axis_of
from relay.op.base import ANY_NUMBER, INTEGRAL, Array, Numpy, Operator, sample
from relay.op.batching import axis_moved, merged, row_rank, same, shifted, stretched, with_row_rank
from relay.op.derivative import const_like, tensor_type, zeros_like
from relay.op.kind import Derivative, Fusion
from relay.op.native import Loops, View
from relay.op.numeric import apply, index_numbers
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.reshape import Rearrangement, shaped_like
from relay.op.scattering import flattened, numbered, zeros_in_a_row


@operator("reverse")
class Reverse(Rearrangement):
    """The elements in opposite order along `axis`.

    relay> reverse([1, 2, 3], axis=0)
    [3, 2, 1]
    """

    batch = shifted
    samples = (sample("3x4 float32", axis=1), sample("3 int4", axis=-1), sample("0x3 bool", axis=0))

    axis: int

    def infer(self, t: Typing, x: Type) -> Type:
        axis_of(t, self.axis, len(t.shape(x)))
        return t.tensor(x)

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.flip(data, self.axis)

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        return (self(g),)

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """Counted from the other end."""
        at = self.axis % len(index)
        return data.at([*index[:at], mirrored(b, index[at], data.sizes[at]), *index[at + 1 :]])


@operator("reverse_sequence")
class ReverseSequence(Rearrangement):
    """For place `i` of `batch_axis` the first `seq_lengths[i]` elements along `seq_axis` in opposite order.

    relay> reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3])
    [[2, 1, 3], [6, 5, 4]]
    """

    samples = (
        sample("2x3 float32", numpy.array([2, 3])),
        sample("4x2x3 int4", numpy.array([1, 4], "int32"), seq_axis=0, batch_axis=1),
        sample("0x3 bool", "0 int64"),
    )

    seq_axis: int = 1
    batch_axis: int = 0

    def infer(self, t: Typing, x: Type, lengths: Type) -> Type:
        t.dtype_in(lengths, INTEGRAL, "the lengths")
        dims = t.shape(x)
        _, batch = axes_of(t, (self.seq_axis, self.batch_axis), len(dims), of="`data`")
        (count,) = t.shape(lengths, rank=1, what="the lengths")
        t.equal(count, dims[batch], why="there is a length for each place of the batch axis")
        return t.tensor(x)

    def reference(self, np: Numpy, data: Array, seq_lengths: Array) -> Array:
        x = np.moveaxis(data, (self.batch_axis, self.seq_axis), (0, 1))
        length = np.minimum(as_index(np, seq_lengths), x.shape[1])[:, None]
        place = np.arange(x.shape[1])[None, :]
        at = np.where(place < length, length - 1 - place, place)
        found = np.take_along_axis(x, at.reshape(at.shape + (1,) * (x.ndim - 2)), 1)
        return np.moveaxis(found, (0, 1), (self.batch_axis, self.seq_axis))

    def batch(self, n: Dim, which: Sequence[Any], data: Expr, seq_lengths: Expr) -> Expr:
        rank = row_rank(data, which[0])
        line, batch = (a % rank for a in (self.seq_axis, self.batch_axis))
        if not which[1]:
            return replace(self, seq_axis=line + 1, batch_axis=batch + 1)(data, seq_lengths)
        rows = axis_moved(stretched(n, data, which[0]), rank + 1, batch + 1, 1)
        behind = line if line > batch else line + 1
        found = ReverseSequence(seq_axis=behind, batch_axis=0)(merged(rows), merged(seq_lengths))
        return axis_moved(apply("reshape_like", found, rows), rank + 1, 1, batch + 1)

    def transpose(self, g: Expr, data: Expr, seq_lengths: Expr) -> tuple[Expr | None, ...]:
        return self(g, seq_lengths), None

    def element(self, b: Loops, index: Sequence[Any], data: View, seq_lengths: View) -> Any:
        """Counted from the end of the sequence, within it."""
        at, batch = self.seq_axis % len(index), self.batch_axis % len(index)
        i, d = index[at], data.sizes[at]
        length = b.smaller(b.as_index(seq_lengths.at([index[batch]])), d)
        place = b.choose(b.is_less(i, length), mirrored(b, i, length), i)
        place = b.choose(b.is_less(place, 0), b.plus(place, d), place)
        return data.at([*index[:at], place, *index[at + 1 :]])


@operator("sequence_mask")
class SequenceMask(Rearrangement):
    """`mask_value` in place of the elements along `axis` (0 or 1) from `valid_length[i]` on, for each place
    `i` of the other of the first two axes.

    relay> sequence_mask([[1, 2, 3], [4, 5, 6]], [1, 2], axis=1)
    [[1, 0, 0], [4, 5, 0]]
    """

    derivative = Derivative.RULES
    dtypes = ANY_NUMBER
    samples = (
        sample("3x2 float32", numpy.array([2, 3])),
        sample("2x4x3 int4", numpy.array([1, 4], "int32"), axis=1, mask_value=-1.0),
        sample("0x3 float16", numpy.array([0, 0, 0]), mask_value=0.5),
    )

    mask_value: float = 0.0
    axis: int = 0

    def infer(self, t: Typing, x: Type, lengths: Type) -> Type:
        t.dtype_in(lengths, INTEGRAL, "the lengths")
        dims = t.shape(x)
        if len(dims) < 2:
            t.fail("rank-mismatch", f"`sequence_mask` takes rank 2 or more, not {len(dims)}")
        if self.axis not in (0, 1):
            attribute_fault(t, "axis", self.axis, "it is 0 or 1")
        (count,) = t.shape(lengths, rank=1, what="the lengths")
        t.equal(count, dims[1 - self.axis], why="there is a length for each sequence")
        return t.tensor(x)

    def reference(self, np: Numpy, data: Array, valid_length: Array) -> Array:
        places = np.arange(data.shape[self.axis])
        lengths = as_index(np, valid_length)
        valid = places[:, None] < lengths if self.axis == 0 else places < lengths[:, None]
        mask = valid.reshape(valid.shape + (1,) * (data.ndim - 2))
        return np.where(mask, data, np.asarray(self.mask_value).astype(data.dtype))

    def batch(self, n: Dim, which: Sequence[Any], data: Expr, valid_length: Expr) -> Expr:
        rank = row_rank(data, which[0])
        axis = self.axis + which[0]
        ones = apply("ones_like", apply("cast", data, dtype="int64"))
        places = apply("cumsum", ones, axis=axis, exclusive=True)
        lengths = index_numbers(valid_length, tensor_type(valid_length).dtype)
        lengths = apply("expand_dims", lengths, axis=self.axis + which[1])
        if rank > 2:
            lengths = apply("expand_dims", lengths, axis=2 + which[1], num_newaxis=rank - 2)
        return apply("where", apply("less", places, lengths), data, const_like(self.mask_value, data))

    def vjp(self, g: Expr, y: Expr, data: Expr, valid_length: Expr) -> tuple[Expr | None, ...]:
        return replace(self, mask_value=0.0)(g, valid_length), None

    def jvp(self, dxs: Sequence[Any], y: Expr, data: Expr, valid_length: Expr) -> Expr:
        return replace(self, mask_value=0.0)(dxs[0], valid_length)

    def element(self, b: Loops, index: Sequence[Any], data: View, valid_length: View) -> Any:
        """The element, or the value of the mask."""
        length = b.as_index(valid_length.at([index[1 - self.axis]]))
        mask = b.cast(b.const(self.mask_value, "float64"), data.dtype)
        return b.where(b.is_less(index[self.axis], length), lambda: data.at(index), lambda: mask)


@operator("trilu")
class Trilu(Rearrangement):
    """The upper (or lower) triangle of each matrix, from diagonal `k` on, and zeros elsewhere.

    relay> trilu([[1, 2], [3, 4]], 0)
    [[1, 2], [0, 4]]
    """

    dtypes = ANY_NUMBER
    samples = (
        sample("3x4 float32", numpy.int32(1)),
        sample("2x3x3 int4", numpy.int64(-1), upper=False),
        sample("0x3 bool", numpy.int32(0)),
    )

    upper: bool = True

    def infer(self, t: Typing, x: Type, k: Type) -> Type:
        t.dtype_in(k, INTEGRAL, "the diagonal")
        t.shape(k, rank=0, what="the diagonal")
        matrix_dims(t, x, "trilu")
        return t.tensor(x)

    def reference(self, np: Numpy, data: Array, k: Array) -> Array:
        m, n = data.shape[-2:]
        above = numpy.arange(int(n)) - numpy.arange(int(m))[:, None]
        edge = as_index(np, k)
        kept = above >= edge if self.upper else above <= edge
        return np.where(kept, data, np.zeros_like(data))

    def batch(self, n: Dim, which: Sequence[Any], data: Expr, k: Expr) -> Expr:
        if not which[1]:
            return self(data, k)
        ones = apply("ones_like", apply("cast", data, dtype="int64"))
        rows, columns = (apply("cumsum", ones, axis=axis) for axis in (-2, -1))
        edge = index_numbers(with_row_rank(k, row_rank(data, which[0])), tensor_type(k).dtype)
        kept = "greater_equal" if self.upper else "less_equal"
        return apply("where", apply(kept, apply("subtract", columns, rows), edge), data, const_like(0, data))

    def transpose(self, g: Expr, data: Expr, k: Expr) -> tuple[Expr | None, ...]:
        return self(g, k), None

    def element(self, b: Loops, index: Sequence[Any], data: View, k: View) -> Any:
        """The element, or zero on the other side of the diagonal."""
        above, edge = b.minus(index[-1], index[-2]), b.as_index(k.at(()))
        beyond = b.is_less(above, edge) if self.upper else b.is_less(edge, above)
        return b.where(beyond, lambda: b.const(0, data.dtype), lambda: data.at(index))


def matrix_dims(t: Typing, x: Type, name: str) -> tuple[Dim, ...]:
    """The dimensions of a tensor of matrices."""
    dims = t.shape(x)
    if len(dims) < 2:
        t.fail("rank-mismatch", f"`{name}` takes matrices, not a tensor of rank {len(dims)}")
    return dims


@operator("matrix_set_diag")
class MatrixSetDiag(Operator):
    """Each matrix with its diagonal `k`, or its diagonals from `k[0]` to `k[1]`, replaced.

    Diagonals above the main one have positive numbers.  Several stand in rows, the highest first, of the
    length of the longest; `align` says on which side shorter ones above and below the main diagonal stand.

    relay> matrix_set_diag([[1, 2], [3, 4]], [7, 8])
    [[7, 2], [3, 8]]
    """

    fusion = Fusion.INJECTIVE
    batch = same
    derivative = Derivative.TRANSPOSE
    samples = (
        sample("3x4 float32", "3 float32"),
        sample("2x3x4 int4", "2x3x3 int4", k=(-1, 1)),
        sample("3x4 bool", "2 bool", k=2),
        sample("3x3 float16", "2x3 float16", k=(0, 1), align="LEFT_RIGHT"),
    )

    k: int | tuple[int, int] = 0
    align: Literal["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"] = "RIGHT_LEFT"

    @property
    def band(self) -> tuple[int, int]:
        """The lowest and the highest diagonal."""
        return (self.k, self.k) if isinstance(self.k, int) else self.k

    def longest(self, dims: Sequence[Dim]) -> Dim:
        """The length of the longest diagonal of the band."""
        low, high = self.band
        return minimum(dims[-2] + min(high, 0), dims[-1] - max(low, 0))

    def infer(self, t: Typing, x: Type, diagonal: Type) -> Type:
        dims = matrix_dims(t, x, "matrix_set_diag")
        low, high = self.band
        if low > high:
            attribute_fault(t, "k", self.k, "the first diagonal is not above the second")
        if low < 0:
            t.require(-low, "<=", dims[-2], "the diagonals lie within the matrix")
        if high > 0:
            t.require(high, "<=", dims[-1], "the diagonals lie within the matrix")
        rows = (high - low + 1,) if low < high else ()
        t.equal(
            diagonal,
            TensorType((*dims[:-2], *rows, self.longest(dims)), t.dtype(x)),
            why="the diagonals fit the matrix",
        )
        return t.tensor(x)

    def reference(self, np: Numpy, data: Array, diagonal: Array) -> Array:
        low, high = self.band
        above, below = self.align.split("_")
        values = diagonal if low < high else diagonal[..., None, :]
        m, n = data.shape[-2:]
        rows, columns = numpy.arange(int(m))[:, None], numpy.arange(int(n))
        d = columns - rows
        length = numpy.minimum(m + numpy.minimum(d, 0), n - numpy.maximum(d, 0))
        left = ((d >= 0) & (above == "LEFT")) | ((d <= 0) & (below == "LEFT"))
        place = numpy.minimum(rows, columns) + numpy.where(left, 0, values.shape[-1] - length)
        inside = (d >= low) & (d <= high)
        if not inside.any():
            return data
        found = values[..., numpy.where(inside, high - d, 0), numpy.where(inside, place, 0)]
        return np.where(inside, found, data)

    def transpose(self, g: Expr, data: Expr, diagonal: Expr) -> tuple[Expr, Expr]:
        return self(g, zeros_like(diagonal)), self.diagonal(g, data, diagonal)

    def diagonal(self, g: Expr, data: Expr, diagonal: Expr) -> Expr:
        """The elements of `g` that stand where those of the diagonal go; 0 for those that go nowhere."""
        # Numbered from 1, so that what the diagonal does not reach is added up at 0.
        numbers = apply("add", numbered(diagonal), constant(1, "int64"))
        none = zeros_like(apply("cast", data, dtype="int64"))
        places = flattened(self(none, numbers))
        rest = apply("nn.pad", zeros_in_a_row(diagonal), pad_width=((1, 0),))
        found = apply("scatter_elements", rest, places, flattened(g), axis=0, reduction="add")
        return shaped_like(apply("strided_slice", found, begin=(1,), end=(None,)), diagonal)

    def element(self, b: Loops, index: Sequence[Any], data: View, diagonal: View) -> Any:
        """The element of a diagonal, or of the matrix."""
        low, high = self.band
        above, below = self.align.split("_")
        *outer, i, j = index
        m, n = data.sizes[-2:]
        d = b.minus(j, i)
        length = b.smaller(b.plus(m, b.smaller(d, 0)), b.minus(n, b.larger(d, 0)))
        shift = b.minus(diagonal.sizes[-1], length)
        if above == "LEFT":
            shift = b.choose(b.is_less(d, 0), shift, 0)
        if below == "LEFT":
            shift = b.choose(b.is_less(0, d), shift, 0)
        row = [b.minus(high, d)] if low < high else []
        place = [*outer, *row, b.plus(b.smaller(i, j), shift)]
        inside = b.is_within(b.minus(d, low), high - low + 1)
        return b.where(inside, lambda: diagonal.at(place), lambda: data.at(index))


def mirrored(b: Loops, i: Any, d: Any) -> Any:
    """Place `i` of `d`, counted from the end."""
    return b.minus(b.minus(d, 1), i)
