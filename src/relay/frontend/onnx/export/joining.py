"""Several tensors as one, one as several, repetition."""

from collections.abc import Sequence
from typing import Any

from relay.frontend.onnx.export.graph import Graph, Value, static
from relay.frontend.onnx.export.registry import exports
from relay.ir.type import Dim, TensorType, TupleType


@exports("concatenate")
def concatenate(g: Graph, op: Any, xs: Sequence[Value]) -> str:
    """One after another."""
    return g.add("Concat", *xs, axis=op.axis)


@exports("stack")
def stack(g: Graph, op: Any, xs: Sequence[Value]) -> str:
    """Side by side along a new axis."""
    at = g.ints([op.axis % (xs[0].rank + 1)])
    return g.add("Concat", *[g.add("Unsqueeze", x, at) for x in xs], axis=op.axis)


@exports("split")
def split(g: Graph, op: Any, x: Value) -> tuple[str, ...]:
    """Parts along an axis."""
    assert isinstance(g.out, TupleType)
    axis = op.axis % x.rank
    fields = [f for f in g.out.fields if isinstance(f, TensorType)]
    sizes: list[Dim] = [Value("", f).shape[axis] for f in fields]
    if isinstance(op.indices_or_sections, int):
        found = g.add("Split", x, outputs=len(sizes), axis=axis, num_outputs=len(sizes))
    else:
        found = g.add("Split", x, g.ints(static(sizes)), outputs=len(sizes), axis=axis)
    return (found,) if len(sizes) == 1 else found


@exports("tile")
def tile(g: Graph, op: Any, x: Value) -> str:
    """The tensor so many times along each axis."""
    reps = list(op.reps)
    front = len(reps) - x.rank
    name = g.add("Unsqueeze", x, g.ints(range(front))) if front > 0 else x.name
    return g.add("Tile", name, g.ints([1] * -front + reps))


@exports("repeat")
def repeat(g: Graph, op: Any, x: Value) -> str:
    """Each element so many times."""
    if op.axis is None:
        flat = g.add("Unsqueeze", g.add("Reshape", x, g.ints([-1])), g.ints([1]))
        return g.add("Reshape", g.add("Tile", flat, g.ints([1, op.repeats])), g.ints([-1]))
    axis = op.axis % x.rank
    apart = g.add("Unsqueeze", x, g.ints([axis + 1]))
    counts = [1] * (x.rank + 1)
    counts[axis + 1] = op.repeats
    return g.reshaped(g.add("Tile", apart, g.ints(counts)), g.result.sizes())


@exports("meshgrid")
def meshgrid(g: Graph, op: Any, xs: Sequence[Value]) -> tuple[str, ...]:
    """Coordinates of a grid."""
    rank = len(xs)
    assert isinstance(g.out, TupleType)
    shape = g.ints(Value("", g.out.fields[0]).sizes()) if isinstance(g.out.fields[0], TensorType) else ""
    order = [1, 0, *range(2, rank)] if op.indexing == "xy" and rank > 1 else range(rank)
    found: list[str] = []
    for axis, x in zip(order, xs, strict=True):
        flat = x.name if x.rank else g.reshaped(x, (1,))
        others = [i for i in range(rank) if i != axis]
        found.append(g.add("Expand", g.add("Unsqueeze", flat, g.ints(others)) if others else flat, shape))
    return tuple(found)


@exports("nn.depth_to_space", fits=lambda op: op.layout == "NCHW")
def depth_to_space(g: Graph, op: Any, x: Value) -> str:
    """Channels spread over blocks of pixels."""
    return g.add("DepthToSpace", x, blocksize=op.block_size, mode=op.mode)


@exports("nn.space_to_depth", fits=lambda op: op.layout == "NCHW")
def space_to_depth(g: Graph, op: Any, x: Value) -> str:
    """Blocks of pixels as channels."""
    return g.add("SpaceToDepth", x, blocksize=op.block_size)
