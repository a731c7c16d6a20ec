"""A perceptron on the virtual machine, against the same layers in NumPy."""

import numpy as np
import tvm
from tvm import relay
from tvm.relay.testing import mlp
from tvm.runtime import vm as vm_rt

mod, params = mlp.get_workload(batch_size=4, num_classes=10, image_shape=(1, 8, 8))
print(", ".join(f"{k}{v.shape}" for k, v in sorted(params.items())))

with tvm.transform.PassContext(opt_level=3):
    executable = relay.vm.compile(mod, target="llvm", params=params)

dev = tvm.cpu()
machine = vm_rt.VirtualMachine(executable, dev)
x = np.random.RandomState(3).randn(4, 1, 8, 8).astype("float32")
result = machine.invoke("main", tvm.nd.array(x, dev))
assert isinstance(result, tvm.nd.NDArray)

weights = {name: value.numpy() for name, value in params.items()}
h = x.reshape(4, -1)
for i in (1, 2):
    h = np.maximum(h @ weights[f"fc{i}_weight"].T + weights[f"fc{i}_bias"], 0)
h = h @ weights["fc3_weight"].T + weights["fc3_bias"]
e = np.exp(h - h.max(axis=1, keepdims=True))
tvm.testing.assert_allclose(result.numpy(), e / e.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-6)
print("agrees with NumPy:", result.numpy().shape)
print("inputs:", executable.get_function_params("main"), machine.get_input_index("data"))
