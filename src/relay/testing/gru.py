"""Gated recurrent units, unrolled.  Source: Cho et al., 2014, with the reset gate after the product."""

from typing import Any

import relay
from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.testing.init import create_workload
from relay.testing.recurrent import affine, unrolled, weights


def gru_cell(num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Function:
    """One step: `fn(data, hidden, i2h_weight, i2h_bias, h2h_weight, h2h_bias) -> hidden`.

    The rows of weights are those of the reset gate, the update gate and the new content.
    """
    shape = (batch_size, num_hidden)
    data, hidden = (relay.var(n, shape=shape, dtype=dtype) for n in ("inputs", "hidden"))
    i2h_weight, i2h_bias, h2h_weight, h2h_bias = parameters = weights(num_hidden, 3, dtype)
    reset, update, content = relay.split(affine(data, i2h_weight, i2h_bias), 3, axis=1)
    h_reset, h_update, h_content = relay.split(affine(hidden, h2h_weight, h2h_bias), 3, axis=1)
    r, z = relay.sigmoid(relay.add(reset, h_reset)), relay.sigmoid(relay.add(update, h_update))
    new = relay.tanh(relay.add(content, relay.multiply(r, h_content)))
    kept = relay.multiply(z, relay.subtract(hidden, new))
    return relay.Function([data, hidden, *parameters], relay.add(new, kept))


def get_net(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Function:
    """`data (batch_size, num_hidden)`, given at each of `iterations` steps, to the last hidden state."""
    shape = (batch_size, num_hidden)
    data = relay.var("data", shape=shape, dtype=dtype)
    return unrolled(
        gru_cell(num_hidden, batch_size, dtype),
        iterations,
        data,
        [relay.zeros(shape, dtype)],
        weights(num_hidden, 3, dtype),
        lambda states: states[0],
    )


def get_workload(
    iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32"
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))
