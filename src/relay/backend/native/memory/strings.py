"""Strings: addresses of a word, sixteen times the number of code points and the bytes of each (1, 2 or 4),
and of the code points after it, or of their address if the word has the bit 8 too; nothing changes a string.

They come from constants, from Python, and from the functions of `texts.c`, and live as long as what they came
in with, or as the call that has made them.  Nobody counts references to them, so that their tensors are
tensors as any.
"""

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from relay.backend.native.llvm.builder import CONTEXT, POINTER, Code, Value, integer
from relay.ir.dtype import to_numpy

EMPTY = integer(0)
"""The empty string."""
UNITS_OFFSET = 8
"""Offset of the code points: the word comes first."""
COUNT_SHIFT, IS_VIEW, WIDTH = 4, 8, 7
"""The parts of the word."""
UNITS = {1: np.dtype("<u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4")}
"""Code points in so many bytes each."""
CODE_POINTS_ENCODING = "utf_32_le"


def encode(text: str) -> bytes:
    """A text as it lies in memory."""
    top = max(text, default="")
    width = 1 if top <= "\xff" else 2 if top <= "\uffff" else 4
    if width == 1:
        found = text.encode("latin1")
    else:
        found = (
            np.frombuffer(text.encode(CODE_POINTS_ENCODING, "surrogatepass"), "<u4")
            .astype(UNITS[width])
            .tobytes()
        )
    return (len(text) << COUNT_SHIFT | width).to_bytes(UNITS_OFFSET, "little") + found


def text_at(address: int) -> str:
    """The string at an address."""
    if not address:
        return ""
    word = int.from_bytes(ctypes.string_at(address, UNITS_OFFSET), "little")
    count, width, place = word >> COUNT_SHIFT, word & WIDTH, address + UNITS_OFFSET
    if word & IS_VIEW:
        place = int.from_bytes(ctypes.string_at(place, 8), "little")
    found = ctypes.string_at(place, count * width)
    if width == 1:
        return found.decode("latin1")
    return (
        np.frombuffer(found, UNITS[width])
        .astype("<u4")
        .tobytes()
        .decode(CODE_POINTS_ENCODING, "surrogatepass")
    )


def lay_out(texts: Iterable[str], start: int) -> tuple[list[int], bytes]:
    """Where strings are that lie one after the other from a place on, equal ones once, and their bytes."""
    places: dict[str, int] = {}
    whole = bytearray()
    found: list[int] = []
    for text in texts:
        if text not in places:
            places[text] = start + len(whole)
            one = encode(text)
            whole += one + bytes(-len(one) % UNITS_OFFSET)
        found.append(places[text])
    return found, bytes(whole)


def texts_of(array: Any) -> list[str]:
    """The strings of an array, row by row."""
    return np.asarray(array, object).reshape(-1).tolist()


class StringFunction(NamedTuple):
    """A function of `texts.c`: the LLVM types of its result and parameters, and whether it makes a string."""

    result: str
    params: tuple[str, ...]
    is_maker: bool = False


STRING_FUNCTIONS = {
    "text.concat": StringFunction("i64", ("i64", "i64"), is_maker=True),
    "text.length": StringFunction("i64", ("i64",)),
    "text.slice": StringFunction("i64", ("i64", "i64", "i64"), is_maker=True),
    "text.find": StringFunction("i64", ("i64", "i64", "i64")),
    "text.from_value": StringFunction("i64", ("i64",), is_maker=True),
    "text.is_int": StringFunction("i32", ("i64",)),
    "text.to_int": StringFunction("i64", ("i64",)),
    "text.is_float": StringFunction("i32", ("i64",)),
    "text.to_float": StringFunction("double", ("i64",)),
}
"""Functions of the loop IR, which `b.of_strings` makes."""
FROM_VALUE = "text.from_value"
BY_DIGITS = ("float32", "float16")
"""Floats of which the number itself, and not its shortest text, says whether that has an exponent: see
`relay.ir.floats`; float64 is the same either way.
"""


def makes_strings(op: str) -> bool:
    """Whether a function of the loop IR takes memory for a string: one thread at a time may."""
    return op in STRING_FUNCTIONS and STRING_FUNCTIONS[op].is_maker


def runtime_call(code: Code, symbol: str, result: str, args: Sequence[Value], makes: bool = False) -> Value:
    """A call of a function of `texts.c`."""
    given = [CONTEXT, *args] if makes else args
    code.declare(f"declare {result} @{symbol}({', '.join([v.type for v in given])})")
    return code.set(result, f"call {result} @{symbol}({', '.join(map(str, given))})")


def call_string_function(code: Code, name: str, args: Sequence[Value]) -> Value:
    """A function of strings."""
    assert not code.lanes, "strings are taken one by one"
    how = STRING_FUNCTIONS[name]
    assert [v.type for v in args] == list(how.params)
    symbol = f"relay_text_{name.removeprefix('text.')}"
    found = runtime_call(code, symbol, how.result, args, how.is_maker)
    return code.compare("icmp ne", found, integer(0, 32)) if how.result == "i32" else found


def text_of_integer(code: Code, x: Value, dtype: str) -> Value:
    """An integer or a truth value as a string, given in 64 bits."""
    kind = "bool" if dtype == "bool" else "uint" if dtype == "uint64" else "int"
    return runtime_call(code, f"relay_text_of_{kind}", "i64", [x], makes=True)


def text_of_float(code: Code, x: Value, dtype: str) -> Value:
    """A float as a string, given as a float64."""
    finfo: Any = ml_dtypes.finfo
    facts = finfo(to_numpy(dtype))
    shape = [integer(int(n), 32) for n in (facts.nmant + 1, facts.minexp, dtype in BY_DIGITS)]
    return runtime_call(code, "relay_text_of_float", "i64", [x, *shape], makes=True)


def compare_strings(code: Code, kind: str, x: Value, y: Value) -> Value:
    """`eq`, `ne`, `lt`, `le`, `gt` or `ge` of two strings."""
    assert not code.lanes, "strings are compared one by one"
    order = runtime_call(code, "relay_text_order", "i32", [x, y])
    return code.compare(f"icmp {kind if kind in ('eq', 'ne') else f's{kind}'}", order, integer(0, 32))


def load_string(code: Code, data: Value) -> Value:
    """The string that a tensor of rank 0 holds, whose elements are at an address."""
    return code.load("i64", code.load(POINTER, data))
