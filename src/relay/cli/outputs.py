"""Where results go: `.npz`, `.safetensors` or `.json` files, whole or not at all."""

import json
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO

import numpy as np

from relay.cli.files import write_bytes
from relay.cli.json_values import as_json
from relay.diagnostic import fail
from relay.interpreter.value import ConstructorValue, is_tensor, is_tuple
from relay.ir.dtype import dtype_name
from relay.ir.type import TensorType
from relay.text.files import write_atomically
from relay.text.weights import KNOWN

RESULTS = (".npz", ".safetensors", ".json")
"""What the names of results end in."""
WIDER = {"int2": "int8", "int4": "int8", "uint2": "uint8", "uint4": "uint8"}
"""What integers become that a file cannot hold; floats become float32."""
NUMPY = KNOWN - {"bfloat16", "float8_e4m3fn", "float8_e5m2"}
"""The dtypes that are NumPy's own."""


def save(name: str, value: Any) -> None:
    """Write a value to a file of the kind that its name ends in (`not-tensors`)."""
    if name.endswith(".json"):
        write_bytes(name, as_json(value).encode())
        return
    arrays = tensors(value)
    if name.endswith(".npz"):
        write_atomically(name, lambda out: _write_npz(out, arrays))
    elif name.endswith(".safetensors"):
        from safetensors.numpy import save as to_safetensors

        strings = [k for k, a in arrays.items() if a.dtype == object]
        if strings:
            fail(
                "not-tensors",
                f"a .safetensors file holds no strings, as in `{strings[0]}`",
                hint="write an .npz file",
            )
        data = to_safetensors({k: np.ascontiguousarray(plain(a, KNOWN)) for k, a in arrays.items()})
        write_bytes(name, data)
    else:
        raise AssertionError("the command looks at the name first")


def described(value: Any) -> str:
    """A value as an object of JSON: `value`, as `.json` files have it, and `parts` (`not-tensors`).

    Parts are the value, or the fields of a tuple, those of inner tuples in their place: `name`, as files of
    tensors have it, `type`, and of a tensor `dtype` and `shape`, which other parts have null.
    """
    parts = json.dumps([_part(name, v) for name, v in _parts(value)])
    return f'{{"value": {as_json(value).rstrip()}, "parts": {parts}}}'


def _part(name: str, v: Any) -> dict[str, Any]:
    if isinstance(v, ConstructorValue):
        return {"name": name, "type": v.constructor.belong_to.name_hint, "dtype": None, "shape": None}
    array = np.asarray(v)
    dtype = "string" if isinstance(v, str) else dtype_name(array.dtype)
    t = TensorType(array.shape, dtype)
    return {"name": name, "type": str(t), "dtype": dtype, "shape": [*array.shape]}


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What is in a value besides tuples, by name: `result`, or for tuples `result.0`, `result.1.0`, …"""
    stack: list[tuple[str, Any]] = [("result", value)]
    while stack:
        name, v = stack.pop()
        if is_tuple(v):
            stack += [(f"{name}.{i}", field) for i, field in reversed(list(enumerate(v)))]
        else:
            yield name, v


def tensors(value: Any) -> dict[str, np.ndarray[Any, Any]]:
    """The tensors of a value by name: `result`, or for tuples `result.0`, `result.1.0`, … (`not-tensors`)."""
    found: dict[str, np.ndarray[Any, Any]] = {}
    for name, v in _parts(value):
        if is_tensor(v):
            found[name] = np.asarray(v)
        elif isinstance(v, str):
            found[name] = np.asarray(v, object)
        else:
            fail(
                "not-tensors",
                f"`{name}` is not a tensor, so a file of tensors cannot hold it",
                hint="write a .json file, which holds any data, or return tensors or tuples of tensors",
            )
    return found


def plain(array: np.ndarray[Any, Any], known: Collection[str] = NUMPY) -> np.ndarray[Any, Any]:
    """The array in a dtype that the file can hold: wider if need be, which is exact."""
    if array.dtype == object:
        return array.astype(str)
    if array.dtype.name in known:
        return array
    return array.astype(WIDER.get(array.dtype.name, "float32"))


def _write_npz(out: BinaryIO, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    savez: Any = np.savez  # its stubs take some names for options, as some versions do
    savez(out, **{k: plain(a) for k, a in arrays.items()})
