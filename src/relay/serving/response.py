"""Answers of the Open Inference Protocol: outputs as JSON, or as bytes behind it, and errors."""

from collections.abc import Mapping, Sequence
from typing import Any

from relay.diagnostic import RelayError
from relay.serving.datatypes import to_bytes, to_json
from relay.serving.library import load
from relay.serving.model import Array, Model
from relay.serving.request import Request

JSON_SIZE = b"inference-header-content-length"
"""The header that says how many bytes of a body are JSON, where others follow."""
Headers = list[tuple[bytes, bytes]]
STATUS = {"serve-request": 400, "argument-type": 400, "argument-count": 400, "constraint-not-met": 400}
"""What codes answer that name a mistake in the request."""
FAILED, BROKEN = 422, 500
BROKEN_CODES = ("out-of-memory", "recursion-limit")
"""Failures that are not of the values of a request alone."""


def infer_response(
    request: Request, outputs: Sequence[Array], model: Model, name: str, version: str
) -> tuple[Headers, bytes]:
    """The headers and the body that answer a request (`serve-request` for NaN in JSON)."""
    described: list[dict[str, Any]] = []
    binary: list[Any] = []
    for asked in request.outputs:
        spec, array = model.outputs[asked.index], outputs[asked.index]
        one: dict[str, Any] = {"name": spec.name, "datatype": spec.datatype, "shape": array.shape}
        if asked.is_binary:
            data = to_bytes(array, spec.dtype)
            one["parameters"] = {"binary_data_size": len(data)}
            binary.append(data)
        else:
            one["data"] = to_json(array, spec.dtype, spec.name)
        described.append(one)
    found: dict[str, Any] = {"model_name": name, "model_version": version, "outputs": described}
    if request.id is not None:
        found["id"] = request.id
    text = json_bytes(found)
    if not binary:
        return [(b"content-type", b"application/json")], text
    headers = [(b"content-type", b"application/octet-stream"), (JSON_SIZE, b"%d" % len(text))]
    return headers, b"".join([text, *binary])


def json_bytes(value: Mapping[str, Any] | Sequence[Any]) -> bytes:
    """A value as JSON, arrays inside as lists."""
    orjson = load("orjson")
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def error_of(error: BaseException) -> tuple[int, str, str]:
    """The status, code and text that answer a request which ended in an error."""
    if isinstance(error, RelayError):
        code = error.codes[0]
        status = STATUS.get(code, BROKEN if code in BROKEN_CODES else FAILED)
        return status, code, str(error)
    return BROKEN, "internal", f"the model failed: {type(error).__name__}"


def error_body(text: str, code: str) -> bytes:
    """An error as the protocol has it, with its code beside it."""
    return json_bytes({"error": text, "code": code})
