"""Saved programs: `.relay` text, and a `.safetensors` file beside it for the large constants.

The text refers to tensor `i` of that file as `meta[relay.Constant][i]`.  Base types that safetensors does
not have are stored as bytes, and the file's own metadata says what they are.  Each file is replaced as a
whole or not at all.
"""

# What a file holds has no static type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from relay.diagnostic import RelayError, Report, fail
from relay.ir.dtype import to_numpy
from relay.ir.expr import Constant
from relay.ir.module import IRModule
from relay.ir.same import constant_type
from relay.ir.type import TensorType
from relay.text.files import as_text, read_file, write_atomically
from relay.text.printer import module_text

MARK = "relay-constants"
KNOWN = frozenset(
    {
        "bool",
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2",
        *[f"float{b}" for b in (16, 32, 64)],
        *[f"{sign}int{b}" for sign in ("", "u") for b in (8, 16, 32, 64)],
    }
)
"""The base types that a weights file holds as such; elements of others are stored as bytes."""


def weights_path(path: Path) -> Path:
    """Where the constants of a program are kept."""
    return path.with_suffix(".safetensors")


def save(mod: IRModule, path: str | Path) -> None:
    """Write a module to `path` (`model.relay`), and its large constants to `model.safetensors` beside it.

    A weights file of an earlier save is removed when nothing is left for it.  Raises `cannot-write`.
    """
    path = Path(path)
    kept: list[Constant] = []
    index: dict[Any, int] = {}

    def keep(c: Constant) -> str:
        i = index.setdefault((id(c.value), c.type), len(kept))
        if i == len(kept):
            kept.append(c)
        return f"meta[relay.Constant][{i}]"

    text = module_text(mod, header=True, keep=keep)
    beside = weights_path(path)
    if kept:
        data = _serialized(kept)
        write_atomically(str(beside), lambda out: out.write(data))
    elif beside.exists() and _is_ours(beside):
        beside.unlink()
    write_atomically(str(path), lambda out: out.write(text.encode()))


def load(path: str | Path) -> IRModule:
    """The module that a file holds: text, with its weights file if it needs one, or the JSON of older
    programs.

    Raises `cannot-read`, `not-text`, `missing-weights`, `bad-array-file`, and what is wrong with the text.
    """
    path = Path(path)
    text = as_text(read_file(str(path)), str(path))
    if text.lstrip().startswith("{"):
        from relay.text.json_format import load_json

        found = load_json(text)
        return found if isinstance(found, IRModule) else IRModule.from_expr(found)
    return read_program(text, str(path), path)


def read_program(text: str, source_name: str, path: Path | None, warnings: Report | None = None) -> IRModule:
    """The module of a text that was read from `path`; its weights are read if it refers to any."""
    from relay.text.parser import parse

    problem: RelayError | None = None
    constants: Mapping[str, list[Any]] | None = None
    if path is not None and "meta[" in text and "#[metadata]" not in text:
        try:
            constants = {"relay.Constant": read_constants(weights_path(path))}
        except RelayError as error:
            problem = error
    try:
        return parse(text, source_name, path=path, init_meta=constants, warnings=warnings)
    except RelayError as error:
        if problem is not None and "missing-metadata" in error.codes:
            raise problem from None
        raise


def read_constants(path: Path) -> list[Constant]:
    """The constants that `save` put into a weights file (`missing-weights`, `bad-array-file`)."""
    from safetensors import SafetensorError, deserialize

    if not path.exists():
        fail(
            "missing-weights",
            f"the constants of the program are in `{path}`, which is not there",
            hint="keep the .relay file and its .safetensors file together",
        )
    data = read_file(str(path))
    said = _metadata(data)
    try:
        tensors = dict(deserialize(data))
    except SafetensorError as error:
        fail(
            "bad-array-file",
            f"`{path}` is not a sound .safetensors file: {error}",
            hint="save the program again",
        )
    if said.get("format") != MARK:
        fail(
            "bad-array-file",
            f"`{path}` does not hold the constants of a program",
            hint="weights by name are inputs: give the file to `relay run` after the program",
        )
    dtypes = json.loads(said.get("dtypes", "[]"))
    if len(dtypes) != len(tensors) or any(str(i) not in tensors for i in range(len(dtypes))):
        fail("bad-array-file", f"`{path}` lacks some of its constants", hint="save the program again")
    return [_constant(tensors[str(i)], dtype) for i, dtype in enumerate(dtypes)]


def _constant(tensor: Mapping[str, Any], dtype: str) -> Constant:
    value = np.frombuffer(tensor["data"], to_numpy(dtype)).reshape(tensor["shape"])
    return Constant(value, TensorType(value.shape, dtype))


def _serialized(constants: list[Constant]) -> bytes:
    from safetensors.numpy import save as to_safetensors

    arrays: dict[str, Any] = {}
    dtypes: list[str] = []
    for i, c in enumerate(constants):
        t = constant_type(c)
        assert t is not None, "an open literal is always in the text"
        dtypes.append(str(t.dtype))
        value = np.ascontiguousarray(c.value)
        arrays[str(i)] = value if dtypes[-1] in KNOWN else value.view(np.uint8)
    return to_safetensors(arrays, {"format": MARK, "dtypes": json.dumps(dtypes)})


def _metadata(data: bytes) -> dict[str, Any]:
    """What a .safetensors file says about itself, as far as it can be read."""
    size = int.from_bytes(data[:8], "little")
    try:
        head = json.loads(data[8 : 8 + size]) if size < len(data) else {}
    except (ValueError, RecursionError):
        return {}
    said = head.get("__metadata__", {}) if isinstance(head, dict) else {}
    return said if isinstance(said, dict) else {}


def _is_ours(path: Path) -> bool:
    try:
        return _metadata(read_file(str(path))).get("format") == MARK
    except RelayError:
        return False
