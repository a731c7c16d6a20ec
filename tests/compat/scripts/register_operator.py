"""An operator of a script's own, by its name: its type, what it computes, and a pass that asks about it."""

import numpy as np
import tvm
from tvm import relay
from tvm.relay import op

NAME = "demo.scaled_sum"

op.register(NAME, "The sum of two tensors along an axis, times a number.")
scaled_sum = op.get(NAME)
scaled_sum.set_num_inputs(2)
scaled_sum.add_argument("x", "Tensor", "A tensor.")
scaled_sum.add_argument("y", "Tensor", "Another of the same type.")
scaled_sum.set_attrs_type_key("DictAttrs")
scaled_sum.set_support_level(10)


def type_of_result(arg_types, attrs):
    axis = int(attrs["axis"])
    sizes = [size for i, size in enumerate(arg_types[0].shape) if i != axis]
    return relay.TensorType(sizes, arg_types[0].dtype)


scaled_sum.add_type_rel("ScaledSum", type_of_result)
op.op.register_pattern(NAME, op.OpPattern.COMM_REDUCE)
op.op.register_stateful(NAME, False)


@op.register_legalize(NAME)
def legalize(attrs, inputs, types):
    total = relay.sum(inputs[0] + inputs[1], axis=int(attrs["axis"]))
    return total * relay.const(float(attrs["scale"]), types[-1].dtype)


def of(x, y, axis, scale):
    return relay.Call(op.get(NAME), [x, y], tvm.ir.make_node("DictAttrs", axis=axis, scale=scale))


class Counter(relay.ExprVisitor):
    """Counts the calls of the operator."""

    def __init__(self):
        super().__init__()
        self.found = 0

    def visit_call(self, call):
        super().visit_call(call)
        self.found += call.op == op.get(NAME)


def count(mod):
    counter = Counter()
    counter.visit(mod["main"])
    return counter.found


try:
    op.register(NAME, "Once more.")
    raise AssertionError("a name is registered once")
except tvm.TVMError:
    print("registered once")

x = relay.var("x", shape=(2, 3))
y = relay.var("y", shape=(2, 3))
mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.nn.relu(of(x, y, axis=1, scale=0.5))))
mod = relay.transform.InferType()(mod)
print([int(size) for size in mod["main"].ret_type.shape], mod["main"].ret_type.dtype)
print(scaled_sum.num_inputs, scaled_sum.get_attr("TOpPattern") == op.OpPattern.COMM_REDUCE)

legal = relay.transform.Legalize()(mod)
print(count(mod), count(legal))

a = np.array([[1, -2, 3], [-4, 5, -6]], "float32")
b = np.array([[0.5, 0.5, 1], [1, 1, 1]], "float32")
found = relay.create_executor("graph", mod=legal).evaluate()(a, b)
tvm.testing.assert_allclose(found.numpy(), np.maximum(0.5 * (a + b).sum(axis=1), 0), rtol=1e-6)
print(found.numpy().tolist())
