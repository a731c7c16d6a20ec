"""A network that writes a text character by character: recursion whose result is a list."""

from typing import Any

import relay
from relay.ir.module import IRModule
from relay.ir.type import TensorType, TypeCall
from relay.testing.init import create_workload
from relay.testing.recurrent import affine


def get_net(num_chars: int = 58, num_hidden: int = 128, dtype: str = "float32") -> IRModule:
    """`@main(data, steps, …)`: the list of the `steps` characters that follow the character `data`.

    `data` is a character's number, `(1,)` of int32; each step takes the most likely next one.  The parameters
    are an embedding of characters, and the weights of an Elman network (Elman, 1990).
    """
    mod = relay.parse('import "std/list"')
    list_type, cons, nil = mod.get_type("List")
    char, state = TensorType((1,), "int32"), TensorType((1, num_hidden), dtype)
    text = TypeCall(list_type, (char,))
    data, steps = relay.var("data", char), relay.var("steps", shape=(), dtype="int32")
    parameters = [
        relay.var(name, shape=shape, dtype=dtype)
        for name, shape in {
            "embedding": (num_chars, num_hidden),
            "i2h_weight": (num_hidden, num_hidden),
            "h2h_weight": (num_hidden, num_hidden),
            "h2h_bias": (num_hidden,),
            "h2o_weight": (num_chars, num_hidden),
            "h2o_bias": (num_chars,),
        }.items()
    ]
    embedding, i2h_weight, h2h_weight, h2h_bias, h2o_weight, h2o_bias = parameters

    write = relay.Var("write")
    left, last, hidden = (
        relay.var("left", shape=(), dtype="int32"),
        relay.var("last", char),
        relay.var("hidden", state),
    )
    into = relay.nn.dense(relay.take(embedding, last, axis=0), i2h_weight)
    sb = relay.ScopeBuilder()
    with sb.if_scope(relay.less_equal(left, relay.const(0))):
        sb.ret(nil())
    with sb.else_scope():
        now = sb.let("now", relay.tanh(relay.add(into, affine(hidden, h2h_weight, h2h_bias))))
        chosen = sb.let("chosen", relay.argmax(affine(now, h2o_weight, h2o_bias), axis=1))
        sb.ret(cons(chosen, write(relay.subtract(left, relay.const(1)), chosen, now)))
    step = relay.Function([left, last, hidden], sb.get(), text)
    start = write(steps, data, relay.zeros((1, num_hidden), dtype))
    mod["main"] = relay.Function([data, steps, *parameters], relay.Let(write, step, start), text)
    return mod


def get_workload(
    num_chars: int = 58, num_hidden: int = 128, dtype: str = "float32"
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(num_chars, num_hidden, dtype))
