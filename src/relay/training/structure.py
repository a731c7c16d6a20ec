"""The state of a training run as two flat things: arrays, and a list of entries that JSON holds.

Entries are in postfix order, so that no depth of nesting overflows a stack: the parts of a tuple, list or
dict come before it, and it says how many they are or how they are called.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import Any, NoReturn, cast

import numpy as np

from relay.backend.xla.processes import gathered
from relay.diagnostic import fail
from relay.ir.dtype import DTYPES, dtype_name, to_numpy
from relay.ir.walk import run
from relay.tracing.pytree import LEAF, Node, Path, Where, parts_of

Entry = list[Any]
"""`["tuple", 2]`, `["list", 2]`, `["dict", ["a", "b"]]`, `["array", dtype, shape]`, `["number", dtype]` (a
NumPy number), `["float", text]`, `["value", v]` for what JSON has itself.
"""

STORED = frozenset(to_numpy(dtype) for dtype in DTYPES if dtype != "string")
"""The dtypes of arrays that have a size in bytes."""


def flatten(state: Any) -> tuple[list[Entry], list[np.ndarray[Any, Any]]]:
    """The entries and arrays of a state (`state-value`)."""
    entries: list[Entry] = []
    arrays: list[np.ndarray[Any, Any]] = []
    pending: list[tuple[Any, Entry | None]] = [(state, None)]
    while pending:
        value, ready = pending.pop()
        if ready is not None:
            entries.append(ready)
        elif isinstance(value, dict):
            parts = cast("dict[Any, Any]", value)
            if not all(type(name) is str for name in parts):
                _refuse("a dict with names that are not strings")
            pending.append((None, ["dict", list(parts)]))
            pending += [(part, None) for part in reversed(parts.values())]
        elif type(value) in (tuple, list):
            pending.append((None, [type(value).__name__, len(value)]))
            pending += [(part, None) for part in reversed(value)]
        elif value is not None and (found := parts_of(value)) is not None:
            _, names, fields = found  # of a dataclass or a named tuple
            pending.append((None, ["dict", list(names)]))
            pending += [(part, None) for part in reversed(fields)]
        else:
            entries.append(_leaf(value, arrays))
    return entries, arrays


def in_structure(state: Any, like: Any) -> Any:
    """A state in the containers of another: dicts that were dataclasses or named tuples are that again.

    Raises `ValueError` where the two differ.
    """
    return run(_in_structure(state, like, "state"))


def _in_structure(state: Any, like: Any, place: Where) -> Generator[Any, Any, Any]:
    found = parts_of(like)
    if found is None or like is None:
        return state
    kind, names, parts = found
    has_names, needs_names = issubclass(type(state), dict), bool(names) or kind is dict
    given: list[Any] = list(state) if type(state) in (tuple, list) else []
    if has_names:
        given = [state[name] for name in names if name in state]
    fits = has_names and len(state) == len(names) if needs_names else type(state) is kind
    if not fits or len(given) != len(parts):
        raise ValueError(f"has another structure than `like` at `{place}`")
    made: list[Any] = []
    for i, (part, wanted) in enumerate(zip(given, parts, strict=True)):
        made.append((yield _in_structure(part, wanted, Path(place, kind, names, i))))
    return Node(kind, names, (LEAF,) * len(made)).built(made)


def _leaf(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Entry:
    if value is None or type(value) in (bool, int, str):
        return ["value", value]
    if type(value) is float:
        return ["float", value.hex()]
    is_number = bool(isinstance(value, np.generic))
    if not is_number and not hasattr(value, "__array__"):
        _refuse(f"a value of type {type(value).__name__}")
    array: np.ndarray[Any, Any] = np.asarray(gathered(value))
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(array.shape)
    if array.dtype not in STORED:
        _refuse(f"an array of {array.dtype}")
    arrays.append(array)
    name = dtype_name(array.dtype)
    return ["number", name] if is_number else ["array", name, list(array.shape)]


def _refuse(what: str) -> NoReturn:
    fail(
        "state-value",
        f"{what} cannot be saved",
        hint="a state is made of arrays, numbers, texts and None, in dicts, tuples, lists and dataclasses",
    )


def unflatten(entries: Sequence[Entry], data: Sequence[bytes]) -> Any:
    """The state of these entries and the bytes of its arrays.  Raises `ValueError` if they do not fit."""
    done: list[Any] = []
    rest = iter(data)
    for kind, *said in entries:
        if kind in ("tuple", "list"):
            parts = _last(done, said[0])
            done.append(tuple(parts) if kind == "tuple" else parts)
        elif kind == "dict":
            done.append(dict(zip(said[0], _last(done, len(said[0])), strict=True)))
        elif kind in ("array", "number"):
            array = _array(rest, *said)
            done.append(array if kind == "array" else array[()])
        elif kind == "float":
            done.append(float.fromhex(said[0]))
        elif kind == "value":
            done.append(said[0])
        else:
            raise ValueError(f"its structure has an unknown entry {kind!r}")
    if len(done) != 1 or next(rest, None) is not None:
        raise ValueError("its structure and its arrays do not fit")
    return done[0]


def _last(done: list[Any], n: int) -> list[Any]:
    """The last `n` values, which are taken away."""
    parts = done[len(done) - n :]
    del done[len(done) - n :]
    return parts


def _array(rest: Iterator[bytes], dtype: str, shape: Sequence[int] = ()) -> np.ndarray[Any, Any]:
    data = next(rest, None)
    if data is None:
        raise ValueError("an array is missing")
    return np.frombuffer(bytearray(data), to_numpy(dtype)).reshape(shape)
