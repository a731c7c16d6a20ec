"""Products of matrices."""

from typing import Any

from relay.frontend.onnx.export.elementwise import along
from relay.frontend.onnx.export.graph import Graph, Groups, Value, refuse
from relay.frontend.onnx.export.registry import exports
from relay.frontend.onnx.registry import CONTRIBUTED
from relay.ir.dtype import is_float

LEAST_GROUP = 16
"""Numbers that share a scale in ONNX Runtime, at least; it takes powers of 2."""
WITH_BIAS = ("Conv", "ConvTranspose", "Gemm")
"""Nodes that add a bias themselves, as their third operand."""


@exports("nn.dense")
def dense(g: Graph, op: Any, x: Value, weight: Value) -> str:
    """`x @ weight.T`."""
    _check_factors(op, x, weight)
    if (groups := g.groups.get(weight.name)) is not None and is_of_runtime(g, x, groups):
        return times_groups(g, x, groups)
    if x.rank == 2 and is_float(x.dtype):
        return g.add("Gemm", x, weight, transB=1)
    return g.add("MatMul", x, g.transposed(weight, (1, 0)))


def is_of_runtime(g: Graph, x: Value, w: Groups) -> bool:
    """Whether ONNX Runtime's own product takes a weight in groups, and may be used."""
    size = w.op.group
    return (
        g.contributed
        and x.rank > 1
        and w.data.rank == 3
        and x.dtype == w.scale.dtype
        and size >= LEAST_GROUP
        and not size & (size - 1)
    )


def times_groups(g: Graph, x: Value, w: Groups) -> str:
    """The product as `MatMulNBits`, which has the weight as it lies."""
    columns, groups = w.scale.sizes()
    how = {"N": columns, "K": groups * w.op.group, "bits": w.op.bits, "block_size": w.op.group}
    return g.add("MatMulNBits", x, w.data, w.scale, w.zero, domain=CONTRIBUTED, **how)


@exports("nn.matmul")
def matmul(g: Graph, op: Any, x: Value, y: Value) -> str:
    """The product of (stacks of) matrices."""
    _check_factors(op, x, y)
    if x.rank == 1:
        refuse("a vector on the left")
    return g.add("MatMul", *_turned(g, op, x, y))


@exports("nn.batch_matmul")
def batch_matmul(g: Graph, op: Any, x: Value, y: Value) -> str:
    """Products of matrices in stacks."""
    _check_factors(op, x, y)
    return g.add("MatMul", *_turned(g, op, x, y))


def _turned(g: Graph, op: Any, x: Value, y: Value) -> list[str]:
    """The factors, with their last two axes swapped where that is asked for."""
    return [
        g.transposed(v, [*range(v.rank - 2), v.rank - 1, v.rank - 2]) if turns else v.name
        for v, turns in ((x, op.transpose_a), (y, op.transpose_b))
    ]


def _check_factors(op: Any, x: Value, y: Value) -> None:
    if op.out_dtype not in ("", x.dtype):
        refuse(f'out_dtype="{op.out_dtype}" of {x.dtype}')
    if x.dtype != y.dtype:
        refuse("factors of two dtypes")
    if not is_float(x.dtype) and x.dtype not in ("int32", "int64", "uint32", "uint64"):
        refuse(f"the dtype {x.dtype}")


@exports("nn.bias_add")
def bias_add(g: Graph, op: Any, x: Value, bias: Value) -> str:
    """A number added to each channel, by the node that computes `x` if that can."""
    made = g.producers.get(x.name)
    axis = op.axis % x.rank
    if made is not None and made.op_type in WITH_BIAS and len(made.input) == 2 and axis == 1:
        how = {a.name: _attribute(a) for a in made.attribute}
        return g.add(made.op_type, *made.input, bias, **how)
    return g.add("Add", x, along(g, bias, x.rank, axis))


def _attribute(a: Any) -> Any:
    from onnx import helper

    return helper.get_attribute_value(a)


@exports("einsum")
def einsum(g: Graph, op: Any, xs: Any) -> str:
    """A product of tensors, summed over letters."""
    left, _, right = op.equation.partition("->")
    if "..." in left and "..." not in right:
        refuse("axes of `...` that are summed over")
    return g.add("Einsum", *xs, equation=op.equation)
