"""ONNX models: `from_onnx`, and in `backend` a standard ONNX backend."""

from relay.frontend.onnx.api import from_onnx as from_onnx
