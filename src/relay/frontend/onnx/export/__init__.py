"""Relay programs as ONNX models: a file per family of operators, as on the way in."""
