"""The servers that `benchmarks/serve.py` compares: one server, models of Relay or of ONNX Runtime.

Both engines get the same programs.  Where the first axis is open, both join requests along it; where it is 1,
neither joins any.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import relay
from relay import testing
from relay.diagnostic import fail
from relay.driver.arguments import with_params
from relay.frontend import to_onnx
from relay.ir.type import Kind, TypeVar
from relay.serving.app import make_app, make_state
from relay.serving.model import Array, Joining, TensorSpec, fits
from relay.serving.program import program_model
from relay.serving.server import bound_socket, serve_until_stopped
from relay.serving.settings import Settings
from relay.testing import layers, transformer

HOST = "127.0.0.1"
LENGTH, HIDDEN, HEADS, BLOCKS = 64, 256, 4, 4
Workload = tuple[relay.IRModule, dict[str, Any]]


def mlp() -> Workload:
    """784-512-512-10 with rectifiers."""
    x: Any = relay.var("data", shape=(rows(), 784), dtype="float32")
    for i, units in enumerate((512, 512, 10)):
        x = layers.dense_add_bias(x, units=units, name=f"fc{i}")
        x = relay.nn.relu(x) if i < 2 else x
    return testing.create_workload(layers.network(x))


def resnet() -> Workload:
    """ResNet-18 for images of 224 by 224."""
    return testing.resnet.get_workload(rows(), num_layers=18)


def resnet_of_one() -> Workload:
    """The same for one image."""
    return testing.resnet.get_workload(1, num_layers=18)


def encoder() -> Workload:
    """Four layers of BERT, of width 256 on 64 places; `reshape` finds the batch, which is open."""
    x: Any = relay.var("data", shape=(rows(), LENGTH, HIDDEN), dtype="float32")
    for i in range(BLOCKS):
        x = block(x, f"layer{i}")
    return testing.create_workload(layers.network(x))


def block(x: Any, name: str) -> Any:
    """Attention and a perceptron, as in `relay.testing.transformer`, which needs a batch that is known."""
    size = HIDDEN // HEADS

    def projected(part: str) -> Any:
        y = layers.dense_add_bias(x, units=HIDDEN, name=f"{name}_{part}")
        y = relay.transpose(relay.reshape(y, (-1, LENGTH, HEADS, size)), axes=(0, 2, 1, 3))
        return relay.reshape(y, (-1, LENGTH, size))

    scores = relay.multiply(relay.nn.batch_matmul(projected("query"), projected("key")), size**-0.5)
    mixed = relay.nn.batch_matmul(relay.nn.softmax(scores), projected("value"), transpose_b=False)
    mixed = relay.transpose(relay.reshape(mixed, (-1, HEADS, LENGTH, size)), axes=(0, 2, 1, 3))
    mixed = layers.dense_add_bias(relay.reshape(mixed, (-1, LENGTH, HIDDEN)), units=HIDDEN, name=f"{name}_o")
    x = transformer.norm(relay.add(x, mixed), f"{name}_norm1")
    y = transformer.gelu_erf(layers.dense_add_bias(x, units=4 * HIDDEN, name=f"{name}_fc1"))
    y = layers.dense_add_bias(y, units=HIDDEN, name=f"{name}_fc2")
    return transformer.norm(relay.add(x, y), f"{name}_norm2")


def rows() -> Any:
    """The size of the first axis, which is open."""
    return TypeVar("n", Kind.Dim)


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "mlp": mlp, "resnet18": resnet, "resnet18-1": resnet_of_one, "encoder": encoder,
}  # fmt: skip
TITLES = {
    "mlp": "MLP 784-512-512-10",
    "resnet18": "ResNet-18",
    "resnet18-1": "ResNet-18, not joined",
    "encoder": f"BERT, {BLOCKS} layers of width {HIDDEN}, {LENGTH} tokens",
}
IMAGE = (1, 3, 224, 224)
SHAPES = {"mlp": (1, 784), "resnet18": IMAGE, "resnet18-1": IMAGE, "encoder": (1, LENGTH, HIDDEN)}
"""One request."""


class OnnxRuntimeModel:
    """An ONNX model in ONNX Runtime, for Relay's server."""

    platform = "onnxruntime_onnx"

    def __init__(self, model: Any, threads: int) -> None:
        ort: Any = import_module("onnxruntime")
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        self.inputs = [TensorSpec(x.name, "float32", tuple(x.shape)) for x in self.session.get_inputs()]
        self.outputs = [TensorSpec(y.name, "float32", tuple(y.shape)) for y in self.session.get_outputs()]
        self.joining = Joining.ALONE if isinstance(self.inputs[0].shape[0], int) else Joining.ROWS

    def check(self, arrays: Sequence[Array]) -> None:
        """Raise `serve-request` for arrays that are not of the types of the inputs."""
        if not fits(arrays, self.inputs):
            fail("serve-request", "an input has another shape")

    def __call__(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """The outputs."""
        return self.session.run(None, {x.name: a for x, a in zip(self.inputs, arrays, strict=True)})

    def stacked(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """No model here is stacked."""
        raise AssertionError


def relay_model(workload: Workload, threads: int) -> Any:
    """A program compiled by Relay."""
    mod, params = workload
    fn: Any = mod["main"]
    join = "off" if isinstance(fn.params[0].type_annotation.shape[0], int) else "auto"
    return program_model(with_params(mod, params), join=join, threads=threads)


def onnx_runtime_model(workload: Workload, threads: int) -> Any:
    """The same program, exported."""
    return OnnxRuntimeModel(to_onnx(*workload), threads)


ENGINES = {"Relay": relay_model, "ONNX Runtime": onnx_runtime_model}


def serve(pipe: Connection, engine: str, names: Sequence[str], threads: int, settings: Settings) -> None:
    """A server of one engine, which says its port; it ends by SIGTERM."""
    models = {name: ENGINES[engine](WORKLOADS[name](), threads) for name in names}
    for name, model in models.items():
        assert model.joining is (Joining.ALONE if name.endswith("-1") else Joining.ROWS)
        model([np.zeros(SHAPES[name], "float32")])
    listening = bound_socket(HOST, 0)
    listening.listen(256)
    pipe.send(listening.getsockname()[1])
    serve_until_stopped(make_app(make_state(models, settings)), listening)
