"""Operators that are products of matrices, as kernels compute them."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from relay.backend.native.code import POINTER, Value
from relay.backend.native.indices import Index
from relay.backend.native.kernels.blocks import Blocks, Factor, Tail
from relay.backend.native.loops import Loops
from relay.backend.native.panels import Panels
from relay.backend.native.representation import SIZES, scalar
from relay.backend.native.scalars import Number
from relay.backend.native.space import in_lanes
from relay.backend.native.tensors import DATA
from relay.backend.native.vectors import OneByOne
from relay.backend.native.views import View, new_output
from relay.ir.expr import Call, Constant, Expr
from relay.ir.type import TensorType
from relay.op.native import Product
from relay.op.nn.loops import sum_type

Put = Callable[[Sequence[Index]], None]
"""What is done with an element that has been computed."""
FLOATS = ("float16", "bfloat16", "float32", "float64")


class Weight:
    """A constant matrix as an operand: a kernel packs it before the program runs."""

    def __init__(self, e: Constant) -> None:
        """`e` has rank 2."""
        self.matrix = e
        t = cast("TensorType", e.type)
        self.dtype = str(t.dtype)
        self.sizes: Sequence[Index] = list(t.concrete_shape)


class Narrowed:
    """Sums as numbers of a shorter base type."""

    def __init__(self, b: Loops, sums: View, dtype: str) -> None:
        """`sums` holds them."""
        self.b = b
        self.sums = sums
        self.dtype = dtype
        self.sizes = sums.sizes

    def at(self, index: Sequence[Index]) -> Number:
        """The number at an index."""
        return self.b.cast(self.sums.at(index), self.dtype)


def kernel_of(program: Any, call: Call) -> Product | None:
    """The product that an operator says it is, if kernels compute products of its base types."""
    say = getattr(call.attrs, "product", None)
    if say is None:
        return None
    types = [program.types(e) for e in (call, *call.args)]
    return cast("Product", say()) if all(str(t.dtype) in FLOATS for t in types) else None


def weight_of(program: Any, call: Call, place: int, e: Expr) -> Weight | None:
    """An operand that is packed before the program runs: a matrix, and the second of a product."""
    if place != 1 or not isinstance(e, Constant) or kernel_of(program, call) is None:
        return None
    return Weight(e) if len(cast("TensorType", e.type).concrete_shape) == 2 else None


def product_of(
    b: Loops, call: Call, views: Sequence[Any], shapes: Sequence[Sequence[Index]]
) -> "Matrices | None":
    """A call as kernels compute it; `shapes` are those of its results."""
    product = kernel_of(b.program, call)
    if product is None:
        return None
    t = cast("TensorType", b.program.types(call))
    return Matrices(b, product, views, shapes[0], str(t.dtype))


class Matrices:
    """A call that is a product, of matrices or of stacks of them."""

    def __init__(
        self, b: Loops, product: Product, views: Sequence[Any], sizes: Sequence[Index], dtype: str
    ) -> None:
        """`sizes` and `dtype` are those of the result."""
        self.b = b
        self.product = product
        self.x: View = views[0]
        self.y: View | Weight = views[1]
        self.sizes = list(sizes)
        self.dtype = dtype
        self.lanes = 0
        self.sums = sum_type(dtype, self.x.dtype, self.y.dtype)
        self.is_row = len(self.x.sizes) == 1
        self.is_flat = len(self.y.sizes) == 2 and not product.transpose_a
        """Whether all leading axes of the first operand are rows of one matrix."""
        self.lead = list(sizes[:-1]) if self.is_flat else list(sizes[: -1 if self.is_row else -2])
        self.row_sizes = self.lead if self.is_flat else [] if self.is_row else [sizes[-2]]
        """The axes of the result that make up the rows."""
        self.stack = [] if self.is_flat else self.lead
        depth = self.y.sizes[-1 if product.transpose_b else -2]
        self.depth = depth
        self.blocks = Blocks(b, self.sums, b.count(self.row_sizes), depth, sizes[-1])

    @property
    def is_in_place(self) -> bool:
        """Whether sums have the base type of the result."""
        return self.sums == self.dtype

    def whole(self, t: TensorType) -> View:
        """A new tensor of type `t` with the result."""
        out = new_output(self.b, t, self.sizes)
        if self.is_in_place:
            self.run(out, None)
        else:
            sums = self.b.room(self.sums, self.sizes)
            seen = self.seen(sums)
            self.run(sums, lambda index: out.put(index, seen.at(index)))
        self.b.done()
        return out

    def seen(self, sums: View) -> "View | Narrowed":
        """The result, read where its sums are."""
        return sums if self.is_in_place else Narrowed(self.b, sums, self.dtype)

    def packed(self) -> Value | None:
        """Where the panels of a weight are."""
        if not isinstance(self.y, Weight):
            return None
        panels = Panels(self.y.matrix, self.product.transpose_b, self.sums, self.blocks.width)
        b = self.b
        whole = b.code.load(POINTER, Value(POINTER, b.program.constant(panels)))
        return b.code.load(POINTER, b.code.at(whole, DATA))

    def run(self, out: View, put: Put | None, lanes: int = 0) -> None:
        """Write the sums to `out`; `put(index)` follows for each element, or for `lanes` of them."""
        self.lanes = lanes
        b, packed = self.b, self.packed()
        x = self.factor(self.x, self.product.transpose_a, ())
        y = x if isinstance(self.y, Weight) else self.factor(self.y, self.product.transpose_b, ())
        self.blocks.make_room(x, y, packed is not None)
        b.nest(self.stack, lambda index: self.one(index, packed, out, put))

    def one(self, stack: Sequence[Index], packed: Value | None, out: View, put: Put | None) -> None:
        """One matrix of a stack."""
        b = self.b
        x = self.factor(self.x, self.product.transpose_a, stack)
        y = x if isinstance(self.y, Weight) else self.factor(self.y, self.product.transpose_b, stack)
        assert out.data is not None
        size = b.times(self.blocks.rows, self.blocks.columns)
        place = b.times(b.position(stack, self.stack), size)
        to = self.blocks.address(out.data, place, SIZES[self.blocks.kind])
        self.blocks.multiply(x, y, packed, to, None if put is None else self.tail(stack, put))

    def tail(self, stack: Sequence[Index], put: Put) -> Tail:
        """Calls `put` for a part of the result."""
        b = self.b

        def part(top: Index, rows: Index, left: Index, columns: Index) -> None:
            def row(i: Index, _: Any) -> None:
                index = [*stack, *b.unravelled(b.plus(top, i), self.row_sizes)]
                self.along(columns, lambda j: put((*index, b.plus(left, j))))

            b.loop(rows, (), row)

        return part

    def along(self, n: Index, body: Callable[[Index], None]) -> None:
        """Run `body(i)` for `i` from 0 to `n`, several at a time if that can be."""
        b = self.b

        def one(i: Index, _: Any) -> tuple[()]:
            body(i)
            return ()

        mark = b.mark()
        try:
            if self.lanes > 1:
                with b.code.in_lanes(self.lanes):
                    in_lanes(b, n, (), one)
                return
        except OneByOne:
            b.rewind(mark)
        b.loop(n, (), one)

    def factor(self, x: Any, turned: bool, stack: Sequence[Index]) -> Factor:
        """An operand's matrix at a place in the stack."""
        b = self.b
        if self.is_flat or len(x.sizes) <= 2 or not stack:
            return Factor(x.data, x.dtype, turned)
        own = x.sizes[:-2]
        place = b.times(b.position(b.stretched(stack, own), own), b.count(x.sizes[-2:]))
        return Factor(self.blocks.address(x.data, place, SIZES[scalar(x.dtype)]), x.dtype, turned)
