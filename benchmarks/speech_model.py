"""A model like those that make speech of text, as an ONNX file of random weights quantised by ONNX Runtime:
integer convolutions along time with activations quantised as they come, integer products, and an LSTM.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

TOKENS, WIDTH = 96, 256
STAGES = ((256, 1, 3), (128, 4, 7), (64, 4, 11))
"""Channels, how many times as many places as before, and taps."""
DILATIONS = (1, 3, 5)
SLOPE = 0.1
SEED = 3


class Graph:
    """Nodes and weights as they are added."""

    def __init__(self) -> None:
        self.onnx: Any = import_module("onnx")
        self.rng = np.random.default_rng(SEED)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        """A node; the name of its result."""
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def weight(self, *shape: int) -> str:
        """Random numbers, such that sums of products stay as large as what is multiplied."""
        return self.value(self.rng.normal(size=shape) / np.sqrt(max(1, np.prod(shape[1:]))))

    def value(self, x: Any, dtype: str = "float32") -> str:
        """An array."""
        name = f"weight_{len(self.weights)}"
        self.weights.append(self.onnx.numpy_helper.from_array(np.asarray(x, dtype), name))
        return name

    def conv(self, x: str, inputs: int, outputs: int, taps: int, dilation: int = 1) -> str:
        """A convolution along time, that keeps it."""
        pad = dilation * (taps - 1) // 2
        return self.add(
            "Conv", x, self.weight(outputs, inputs, taps), self.weight(outputs), pads=[pad, pad],
            dilations=[dilation], kernel_shape=[taps],
        )  # fmt: skip

    def dense(self, x: str, inputs: int, outputs: int) -> str:
        """A product with a matrix, and a bias."""
        weight = self.value(self.rng.normal(size=(inputs, outputs)) / np.sqrt(inputs))
        return self.add("Add", self.add("MatMul", x, weight), self.weight(outputs))

    def lstm(self, x: str, width: int, hidden: int) -> str:
        """A bidirectional LSTM over `(time, 1, width)`."""
        made = self.add(
            "LSTM", x, self.weight(2, 4 * hidden, width), self.weight(2, 4 * hidden, hidden),
            self.weight(2, 8 * hidden), direction="bidirectional", hidden_size=hidden,
        )  # fmt: skip
        turned = self.add("Transpose", made, perm=[0, 2, 1, 3])
        return self.add("Reshape", turned, self.value([-1, 1, 2 * hidden], "int64"))


def speech_model(tokens: int | str = TOKENS) -> Any:
    """The model in float32: `(1, WIDTH, tokens)` to `(1, 1, samples)`."""
    g = Graph()
    x = "x"
    for _ in range(3):
        x = g.add("LeakyRelu", g.conv(x, WIDTH, WIDTH, 5), alpha=SLOPE)
    x = g.lstm(g.add("Transpose", x, perm=[2, 0, 1]), WIDTH, WIDTH // 2)
    for _ in range(2):
        inner = g.add("Relu", g.dense(x, WIDTH, 4 * WIDTH))
        x = g.add("Add", x, g.dense(inner, 4 * WIDTH, WIDTH))
    x = g.add("Transpose", x, perm=[1, 2, 0])
    width = WIDTH
    for channels, times, taps in STAGES:
        if times > 1:
            scales = g.value([1, 1, times], "float32")
            x = g.add("Resize", x, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric",
                      nearest_mode="floor")  # fmt: skip
        x = g.conv(x, width, channels, taps)
        for dilation in DILATIONS:
            inner = g.conv(g.add("LeakyRelu", x, alpha=SLOPE), channels, channels, taps, dilation)
            inner = g.conv(g.add("LeakyRelu", inner, alpha=SLOPE), channels, channels, taps)
            x = g.add("Add", x, inner)
        width = channels
    g.add("Tanh", g.conv(x, width, 1, 7))
    h = g.onnx.helper
    kind = g.onnx.TensorProto.FLOAT
    given = h.make_tensor_value_info("x", kind, [1, WIDTH, tokens])
    made = h.make_tensor_value_info(g.nodes[-1].output[0], kind, None)
    graph = h.make_graph(g.nodes, "speech", [given], [made], g.weights)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


def quantised_speech(folder: Path, tokens: int | str = TOKENS) -> str:
    """The file of the model with weights of 8 bits."""
    onnx, tools = import_module("onnx"), import_module("onnxruntime.quantization")
    plain, path = str(folder / "speech.plain.onnx"), str(folder / "speech.onnx")
    onnx.save(onnx.shape_inference.infer_shapes(speech_model(tokens)), plain)
    tools.quantize_dynamic(
        plain, path, weight_type=tools.QuantType.QUInt8, op_types_to_quantize=["Conv", "MatMul", "LSTM"]
    )
    return path
