"""Updates of a tensor at indexed places."""

from typing import Any, Literal

import numpy

from relay.ir.type import TensorType, Type
from relay.op.axes import axis_of, check_indices
from relay.op.base import INTEGRAL, Array, Derivative, Numpy, Operator, operator, sample
from relay.op.conversion import accumulator
from relay.op.index import along, as_index, coordinates_of
from relay.op.relation import Typing

Reduction = Literal["update", "add", "mul", "min", "max"]
_UFUNC = {"add": "add", "mul": "multiply", "min": "minimum", "max": "maximum"}


class Scatter(Operator):
    """`data` with updates combined into it; where an element is updated twice with `"update"`, the last
    stays.
    """

    derivative = Derivative.RULES

    def combined(self, np: Numpy, data: Array, at: Any, updates: Array, how: Reduction) -> Array:
        """A copy of `data` with `updates` at the places `at`."""
        if how == "update":
            out = np.array(data)
            out[at] = updates
            return out
        out = np.array(accumulator(data))
        getattr(np, _UFUNC[how]).at(out, at, accumulator(updates))
        return out.astype(data.dtype)


@operator("scatter_elements")
class ScatterElements(Scatter):
    """`data` with `updates[i, j, …]` at `[i, …, indices[i, j, …], …]`, the index along `axis`: the inverse of
    `gather`.

    relay> scatter_elements([1, 2, 3], [2, 0], [30, 10], axis=0)
    [10, 2, 30]
    """

    samples = (
        sample("3x4 float32", numpy.array([[0, 3], [1, -1]]), "2x2 float32", axis=1, reduction="add"),
        sample("3 int4", numpy.array([2, 0, 2]), "3 int4"),
        sample("3x4 bool", "0x4 int64", "0x4 bool"),
        *[
            sample("5 bfloat16", numpy.array([2, 2]), "2 bfloat16", reduction=r)
            for r in ("mul", "min", "max")
        ],
    )

    axis: int = 0
    reduction: Reduction = "update"

    def infer(self, t: Typing, x: Type, indices: Type, updates: Type) -> Type:
        t.dtype_in(indices, INTEGRAL, "the indices")
        dims = t.shape(x)
        places = t.shape(indices, rank=len(dims), what="the indices")
        at = axis_of(t, self.axis, len(dims))
        t.equal(
            updates,
            TensorType(places, t.dtype(x)),
            why="there is an update for each index, of the base type of the data",
        )
        for i, (p, d) in enumerate(zip(places, dims, strict=True)):
            if i != at:
                t.require(p, "<=", d, f"the indices cover at most axis {i} of the data")
        return t.tensor(x)

    def reference(self, np: Numpy, data: Array, indices: Array, updates: Array) -> Array:
        at = along(np, as_index(indices), data.shape, self.axis % data.ndim)
        return self.combined(np, data, at, updates, self.reduction)


@operator("scatter_nd")
class ScatterND(Scatter):
    """`data` with updates at points, whose coordinates the first axis of the indices holds: the inverse of
    `gather_nd`.

    relay> scatter_nd([1, 2, 3], [[0, 2]], [10, 30], mode="add")
    [11, 2, 33]
    """

    samples = (
        sample("3x4 float32", numpy.array([[0, 2], [3, -1]]), "2 float32"),
        sample("3x4 int4", numpy.array([[2, 2]]), "2x4 int4", mode="add"),
        *[sample("5 bfloat16", numpy.array([[2, 2]]), "2 bfloat16", mode=m) for m in ("mul", "min", "max")],
    )

    mode: Reduction = "update"

    def infer(self, t: Typing, x: Type, indices: Type, updates: Type) -> Type:
        t.dtype_in(indices, INTEGRAL, "the indices")
        dims, places = t.shape(x), t.shape(indices)
        depth = coordinates_of(t, places, None)
        if depth > len(dims):
            t.fail("rank-mismatch", f"points of {depth} coordinates in a tensor of rank {len(dims)}")
        t.equal(
            updates,
            TensorType((*places[1:], *dims[depth:]), t.dtype(x)),
            why="there is an update for each point",
        )
        return t.tensor(x)

    def reference(self, np: Numpy, data: Array, indices: Array, updates: Array) -> Array:
        at = tuple([check_indices(np, p, data.shape[i]) for i, p in enumerate(as_index(indices))])
        return self.combined(np, data, at, updates, self.mode)
