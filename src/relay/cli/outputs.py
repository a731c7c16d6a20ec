"""Where results go: `.npz`, `.safetensors` or `.json` files, whole or not at all."""

from collections.abc import Collection
from typing import Any, BinaryIO

import numpy as np

from relay.cli.files import write_bytes
from relay.cli.json_values import as_json
from relay.diagnostic import fail
from relay.interpreter.value import is_tensor, is_tuple
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


def tensors(value: Any) -> dict[str, np.ndarray[Any, Any]]:
    """The tensors of a value by name: `result`, or for tuples `result.0`, `result.1.0`, … (`not-tensors`)."""
    found: dict[str, np.ndarray[Any, Any]] = {}
    stack: list[tuple[str, Any]] = [("result", value)]
    while stack:
        name, v = stack.pop()
        if is_tuple(v):
            stack += [(f"{name}.{i}", field) for i, field in reversed(list(enumerate(v)))]
        elif is_tensor(v):
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
