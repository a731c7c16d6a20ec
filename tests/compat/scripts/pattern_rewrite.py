"""Find parts of programs by their form, and replace or outline them."""

import numpy as np
import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import (
    DFPatternCallback,
    has_shape,
    is_constant,
    is_op,
    is_var,
    rewrite,
    wildcard,
)


class BatchNormCallback(DFPatternCallback):
    def __init__(self):
        super().__init__()
        self.x, self.var, self.mean = wildcard(), wildcard(), wildcard()
        self.beta, self.gamma, self.eps = wildcard(), wildcard(), is_constant()
        self.pattern = self.gamma * (self.x - self.mean) / is_op("sqrt")(self.var + self.eps) + self.beta

    def callback(self, pre, post, node_map):
        eps = node_map[self.eps][0].data.numpy().item()
        x, var, mean, beta, gamma = (
            node_map[part][0] for part in (self.x, self.var, self.mean, self.beta, self.gamma)
        )
        return relay.op.nn.batch_norm(x, gamma, beta, mean, var, epsilon=eps)[0]


x = relay.var("x", shape=(4, 3))
var, mean, beta, gamma = (relay.var(name, shape=(3,)) for name in ("var", "mean", "beta", "gamma"))
BN = gamma * (x - mean) / relay.op.sqrt(var + relay.const(1e-5)) + beta
out = rewrite(BatchNormCallback(), BN)
expected = relay.op.nn.batch_norm(x, gamma, beta, mean, var, epsilon=1e-5)[0]
print("batch_norm found:", tvm.ir.structural_equal(out, expected))

params = [x, gamma, beta, mean, var]
rng = np.random.RandomState(0)
values = [rng.rand(4, 3).astype("float32"), *(rng.rand(3).astype("float32") + 0.5 for _ in range(4))]
results = [
    relay.create_executor("graph").evaluate(relay.Function(params, e))(*values).numpy() for e in (BN, out)
]
tvm.testing.assert_allclose(*results, rtol=1e-4, atol=1e-5)

conv = is_op("nn.conv2d")(wildcard(), is_var()).has_attr({"kernel_size": [3, 3]})
pattern = is_op("nn.relu")(is_op("nn.bias_add")(conv, wildcard()).optional(lambda y: is_op("exp")(y)))
data, w, b = (
    relay.var("data", shape=(1, 3, 8, 8)),
    relay.var("w", shape=(4, 3, 3, 3)),
    relay.var("b", shape=(4,)),
)
net = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(data, w, kernel_size=(3, 3)), b))
print("matches:", pattern.match(net), pattern.match(relay.nn.relu(data)), has_shape((4,)).match(b))
parts = pattern.partition(net + relay.const(1.0), {"Composite": "conv_bias_relu"})
print("outlined:", parts.args[0].op.attrs["Composite"], len(parts.args[0].args))
