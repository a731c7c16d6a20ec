"""What recurrent workloads share: a cell as a function, and the cell unrolled over a number of steps."""

from collections.abc import Callable, Sequence

import relay
from relay.ir.expr import Expr, Function, Var

Weights = Sequence[Var]


def weights(num_hidden: int, gates: int, dtype: str) -> list[Var]:
    """Weight and bias from the input, and weight and bias from the hidden state, for all gates together."""
    rows = gates * num_hidden
    shapes = {
        "i2h_weight": (rows, num_hidden),
        "i2h_bias": (rows,),
        "h2h_weight": (rows, num_hidden),
        "h2h_bias": (rows,),
    }
    return [relay.var(name, shape=shape, dtype=dtype) for name, shape in shapes.items()]


def affine(x: Expr, weight: Expr, bias: Expr) -> Expr:
    """`x @ weight.T + bias`."""
    return relay.nn.bias_add(relay.nn.dense(x, weight), bias, axis=-1)


def unrolled(
    cell: Function,
    iterations: int,
    data: Var,
    states: Sequence[Expr],
    parameters: Weights,
    result: Callable[[Sequence[Expr]], Expr],
) -> Function:
    """A function that applies `cell` again and again to the same data: `let`s, one for each step.

    The cell takes the data, the states and the parameters, and returns the next states as a tuple or alone.
    """
    sb = relay.ScopeBuilder()
    step = sb.let("cell", cell)
    several = len(states) > 1
    for i in range(iterations):
        out = sb.let(f"state{i}", relay.Call(step, [data, *states, *parameters]))
        states = [relay.TupleGetItem(out, j) for j in range(len(states))] if several else [out]
    sb.ret(result(states))
    return relay.Function([data, *parameters], sb.get())
