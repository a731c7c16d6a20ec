"""Importers by known names of formats that are read by way of ONNX."""

from collections.abc import Callable
from typing import Any, NoReturn

from relay.diagnostic import caller_span, fail

__all__ = [
    "from_caffe", "from_caffe2", "from_coreml", "from_darknet", "from_keras", "from_mxnet", "from_oneflow",
    "from_paddle", "from_tensorflow", "from_tflite",
]  # fmt: skip


def _by_onnx(system: str, converter: str) -> Callable[..., NoReturn]:
    """An importer that says what to do."""

    def read(*_: Any, **__: Any) -> NoReturn:
        hint = f"{converter} writes them as ONNX, which `relay.frontend.from_onnx` reads"
        fail("no-importer", f"models of {system} are not read here", caller_span(), hint=hint)

    read.__doc__ = f"Models of {system} are read by way of ONNX."
    return read


from_tensorflow = _by_onnx("TensorFlow", "`python -m tf2onnx.convert --saved-model`")
from_keras = _by_onnx("Keras", "`python -m tf2onnx.convert --keras`")
from_tflite = _by_onnx("TensorFlow Lite", "`python -m tf2onnx.convert --tflite`")
from_paddle = _by_onnx("Paddle", "`paddle2onnx`")
from_mxnet = _by_onnx("MXNet", "`mxnet.onnx.export_model`")
from_coreml = _by_onnx("Core ML", "`onnxmltools`")
from_oneflow = _by_onnx("OneFlow", "`oneflow_onnx`")
from_caffe = from_caffe2 = _by_onnx("Caffe", "`caffe2onnx`")
from_darknet = _by_onnx("Darknet", "an exporter such as that of YOLO's authors")
