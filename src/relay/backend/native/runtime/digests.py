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

from relay.backend.native.runtime.parallel_map import parallel_map

BLOCK = 64
"""Bytes of what is read at a time."""
MAX_RAW_BYTES = 4096
"""Bytes up to which the digest is that of the data themselves."""
DIGEST_BYTES = 16
"""Bytes of a digest."""


def first_state() -> Any:
    """Sums of nothing, and keys of the first block."""
    keys = hashlib.shake_128(b"keys of the first block").digest(2 * BLOCK)
    return np.frombuffer(bytes(2 * BLOCK) + keys, "uint64").copy()


def digests(items: Sequence[Sequence[Any]]) -> list[bytes]:
    """The digest of each item, whose data are in pieces; on all cores."""
    from relay.backend.native.runtime.runtime_library import runtime_library

    go_on = runtime_library().digest
    return parallel_map(lambda pieces: digest_of(pieces, go_on), items)


def digest_of(pieces: Sequence[Any], go_on: Callable[[int, int, int], None]) -> bytes:
    """The digest of data; `go_on(state, data, blocks)` reads some."""
    several = [np.frombuffer(piece, "uint8") for piece in pieces if len(piece)]
    total = sum(map(len, several))
    found = hashlib.blake2b(total.to_bytes(8, "little"), digest_size=DIGEST_BYTES)
    if total <= MAX_RAW_BYTES:
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
