"""Long short-term memory, unrolled.

Source: Hochreiter and Schmidhuber, 1997; gates after Gers et al., 2000.
"""

from typing import Any

import relay
from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.testing.init import create_workload
from relay.testing.recurrent import affine, unrolled, weights


def lstm_cell(num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Function:
    """One step: `fn(data, hidden, memory, i2h_weight, i2h_bias, h2h_weight, h2h_bias) -> (hidden, memory)`.

    The rows of weights are those of the input gate, the forget gate, the new content and the output gate.
    """
    shape = (batch_size, num_hidden)
    data, hidden, memory = (relay.var(n, shape=shape, dtype=dtype) for n in ("inputs", "hidden", "memory"))
    i2h_weight, i2h_bias, h2h_weight, h2h_bias = parameters = weights(num_hidden, 4, dtype)
    both = relay.add(affine(data, i2h_weight, i2h_bias), affine(hidden, h2h_weight, h2h_bias))
    into, forget, content, out = relay.split(both, 4, axis=1)
    kept = relay.multiply(relay.sigmoid(forget), memory)
    new_memory = relay.add(kept, relay.multiply(relay.sigmoid(into), relay.tanh(content)))
    new_hidden = relay.multiply(relay.sigmoid(out), relay.tanh(new_memory))
    return relay.Function([data, hidden, memory, *parameters], relay.Tuple([new_hidden, new_memory]))


def get_net(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Function:
    """`data (batch_size, num_hidden)`, given at each of `iterations` steps, to the last hidden state."""
    shape = (batch_size, num_hidden)
    data = relay.var("data", shape=shape, dtype=dtype)
    return unrolled(
        lstm_cell(num_hidden, batch_size, dtype),
        iterations,
        data,
        [relay.zeros(shape, dtype)] * 2,
        weights(num_hidden, 4, dtype),
        lambda states: states[0],
    )


def get_workload(
    iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32"
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))
