"""Counting operators and multiplications."""

from collections import Counter
from collections.abc import Sequence
from math import prod

from relay.ir.expr import Call, Expr, Op
from relay.ir.module import IRModule
from relay.ir.type import TensorType, Type
from relay.ir.walk import post_order
from relay.typecheck.query import Types


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """How many calls of each operator the definitions of a module make."""
    return dict(
        Counter(
            e.op.name
            for definition in mod.functions.values()
            for e in post_order(definition)
            if isinstance(e, Call) and isinstance(e.op, Op)
        )
    )


def count_layers(expr: Expr, valid_ops: Sequence[str]) -> int:
    """The length of the longest chain of calls of `valid_ops`, from operand to result."""
    depth: dict[Expr, int] = {}
    for e in post_order(expr):
        below = max([depth[c] for c in e.children], default=0)
        depth[e] = below + (isinstance(e, Call) and isinstance(e.op, Op) and e.op.name in valid_ops)
    return depth[expr]


def get_total_mac_number(expr: Expr, mod: IRModule | None = None) -> int:
    """How many multiply-accumulates the convolutions and matrix products under `expr` take.

    Shapes come from inference and must be static; other operators count nothing.
    """
    types = Types(mod or IRModule())
    return sum([multiplications(e, types) for e in post_order(expr) if isinstance(e, Call)])


def multiplications(e: Call, types: Types) -> int:
    """How many multiply-accumulates a convolution or matrix product takes; 0 for what is neither.

    Shapes must be static.
    """
    if not isinstance(e.op, Op) or e.op.name not in _REDUCED:
        return 0
    out, operands = _shape(types.type_of(e)), [_shape(types.type_of(a)) for a in e.args]
    return _REDUCED[e.op.name](e, out, operands)


def _shape(t: Type) -> tuple[int, ...]:
    assert isinstance(t, TensorType)
    return t.concrete_shape


def _conv(e: Call, out: tuple[int, ...], operands: list[tuple[int, ...]]) -> int:
    """Each output element reads a window of the weight's elements for its own channel."""
    weight = operands[1]
    layout: str = e.attrs["kernel_layout"]
    return prod(out) * prod(weight) // weight[layout.index("O")]


def _conv_transpose(e: Call, out: tuple[int, ...], operands: list[tuple[int, ...]]) -> int:
    """Each input element is spread over a window of the weight's elements for its own channel."""
    data, weight = operands[:2]
    layout: str = e.attrs["kernel_layout"]
    return prod(data) * prod(weight) // weight[layout.index("I")]


def _product(e: Call, out: tuple[int, ...], operands: list[tuple[int, ...]]) -> int:
    """Each output element is a dot product over the one axis that the result does not have."""
    transposed = getattr(e.attrs, "transpose_a", False)
    return prod(out) * operands[0][-2 if transposed else -1]


_REDUCED = {
    **{f"nn.conv{n}d": _conv for n in (1, 2, 3)},
    **{f"nn.conv{n}d_transpose": _conv_transpose for n in (1, 2, 3)},
    **dict.fromkeys(("nn.dense", "nn.matmul", "nn.batch_matmul"), _product),
}
