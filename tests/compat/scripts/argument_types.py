"""Passes that go by the types of a call's arguments."""

import numpy as np
import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import DFPatternCallback, is_op, rewrite, wildcard
from tvm.relay.expr_functor import ExprMutator


class SmallDense(ExprMutator):
    """A dense layer of a few units is a product and a sum."""

    def __init__(self, units):
        super().__init__()
        self.units = units

    def visit_call(self, call):
        args = [self.visit(arg) for arg in call.args]
        if call.op == relay.op.get("nn.dense"):
            data, weight = call.type_args
            rows, (units, width) = data.concrete_shape[0], weight.concrete_shape
            if units <= self.units:
                data = relay.reshape(args[0], (rows, 1, width))
                return relay.sum(relay.multiply(data, args[1]), axis=2)
        return relay.Call(call.op, args, call.attrs, call.type_args, call.span)


class JoinCallback(DFPatternCallback):
    """Tensors that are joined along an axis of one each are stacked."""

    def __init__(self):
        super().__init__(require_type=True)
        self.x, self.y = wildcard(), wildcard()
        parts = (is_op("expand_dims")(self.x), is_op("expand_dims")(self.y))
        self.pattern = is_op("concatenate")(relay.dataflow_pattern.TuplePattern(parts))

    def callback(self, pre, post, node_map):
        fields = post.type_args[0].fields
        axis = post.attrs.axis
        if any(int(field.shape[axis]) != 1 for field in fields):
            return post
        print("joined:", [field.dtype for field in fields], [field.concrete_shape for field in fields])
        return relay.stack([node_map[self.x][0], node_map[self.y][0]], axis=axis)


data = relay.var("data", shape=(2, 8))
few, many = relay.var("few", shape=(3, 8)), relay.var("many", shape=(64, 8))
dense = [relay.nn.dense(relay.nn.relu(data), weight) for weight in (few, many)]
print("before inference:", len(dense[0].args), "arguments")
mod = relay.transform.InferType()(
    tvm.IRModule.from_expr(relay.Function([data, few, many], relay.Tuple(dense)))
)
changed = tvm.IRModule.from_expr(SmallDense(16).visit(mod["main"]))
changed = relay.transform.InferType()(changed)
print(changed)

x, y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))
joined = relay.concatenate([relay.expand_dims(x, axis=0), relay.expand_dims(y, axis=0)], axis=0)
print(rewrite(JoinCallback(), relay.exp(joined)))

rng = np.random.RandomState(0)
inputs = [rng.rand(*(int(d) for d in p.checked_type.shape)).astype("float32") for p in mod["main"].params]
results = [relay.create_executor("graph", m).evaluate()(*inputs) for m in (mod, changed)]
for before, after, weight in zip(*results, inputs[1:], strict=True):
    np.testing.assert_allclose(before.numpy(), inputs[0] @ weight.T, rtol=1e-5)
    np.testing.assert_allclose(after.numpy(), inputs[0] @ weight.T, rtol=1e-5)

prelude = relay.prelude.Prelude(tvm.IRModule())
_, cons, nil = prelude.mod.get_type("List")
prelude.mod["main"] = relay.Function([], cons(relay.const(1.0), nil()))
typed = relay.transform.InferType()(prelude.mod)["main"].body
print("a list of", [str(t) for t in typed.type_args])
