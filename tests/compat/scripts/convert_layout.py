"""Change the layout of convolutions, and compare the programs."""

import numpy as np
import tvm
from tvm import relay
from tvm.relay import testing, transform

x = relay.var("x", shape=(1, 8, 8, 3))
w1 = relay.var("w1", shape=(3, 3, 3, 8))
w2 = relay.var("w2", shape=(3, 3, 8, 4))
y = relay.nn.conv2d(
    x, w1, channels=8, kernel_size=(3, 3), padding=(1, 1), data_layout="NHWC", kernel_layout="HWIO"
)
y = relay.nn.relu(y)
y = relay.nn.conv2d(
    y, w2, channels=4, kernel_size=(3, 3), padding=(1, 1), data_layout="NHWC", kernel_layout="HWIO"
)
y = relay.nn.max_pool2d(y, pool_size=(2, 2), strides=(2, 2), layout="NHWC")
mod = tvm.IRModule.from_expr(relay.Function([x, w1, w2], y))

seq = tvm.transform.Sequential(
    [
        transform.RemoveUnusedFunctions(),
        transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"], "nn.max_pool2d": ["NCHW"]}),
        transform.FoldConstant(),
    ]
)
with tvm.transform.PassContext(opt_level=3):
    converted = seq(mod)

layouts = []


def look(e):
    if isinstance(e, relay.Call) and e.op == relay.op.get("nn.conv2d"):
        layouts.append((str(e.attrs.data_layout), str(e.attrs.kernel_layout)))


relay.analysis.post_order_visit(converted["main"], look)
print(layouts, testing.count_ops(converted)["nn.conv2d"], "NHWC" in str(converted))
rng = np.random.RandomState(0)
values = [rng.randn(*shape).astype("float32") for shape in ((1, 8, 8, 3), (3, 3, 3, 8), (3, 3, 8, 4))]
a, b = (
    relay.create_executor("graph", m, tvm.cpu(), "llvm").evaluate()(*values).numpy() for m in (mod, converted)
)
tvm.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
print(a.shape)
