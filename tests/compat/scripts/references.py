"""Mutable references, tuples, and a cell that is shared."""

import tvm
from tvm import relay

r, u = relay.var("r"), relay.var("u")
old = relay.var("old")
body = relay.Let(
    r,
    relay.RefCreate(relay.const(3)),
    relay.Let(
        old,
        relay.RefRead(r),
        relay.Let(u, relay.RefWrite(r, relay.const(4)), relay.Tuple([old, relay.RefRead(r), r])),
    ),
)
for kind in ("debug", "vm"):
    before, after, cell = relay.create_executor(kind, device=tvm.cpu()).evaluate(relay.Function([], body))()
    print(
        kind,
        before.numpy(),
        after.numpy(),
        cell.value.numpy(),
        isinstance(cell, relay.backend.interpreter.RefValue),
    )

t = relay.var("t", relay.TupleType([relay.TensorType((2,)), relay.scalar_type("int32")]))
swapped = relay.Function([t], relay.Tuple([relay.TupleGetItem(t, 1), relay.TupleGetItem(t, 0)]))
typed = relay.transform.InferType()(tvm.IRModule.from_expr(swapped))
print(typed["main"].checked_type)
argument = tvm.runtime.container.tuple_object([tvm.nd.array([1.0, 2.0]).numpy().astype("float32"), 5])
number, numbers = relay.create_executor("vm", typed).evaluate()(argument)
print(number.numpy(), numbers.numpy())
first, second = relay.split(relay.var("z", shape=(4, 2)), 2, axis=0)
print(
    relay.transform.InferTypeLocal(first),
    isinstance(relay.split(relay.var("z", shape=(4,)), 2), relay.TupleWrapper),
)
