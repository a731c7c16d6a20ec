"""Walk over programs and change them with visitors."""

import numpy as np
import tvm
from tvm import relay
from tvm.relay.expr_functor import ExprMutator, ExprVisitor


class CountCalls(ExprVisitor):
    def __init__(self):
        super().__init__()
        self.counts = {}

    def visit_call(self, call):
        if isinstance(call.op, tvm.ir.Op):
            self.counts[call.op.name] = self.counts.get(call.op.name, 0) + 1
        super().visit_call(call)


class Relu6(ExprMutator):
    """Every relu becomes a clip to 0 and 6."""

    def visit_call(self, call):
        new = super().visit_call(call)
        if isinstance(new.op, tvm.ir.Op) and new.op == relay.op.get("nn.relu"):
            return relay.clip(new.args[0], 0.0, 6.0)
        return relay.Call(new.op, new.args, new.attrs)


data = relay.var("data", relay.TensorType((1, 3, 8, 8), "float32"))
weight = relay.var("weight")
conv = relay.nn.conv2d(data, weight, channels=4, kernel_size=(3, 3), padding=(1, 1))
body = relay.nn.relu(conv) + relay.nn.relu(relay.exp(conv))
mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
mod = relay.transform.InferType()(mod)

counter = CountCalls()
counter.visit(mod["main"])
print(sorted(counter.counts.items()))

changed = tvm.IRModule.from_expr(Relu6().visit(mod["main"]))
again = CountCalls()
again.visit(changed["main"])
print(sorted(again.counts.items()))

calls = []
relay.analysis.post_order_visit(mod["main"], lambda e: calls.append(e) if isinstance(e, relay.Call) else None)
attrs = calls[0].attrs
print(
    list(attrs.kernel_size),
    int(attrs.groups),
    attrs["data_layout"],
    [int(d) for d in calls[0].checked_type.shape],
)
print([v.name_hint for v in relay.analysis.all_vars(mod["main"])])

x = np.full((1, 3, 8, 8), 2.0, "float32")
w = np.ones((4, 3, 3, 3), "float32")
before = relay.create_executor("debug", mod).evaluate()(x, w).numpy()
after = relay.create_executor("graph", changed).evaluate()(x, w).numpy()
print(after.max() == 12.0, before.max() > 1e20)
