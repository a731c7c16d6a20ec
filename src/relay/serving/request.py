"""A request for inference by the Open Inference Protocol: JSON, with tensors inside or as bytes behind it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from relay.diagnostic import did_you_mean
from relay.ir.dtype import is_float
from relay.serving.datatypes import DTYPES, from_bytes, from_json, is_list, is_object, refuse
from relay.serving.library import load
from relay.serving.model import Array, Model, TensorSpec

MAX_SIZE = 2**62
"""The largest size of an axis that a request may name."""
UNSUPPORTED = ("shared_memory_region", "classification", "sequence_id")
"""Parameters that ask for what this server does not do; others that it does not know mean nothing to it."""
EXAMPLE_ELEMENTS = {"bool": "true", "string": '"text"'}
"""Elements of examples in JSON; other dtypes have zeros."""


@dataclass(slots=True)
class Output:
    """An output that was asked for: its place among those of the model, and how it is sent."""

    index: int
    is_binary: bool


@dataclass(slots=True)
class Request:
    """What a client asks: one array for each input, in the order of the model."""

    id: str | None
    arrays: list[Array]
    outputs: list[Output]
    timeout_seconds: float | None = None


def read_request(body: bytes | bytearray, json_size: int | None, model: Model) -> Request:
    """The request in a body, of which the first `json_size` bytes are JSON, or all (`serve-request`)."""
    whole = memoryview(body)
    if json_size is not None and not 0 <= json_size <= len(whole):
        refuse(f"the header says that {json_size} bytes of {len(whole)} are JSON")
    text = whole if json_size is None else whole[:json_size]
    orjson = load("orjson")
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        refuse(f"the body is not JSON: {error}")
    if not is_object(found):
        refuse("the body is not a JSON object", _example(model.inputs))
    given_id = found.get("id")
    if given_id is not None and not isinstance(given_id, str):
        refuse("`id` is not a string")
    parameters = _parameters(found, "the request")
    binary = whole[len(text) :]
    return Request(
        given_id,
        _inputs(found.get("inputs"), binary, model),
        _outputs(found.get("outputs"), parameters, model.outputs),
        _timeout(parameters),
    )


def _example(inputs: Sequence[TensorSpec]) -> str:
    """Return a hint with a body of a request to a model with these inputs."""
    tensors: list[str] = []
    for spec in inputs[:4]:
        shape = [d if isinstance(d, int) else 1 for d in spec.shape]
        element = EXAMPLE_ELEMENTS.get(spec.dtype, "0.0" if is_float(spec.dtype) else "0")
        data = ", ".join([element] * min(prod(shape), 4)) + ", …" * (prod(shape) > 4)
        tensors.append(f'{json.dumps({**spec.metadata(), "shape": shape})[:-1]}, "data": [{data}]}}')
    return f'send a body such as {{"inputs": [{", ".join(tensors)}{", …" * (len(inputs) > 4)}]}}'


def _parameters(owner: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The parameters of a part of a request."""
    found: Any = owner.get("parameters")
    if found is None:
        return {}
    if not is_object(found):
        refuse(f"`parameters` of {where} is not an object")
    for name in UNSUPPORTED:
        if found.get(name):
            refuse(f"{where} asks for `{name}`, which this server does not have")
    return found


def _timeout(parameters: Mapping[str, Any]) -> float | None:
    """Seconds of the parameter `timeout`, which is in microseconds."""
    found = parameters.get("timeout")
    if found is None:
        return None
    if type(found) is not int or found <= 0:
        refuse("the parameter `timeout` is not a positive number of microseconds")
    return found / 1e6


def _inputs(found: Any, binary: memoryview, model: Model) -> list[Array]:
    """One array for each input, in the order of the model."""
    if not is_list(found):
        refuse("the request has no list `inputs`", _example(model.inputs))
    specs = {spec.name: spec for spec in model.inputs}
    arrays: dict[str, Array] = {}
    at = 0
    for given in found:
        spec = _spec_of(given, specs, "inputs")
        if spec.name in arrays:
            refuse(f"the input `{spec.name}` is given twice")
        size = _binary_size(given, spec.name)
        data = None if size is None else binary[at : at + size]
        if data is not None and len(data) != size:
            refuse(f"the body ends within the binary data of the input `{spec.name}`")
        arrays[spec.name] = _input(given, data, spec)
        at += size or 0
    if at != len(binary):
        refuse(f"{len(binary) - at} bytes follow the data of the inputs")
    missing = [f"`{name}`" for name in specs if name not in arrays]
    if missing:
        refuse(f"the request has no {'input' if len(missing) == 1 else 'inputs'} {', '.join(missing)}")
    return [arrays[name] for name in specs]


def _spec_of(given: Any, specs: Mapping[str, TensorSpec], where: str) -> TensorSpec:
    """The input or output of the model that a part of the request names."""
    if not is_object(given):
        refuse(f"an element of `{where}` is not an object")
    name = given.get("name")
    if not isinstance(name, str):
        refuse(f"an element of `{where}` has no `name`")
    if name not in specs:
        listing = ", ".join([f"`{n}`" for n in list(specs)[:8]]) or "none"
        refuse(
            f"the model has no {where[:-1]} `{name:.80}`", did_you_mean(name, specs) or f"it has {listing}"
        )
    return specs[name]


def _binary_size(given: Mapping[str, Any], name: str) -> int | None:
    """How many bytes an input has behind the JSON; None where its data are in there."""
    size = _parameters(given, f"the input `{name}`").get("binary_data_size")
    if size is None:
        return None
    if type(size) is not int or size < 0:
        refuse(f"`binary_data_size` of the input `{name}` is not a number of bytes")
    if "data" in given:
        refuse(f"the input `{name}` has both `data` and `binary_data_size`")
    return size


def _input(given: Mapping[str, Any], data: memoryview | None, spec: TensorSpec) -> Array:
    """The array of one input."""
    datatype: Any = given.get("datatype")
    shape: Any = given.get("shape")
    if datatype != spec.datatype:
        said = f"of the datatype {datatype:.20}" if isinstance(datatype, str) else "without a datatype"
        hint = "" if datatype in DTYPES else f"the protocol has {', '.join(DTYPES)}"
        refuse(f"the input `{spec.name}` is {spec.datatype}, and the request has it {said}", hint)
    if not is_list(shape) or not all(type(d) is int and 0 <= d < MAX_SIZE for d in shape):
        refuse(f"`shape` of the input `{spec.name}` is not a list of sizes")
    is_fit = len(shape) == len(spec.shape) and all(
        d == e for d, e in zip(shape, spec.shape, strict=True) if isinstance(e, int)
    )
    if not is_fit:
        expected = [d if isinstance(d, int) else -1 for d in spec.shape]
        refuse(f"the input `{spec.name}` has the shape {expected}, and the request {shape[:16]}")
    if data is None and "data" not in given:
        refuse(f"the input `{spec.name}` has neither `data` nor `binary_data_size`")
    try:
        if data is None:
            return from_json(given["data"], spec.dtype, tuple(shape), spec.name)
        return from_bytes(data, spec.dtype, tuple(shape), spec.name)
    except ValueError:  # NumPy's limit on the product of sizes, where one of them is 0
        refuse(f"no tensor has the shape {shape[:16]}")


def _outputs(found: Any, parameters: Mapping[str, Any], specs: Sequence[TensorSpec]) -> list[Output]:
    """What is asked for: all outputs, unless some are named."""
    is_binary = parameters.get("binary_data_output") is True
    if found is None or found == []:
        return [Output(i, is_binary) for i in range(len(specs))]
    if not is_list(found):
        refuse("`outputs` is not a list")
    by_name = {spec.name: i for i, spec in enumerate(specs)}
    named = {spec.name: spec for spec in specs}
    outputs: list[Output] = []
    for asked in found:
        name = _spec_of(asked, named, "outputs").name
        own = _parameters(asked, f"the output `{name}`").get("binary_data", is_binary)
        if type(own) is not bool:
            refuse(f"`binary_data` of the output `{name}` is not true or false")
        if any(o.index == by_name[name] for o in outputs):
            refuse(f"the output `{name}` is asked for twice")
        outputs.append(Output(by_name[name], own))
    return outputs
