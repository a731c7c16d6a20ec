"""Read a model in ONNX, quantise it and compare both."""

import numpy as np
import onnx
import tvm
from onnx import TensorProto, helper, numpy_helper
from tvm import relay
from tvm.contrib import graph_executor

rng = np.random.RandomState(1)
weight = rng.uniform(-0.5, 0.5, (8, 3, 3, 3)).astype("float32")
bias = rng.uniform(-0.1, 0.1, (8,)).astype("float32")
nodes = [
    helper.make_node(
        "Conv", ["image", "weight", "bias"], ["features"], pads=[1, 1, 1, 1], kernel_shape=[3, 3]
    ),
    helper.make_node("Relu", ["features"], ["active"]),
    helper.make_node("GlobalAveragePool", ["active"], ["pooled"]),
    helper.make_node("Flatten", ["pooled"], ["out"], axis=1),
]
graph = helper.make_graph(
    nodes,
    "small",
    [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 16, 16])],
    [helper.make_tensor_value_info("out", TensorProto.FLOAT, [1, 8])],
    [numpy_helper.from_array(weight, "weight"), numpy_helper.from_array(bias, "bias")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
onnx.checker.check_model(model)

shape_dict = {"image": (1, 3, 16, 16)}
mod, params = relay.frontend.from_onnx(model, shape_dict)
print("main takes:", [p.name_hint for p in mod["main"].params])


def run(module):
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(module, target="llvm", params=params)
    runtime = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    runtime.set_input("image", image)
    runtime.run()
    return runtime.get_output(0).numpy()


image = rng.uniform(0, 1, (1, 3, 16, 16)).astype("float32")
with relay.quantize.qconfig(calibrate_mode="global_scale", global_scale=4.0, skip_conv_layers=[]):
    quantized = relay.quantize.quantize(mod, params)

exact, approximate = run(mod), run(quantized)
padded = np.pad(image[0], ((0, 0), (1, 1), (1, 1)))
windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
expected = np.einsum("chwij,ocij->ohw", windows, weight) + bias[:, None, None]
tvm.testing.assert_allclose(exact[0], np.maximum(expected, 0).mean(axis=(1, 2)), rtol=1e-4)
print("quantised to within 0.1:", bool(np.abs(exact - approximate).max() < 0.1))
print("quantised program differs:", not tvm.ir.structural_equal(mod, quantized))
