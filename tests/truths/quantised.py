"""Truths of operators on quantised numbers, in fractions: those next to a tie are left out."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp

from relay.ir.dtype import integer_range
from truths.base import Case, truth
from truths.computed import computed

HALF = Fraction(1, 2)
NEAR = Fraction(1, 2000)
"""How far from a tie numbers are that rounding of float32 may bring to the other side."""


def held(x: int, dtype: str) -> int:
    """Return an integer, or the end of the dtype's range that is next to it."""
    low, high = integer_range(dtype)
    return min(max(x, low), high)


def upward(x: Fraction) -> int:
    """Return a number rounded to nearest, halves up."""
    return math.floor(x + HALF)


def is_clear(x: Fraction) -> bool:
    """Return whether a number is not next to a tie."""
    return abs(x - math.floor(x) - HALF) > NEAR


def exact(x: float) -> Fraction:
    """Return the number that a float32 is."""
    return Fraction(float(np.float32(x)))


def sizes(*numbers: Any) -> list[Any]:
    """Return scales, which are floats, and zero points as operands."""
    return [np.float32(x) if isinstance(x, float) else np.int32(x) for x in numbers]


def every(dtype: str) -> list[int]:
    """Return all integers of 8 bits."""
    low, high = integer_range(dtype)
    return [*range(low, high + 1)]


def case(operands: list[Any], right: Any, **attrs: Any) -> Case:
    """Return a case whose results are integers, which have no derivatives."""
    return Case(tuple(operands), right, attrs=attrs)


# --- there and back ---


@truth("qnn.quantize")
def quantize(long: bool) -> Iterator[Case]:
    x = np.asarray([0.0, 0.6, 100.0, -100.0, 0.25, 0.75, -0.25, -0.75, 3e38, -3e38, 1e-40, 31.7], "float32")
    for dtype in ("int8", "uint8", "int32"):
        for scale, zero in ((0.5, 3), (0.3, -2)):
            right = [held(round(exact(v) / exact(scale)) + zero, dtype) for v in x.tolist()]
            yield case([x, *sizes(scale, zero)], np.asarray(right, dtype), out_dtype=dtype)
    y = np.asarray([[0.6, 1.0, -7.3], [2.0, -1.0, 0.1]], "float32")
    scales, zeros = np.asarray([0.5, 0.25, 2.0], "float32"), np.asarray([0, 5, -9], "int32")
    channels = [(exact(s), int(z)) for s, z in zip(scales, zeros, strict=True)]
    right = [
        [held(round(exact(v) / s) + z, "int8") for v, (s, z) in zip(row, channels, strict=True)] for row in y
    ]
    yield case([y, scales, zeros], np.asarray(right, "int8"), axis=1)


@truth("qnn.dequantize")
def dequantize(long: bool) -> Iterator[Case]:
    for dtype in ("int8", "uint8", "int32"):
        x = np.asarray(
            [v for v in (-(2**20), -128, -1, 0, 1, 7, 127, 255, 2**20) if held(v, dtype) == v], dtype
        )
        yield computed(lambda x, s, z: np.asarray([(int(v) - int(z)) * s[()] for v in x], object), x,
                       *sizes(0.3, 3), ulps=0.51)  # fmt: skip


@truth("qnn.simulated_quantize")
def simulated_quantize(long: bool) -> Iterator[Case]:
    x = np.asarray([0.0, 0.6, 100.0, -100.0, 31.7], "float32")
    right = [held(round(exact(v) / exact(0.3)) - 2, "int8") for v in x.tolist()]
    operands = (x, *sizes(0.3, -2))
    yield Case(operands, np.asarray(right), (np.zeros(5), None, None), {"out_dtype": "int8"}, ulps=0)


@truth("qnn.simulated_dequantize")
def simulated_dequantize(long: bool) -> Iterator[Case]:
    x = np.asarray([0.0, 6.0, 100.0, -100.0, 31.0], "float32")
    yield computed(lambda x, s, z: (x - int(z)) * s[()], x, *sizes(0.3, -2), in_dtype="int8")


@truth("qnn.requantize")
def requantize(long: bool) -> Iterator[Case]:
    roundings: dict[str, Callable[[Fraction], int]] = {
        "UPWARD": upward,
        "TONEAREST": lambda x: upward(x) if x >= 0 else -upward(-x),
        "TOEVEN": round,
    }
    for rounding, f in roundings.items():
        for old, new in ((0.25, 0.5), (0.25, 0.3), (1.0, 0.125)):
            x = [v for v in (-1000, -77, -5, -3, -2, -1, 0, 1, 2, 3, 4, 5, 77, 1000)
                 if new != 0.3 or is_clear((v - 3) * exact(old) / exact(new))]  # fmt: skip
            right = [held(f((v - 3) * exact(old) / exact(new)) - 1, "int8") for v in x]
            operands = [np.asarray(x, "int32"), *sizes(old, 3, new, -1)]
            yield case(operands, np.asarray(right, "int8"), rounding=rounding)


# --- arithmetic ---

LEFT, RIGHT, RESULT = (0.25, 3), (0.5, -2), (0.3, 1)


def of_two(name: str, f: Callable[[Fraction, Fraction], Fraction | tuple[Fraction, ...]]) -> None:
    """Declare a function of two numbers, in the scale of the result; of several terms each is rounded."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in ("int8", "uint8"):
            xs, ys, right = [], [], []
            for x in every(dtype)[::13]:
                for y in every(dtype)[::11]:
                    result = f((x - LEFT[1]) * exact(LEFT[0]), (y - RIGHT[1]) * exact(RIGHT[0]))
                    terms = [
                        t / exact(RESULT[0]) for t in (result if isinstance(result, tuple) else (result,))
                    ]
                    if all(map(is_clear, terms)):
                        xs.append(x)
                        ys.append(y)
                        right.append(held(sum(map(upward, terms)) + RESULT[1], dtype))
            operands = [np.asarray(xs, dtype), np.asarray(ys, dtype), *sizes(*LEFT, *RIGHT, *RESULT)]
            yield case(operands, np.asarray(right, dtype))


of_two("qnn.add", lambda x, y: (x, y))
of_two("qnn.subtract", lambda x, y: (x, -y))
of_two("qnn.mul", lambda x, y: x * y)


@truth("qnn.concatenate")
def concatenate(long: bool) -> Iterator[Case]:
    x, y = np.asarray([[4, -7, 100]], "int8"), np.asarray([[6, 127, -128], [0, 1, 2]], "int8")
    lines = [(row, exact(s), z) for data, s, z in ((x, 0.25, 3), (y, 0.5, -2)) for row in data.tolist()]
    right = [[held(upward((v - z) * s / exact(0.3)) + 1, "int8") for v in row] for row, s, z in lines]
    operands = [(x, y), tuple(sizes(0.25, 0.5)), tuple(sizes(3, -2)), *sizes(0.3, 1)]
    yield case(operands, np.asarray(right, "int8"), axis=0)


def of_one(name: str, f: Callable[[Any], Any], is_allowed: Callable[[Fraction], bool] = lambda x: True, *,
           scale: float = 0.02, **attrs: Any) -> None:  # fmt: skip
    """Declare a function of one number, of all integers of 8 bits."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in ("int8", "uint8"):
            xs, right = [], []
            for v in every(dtype):
                x = (v - 3) * Fraction(1, 16)
                if not is_allowed(x):
                    continue
                with mp.workprec(100):
                    y = f(mp.mpf(x.numerator) / x.denominator) / mp.mpf(float(np.float32(scale)))
                near = Fraction(int(mp.nint(y * 2**20)), 2**20)
                if is_clear(near):
                    xs.append(v)
                    right.append(held(upward(near) + 5, dtype))
            yield case(
                [np.asarray(xs, dtype), *sizes(0.0625, 3, scale, 5)], np.asarray(right, dtype), **attrs
            )


def is_positive(x: Fraction) -> bool:
    return x > 0


of_one("qnn.abs", abs, scale=0.05)
of_one("qnn.exp", mp.exp)
of_one("qnn.log", mp.log, is_positive)
of_one("qnn.sqrt", mp.sqrt, is_positive)
of_one("qnn.rsqrt", lambda x: 1 / mp.sqrt(x), is_positive)
of_one("qnn.sigmoid", lambda x: 1 / (1 + mp.exp(-x)), scale=0.005)
of_one("qnn.tanh", mp.tanh, scale=0.01)
of_one("qnn.erf", mp.erf, scale=0.01)
of_one("qnn.hardswish", lambda x: x * min(max(x + 3, 0), 6) / 6, scale=0.05)
of_one("qnn.leaky_relu", lambda x: x if x > 0 else x / 4, scale=0.05, alpha=0.25)


@truth("qnn.softmax")
def softmax(long: bool) -> Iterator[Case]:
    x = np.asarray([[4, -7, 100, 90], [1, 2, 3, 4], [127, 127, -128, 0]], "int8")
    right = []
    for row in x.tolist():
        powers = [mp.exp((v - max(row)) * mp.mpf(float(np.float32(0.25)))) for v in row]
        shares = [p / mp.fsum(powers) / mp.mpf(float(np.float32(1 / 256))) for p in powers]
        right.append([held(int(mp.nint(s)) - 128, "int8") for s in shares])
    yield case([x, *sizes(0.25, 3, 1 / 256, -128)], np.asarray(right, "int8"))


# --- products, in int32 ---


def integers(*shape: int, dtype: str, seed: int = 0) -> Any:
    """Return integers from the whole range of a dtype."""
    low, high = integer_range(dtype)
    return np.random.default_rng(seed).integers(low, high + 1, shape).astype(dtype)


SCALES = (3, -2, 0.25, 0.5)


def products(name: str, f: Callable[[Any, Any], Any], x: Any, w: Any, **attrs: Any) -> None:
    """Declare a product, of what the integers are above their zero points."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        right = f(x.astype("int64") - SCALES[0], w.astype("int64") - SCALES[1])
        yield case([x, w, *sizes(*SCALES)], np.asarray(right).astype("int32"), **attrs)


def convolved(x: Any, w: Any) -> Any:
    """Return a convolution."""
    (n, _, h, width), (o, _, *k) = x.shape, w.shape
    result = np.zeros((n, o, h - k[0] + 1, width - k[1] + 1), "int64")
    for i, j in np.ndindex(*result.shape[2:]):
        result[:, :, i, j] = np.einsum("nchw,ochw->no", x[:, :, i : i + k[0], j : j + k[1]], w)
    return result


def widened(x: Any, by: int) -> Any:
    return np.pad(x, [(0, 0), (0, 0), (by, by), (by, by)])


def spread(x: Any, w: Any) -> Any:
    """Return a transposed convolution with strides of 2."""
    (n, _, h, width), (_, o, *k) = x.shape, w.shape
    result = np.zeros((n, o, 2 * (h - 1) + k[0], 2 * (width - 1) + k[1]), "int64")
    for i, j in np.ndindex(h, width):
        result[:, :, 2 * i : 2 * i + k[0], 2 * j : 2 * j + k[1]] += np.einsum(
            "nc,cohw->nohw", x[:, :, i, j], w
        )
    return result


DATA, IMAGE = integers(2, 5, dtype="uint8"), integers(1, 2, 4, 5, dtype="uint8")
products("qnn.dense", lambda x, w: x @ w.T, DATA, integers(3, 5, dtype="int8"))
products("qnn.contrib_dense_pack", lambda x, w: x @ w.T, DATA, integers(3, 5, dtype="int8"))
products("qnn.batch_matmul", lambda x, w: np.einsum("bnk,bmk->bnm", x, w), integers(2, 3, 4, dtype="int8"),
         integers(2, 2, 4, dtype="int8", seed=1))  # fmt: skip
products("qnn.conv2d", lambda x, w: convolved(widened(x, 1), w), IMAGE, integers(3, 2, 3, 3, dtype="int8"),
         kernel_size=(3, 3), channels=3, padding=(1, 1))  # fmt: skip
products("qnn.conv2d_transpose", spread, IMAGE, integers(2, 3, 3, 3, dtype="int8"), strides=(2, 2))


@truth("qnn.avg_pool2d")
def avg_pool2d(long: bool) -> Iterator[Case]:
    x = integers(1, 4, 5, 2, dtype="uint8")
    right = np.zeros((1, 3, 3, 2), "uint8")
    for _, i, j, c in np.ndindex(right.shape):
        window = [int(v) - 3 for v in x[0, i : i + 2, j : j + 3, c].ravel()]
        right[0, i, j, c] = held(upward(Fraction(sum(window), 6) * exact(0.25) / exact(0.3)) + 1, "uint8")
    yield case([x, *sizes(0.25, 3, 0.3, 1)], right, pool_size=(2, 3))


# --- weights in blocks and groups ---

BLOCKS = {
    "q8_0": (34, (0,), [14, 35, 56, 77, 98, 119, -116, -95, -74, -53, -32]),
    "q4_0": (18, (0,), [6, -5, 0, 5, -6, -1, -7, -5, -4, -3, -1]),
    "q4_1": (20, (0, 2), [13, 2, 7, 12, 1, 6, 3, 4, 6, 7, 8]),
    "q5_0": (22, (0,), [-6, 15, -12, -7, 14, -13, 3, -12, 6, -9, -8]),
    "q5_1": (24, (0, 2), [9, 30, 3, 24, 13, 2, 5, 22, 24, 9, 10]),
    "q2_k": (84, (80, 82), [0, 21, 42, 4, -1, -2, 18, -3, -3, 42, 2, 35, 3, 6, -2, -6]),
    "q3_k": (110, (108,), [128, 69, 42, 33, 36, -19, 0, -34, 0, 6, -30, 33, 27, 0, -112, 58]),
    "q4_k": (144, (0, 2), [-56, 140, 182, 462, 498, 120, 330, 722, 27, 55, 72, 149, -14, 0, 41, 104]),
    "q5_k": (176, (0, 2), [-56, 588, 672, 392, 1170, 120, 1016, 624, 27, 119, 226, 303, 18, 0, 167, 86]),
    "q6_k": (210, (208,), [-2048, 1633, 2340, -935, -1380, -693, 0, -2712, -2880, 3937, 1220, -3335, -1836,
                           -808, -1504, 2175]),
    "iq4_nl": (18, (0,), [89, -65, 1, 69, -83, -10, -104, -65, -49, -35, -10]),
    "iq4_xs": (136, (0,), [12, -780, -374, 646, 1421, 1885, 2490, -1140, 762, 390, -1246, -532, -795, 975,
                           -725, -1102]),
}  # fmt: skip
"""Of each format: the bytes of a block, where its float16 scales are, and eight times its numbers by the
package `gguf` (0.19.0): every third of 32, every 17th of 256.  Byte `i` is `7 * i % 256`, scales are 1/8."""


@truth("dequantize_blocks")
def dequantize_blocks(long: bool) -> Iterator[Case]:
    for form, (size, halves, eighths) in BLOCKS.items():
        block = (np.arange(size) * 7 % 256).astype("uint8")
        for at in halves:
            block[at : at + 2] = 0, 0x30
        step = 3 if len(eighths) == 11 else 17
        right = np.full(32 if step == 3 else 256, None, object)
        right[::step] = [mp.mpf(v) / 8 for v in eighths]
        yield Case((block,), right, attrs={"format": form}, ulps=0)


def unpacked(data: Any, bits: int) -> Any:
    """Return the numbers that bytes hold, the first in the lowest bits."""
    rows = [[int(byte) >> at & 2**bits - 1 for byte in row for at in range(0, 8, bits)] for row in data]
    return np.asarray(rows, object)


@truth("dequantize_groups")
def dequantize_groups(long: bool) -> Iterator[Case]:
    data = (np.arange(24) * 91 % 251).astype("uint8").reshape(2, 3, 4)
    for dtype in ("float32", "float64"):
        scale = (np.asarray([[1.5, -0.25, 3.0], [0.125, 7.0, 1e-3]])).astype(dtype)
        zero = np.asarray([[7.5, 0.0, 8.0], [-1.0, 3.0, 15.0]], dtype)
        for bits in (2, 4, 8):

            def formula(x: Any, s: Any, *zero: Any, bits: int = bits) -> Any:
                q = unpacked(x.reshape(6, 4), bits).reshape(2, 3, -1)
                return ((q - (zero[0][..., None] if zero else 2 ** (bits - 1))) * s[..., None]).reshape(2, -1)

            yield computed(formula, data, scale, bits=bits, group=32 // bits, dtype=dtype)
            if bits == 4:
                yield computed(formula, data, scale, zero, bits=4, group=8, dtype=dtype)
                packed = np.asarray([[0x51, 3], [0xF0, 9]], "uint8")
                yield computed(
                    lambda x, s, z: formula(x, s, unpacked(z, 4)[:, :3], bits=4), data, scale, packed,
                    bits=4, group=8, dtype=dtype,
                )  # fmt: skip


@truth("round_groups")
def round_groups(long: bool) -> Iterator[Case]:
    def formula(x: Any) -> Any:
        groups = []
        for group in x.reshape(-1, 4):
            most = max(abs(v) for v in group)
            groups += [mp.nint(127 * v / most) * most / 127 for v in group]
        return np.asarray(groups, object).reshape(x.shape)

    for dtype in ("float16", "float32", "float64"):
        x = [[4.0, -1.0, 3.0, 0.32, -0.16, 1.5, -2.0, 0.0], [1e-3, 2e-4, -9e-4, 5e-5, 7, -100, 30.2, 61]]
        yield computed(formula, np.asarray(x, dtype), group=4)
    yield Case((np.zeros((1, 4), "float32"),), np.zeros((1, 4)), attrs={"group": 4}, ulps=0)
