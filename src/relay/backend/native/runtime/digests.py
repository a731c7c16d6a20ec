"""What tells large data apart, as quickly as they are read: names of entries of the cache, damage of files.

Each block of 64 bytes is eight words; to each word a key of its place is added, and the product of the halves
goes into a sum of its own (NH: Black, Halevi, Krawczyk, Krovetz and Rogaway, 1999).  A second sum has other
keys.  A digest is that of all sums: data that differ by accident have the same one with a probability of
about 2 ** -64.  Whoever knows the keys can make data that do.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay.backend.native.runtime.parallel_map import side_by_side

BLOCK, WORDS = 64, 8
"""Bytes and words of what is read at a time."""
FEW = 4096
"""Bytes up to which the digest is that of the data themselves."""
SIZE = 16
"""Bytes of a digest."""
STEPS = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03
"""What the keys of the two sums go up by from a block to the next: odd, and without a pattern."""
ROW = "<8 x i64>"


def row(n: int) -> str:
    """Eight times the same word."""
    word = n - (1 << 64) if n >> 63 else n
    return f"<{', '.join([f'i64 {word}'] * WORDS)}>"


def sums(i: int) -> str:
    """A block for one sum and its keys, as LLVM IR."""
    return f"""  %word{i} = add {ROW} %block, %key{i}
  %low{i} = and {ROW} %word{i}, {row((1 << 32) - 1)}
  %high{i} = lshr {ROW} %word{i}, {row(32)}
  %product{i} = mul {ROW} %low{i}, %high{i}
  %sum{i}.next = add {ROW} %sum{i}, %product{i}
  %key{i}.next = add {ROW} %key{i}, {row(STEPS[i])}
"""


STATE = ("sum0", "sum1", "key0", "key1")


def digest_code() -> str:
    """`relay_digest(state, data, blocks)` goes on with the sums and their keys, as LLVM IR."""
    lines = ["define void @relay_digest(ptr %state, ptr %data, i64 %blocks) nounwind {", "entry:"]
    for i, name in enumerate(STATE):
        lines.append(f"  %{name}.at = getelementptr i8, ptr %state, i64 {BLOCK * i}")
        lines.append(f"  %{name}.old = load {ROW}, ptr %{name}.at, align 8")
    lines += ["  br label %look", "look:", "  %i = phi i64 [ 0, %entry ], [ %i.next, %one ]"]
    lines += [f"  %{name} = phi {ROW} [ %{name}.old, %entry ], [ %{name}.next, %one ]" for name in STATE]
    lines += ["  %over = icmp eq i64 %i, %blocks", "  br i1 %over, label %done, label %one", "one:"]
    lines.append(f"  %at = getelementptr {ROW}, ptr %data, i64 %i")
    lines.append(f"  %block = load {ROW}, ptr %at, align 1")
    lines += [sums(0), sums(1), "  %i.next = add i64 %i, 1", "  br label %look", "done:"]
    lines += [f"  store {ROW} %{name}, ptr %{name}.at, align 8" for name in STATE]
    return "\n".join([*lines, "  ret void", "}"])


def first_state() -> Any:
    """Sums of nothing, and keys of the first block."""
    keys = hashlib.shake_128(b"keys of the first block").digest(2 * BLOCK)
    return np.frombuffer(bytes(2 * BLOCK) + keys, "uint64").copy()


def digests(items: Sequence[Sequence[Any]]) -> list[bytes]:
    """The digest of each item, whose data are in pieces; on all cores."""
    from relay.backend.native.runtime.runtime_library import pool

    go_on = pool().digest
    return side_by_side(lambda pieces: digest_of(pieces, go_on), items)


def digest_of(pieces: Sequence[Any], go_on: Callable[[int, int, int], None]) -> bytes:
    """The digest of data; `go_on(state, data, blocks)` reads some."""
    several = [np.frombuffer(piece, "uint8") for piece in pieces if len(piece)]
    total = sum(map(len, several))
    found = hashlib.blake2b(total.to_bytes(8, "little"), digest_size=SIZE)
    if total <= FEW:
        for data in several:
            found.update(data.data)
        return found.digest()
    state, rest = first_state(), np.empty(0, "uint8")
    for piece in several:
        missing = -len(rest) % BLOCK
        joined, data = np.concatenate([rest, piece[:missing]]), piece[missing:]
        whole = len(joined) // BLOCK
        go_on(state.ctypes.data, joined.ctypes.data, whole)
        if len(joined) % BLOCK:
            rest = joined
            continue
        whole = len(data) // BLOCK
        go_on(state.ctypes.data, data.ctypes.data, whole)
        rest = data[whole * BLOCK :]
    found.update(state)
    found.update(rest.tobytes())
    return found.digest()
