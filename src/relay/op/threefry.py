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

from relay.op.base import Array, Numpy
from relay.op.random_words import PARITY, ROTATIONS, TOP, UINT64_MAX
from relay.op.traced import may_hold


def threefry(key: Sequence[Any], counter: Sequence[Any], rounds: int = 20) -> list[Array]:
    """The four words of the cipher for a key and a counter of four words each, of uint64."""
    schedule: list[Any] = [*key]
    parity: Any = numpy.uint64(PARITY)
    for k in schedule:
        parity = parity ^ k
    schedule.append(parity)
    with numpy.errstate(over="ignore"):
        a, b, c, d = (w + k for w, k in zip(counter, schedule, strict=False))
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


def draw_words(np: Numpy, key: Array, n: int) -> tuple[Array, Array]:
    """`n` random words, and the key to go on with.

    Of keys `(..., 10)` it gives words `(..., n)` and a key for each.
    """
    state = _with_room(np, key, n)
    blocks = numpy.arange(-(-n // 4), dtype="uint64")
    cipher, counter = _words_of_keys(state, 0, 4), _words_of_keys(state, 4, 8)
    found = np.stack(threefry(cipher, [w + blocks for w in counter]), axis=-1)
    words = found.reshape(*key.shape[:-1], 4 * len(blocks))[..., :n]
    drawn = state[..., 7:8] + numpy.uint64(n)
    return words, np.concatenate([state[..., :6], np.zeros_like(drawn), drawn, state[..., 8:]], axis=-1)


def split_key(np: Numpy, key: Array) -> tuple[Array, Array]:
    """Two keys whose numbers have nothing to do with one another; of keys `(..., 10)` two for each."""
    is_over = _is_over(key)
    if may_hold(np, is_over):
        key = np.where(
            is_over, _begun(np, threefry(_words_of_keys(key, 0, 4), _words_of_keys(key, 4, 8))), key
        )
    place = _next_place(np, key)
    left = np.concatenate([key[..., :8], place], axis=-1)
    return left, np.concatenate([key[..., :4], _turned(key), key[..., 6:8], place], axis=-1)


def _words_of_keys(key: Array, first: int, last: int) -> list[Array]:
    """Words of keys `(..., 10)`, each `(..., 1)`."""
    return [key[..., i : i + 1] for i in range(first, last)]


def _with_room(np: Numpy, key: Array, n: int) -> Array:
    """Keys whose counters have `n` words left."""
    is_full = key[..., 7:8] >= numpy.uint64(UINT64_MAX - n)
    if not may_hold(np, is_full):
        return key
    most, none = np.full_like(is_full, UINT64_MAX, dtype="uint64"), np.zeros_like(key[..., :2])
    fresh = _begun(np, threefry(_words_of_keys(key, 0, 4), [most, most, *_words_of_keys(key, 6, 8)]))
    moved = np.concatenate([key[..., :4], _turned(key), none, _next_place(np, key)], axis=-1)
    return np.where(is_full, np.where(_is_over(key), fresh, moved), key)


def _is_over(key: Array) -> Array:
    """Whether no place of the path is left."""
    return (key[..., 8:9] | key[..., 9:10]) == 0


def _begun(np: Numpy, words: list[Array]) -> Array:
    """New keys of four words."""
    none = np.zeros_like(words[0])
    return np.concatenate([*words, none, none, none, none, np.full_like(none, TOP), none], axis=-1)


def _turned(key: Array) -> Array:
    """The paths with a one at the place of the next split."""
    return key[..., 4:6] | key[..., 8:10]


def _next_place(np: Numpy, key: Array) -> Array:
    """The single bit of a path of 128, one place to the right; 0 and 0 after the last."""
    high, low, one = key[..., 8:9], key[..., 9:10], numpy.uint64(1)
    return np.concatenate([high >> one, high << numpy.uint64(63) | low >> one], axis=-1)
