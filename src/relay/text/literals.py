"""Numbers and strings of text: what they mean, and whether they fit their type."""

import re
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relay.diagnostic import Report, Span, fail
from relay.ir.dtype import canonical, integer_range, is_float, is_integer, rounded, to_numpy
from relay.ir.expr import Constant
from relay.ir.type import TensorType

_PARTS = re.compile(r"([0-9]+)(\.[0-9]+)?([eE][+-]?[0-9]+)?(.*)\Z", re.DOTALL)
_LONGEST_INTEGER = 40
LONGEST_ATTRIBUTE = 4000
"""The most digits of an integer in metadata; Python converts no more than 4,300."""
SPECIAL = {"inf": float("inf"), "nan": float("nan")}
Number = tuple[int | float, str | None]
"""A value with the dtype its suffix gives, or None for an open literal."""


@lru_cache(maxsize=4096)
def number(text: str, negative: bool = False) -> Number:
    """The meaning of a number as written; a fault is a `RelayError` without a span.

    Codes: `bad-number`, `literal-out-of-range`.
    """
    parts = _PARTS.match(text)
    assert parts is not None
    digits, fraction, exponent, suffix = parts.groups()
    dtype = suffix_dtype(suffix)
    whole = fraction is None and exponent is None
    if suffix and (dtype is None or not (is_integer(dtype) or is_float(dtype))):
        fail(
            "bad-number",
            f"`{short(suffix)}` is not a suffix of numbers",
            hint="suffixes are f i8…i64 u8…u64 f16 f64 bf16",
        )
    if dtype is not None and is_integer(dtype) and not whole:
        fail(
            "bad-number",
            f"an {dtype} has no fraction and no exponent",
            hint="leave out the suffix, or say `f`",
        )
    if (dtype is None and whole) or (dtype is not None and is_integer(dtype)):
        return _integer(digits, dtype, negative, text), dtype
    value = float(text[: len(text) - len(suffix)])
    value = -value if negative else value
    check_float(value, dtype or "float64", text, negative)
    return value, dtype


def _integer(digits: str, dtype: str | None, negative: bool, text: str) -> int:
    if len(digits) > _LONGEST_INTEGER and len(digits.lstrip("0")) > _LONGEST_INTEGER:
        _out_of_range(text, dtype or "64-bit integers", negative)
    value = int(digits[-_LONGEST_INTEGER:])
    value = -value if negative else value
    low, high = (-(2**63), 2**64 - 1) if dtype is None else integer_range(dtype)
    if not low <= value <= high:
        _out_of_range(text, dtype or "64-bit integers", negative)
    return value


def check_float(value: float, dtype: str, text: str, negative: bool = False) -> None:
    """Refuse a finite number that is none in its type, as `1e999` (`literal-out-of-range`)."""
    if value in (float("inf"), float("-inf")):
        _out_of_range(text, dtype, negative)
    if dtype != "float64" and value == value:
        with np.errstate(all="ignore"):
            stored = np.asarray(value, np.float64).astype(to_numpy(dtype)).astype(np.float64)
        if not np.isfinite(stored):
            _out_of_range(text, dtype, negative)


def _out_of_range(text: str, dtype: str, negative: bool) -> None:
    shown = f"-{short(text)}" if negative else short(text)
    hint = ""
    if is_integer(dtype):
        low, high = integer_range(dtype)
        hint = f"{dtype} goes from {low} to {high}"
    fail("literal-out-of-range", f"{shown} is out of the range of {dtype}", hint=hint)


def short(text: str) -> str:
    """A text cut to a length that fits in a message."""
    return text if len(text) <= 30 else f"{text[:24]}…"


@lru_cache(maxsize=256)
def suffix_dtype(suffix: str) -> str | None:
    """The dtype a suffix names: `f`, an alias as `i64`, or a dtype in full."""
    return "float32" if suffix == "f" else canonical(suffix) if suffix else None


def special_float(name: str) -> Number | None:
    """`inf`, `nan`, and these with a suffix, as `inff` and `nanf64`."""
    value = SPECIAL.get(name[:3])
    if value is None:
        return None
    if len(name) == 3:
        return value, None
    dtype = suffix_dtype(name[3:])
    return None if dtype is None or not is_float(dtype) else (value, dtype)


def closed(value: Any, dtype: str, span: Span | None) -> Constant:
    """A scalar constant of a dtype."""
    return Constant(rounded(np.asarray(value), to_numpy(dtype)), TensorType((), dtype), span=span)


def opened(value: int | float, span: Span | None) -> Constant:
    """An open literal."""
    return Constant(np.asarray(value, open_dtype(value)), None, span=span)


def open_dtype(value: int | float) -> type[np.generic]:
    """What stores an open number."""
    return np.float64 if isinstance(value, float) else np.int64 if value < 2**63 else np.uint64


def strict_dtype(value: int | float) -> str:
    """The dtype of an unsuffixed number in the strict dialect, which decides at once."""
    return "float32" if isinstance(value, float) else "int32" if -(2**31) <= value < 2**31 else "int64"


def fits(value: Any, dtype: str) -> bool:
    """Whether a Python value can be an element of that dtype: in range, no fraction for an integer."""
    if isinstance(value, bool) or dtype == "bool":
        return isinstance(value, bool) and dtype == "bool"
    if isinstance(value, str) or dtype == "string":
        return isinstance(value, str) and dtype == "string"
    if is_integer(dtype):
        low, high = integer_range(dtype)
        return isinstance(value, int) and low <= value <= high
    if value != value or value in (float("inf"), float("-inf")):
        return True
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.asarray(float(value)).astype(to_numpy(dtype)).astype(np.float64)))


MOST_AXES = 32
"""Tensor literals of a higher rank stay calls of `stack`: NumPy has no such arrays."""


def folded(elements: list[Constant], span: Span | None) -> Constant | None:
    """The constant that stacks literals of one shape, or None where their dtypes differ."""
    known = {c.type.dtype for c in elements if c.type is not None}
    shapes = {c.value.shape for c in elements}
    if len(known) > 1 or len(shapes) != 1 or len(next(iter(shapes))) >= MOST_AXES:
        return None
    dtype = known.pop() if known else None
    assert dtype is None or isinstance(dtype, str)
    arrays = [c.value for c in elements]
    if dtype is not None:
        if any(not _converts(c, dtype) for c in elements if c.type is None):
            return None
        stacked = np.stack([a.astype(to_numpy(dtype)) for a in arrays])
        return Constant(stacked, TensorType(stacked.shape, dtype), span=span)
    open_type = _open_type(arrays)
    return (
        None
        if open_type is None
        else Constant(np.stack([a.astype(open_type) for a in arrays]), None, span=span)
    )


def _converts(c: Constant, dtype: str) -> bool:
    if is_float(dtype):
        return True
    if not is_integer(dtype) or c.value.dtype == np.float64:
        return False
    low, high = integer_range(dtype)
    return bool(c.value.size == 0 or (c.value.min() >= low and c.value.max() <= high))


def _open_type(arrays: list[NDArray[Any]]) -> type[np.generic] | None:
    kinds = {a.dtype.type for a in arrays}
    if np.float64 in kinds:
        return np.float64
    if np.uint64 not in kinds:
        return np.int64
    return np.uint64 if all(a.dtype == np.uint64 or a.min(initial=0) >= 0 for a in arrays) else None


_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|([\s\S]))")
_SIMPLE = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "r": "\r", "0": "\0"}


def unescape(quoted: str, span: Span, report: Report) -> str:
    """The text of a string literal with its quotes; a bad escape is reported (`bad-escape`)."""
    inner = quoted[1:-1]
    if "\\" not in inner:
        return inner

    def one(m: re.Match[str]) -> str:
        code = int(m[1], 16) if m[1] else None
        if code is not None and code <= 0x10FFFF:
            return chr(code)
        if m[2] in _SIMPLE:
            return _SIMPLE[m[2]]
        start = span.start + 1 + m.start()
        report.error(
            "bad-escape",
            f"`{m[0]}` is not an escape",
            Span(span.source, start, start + len(m[0])),
            hint=r"escapes are \" \\ \n \t and \u{…} with the hexadecimal number of a character",
        )
        return ""

    return _ESCAPE.sub(one, inner)
