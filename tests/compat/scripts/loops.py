"""A loop with variables whose sizes grow."""

import numpy as np
import tvm
from tvm import relay
from tvm.relay.loops import while_loop

i = relay.var("i", shape=(), dtype="int32")
total = relay.var("total", shape=(2,), dtype="float32")
state = relay.var("state", shape=(relay.Any(), 2), dtype="float32")


def cond(i, total, state):
    return relay.less(i, relay.const(5, dtype="int32"))


def body(i, total, state):
    row = total + relay.cast(i, "float32")
    return [
        i + relay.const(1, "int32"),
        row,
        relay.op.concatenate([state, relay.reshape(row, (1, 2))], axis=0),
    ]


loop = while_loop(cond, [i, total, state], body)
start = relay.var("start", shape=(2,), dtype="float32")
first = relay.reshape(start, (1, 2))
mod = tvm.IRModule()
mod["main"] = relay.Function([start], loop(relay.const(0), start, first))
for kind in ("vm", "debug"):
    count, last, states = relay.create_executor(kind, mod=mod, device=tvm.cpu()).evaluate()(
        np.array([1, -1], "float32")
    )
    print(kind, count.numpy(), last.numpy(), states.numpy().shape)
    rows = np.array([1, -1]) + np.cumsum([0, *range(5)])[:, None]
    tvm.testing.assert_allclose(states.numpy(), rows)
