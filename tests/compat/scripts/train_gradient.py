"""Fit a small network by gradient descent, with the gradient as a transformation."""

import numpy as np
import tvm
from tvm import relay
from tvm.relay.testing import run_infer_type
from tvm.relay.transform import gradient

rng = np.random.RandomState(0)
points = rng.randn(32, 3).astype("float32")
labels = (points @ np.array([[1.0], [-2.0], [0.5]], "float32") + 0.25).astype("float32")

x = relay.var("x", shape=(32, 3))
t = relay.var("t", shape=(32, 1))
w = relay.var("w", shape=(1, 3))
b = relay.var("b", shape=(1,))
guess = relay.nn.bias_add(relay.nn.dense(x, w), b)
loss = relay.mean(relay.power(guess - t, relay.const(2.0)))
step = run_infer_type(gradient(run_infer_type(relay.Function([x, t, w, b], loss)), mode="first_order"))
print("result:", step.checked_type.ret_type)

update = relay.create_executor("graph", tvm.IRModule.from_expr(step), tvm.cpu(0), "llvm").evaluate()
weight, bias = tvm.nd.array(np.zeros((1, 3), "float32")), tvm.nd.array(np.zeros((1,), "float32"))
losses = []
for _ in range(150):
    value, gradients = update(points, labels, weight, bias)
    losses.append(value.numpy().item())
    weight = tvm.nd.array(weight.numpy() - 0.1 * gradients[2].numpy())
    bias = tvm.nd.array(bias.numpy() - 0.1 * gradients[3].numpy())

assert losses[-1] < 1e-6 < losses[0]
tvm.testing.assert_allclose(weight.numpy(), [[1.0, -2.0, 0.5]], atol=1e-3)
tvm.testing.assert_allclose(bias.numpy(), [0.25], atol=1e-3)
print("fitted:", np.round(weight.numpy(), 2), np.round(bias.numpy(), 2))
