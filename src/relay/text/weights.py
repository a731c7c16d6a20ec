"""Saved programs: `.relay` text, and a `.safetensors` file beside it for the large constants.

The text refers to tensor `i` of that file as `meta[relay.Constant][i]`.  Dtypes that safetensors does not
have are stored as bytes, and the file's own metadata says what they are.  Both files are replaced together or
not at all.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np

from relay.diagnostic import RelayError, Report, fail
from relay.ir.dtype import canonical, to_numpy
from relay.ir.expr import Constant, Expr, RelayExpr
from relay.ir.module import IRModule
from relay.ir.same import constant_type
from relay.ir.type import TensorType
from relay.text.files import Write, as_text, read_file, write_files
from relay.text.printer import module_text

SUFFIX = ".safetensors"
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
"""The dtypes that a weights file holds as such; elements of others are stored as bytes."""
_JSON = re.compile(r'\s*\{\s*"(?:root|nodes|b64ndarrays|attrs)"\s*:')


def weights_path(path: Path) -> Path:
    """Where the constants of a program are kept."""
    return path.with_suffix(SUFFIX)


# --- saving -------------------------------------------------------------------------------------------------


def save(mod: IRModule, path: str | Path) -> None:
    """Write a module to `path` (`model.relay`), and its large constants to `model.safetensors` beside it.

    A weights file of an earlier save is removed when nothing is left for it.  Raises `cannot-write`, and then
    nothing is changed.
    """
    write_program(Path(path), *split(mod))


def split(mod: IRModule) -> tuple[str, list[Constant]]:
    """The text of a module, and the large constants that it refers to."""
    kept: list[Constant] = []
    index: dict[Any, int] = {}

    def keep(c: Constant) -> str:
        i = index.setdefault((id(c.value), c.type), len(kept))
        if i == len(kept):
            kept.append(c)
        return f"meta[relay.Constant][{i}]"

    return module_text(mod, header=True, keep=keep), kept


def write_program(path: Path, text: str, kept: list[Constant]) -> None:
    """Write the parts of a module as `save` does (`cannot-write`)."""
    if path.suffix == SUFFIX:
        fail("cannot-write", f"`{path}` is the name of a weights file", hint="call the program `….relay`")
    data, beside = text.encode(), weights_path(path)
    weights = _serialized(kept) if kept else b""
    files: list[tuple[str, Write]] = [(str(path), lambda out: out.write(data))]
    if kept:
        files.insert(0, (str(beside), lambda out: out.write(weights)))
    write_files(files)
    if not kept and beside.exists() and _is_ours(beside):
        beside.unlink()


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


def _is_ours(path: Path) -> bool:
    try:
        return _metadata(read_file(str(path))).get("format") == MARK
    except RelayError:
        return False


# --- loading ------------------------------------------------------------------------------------------------


def load(path: str | Path) -> IRModule:
    """The module that a file holds: text, with its weights file if it needs one, or JSON of older programs.

    Raises `cannot-read`, `not-text`, `missing-weights`, `bad-array-file`, and what is wrong with the text.
    """
    path = Path(path)
    text = as_text(read_file(str(path)), str(path))
    return _from_json(text, path) if is_json(text) else read_program(text, str(path), path)


def is_json(text: str) -> bool:
    """Whether a text is the JSON of an older program."""
    return _JSON.match(text) is not None


def _from_json(text: str, path: Path) -> IRModule:
    from relay.text.json_format import load_json

    found = load_json(text)
    if isinstance(found, IRModule):
        return found
    if not isinstance(found, RelayExpr):
        what = type(found).__name__
        fail(
            "bad-json", f"`{path}` holds no program but a {what}", hint="`relay.load_json` reads other things"
        )
    return IRModule.from_expr(cast("Expr", found))


def read_program(text: str, source_name: str, path: Path | None, warnings: Report | None = None) -> IRModule:
    """The module of a text that was read from `path`; its weights are read if it refers to any."""
    from relay.text.parser import parse_module

    weights = None if path is None else lambda: read_constants(weights_path(path))
    return parse_module(text, source_name, path=path, weights=weights, warnings=warnings)


def read_constants(path: Path) -> list[Constant]:
    """The constants that `save` put into a weights file (`missing-weights`, `bad-array-file`)."""
    if not path.exists():
        fail(
            "missing-weights",
            f"the constants of the program are in `{path}`, which is not there",
            hint="keep the .relay file and its .safetensors file together",
        )
    data = read_file(str(path))
    tensors = _tensors(data, path)
    said = _metadata(data)
    if said.get("format") != MARK:
        fail(
            "bad-array-file",
            f"`{path}` does not hold the constants of a program",
            hint="weights by name are inputs: give the file to `relay run` after the program",
        )
    dtypes = _dtypes(said)
    if len(dtypes) != len(tensors) or any(str(i) not in tensors for i in range(len(dtypes))):
        _unsound(path, "its constants and what it says of them differ")
    try:
        return [_load_constant(tensors[str(i)], dtype) for i, dtype in enumerate(dtypes)]
    except (ValueError, TypeError) as error:
        _unsound(path, str(error))


def _tensors(data: bytes, path: Path) -> dict[str, Mapping[str, Any]]:
    """The tensors of a weights file by name: of each the `shape`, and the `data` as bytes."""
    import safetensors

    library: Any = safetensors
    try:
        return dict(library.deserialize(data))
    except safetensors.SafetensorError as error:
        _unsound(path, str(error))


def _unsound(path: Path, why: str) -> NoReturn:
    fail("bad-array-file", f"`{path}` is not a valid weights file: {why}", hint="save the program again")


def _metadata(data: bytes) -> dict[str, Any]:
    """What a .safetensors file says about itself, as far as it can be read."""
    size = int.from_bytes(data[:8], "little")
    try:
        head: Any = json.loads(data[8 : 8 + size]) if size < len(data) else {}
        return dict(head["__metadata__"])
    except (ValueError, RecursionError, TypeError, KeyError):
        return {}


def _dtypes(said: Mapping[str, Any]) -> list[str]:
    """The dtypes of all constants, in order; empty if that cannot be read."""
    try:
        found: Any = json.loads(said.get("dtypes", "[]"))
        return [dtype for dtype in found if canonical(dtype) == dtype]
    except (ValueError, RecursionError, TypeError):
        return []


def _load_constant(tensor: Mapping[str, Any], dtype: str) -> Constant:
    value = np.frombuffer(tensor["data"], to_numpy(dtype)).reshape(tensor["shape"])
    if dtype == "bool":
        value = value.view(np.uint8) != 0
    return Constant(value, TensorType(value.shape, dtype))
