"""GGUF files: metadata by key, and tensors over the mapped bytes, block formats in their own blocks.

Source: the specification in ggml's `docs/gguf.md`.  Sizes are checked before anything of that size is made.
"""

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from relay.ir.dtype import to_numpy
from relay.models.blocks import BYTES, Blocks
from relay.models.tensor_files import damaged, mapped_bytes

MAGIC = b"GGUF"
LENGTH = struct.Struct("<Q")
"""How many bytes a string has, before these."""
VERSIONS = (2, 3)
SCALARS = "BbHhIifB??Qqd"
"""Of each type of a value, by its number, the code of `struct`; those of strings and arrays are not used."""
BOOL, STRING, ARRAY, LAST = 7, 8, 9, 12
FLOATS = {0: "float32", 1: "float16", 28: "float64", 30: "bfloat16"}
BLOCKS = {
    2: "q4_0", 3: "q4_1", 6: "q5_0", 7: "q5_1", 8: "q8_0", 10: "q2_k", 11: "q3_k", 12: "q4_k", 13: "q5_k",
    14: "q6_k", 20: "iq4_nl", 23: "iq4_xs",
}  # fmt: skip
"""Types of tensors by their numbers."""
MOST_AXES = 4
PART = re.compile(r"(.*)-00001-of-(\d{5})\.gguf\Z")


@dataclass(frozen=True)
class GGUF:
    """What a file holds: numbers, texts, lists of these by key; arrays and `Blocks` by name."""

    metadata: dict[str, Any]
    tensors: dict[str, Any]


class Reading:
    """A place in the bytes of a file."""

    def __init__(self, path: Path, data: np.ndarray[Any, Any]) -> None:
        """Begins at the first byte."""
        self.path, self.at = path, 0
        self.data = memoryview(cast("Any", data))

    def take(self, form: str) -> Any:
        """Numbers of a form of `struct`; what was next is done (`model-file`)."""
        size = struct.calcsize("<" + form)
        if size > len(self.data) - self.at:
            damaged(self.path, f"it ends after {len(self.data)} bytes, in the middle of its header")
        found = struct.unpack_from("<" + form, self.data, self.at)
        self.at += size
        return found[0] if len(found) == 1 else found

    def count(self, least: int) -> int:
        """How many things follow that have at least so many bytes each (`model-file`)."""
        n = self.take("Q")
        if n * least > len(self.data) - self.at:
            damaged(self.path, "its header announces more than the file has")
        return n

    def raw(self) -> bytes:
        """A string as its bytes."""
        n = self.count(1)
        self.at += n
        return bytes(self.data[self.at - n : self.at])

    def text(self) -> str:
        """A string (`model-file`)."""
        try:
            return self.raw().decode()
        except UnicodeDecodeError:
            return damaged(self.path, "a name is not UTF-8")

    def strings(self) -> list[str]:
        """A list of strings (`model-file`): vocabularies have some hundred thousand."""
        data, size = self.data, len(self.data)
        found: list[str] = []
        for _ in range(self.count(8)):
            begin = self.at + 8
            end = begin + (LENGTH.unpack_from(data, self.at)[0] if begin <= size else size)
            if end > size:
                damaged(self.path, "its header announces more than the file has")
            found.append(str(data[begin:end], "utf-8", "replace"))
            self.at = end
        return found

    def value(self, kind: int) -> Any:
        """A value of a type (`model-file`)."""
        if kind == STRING:
            return self.raw().decode(errors="replace")
        if kind == ARRAY:
            return self.values(self.take("I"))
        if kind > LAST:
            damaged(self.path, f"a value is of type {kind}, which there is not")
        return self.take(SCALARS[kind] if kind != BOOL else "?")

    def values(self, kind: int) -> list[Any]:
        """A list of values of a type, none of them a list (`model-file`)."""
        if kind == STRING:
            return self.strings()
        if kind == ARRAY or kind > LAST:
            damaged(self.path, f"a list is of type {kind}")
        form = SCALARS[kind] if kind != BOOL else "?"
        n = self.count(struct.calcsize("<" + form))
        return list(self.take(f"{n}{form}")) if n > 1 else [self.take(form) for _ in range(n)]


def read_gguf(path: Path) -> GGUF:
    """What a GGUF file holds, with those that continue it (`cannot-read`, `model-file`)."""
    part = PART.match(path.name)
    if part is None:
        return read_one(path)
    paths = [path.with_name(f"{part[1]}-{i + 1:05}-of-{part[2]}.gguf") for i in range(int(part[2]))]
    read = [read_one(p) for p in paths]
    return GGUF(read[0].metadata, {k: x for one in read for k, x in one.tensors.items()})


def read_one(path: Path) -> GGUF:
    """What one file holds (`cannot-read`, `model-file`)."""
    data = mapped_bytes(path)
    reading = Reading(path, data)
    if bytes(data[:4]) != MAGIC:
        damaged(path, "it does not begin as GGUF files do")
    _, version = reading.take("II")
    if version not in VERSIONS:
        damaged(path, f"its version is {version}; those that are read are {VERSIONS}")
    tensors, pairs = reading.count(24), reading.count(12)
    metadata: dict[str, Any] = {}
    for _ in range(pairs):
        key = reading.text()
        metadata[key] = reading.value(reading.take("I"))
    described = [described_tensor(reading) for _ in range(tensors)]
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or not 0 < alignment <= 1 << 20:
        damaged(path, f"its tensors are at multiples of {alignment}")
    begin = -(-reading.at // alignment) * alignment
    content = data[begin:]
    return GGUF(metadata, {name: make(content) for name, make in described})


def described_tensor(reading: Reading) -> tuple[str, Callable[[np.ndarray[Any, Any]], Any]]:
    """The name of a tensor, and what makes it of the bytes of all (`model-file`)."""
    name = reading.text()
    axes = reading.take("I")
    if axes > MOST_AXES:
        damaged(reading.path, f"{name!r} has {axes} axes")
    shape = tuple([reading.take("Q") for _ in range(axes)])[::-1]
    kind, offset = reading.take("IQ")
    return name, lambda content: tensor(reading.path, name, shape, kind, offset, content)


def tensor(
    path: Path, name: str, shape: tuple[int, ...], kind: int, offset: int, content: np.ndarray[Any, Any]
) -> Any:
    """An array, or `Blocks`, over the bytes of a file (`model-file`)."""
    count = 1
    for n in shape:
        count *= n
    if kind in FLOATS:
        size, numbers = np.dtype(to_numpy(FLOATS[kind])).itemsize, 1
    elif kind in BLOCKS:
        numbers, size = BYTES[BLOCKS[kind]]
    else:
        damaged(path, f"{name!r} is of type {kind}, which is not read")
    if numbers > 1 and (not shape or shape[-1] % numbers):
        damaged(path, f"the rows of {name!r} are not multiples of {numbers}")
    length = count // numbers * size
    if offset + length > len(content):
        damaged(path, f"the bytes of {name!r} are not in the file")
    data = content[offset : offset + length]
    if kind in BLOCKS:
        return Blocks(BLOCKS[kind], data.reshape(*shape[:-1], shape[-1] // numbers * size))
    found = np.frombuffer(data, to_numpy(FLOATS[kind])).reshape(shape)
    return found if found.flags.aligned else found.copy()
