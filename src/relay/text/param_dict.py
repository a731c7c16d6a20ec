"""Parameters by name as the bytes of a `.params` file.

They are, little-endian: an 8-byte magic number, 8 reserved bytes, the names (how many, then the length and
the UTF-8 bytes of each; all lengths are uint64), how many arrays there are, and a blob for each
(`relay.text.json_arrays`).
"""

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from relay.diagnostic import fail
from relay.ir.dtype import canonical, dtype_name
from relay.text.json_arrays import array_at, array_blob

MAGIC = 0xF7E58D4F05049CB7
_HEAD = Struct("<QQ")
_LENGTH = Struct("<Q")


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """Parameters by name as bytes; write them to a file whose name ends in `.params` (`input-dtype`)."""
    names = [name.encode() for name in params]
    parts = [_HEAD.pack(MAGIC, 0), _LENGTH.pack(len(names))]
    for name in names:
        parts += [_LENGTH.pack(len(name)), name]
    parts.append(_LENGTH.pack(len(names)))
    for name, value in params.items():
        array = np.asarray(value)
        if array.dtype.kind in "OSUMmc" or canonical(array.dtype.name) is None:
            fail(
                "input-dtype",
                f"the parameter `{name}` is of {array.dtype.name}, not of numbers",
            )
        parts.append(array_blob(array, dtype_name(array.dtype)))
    return b"".join(parts)


def load_param_dict(data: bytes, file: str = "") -> dict[str, NDArray[Any]]:
    """The parameters that `save_param_dict`, of Relay or of TVM, made bytes of (`bad-array`).

    The arrays share the memory of `data` and cannot be written to.  `file` is the name of the file that
    messages say.
    """
    return {name: read() for name, (_, read) in unread_params(bytes(data), file).items()}


def unread_params(
    data: bytes | memoryview, file: str = ""
) -> dict[str, tuple[tuple[int, ...], Callable[[], NDArray[Any]]]]:
    """The shape of each array in the bytes of a file of parameters, and what reads it (`bad-array`)."""
    what = f"`{file}`" if file else "a file of parameters"
    if len(data) < _HEAD.size or _HEAD.unpack_from(data)[0] != MAGIC:
        _refuse_file(what, "does not start with the magic number of the format")
    count, at = _length_at(data, _HEAD.size, what)
    names: list[str] = []
    for _ in range(count):
        length, at = _length_at(data, at, what)
        if length > len(data) - at:
            _refuse_file(what, "ends within a name")
        try:
            names.append(bytes(data[at : at + length]).decode())
        except UnicodeDecodeError:
            _refuse_file(what, "has a name that is not text")
        at += length
    arrays, at = _length_at(data, at, what)
    if arrays != len(names) or len(set(names)) < len(names):
        _refuse_file(what, f"has {len(set(names))} names for {arrays} arrays")
    unread: dict[str, tuple[tuple[int, ...], Callable[[], NDArray[Any]]]] = {}
    for name in names:
        shape, _, read, at = array_at(data, at, f"the array `{name}` of {what}")
        unread[name] = shape, read
    if at != len(data):
        _refuse_file(what, f"goes on for {len(data) - at} bytes after its last array")
    return unread


def _length_at(data: bytes | memoryview, at: int, what: str) -> tuple[int, int]:
    """A length, and where the next thing begins."""
    if len(data) - at < _LENGTH.size:
        _refuse_file(what, "is truncated")
    return _LENGTH.unpack_from(data, at)[0], at + _LENGTH.size


def _refuse_file(what: str, message: str) -> NoReturn:
    fail("bad-array", f"{what} {message}", hint="save it again")
