"""The generator of random words: Threefry-4x64 with 20 rounds, on keys that split.

Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011; splitting after
Claessen and Palka, "Splittable pseudorandom number generators using cryptographic hashing", 2013.

A key is ten words of uint64: 0 to 3 the cipher's key; 4 and 5 the path of splits, one bit each; 6 and 7 the
counter; 8 and 9 a single set bit, the place of the next split in the path (none is left when both are 0).
Block `i` of a generation is the cipher of words 4 to 7, each plus `i`; a generation of `n` words takes the
first `n` of its blocks of four and adds `n` to word 7.  When word 7 runs out, a one is put on the path.
When the path runs out, the cipher of the state makes a new key.  All of this is exact, so every backend
draws the same words.
"""

from collections.abc import Sequence
from typing import Any

import numpy

from relay.op.base import Array
from relay.op.random_words import PARITY, ROTATIONS, TOP, UINT64_MAX


def threefry(key: Sequence[Any], counter: Sequence[Any], rounds: int = 20) -> list[Array]:
    """The four words of the cipher for a key of four words and counters of four words, scalars or arrays."""
    schedule: list[Any] = [numpy.uint64(k) for k in key]
    parity: Any = numpy.uint64(PARITY)
    for k in schedule:
        parity = parity ^ k
    schedule.append(parity)
    with numpy.errstate(over="ignore"):
        words: list[Any] = [
            numpy.atleast_1d(numpy.asarray(w, "uint64")) + k for w, k in zip(counter, schedule, strict=False)
        ]
        a, b, c, d = words
        for r in range(rounds):
            left, right = ROTATIONS[r % 8]
            a = a + b
            b = _rotated(b, left) ^ a
            c = c + d
            d = _rotated(d, right) ^ c
            b, d = d, b
            if r % 4 == 3:
                n = r // 4 + 1
                a, b, c, d = a + schedule[n % 5], b + schedule[(n + 1) % 5], c + schedule[(n + 2) % 5], d
                d = d + schedule[(n + 3) % 5] + numpy.uint64(n)
    return [a, b, c, d]


def _rotated(x: Array, bits: int) -> Array:
    return (x << numpy.uint64(bits)) | (x >> numpy.uint64(64 - bits))


def draw_words(key: Array, n: int) -> tuple[Array, Array]:
    """`n` random words, and the key to go on with.

    Of keys `(..., 10)` it gives words `(..., n)` and a key for each.
    """
    states = [_with_room(key_words, n) for key_words in key.reshape(-1, 10).tolist()]
    rest: Array = numpy.asarray(states, "uint64").reshape(-1, 10)
    columns = [rest[:, i : i + 1] for i in range(8)]
    blocks = numpy.arange(-(-n // 4), dtype="uint64")
    with numpy.errstate(over="ignore"):
        words = threefry(columns[:4], [w + blocks for w in columns[4:]])
        found = numpy.stack(words, axis=2).reshape(len(rest), 4 * len(blocks))[:, :n]
        rest[:, 6], rest[:, 7] = 0, rest[:, 7] + numpy.uint64(n)
    return found.reshape(*key.shape[:-1], n), rest.reshape(key.shape)


def _with_room(state: list[int], n: int) -> list[int]:
    """A state whose counter has `n` words left."""
    if state[7] < UINT64_MAX - n:
        return state
    if state[8] == state[9] == 0:
        hashed = [int(w[0]) for w in threefry(state[:4], [UINT64_MAX, UINT64_MAX, *state[6:8]])]
        return [*hashed, 0, 0, 0, 0, TOP, 0]
    return [*state[:4], state[4] | state[8], state[5] | state[9], 0, 0, *_next_place(*state[8:])]


def _next_place(high: int, low: int) -> tuple[int, int]:
    """The single bit of a path of 128, one place to the right; 0 and 0 after the last."""
    both = (high << 64 | low) >> 1
    return both >> 64, both & UINT64_MAX


def split_key(key: Array) -> tuple[Array, Array]:
    """Two keys whose numbers have nothing to do with one another; of keys `(..., 10)` two for each."""
    pairs = [_two_keys(key_words) for key_words in key.reshape(-1, 10).tolist()]
    both = numpy.asarray(pairs, "uint64").reshape(*key.shape[:-1], 2, 10)
    return both[..., 0, :], both[..., 1, :]


def _two_keys(state: list[int]) -> tuple[list[int], list[int]]:
    if state[8] == state[9] == 0:
        state = [*[int(w[0]) for w in threefry(state[:4], state[4:8])], 0, 0, 0, 0, TOP, 0]
    place = _next_place(*state[8:])
    left = [*state[:8], *place]
    right = [*state[:4], state[4] | state[8], state[5] | state[9], *state[6:8], *place]
    return left, right
