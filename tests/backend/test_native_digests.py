"""Digests of large data: the same for the same bytes however they are cut, another for any others."""

import numpy as np
import pytest

from relay.backend.native.runtime.digests import MAX_RAW_BYTES, digests


def of(*pieces: bytes) -> bytes:
    (found,) = digests([pieces])
    return found


DATA = np.random.default_rng(0).integers(0, 256, 3 * MAX_RAW_BYTES + 17, "uint8").tobytes()


@pytest.mark.parametrize(
    "cuts", [[1], [63], [64], [1, 2, 3, 70, 71], [MAX_RAW_BYTES], [len(DATA) - 1], [0, 10, 10]]
)
@pytest.mark.parametrize("size", [MAX_RAW_BYTES - 5, len(DATA)])
def test_pieces_make_no_difference(cuts: list[int], size: int) -> None:
    data = DATA[:size]
    ends = [*cuts, len(data)]
    assert of(*[data[a:b] for a, b in zip([0, *cuts], ends, strict=True)]) == of(data)


def test_every_change_tells() -> None:
    found = {of(DATA), of(DATA + b"\0"), of(DATA[:-1]), of(DATA[64:128] + DATA[:64] + DATA[128:])}
    for at in (0, 63, 64, 5000, len(DATA) - 1):
        for bit in range(8):
            changed = bytearray(DATA)
            changed[at] ^= 1 << bit
            found.add(of(bytes(changed)))
    signs = np.frombuffer(DATA[: 2 * MAX_RAW_BYTES], "uint64").copy()
    for i in (0, 1, 8, 16, 800):
        signs[[i, i + 8]] ^= np.uint64(1 << 63)
        found.add(of(signs.tobytes()))
    assert len(found) == 4 + 5 * 8 + 5


def test_zeros_are_told_by_their_number() -> None:
    assert len({of(bytes(n)) for n in range(0, 4 * MAX_RAW_BYTES, 64)}) == MAX_RAW_BYTES // 16
