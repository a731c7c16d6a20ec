"""Tensors in `.safetensors` files, mapped into memory: nothing is read before it is used."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np

from relay.diagnostic import fail
from relay.ir.dtype import to_numpy
from relay.models.blocks import BYTES, Blocks

Array = np.ndarray[Any, Any]

DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}  # fmt: skip
"""Of the format's names, those of dtypes that NumPy or ml_dtypes have."""
MOST_HEADER_BYTES = 100_000_000
"""As in the format's own library."""
BLOCKS_KEY = "relay.blocks"
"""The key of the metadata under which formats of tensors are."""
INDEX = "model.safetensors.index.json"


def damaged(path: Path, why: str) -> NoReturn:
    """The diagnostic of a file that does not hold what its format says (`model-file`)."""
    fail("model-file", f"`{path}` is damaged: {why}", hint="fetch the file again")


def mapped_bytes(path: Path) -> Array:
    """The bytes of a file, mapped (`cannot-read`)."""
    try:
        if not path.stat().st_size:
            damaged(path, "it is empty")
        return np.memmap(path, np.uint8, mode="r")
    except OSError as error:
        fail("cannot-read", f"cannot read `{path}`: {error.strerror or error}")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file of JSON (`cannot-read`, `model-file`)."""
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        fail("cannot-read", f"cannot read `{path}`: {error.strerror or error}")
    except (ValueError, RecursionError) as error:
        damaged(path, f"it is not JSON ({error})")
    if not isinstance(found, dict):
        damaged(path, "it is not an object of JSON")
    return cast("dict[str, Any]", found)


def mapped_tensors(path: Path) -> dict[str, Any]:
    """The tensors of a `.safetensors` file by name: arrays and `Blocks` over its bytes.

    Raises `cannot-read`, `model-file`.
    """
    data = mapped_bytes(path)
    size = int.from_bytes(data[:8].tobytes(), "little") if len(data) >= 8 else -1
    if not 0 <= size <= min(len(data) - 8, MOST_HEADER_BYTES):
        damaged(path, "its header is longer than the file")
    try:
        header = json.loads(data[8 : 8 + size].tobytes())
    except (ValueError, RecursionError) as error:
        damaged(path, f"its header is not JSON ({error})")
    if not isinstance(header, dict):
        damaged(path, "its header names no tensors")
    content = data[8 + size :]
    described = cast("dict[str, Any]", header)
    formats = _formats(path, described.pop("__metadata__", None))
    found = {k: _tensor(path, k, v, content) for k, v in described.items()}
    return {k: _in_blocks(path, k, x, formats[k]) if k in formats else x for k, x in found.items()}


def _formats(path: Path, said: Any) -> Mapping[str, Any]:
    """The block formats of tensors that have one, by name."""
    text = cast("dict[str, Any]", said).get(BLOCKS_KEY) if isinstance(said, dict) else None
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError, TypeError):
        damaged(path, "it does not say which tensors are blocks")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _in_blocks(path: Path, name: str, x: Array, form: Any) -> Blocks:
    """Bytes that are blocks of a format."""
    if form not in BYTES or x.dtype != np.uint8 or not x.ndim or x.shape[-1] % BYTES[form][1]:
        damaged(path, f"{name!r} is not in blocks of {form!r}")
    return Blocks(form, x)


def _tensor(path: Path, name: str, said: Any, content: Array) -> Array:
    """One tensor, by what the header says of it."""
    try:
        dtype = np.dtype(to_numpy(DTYPES[said["dtype"]]))
        shape = tuple([int(n) for n in said["shape"]])
        begin, end = (int(n) for n in said["data_offsets"])
    except (TypeError, KeyError, ValueError, OverflowError):
        damaged(path, f"its header does not say how {name!r} is stored")
    count = 1
    for n in shape:
        count *= n
    if min(shape, default=0) < 0 or not 0 <= begin <= end <= len(content):
        damaged(path, f"the bytes of {name!r} are not in the file")
    if end - begin != count * dtype.itemsize:
        damaged(path, f"{name!r} has {end - begin} bytes, and its shape needs {count * dtype.itemsize}")
    found = np.frombuffer(content[begin:end], dtype).reshape(shape)
    return found if found.flags.aligned else found.copy()


def folder_tensors(folder: Path) -> dict[str, Any]:
    """All tensors of the `.safetensors` files of a folder (`model-file`, `cannot-read`)."""
    found: dict[str, Any] = {}
    for path in _parts(folder):
        found |= mapped_tensors(path)
    return found


def _parts(folder: Path) -> Iterator[Path]:
    index = folder / INDEX
    if index.exists():
        names = read_json(index).get("weight_map")
        if not isinstance(names, Mapping):
            damaged(index, "it has no `weight_map`")
        parts = sorted({str(v) for v in cast("Mapping[str, Any]", names).values()})
        if any(Path(name).name != name for name in parts):
            damaged(index, "it names files outside of its folder")
        yield from [folder / name for name in parts]
        return
    parts = sorted(folder.glob("*.safetensors"))
    if not parts:
        pickled = sorted(p.name for p in folder.glob("*.bin")) + sorted(p.name for p in folder.glob("*.pt*"))
        if pickled:
            fail(
                "model-file",
                f"`{folder}` has its weights in `{pickled[0]}`, a pickle, which could run code",
                hint="save them as .safetensors: `model.save_pretrained(folder)` of transformers does",
            )
        fail("model-file", f"`{folder}` has no .safetensors file", hint="fetch the weights into the folder")
    yield from parts
