"""How often elements occur: the most frequent one, and counts in bins."""

from typing import Any

from relay.ir.expr import Expr, Tuple, TupleGetItem
from relay.ir.type import TensorType, TupleType, Type
from relay.op.attribute import DTypeName, Size, is_dimension
from relay.op.axes import attribute_fault, axis_of
from relay.op.base import FLOATING, NUMERIC, sample
from relay.op.composite import Composite
from relay.op.kind import Derivative
from relay.op.numeric import apply, computing_dtype, dims, widened
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.slice_range import BEYOND
from relay.op.term import Term, iota, term


@operator("mode")
class Mode(Composite):
    """The element that occurs most often along `axis`, and its last place; the least of several such.

    A NaN is equal to no other.

    relay> mode([3, 1, 2, 1, 3])
    (1, 3)
    """

    axis: int = -1
    keepdims: bool = False
    dtype: DTypeName = "int32"  # pyright: ignore[reportAssignmentType]
    results = 2
    dtypes = NUMERIC
    samples = (sample("3x4 float32"), sample("5x3 int8", axis=0, keepdims=True, dtype="int64"))

    def infer(self, t: Typing, data: Type) -> Type:
        shape = list(t.shape(data))
        axis = axis_of(t, self.axis, len(shape))
        t.require(1, "<=", shape[axis], "`mode` needs an element to choose")
        shape[axis : axis + 1] = [1] if self.keepdims else []
        return TupleType([TensorType(tuple(shape), t.dtype(data)), TensorType(tuple(shape), self.dtype)])

    def decompose(self, types: Any, data: Expr) -> Expr:
        axis = self.axis % len(dims(types[0]))
        order = Term(apply("argsort", data, axis=axis, dtype="int64"), "int64")
        ordered = Term(apply("gather", data, axis, order.expr), types[0].dtype)
        before = ordered.of("strided_slice", begin=(0,), end=(-1,), axes=(axis,))
        after = ordered.of("strided_slice", begin=(1,), end=(BEYOND,), axes=(axis,))
        first = order.of("strided_slice", begin=(0,), end=(1,), axes=(axis,)).of("ones_like")
        changes = after.of("not_equal", before, to="bool").cast("int64")
        begins = Term(apply("concatenate", (first.expr, changes.expr), axis=axis), "int64")
        places = order.of("ones_like").of("cumsum", axis=axis)
        start = Term(TupleGetItem(apply("cummax", (begins * places).expr, axis=axis), 0), "int64")
        best = (places - start).of("argmax", axis=axis, keepdims=True, to="int32")
        place = Term(apply("gather", order.expr, axis, best.expr), "int64")
        value = Term(apply("gather", data, axis, place.expr), types[0].dtype)
        if not self.keepdims:
            value, place = (v.of("squeeze", axis=(axis,)) for v in (value, place))
        return Tuple((value.expr, place.cast(self.dtype).expr))


@operator("histc")
class Histc(Composite):
    """How many elements lie in each of `bins` of equal width between `min` and `max`, the last included.

    Others do not count.  Where both limits are equal they are the least and the greatest element; and where
    these are equal, one less and one more.

    relay> histc([1.0, 2.0, 1.0, 5.0], bins=4, min=0.0, max=4.0)
    [0.0, 2.0, 1.0, 0.0]
    """

    bins: Size = 100
    min: float = 0.0
    max: float = 0.0
    dtypes = FLOATING
    derivative = Derivative.ZERO
    samples = (
        sample("20 float32", bins=5, min=-1.0, max=1.0),
        sample("3x4 float64", bins=4),
        sample("0 float32", bins=2),
        sample("6 bfloat16", bins=3, min=-2.0, max=2.0),
    )

    def infer(self, t: Typing, data: Type) -> Type:
        if not is_dimension(self.bins) and self.bins < 1:
            attribute_fault(t, "bins", self.bins, "there is a bin")
        if self.min > self.max:
            attribute_fault(t, "min", self.min, f"it is greater than `max`, {self.max}")
        return TensorType((self.bins,), t.dtype(data))

    def decompose(self, types: Any, data: Expr) -> Expr:
        dtype = computing_dtype(types[0].dtype)
        x = Term(widened(apply("reshape", data, newshape=(-1,)), types[0].dtype), dtype)
        low, high = self.limits(x)
        bins: int | Term = self.bins
        count = term(bins, str(dtype))
        place = ((x - low) * count / (high - low)).of("floor").of("minimum", count - 1.0)
        counted = (x >= low) & (x <= high)
        place = counted.where(place, x.of("zeros_like")).cast("int64")
        none = iota(bins).of("zeros_like")
        found = none.of("scatter_elements", place, counted.cast("int64"), axis=0, reduction="add")
        return found.cast(types[0].dtype).expr

    def limits(self, x: Term) -> tuple[Term, Term]:
        """The least and the greatest number that count."""
        low, high = (term(v, str(x.dtype)) for v in (self.min, self.max))
        if self.min < self.max:
            return low, high
        low, high = x.of("min"), x.of("max")
        is_one = low.equals(high)
        return is_one.where(low - 1.0, low), is_one.where(high + 1.0, high)
