"""Backward operators, which graphs of training steps hold: each is the `vjp` of what it belongs to."""

from collections.abc import Callable, Sequence
from typing import Any

from relay.frontend.torch.control import unpacked
from relay.frontend.torch.convolution import convolution
from relay.frontend.torch.node import Node
from relay.frontend.torch.pooling import adaptive_pool, average_pool
from relay.frontend.torch.registry import converts
from relay.frontend.value import Value, call, union
from relay.ir.expr import Call, Function, Grad, TupleGetItem, Var
from relay.ir.type import TupleType

Names = Sequence[str]


def pulled_back(
    node: Node, forward: Callable[..., Value], names: Names, operands: Sequence[Value], g: Value
) -> list[Value]:
    """The cotangents of the operands of `forward` for the cotangent of its result."""
    params = [Var(n, o.type, span=node.span) for n, o in zip(names, operands, strict=True)]
    result = forward(*[Value(p, o.type) for p, o in zip(params, operands, strict=True)])
    pair = Call(Grad("vjp", Function(tuple(params), result.expr)), tuple([o.expr for o in operands]))
    types = [o.type for o in operands]
    back = Call(TupleGetItem(pair, 1), (g.expr,), span=node.span)
    whole = Value(back, TupleType(types), sources=union([*operands, g]))
    return unpacked(node, only_field(whole) if len(types) == 1 else whole, types)


def only_field(x: Value) -> Value:
    """The only field of a tuple."""
    assert isinstance(x.type, TupleType)
    return Value(TupleGetItem(x.expr, 0), x.type.fields[0], sources=x.sources)


@converts("aten.convolution_backward")
def convolution_backward(
    node: Node, g: Value, x: Value, weight: Value, bias_sizes: Any, *how: Any
) -> tuple[Value | None, ...]:
    """The cotangents of data, weight and bias."""
    *layout, wanted = how

    def forward(x: Value, weight: Value) -> Value:
        return convolution(node, x, weight, None, *layout)

    by_x, by_weight = pulled_back(node, forward, ("x", "weight"), (x, weight), g)
    by_bias = call("sum", g, axis=[a for a in range(g.rank) if a != g.rank - weight.rank + 1])
    found = (by_x, by_weight, by_bias)
    return tuple([v if w else None for v, w in zip(found, wanted, strict=True)])


@converts("aten.avg_pool2d_backward", "aten.avg_pool3d_backward")
def avg_pool_backward(node: Node, g: Value, x: Value, *how: Any) -> Value:
    """The cotangent of what was averaged in windows."""
    rank = 3 if "3d" in node.operator else 2

    def forward(x: Value) -> Value:
        return average_pool(rank, node, x, *how)

    return pulled_back(node, forward, ("x",), (x,), g)[0]


@converts("aten._adaptive_avg_pool2d_backward", "aten._adaptive_avg_pool3d_backward")
def adaptive_avg_pool_backward(node: Node, g: Value, x: Value) -> Value:
    """The cotangent of what was averaged in the cells of a grid."""
    rank = 3 if "3d" in node.operator else 2

    def forward(x: Value) -> Value:
        return adaptive_pool(rank, "avg", node, x, list(g.shape[-rank:]))

    return pulled_back(node, forward, ("x",), (x,), g)[0]
