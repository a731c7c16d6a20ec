"""Recursive definitions, and functions that give functions."""

import numpy as np
import tvm
from tvm import relay
from tvm.relay.scope_builder import ScopeBuilder

mod = tvm.IRModule()
sum_up = relay.GlobalVar("sum_up")
sb = ScopeBuilder()
i = relay.var("i", shape=[], dtype="int32")
accum = relay.var("accum", shape=[], dtype="int32")
with sb.if_scope(relay.equal(i, relay.const(0, "int32"))):
    sb.ret(accum)
with sb.else_scope():
    one_less = sb.let("one_less", relay.subtract(i, relay.const(1, "int32")))
    sb.ret(relay.Call(sum_up, [one_less, relay.add(accum, i)]))
mod[sum_up] = relay.Function([i, accum], sb.get(), relay.scalar_type("int32"))

n = relay.var("n", shape=[], dtype="int32")
mod["main"] = relay.Function([n], sum_up(n, relay.const(0)))
for kind in ("vm", "debug"):
    run = relay.create_executor(kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()
    print([run(k).numpy().item() for k in (0, 1, 10, 1000)])

f, x, y = relay.var("f"), relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
g = relay.var("g")
twice = relay.Function([f], relay.Function([y], f(f(y))))
body = relay.Let(
    g, twice(relay.Function([x], x * relay.const(3.0))), g(relay.const(np.array([1, 2], "float32")))
)
print(relay.create_executor("vm").evaluate(body).numpy())

adder = relay.create_executor("debug").evaluate(relay.Function([x], relay.Function([y], x + y)))
plus_one = adder(np.ones(2, "float32"))
print(plus_one(np.array([5, 6], "float32")).numpy())
