"""Which operators kernels compute, and which of them.

Kernels are imported when a program has something for them to do: most programs have little.
"""

from collections.abc import Sequence
from typing import Any, cast

from relay.backend.native.kernels.sums import Sums, Weight, Windowed
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Index
from relay.backend.native.loops.views import View
from relay.ir.dtype import FLOATS
from relay.ir.expr import Call, Constant, Expr
from relay.ir.type import Dim, TensorType
from relay.op.base import Operator
from relay.op.native import Product, WeightProduct, WindowProduct

SMALL_INTEGERS = ("int8", "uint8", "int16")
"""Integers whose products kernels add up in int32: all are numbers of int16."""


def kernel_of(program: Any, call: Call) -> Product | WindowProduct | WeightProduct | None:
    """What an operator says it is, if kernels compute that for its dtypes."""
    op: Operator = call.attrs
    kernel = op.product() or op.weight_product() or op.window_product()
    if kernel is None:
        return None
    types = [cast("TensorType", program.types(e)) for e in (call, *call.args)]
    if isinstance(kernel, Product) and len(cast("tuple[Dim, ...]", types[2].shape)) < 2:
        return None  # a column, of which one sum is an element
    dtype, *given = [str(t.dtype) for t in types]
    is_whole = dtype == "int32" and all(d in SMALL_INTEGERS for d in given)
    if not is_whole and any(d not in FLOATS for d in (dtype, *given)):
        return None
    if isinstance(kernel, WeightProduct):
        if is_whole:
            return None
        from relay.backend.native.kernels.weight_gradients import is_weight_product

        return kernel if is_weight_product(kernel.convolution) else None
    if isinstance(kernel, WindowProduct):
        from relay.backend.native.kernels.convolutions import is_convolved

        return kernel if is_convolved(kernel, types) else None
    return kernel


def weight_of(program: Any, call: Call, place: int, e: Expr) -> Weight | None:
    """An operand that is packed before the program runs: a matrix, and the second of a product, or the
    filters of a convolution.
    """
    kernel = kernel_of(program, call) if place == 1 and isinstance(e, Constant) else None
    if kernel is None or not isinstance(e, Constant):
        return None
    is_matrix = len(cast("TensorType", e.type).concrete_shape) == 2
    if isinstance(kernel, WeightProduct):
        return None
    return Weight(e) if is_matrix or isinstance(kernel, WindowProduct) else None


def sums_of(b: Builder, call: Call, views: Sequence[Any], shapes: Sequence[Sequence[Index]]) -> Sums | None:
    """A call as kernels compute it; `shapes` are those of its results."""
    kernel = kernel_of(b.program, call)
    if kernel is None:
        return None
    dtype = str(cast("TensorType", b.program.types(call)).dtype)
    if isinstance(kernel, WeightProduct):
        from relay.backend.native.kernels.weight_gradients import WeightGradients

        return WeightGradients(b, kernel.convolution, views, shapes[0], dtype)
    if isinstance(kernel, WindowProduct):
        types = [cast("TensorType", b.program.types(e)) for e in (call, *call.args)]
        return windows(b, kernel, views, shapes[0], types)
    from relay.backend.native.kernels.matrices import Matrices

    return Matrices(b, kernel, views, shapes[0], dtype)


def windows(
    b: Builder,
    kernel: WindowProduct,
    views: Sequence[Any],
    sizes: Sequence[Index],
    types: Sequence[TensorType],
) -> Windowed:
    """A convolution as the kernel computes it that is best at it; the types are those of the result and of
    the operands.
    """
    from relay.backend.native.kernels.convolutions import Convolutions
    from relay.backend.native.kernels.grouped import Grouped, groups_of
    from relay.backend.native.kernels.images import by_images
    from relay.backend.native.kernels.phases import Phases, has_phases
    from relay.backend.native.kernels.winograd import Winograd, size_of_tiles

    dtype = str(types[0].dtype)
    if has_phases(kernel, views[1]):
        return Phases(b, kernel, views, sizes, dtype)
    groups = groups_of(kernel, types)
    if groups:
        return Grouped(b, kernel, views, sizes, dtype, groups)

    def kernel_for(data: View, result: Sequence[Index]) -> Windowed:
        given = data, views[1]
        size = size_of_tiles(kernel, given, result, dtype)
        if size:
            return Winograd(b, kernel, given, result, dtype, size)
        return Convolutions(b, kernel, given, result, dtype)

    return by_images(b, kernel, views, sizes, kernel_for)
