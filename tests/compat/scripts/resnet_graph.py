"""Compile a ResNet and classify one image with the graph executor."""

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay import testing

batch_size = 1
num_class = 10
image_shape = (3, 32, 32)
data_shape = (batch_size, *image_shape)
out_shape = (batch_size, num_class)

mod, params = relay.testing.resnet.get_workload(
    num_layers=20, batch_size=batch_size, num_classes=num_class, image_shape=image_shape
)
convolutions = testing.count_ops(mod)["nn.conv2d"]
print("convolutions:", convolutions)

target = tvm.target.Target("llvm -mcpu=core-avx2")
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target=target, params=params)

dev = tvm.device(str(target), 0)
data = np.random.RandomState(0).uniform(-1, 1, size=data_shape).astype("float32")
module = graph_executor.GraphModule(lib["default"](dev))
module.set_input("data", data)
module.run()
out = module.get_output(0, tvm.nd.empty(out_shape)).numpy()
print("shape:", out.shape, "dtype:", out.dtype)
np.testing.assert_allclose(out.sum(axis=1), 1, rtol=1e-5)

reference = relay.create_executor("debug", mod, dev, target, params).evaluate()(data)
tvm.testing.assert_allclose(out, reference.numpy(), rtol=1e-3, atol=1e-5)

timing = module.module.time_evaluator("run", dev, number=1, repeat=2)
print("runs:", len(timing().results), "positive:", bool(np.mean(timing().results) > 0))
