"""Constants of a library: tensors in its read-only data.

LLVM reads programs as text, in which megabytes of weights take minutes.  So the object code is made with room
for the elements of all constants, zeros behind a mark, and these are written to it afterwards.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from relay.backend.native.memory.layout import (
    TENSOR_BYTES_OFFSET,
    TENSOR_DATA_OFFSET,
    TENSOR_SIZES_OFFSET,
)
from relay.backend.native.memory.tensors import ALIGNMENT, TEXTS
from relay.backend.stored import align_up
from relay.diagnostic import fail

MARK_BYTES = ALIGNMENT
MAX_WEIGHT_BYTES = 1_900_000_000
"""Bytes of all constants: code reaches what is within 2 GiB of it."""


class Weights:
    """The elements of constants, one after the other."""

    def __init__(self) -> None:
        """None."""
        self.pieces: list[bytes] = []
        self.end = 0
        self.places: dict[bytes, int] = {}

    def add(self, data: bytes) -> int:
        """Where elements are, from the start of all; the same ones are there once."""
        known = hashlib.blake2b(data, digest_size=16).digest()
        if known not in self.places:
            start = align_up(self.end, ALIGNMENT)
            self.pieces += [bytes(start - self.end), data]
            self.places[known], self.end = start, start + len(data)
            if self.end > MAX_WEIGHT_BYTES:
                fail(
                    "no-library",
                    f"the constants take more than {MAX_WEIGHT_BYTES / 1e9:.1f} GB, too much for a library",
                    hint="let the entry take weights as parameters, or keep fewer bits (`--precision`)",
                )
        return self.places[known]

    @property
    def mark(self) -> bytes:
        """What the room for them begins with: bytes that code and tables do not have by accident."""
        return hashlib.blake2b(b"room for weights", digest_size=MARK_BYTES).digest()

    def room(self) -> str:
        """LLVM IR of the room for them."""
        mark = "".join([f"\\{byte:02X}" for byte in self.mark])
        kind = f"<{{ [{MARK_BYTES} x i8], [{max(1, self.end)} x i8] }}>"
        return (
            f"@relay.weights = internal constant {kind} "
            f'<{{ [{MARK_BYTES} x i8] c"{mark}", [{max(1, self.end)} x i8] zeroinitializer }}>, '
            f"align {ALIGNMENT}"
        )

    def fill(self, code: bytes) -> bytes:
        """Object code with the elements in the room for them; there is none if nothing refers to it."""
        at = code.find(self.mark)
        if at < 0:
            return code
        assert code.find(self.mark, at + 1) < 0, "object code has one room for weights"
        start = at + MARK_BYTES
        assert not any(code[start : min(start + self.end, start + 4096)]), "the room is zeros"
        return b"".join([code[:start], *self.pieces, code[start + self.end :]])


def constant_tables(images: Sequence[Any], table: Sequence[int], weights: Weights, section: str) -> str:
    """LLVM IR of constants, given as images of tensors, and of the table that the code reads; the elements go
    to `weights`.
    """
    lines = [tensor(i, whole, weights, section) for i, whole in enumerate(images)]
    rows = ", ".join([f"ptr @relay.constant.{number}" for number in table]) or "ptr null"
    lines.append(f"@relay.constants = global [{max(1, len(table))} x ptr] [{rows}], section {section}")
    return "\n".join(lines)


def tensor(number: int, whole: Any, weights: Weights, section: str) -> str:
    """LLVM IR of a constant: its head, with addresses."""
    words: list[int] = whole[: len(whole) // 8 * 8].view("uint64")[: TENSOR_SIZES_OFFSET // 8].tolist()
    head, start, end = words[0], words[TENSOR_DATA_OFFSET // 8], words[TENSOR_BYTES_OFFSET // 8]
    sizes = whole[TENSOR_SIZES_OFFSET : start // 8 * 8].view("int64").tolist()
    if head >> 48 == TEXTS:
        texts = weights.add(whole[end:].tobytes())
        places: list[int] = whole[start:end].view("int64").tolist()
        rows = ", ".join([f"ptr {weight_at(texts + p - end)}" for p in places]) or "ptr null"
        kind = f"[{max(1, len(places))} x ptr]"
        data = f"@relay.strings.{number}"
        line = f"{data} = internal global {kind} [{rows}], section {section}\n"
    else:
        data, line = weight_at(weights.add(whole[start:end].tobytes())), ""
    count = len(sizes)
    numbers = ", ".join([f"i64 {n}" for n in sizes])
    return (
        f"{line}@relay.constant.{number} = internal global {{ i64, ptr, i64, [{count} x i64] }} "
        f"{{ i64 {head}, ptr {data}, i64 {end}, [{count} x i64] [{numbers}] }}, section {section}, align 16"
    )


def weight_at(place: int) -> str:
    """The address of an element of `weights`."""
    return f"getelementptr (i8, ptr @relay.weights, i64 {MARK_BYTES + place})"
