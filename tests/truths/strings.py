"""Truths of operators on strings, by Python's own."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from relay.ir.dtype import to_numpy
from truths.base import Case, truth

WORDS = ("", "a", "héllo", "\U0001f600b", "zebra", "na\u0000me", "banana")


def of_texts(*texts: Any) -> Any:
    """Return an array of strings."""
    return np.asarray(texts, object)


def wholes(*numbers: int) -> Any:
    """Return an array of integers."""
    return np.asarray(numbers, "int64")


def on_strings(name: str, dtype: str, f: Callable[..., Any], *operands: Any) -> None:
    """Declare a function of the elements of some operands."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        rows = zip(*[x.tolist() for x in operands], strict=True)
        yield Case(operands, np.asarray([f(*row) for row in rows], to_numpy(dtype)))


on_strings("string.concat", "string", lambda x, y: "".join((x, y)), of_texts(*WORDS), of_texts(*WORDS[::-1]))
on_strings("string.length", "int64", lambda x: len([*x]), of_texts(*WORDS))
PLACES = [(w, i, j) for w in WORDS for i in (-9, -2, 0, 1, 4) for j in (-7, -1, 0, 3, 99)]
on_strings(
    "string.slice",
    "string",
    lambda x, i, j: "".join([c for k, c in enumerate(x) if (i + len(x) if i < 0 else i) <= k and
                             k < (j + len(x) if j < 0 else j)]),
    of_texts(*[w for w, _, _ in PLACES]),
    wholes(*[i for _, i, _ in PLACES]),
    wholes(*[j for _, _, j in PLACES]),
)  # fmt: skip


def first_place(x: str, part: str, begin: int) -> int:
    """Return the first place of a part, by trying all."""
    first = max(begin + len(x), 0) if begin < 0 else begin
    places = [k for k in range(first, len(x) + 1) if x[k : k + len(part)] == part]
    return places[0] if places else -1


PARTS = [(w, p, k) for w in WORDS for p in ("", "a", "na", "b", "llo", "zebras") for k in (-3, 0, 1, 3, 9)]
on_strings(
    "string.find",
    "int64",
    first_place,
    of_texts(*[w for w, _, _ in PARTS]),
    of_texts(*[p for _, p, _ in PARTS]),
    wholes(*[k for _, _, k in PARTS]),
)

NUMERALS: dict[str, tuple[bool, int, float]] = {
    "12": (True, 12, 12.0),
    "-7": (True, -7, -7.0),
    "+0": (True, 0, 0.0),
    "007": (True, 7, 7.0),
    "9223372036854775807": (True, 2**63 - 1, float(2**63)),
    "-9223372036854775808": (True, -(2**63), -float(2**63)),
    "9223372036854775808": (False, 0, float(2**63)),
    "1.5": (False, 0, 1.5),
    "-2e3": (False, 0, -2000.0),
    ".5": (False, 0, 0.5),
    "5.": (False, 0, 5.0),
    "0.1": (False, 0, 0.1),
    "1e-320": (False, 0, 1e-320),
    "1e999": (False, 0, math.inf),
    "-inf": (False, 0, -math.inf),
}
"""Numerals, and whether they are integers, the integers, and the floats."""
OTHERS = ("", "x", "1 ", " 1", "1_0", "0x1", "--1", "1e", ".", "infinity", "1.5.2", "٣")
"""What is no number."""
GIVEN = of_texts(*NUMERALS, *OTHERS, "nan")


@truth("string.is_int")
def is_int(long: bool) -> Iterator[Case]:
    yield Case((GIVEN,), np.asarray([s in NUMERALS and NUMERALS[s][0] for s in GIVEN]))


@truth("string.to_int")
def to_int(long: bool) -> Iterator[Case]:
    yield Case((GIVEN,), wholes(*[NUMERALS[s][1] if s in NUMERALS else 0 for s in GIVEN]))


@truth("string.is_float")
def is_float(long: bool) -> Iterator[Case]:
    yield Case((GIVEN,), np.asarray([s in NUMERALS or s == "nan" for s in GIVEN]))


@truth("string.to_float")
def to_float(long: bool) -> Iterator[Case]:
    right = [NUMERALS[s][2] if s in NUMERALS else math.nan for s in GIVEN]
    yield Case((GIVEN,), np.asarray(right), ulps=0)


@truth("string.from_value")
def from_value(long: bool) -> Iterator[Case]:
    """Yield numbers whose shortest texts are well known."""
    for dtype, right in (
        ("float64", {0.1: "0.1", 1e20: "1e+20", -2.5: "-2.5", 1 / 3: "0.3333333333333333", math.inf: "inf"}),
        ("float32", {0.1: "0.1", 1 / 3: "0.33333334", 16777216.0: "16777216.0", math.nan: "nan"}),
        ("float16", {0.1: "0.1", 1 / 3: "0.3333", 65504.0: "65500.0"}),
        ("int8", {-128: "-128", 0: "0", 127: "127"}),
        ("uint64", {2**64 - 1: "18446744073709551615"}),
        ("bool", {True: "True", False: "False"}),
    ):
        yield Case((np.asarray([*right]).astype(to_numpy(dtype)),), of_texts(*right.values()))
    yield Case((of_texts(*WORDS),), of_texts(*WORDS))
