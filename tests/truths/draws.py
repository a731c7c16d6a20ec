"""Truths of random draws: Threefry's published answers, and its definition in Python's own integers."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from mpmath import mp

from truths.base import Case, truth

MASK = 2**64 - 1
ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
"""From the definition of Threefish-256 (Skein, version 1.3, table 4)."""
PI = [0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89]
KEY_OF_PI = [0x452821E638D01377, 0xBE5466CF34E90C6C, 0xBE5466CF34E90C6C, 0xC0AC29B7C97C50DD]
OF_ZEROS = [0x09218EBDE6C85537, 0x55941F5266D86105, 0x4BD25E16282434DC, 0xEE29EC846BD2E40B]
OF_ONES = [0x29C24097942BBA1B, 0x0371BBFB0F6F4E11, 0x3C231FFA33F83A1C, 0xCD29113FDE32D168]
OF_PI = [0xA7E8FDE591651BD9, 0xBAAFD0C30138319B, 0x84A5C1A729E685B9, 0x901D406CCEBC1BA4]
"""Answers of Threefry-4x64 with 20 rounds: the file `kat_vectors` of Random123."""


def cipher(key: Sequence[int], counter: Sequence[int]) -> list[int]:
    """Return Threefry's words."""
    parity = 0x1BD11BDAA9FC1A22 ^ key[0] ^ key[1] ^ key[2] ^ key[3]
    keys, x = [*key, parity], list(counter)
    for r in range(21):
        if r % 4 == 0:
            x = [(w + keys[(r // 4 + i) % 5] + (i == 3) * (r // 4)) & MASK for i, w in enumerate(x)]
        if r < 20:
            sums = [(x[0] + x[1]) & MASK, (x[2] + x[3]) & MASK]
            mixed = [
                (w << n & MASK | w >> (64 - n)) ^ s
                for w, n, s in zip(x[1::2], ROTATIONS[r % 8], sums, strict=True)
            ]
            x = [sums[0], mixed[1], sums[1], mixed[0]]
    return x


def words(key: Sequence[int], count: int) -> tuple[list[int], list[int]]:
    """Return the words of a key with room in its counter, and the key after them."""
    blocks = [cipher(key[:4], [w + i & MASK for w in key[4:8]]) for i in range(-(-count // 4))]
    return [w for block in blocks for w in block][:count], [*key[:6], 0, key[7] + count, *key[8:]]


def seeded(seed: int, counter: Sequence[int] = (0, 0, 0, 0)) -> list[int]:
    """Return the key of a seed, with its path and counter."""
    return [*[seed >> 64 * i & MASK for i in range(4)], *counter, 1 << 63, 0]


def array(x: Any) -> Any:
    return np.asarray(x, "uint64")


@truth("random.threefry_key")
def threefry_key(long: bool) -> Iterator[Case]:
    for seed in (0, 7, 2**256 - 3):
        yield Case((), array(seeded(seed)), attrs={"seed": seed})


def generations() -> Iterator[tuple[list[int], list[int], list[int]]]:
    """Yield keys, four words that they give, and the keys after them."""
    last = [*[0] * 6, 0, 4, 1 << 63, 0]
    yield seeded(0), OF_ZEROS, last
    key = [*KEY_OF_PI, *PI, 1 << 63, 0]
    yield key, OF_PI, [*key[:6], 0, PI[3] + 4, 1 << 63, 0]
    # A path and a counter at their ends: the words of ones are the next key.
    ones = [MASK] * 8
    after = [*OF_ONES, 0, 0, 0, 0, 1 << 63, 0]
    yield [*ones, 0, 0], *words(after, 4)
    # A counter at its end, and a place left: it moves on along the path.
    yield [1, 2, 3, 4, 0, 0, 9, MASK, 0, 1], *words([1, 2, 3, 4, 0, 1, 0, 0, 0, 0], 4)
    yield seeded(2**200 + 5, (1, 2, 3, 4)), *words(seeded(2**200 + 5, (1, 2, 3, 4)), 4)


@truth("random.threefry_generate")
def threefry_generate(long: bool) -> Iterator[Case]:
    keys, drawn, rest = (array(x) for x in zip(*generations(), strict=True))
    for key, four, after in zip(keys, drawn, rest, strict=True):
        yield Case((key,), (after, four.reshape(2, 2)), attrs={"out_shape": (2, 2)})
    yield Case((keys,), (rest, drawn), attrs={"out_shape": (4,)})
    many, after = words(seeded(3), 10)
    yield Case((array(seeded(3)),), (array(after), array(many)), attrs={"out_shape": (10,)})


@truth("dyn.random.threefry_generate")
def dyn_threefry_generate(long: bool) -> Iterator[Case]:
    many, after = words(seeded(3), 6)
    right = (array(after), array(many).reshape(2, 3))
    yield Case((array(seeded(3)), np.asarray([2, 3])), right)


@truth("random.threefry_split")
def threefry_split(long: bool) -> Iterator[Case]:
    for key, path, place in (
        (seeded(5, (0, 0, 7, 8)), (1 << 63, 0), (1 << 62, 0)),
        ([1, 2, 3, 4, 1 << 63, 0, 0, 0, 1, 0], (1 << 63 | 1, 0), (0, 1 << 63)),
        ([1, 2, 3, 4, 0, 6, 0, 0, 0, 1], (0, 7), (0, 0)),
    ):
        right = [*key[:4], *path, *key[6:8], *place]
        yield Case((array(key),), (array([*key[:8], *place]), array(right)))
    # A path at its end: the cipher of the state is the new key.
    of_ones, of_pi = ([*block, 0, 0, 0, 0, 1 << 62, 0] for block in (OF_ONES, OF_PI))
    keys = array([[*[MASK] * 8, 0, 0], [*KEY_OF_PI, *PI, 0, 0]])
    left = array([of_ones, of_pi])
    right = left.copy()
    right[:, 4] = 1 << 63
    yield Case((keys,), (left, right))


def shares(drawn: Sequence[int], bits: int) -> Any:
    """Return the first bits of words as fractions."""
    return np.asarray([mp.ldexp(w >> (64 - bits), -bits) for w in drawn], object)


BITS = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
KEY = array(seeded(11))


def drawn(name: str, count: int, standard: Any) -> None:
    """Declare numbers that two parameters make of standard ones."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in BITS if long else ("float16", "float32", "float64"):
            many, after = words(KEY.tolist(), 6 * count)
            share = standard(many, dtype).reshape(2, 3)
            a, b = np.asarray(-1.5, dtype), np.asarray(2.25, dtype)
            factor = b - a if name == "random.uniform" else b
            value = share * mp.mpf(float(factor)) + mp.mpf(float(a))
            ws = np.asarray([[1, -2, 0.5], [4, -0.25, 1]], dtype)
            by_share, by_rest = (
                np.sum(ws.astype("float64") * share),
                np.sum(ws.astype("float64") * (1 - share)),
            )
            of_ones = mp.mpf(float(ws.sum(dtype="float64")))
            first = by_rest if name == "random.uniform" else of_ones
            sizes = np.full((2, 3), mp.mpf(8), object)
            yield Case(
                (KEY, a, b), (array(after), value), (None, np.asarray(first), np.asarray(by_share)),
                {"out_shape": (2, 3), "out_dtype": dtype}, (None, ws), scale=(None, sizes),
                slope_scales=(None, np.asarray(mp.mpf(8)), np.asarray(mp.mpf(8))),
            )  # fmt: skip


def normal(many: Sequence[int], dtype: str) -> Any:
    """Return normally distributed numbers, after Box and Muller."""
    u, v = np.split(shares(many, 52), 2)
    pairs = zip(u, v, strict=True)
    return np.asarray([mp.sqrt(-2 * mp.log(1 - a)) * mp.cos(2 * mp.pi * b) for a, b in pairs], object)


drawn("random.uniform", 1, lambda many, dtype: shares(many, BITS[dtype]))
drawn("random.normal", 2, normal)


@truth("random.multinomial")
def multinomial(long: bool) -> Iterator[Case]:
    rows = [[1.0, 2.0, 3.0], [0.0, 0.5, 0.0], [0.25, 0.0, 0.75]]
    many, after = words(KEY.tolist(), 12)
    places = [
        sum(total <= share * sum(rows[i // 4]) for total in accumulate(rows[i // 4]))
        for i, share in enumerate(shares(many, 52))
    ]
    for dtype in ("float32", "float64"):
        right = (array(after), np.asarray(places, "int32").reshape(3, 4))
        yield Case((KEY, np.asarray(rows, dtype)), right, attrs={"num_samples": 4})


@truth("nn.dropout")
def dropout(long: bool) -> Iterator[Case]:
    many, _ = words(KEY.tolist(), 12)
    for dtype in ("float16", "float32", "float64"):
        x = np.linspace(-3, 4, 12).reshape(3, 4).astype(dtype)
        for rate in (0.25, 0.0, 1.0):
            kept = np.asarray([w >= rate * 2**64 for w in many]).reshape(3, 4)
            factors = np.asarray([mp.mpf(int(k)) / (1 - rate) if k else mp.mpf(0) for k in kept.flat], object)
            factors = factors.reshape(3, 4)
            right = (factors * x.astype("float64"), kept.astype(dtype))
            ws = np.resize([1, -2, 0.5], x.shape).astype(dtype)
            yield Case((x, KEY), right, (factors * ws.astype("float64"), None), {"rate": rate}, (ws, None))
        ones = np.ones(x.shape, dtype)
        yield Case((x,), (x, ones), attrs={"rate": 0.5}, ulps=0)


@truth("assert")
def holds(long: bool) -> Iterator[Case]:
    yield Case((np.asarray(True),), (), attrs={"message": "it holds"})
