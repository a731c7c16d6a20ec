"""Derivatives of operators against differences."""

import numpy as np
import tvm
from tvm import relay
from tvm.relay.testing import check_grad, rand, run_infer_type

x = relay.var("x", shape=(3, 4), dtype="float64")
w = relay.var("w", shape=(2, 4), dtype="float64")
check_grad(relay.Function([x, w], relay.tanh(relay.nn.dense(x, w))))
check_grad(relay.Function([x], relay.nn.softmax(x)), mode="first_order")
check_grad(
    relay.Function([x], relay.sum(relay.exp(x) * x, axis=[1])), eps=1e-6, target_devices=[("llvm", tvm.cpu())]
)
image, kernel = (
    relay.var("image", shape=(1, 2, 5, 5), dtype="float64"),
    relay.var("kernel", shape=(3, 2, 3, 3), dtype="float64"),
)
check_grad(
    relay.Function([image, kernel], relay.nn.conv2d(image, kernel, padding=(1, 1))), executor_kind="graph"
)

a = relay.var("a", shape=(3,))
func = run_infer_type(relay.Function([a], relay.log(a)))
back = run_infer_type(relay.transform.gradient(func))
value = rand("float32", 3).numpy() + 0.5
forward, (grad,) = relay.create_executor().evaluate(back)(value)
tvm.testing.assert_allclose(forward.numpy(), np.log(value), rtol=1e-6)
tvm.testing.assert_allclose(grad.numpy(), 1 / value, rtol=1e-6)
print("derivatives agree")
