"""Models of PyTorch by way of ONNX, on the interpreter and as machine code: PyTorch says what is right."""

import io
import warnings

import pytest

pytest.importorskip("torch", reason="needs the torch extra")
pytest.importorskip("onnx", reason="needs the onnx extra")
pytest.importorskip("onnxscript", reason="PyTorch exports by it")

import numpy as np
import onnx
import torch

from frontend.torch_models import MODELS, OF_TRANSFORMERS, made
from relay.frontend.onnx import backend

pytestmark = [pytest.mark.torch, pytest.mark.onnx, pytest.mark.long]
TRACED = ("T5",)
"""What PyTorch's exporter refuses, and the one before it does not."""


def exported(model, inputs, traced: bool):
    """A module as a model of ONNX."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if traced:
            torch.onnx.export(model, inputs, file, dynamo=False, opset_version=17)
            return onnx.load_from_string(file.getvalue())
        return torch.onnx.export(model, inputs, dynamo=True, verbose=False).model_proto


def parts(x):
    return [x] if isinstance(x, torch.Tensor) else [p for v in x for p in parts(v)]


@pytest.mark.parametrize("name", MODELS)
def test_an_exported_model_gives_what_pytorch_gives(name):
    if name in OF_TRANSFORMERS:
        pytest.importorskip("transformers")
    model, inputs = made(name)
    proto = exported(model, inputs, name in TRACED)
    expected = [p.detach().numpy() for p in parts(model(*inputs))]
    for executor in ("debug", "native"):
        found = backend.prepare(proto, executor=executor).run([x.numpy() for x in inputs])
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)
