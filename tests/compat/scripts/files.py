"""Parameters, programs and compiled code in files."""

import json
import os

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor, utils

x = relay.var("x", shape=(10, 5))
y = relay.var("y", shape=(1, 5))
func = relay.Function([x, y], relay.add(x, y))
params = {"y": tvm.nd.array(np.ones((1, 5), "float32"))}
lib = relay.build(tvm.IRModule.from_expr(func), "llvm", params=params)

temp = utils.tempdir()
path_lib = temp.relpath("deploy_lib.tar")
lib.export_library(path_lib)
with open(temp.relpath("deploy_param.params"), "wb") as fo:
    fo.write(relay.save_param_dict(lib.get_params()))
with open(temp.relpath("deploy_graph.json"), "w") as fo:
    fo.write(lib.get_graph_json())
print(temp.listdir(), os.path.exists(path_lib))

with open(temp.relpath("deploy_graph.json")) as fi:
    graph = json.load(fi)
print([node["op"] for node in graph["nodes"]], graph["heads"][0][0])
loaded_lib = tvm.runtime.load_module(path_lib)
with open(temp.relpath("deploy_param.params"), "rb") as fi:
    loaded_params = bytearray(fi.read())
gmod = graph_executor.GraphModule(loaded_lib["default"](tvm.cpu()))
gmod.load_params(loaded_params)
gmod.set_input(x=np.random.RandomState(0).rand(10, 5).astype("float32"))
gmod.run()
tvm.testing.assert_allclose(gmod.get_output(0).numpy(), np.random.RandomState(0).rand(10, 5) + 1, rtol=1e-6)

with open(temp.relpath("program.json"), "w") as fo:
    fo.write(tvm.ir.save_json(tvm.IRModule.from_expr(func)))
with open(temp.relpath("program.json")) as fi:
    restored = tvm.ir.load_json(fi.read())
print(tvm.ir.structural_equal(restored["main"], func))
back = tvm.runtime.load_param_dict(tvm.runtime.save_param_dict(params))
print({name: value.numpy().tolist() for name, value in back.items()})
temp.remove()
