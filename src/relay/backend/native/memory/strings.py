"""Strings: addresses of texts in memory, a length and so many bytes of UTF-8, which nothing changes.

Programs make no strings: they come from constants and from Python, and live as long as what they came in
with.  Nobody counts references to them, so that their tensors are tensors as any.
"""

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np

from relay.backend.native.llvm.builder import POINTER, Code, Value, integer
from relay.backend.native.llvm.modules import Piece

EMPTY = integer(0)
"""The empty string."""
BYTES_OFFSET = 8
"""Offset of the characters: the length comes first."""


def encode(text: str) -> bytes:
    """A text as it lies in memory; bytes compare as characters do."""
    found = text.encode("utf-8", "surrogatepass")
    return len(found).to_bytes(BYTES_OFFSET, "little") + found


def text_at(address: int) -> str:
    """The string at an address."""
    if not address:
        return ""
    size = int.from_bytes(ctypes.string_at(address, BYTES_OFFSET), "little")
    return ctypes.string_at(address + BYTES_OFFSET, size).decode("utf-8", "surrogatepass")


def lay_out(texts: Iterable[str], start: int) -> tuple[list[int], bytes]:
    """Where strings are that lie one after the other from a place on, equal ones once, and their bytes."""
    places: dict[str, int] = {}
    whole = bytearray()
    found: list[int] = []
    for text in texts:
        if text not in places:
            places[text] = start + len(whole)
            one = encode(text)
            whole += one + bytes(-len(one) % BYTES_OFFSET)
        found.append(places[text])
    return found, bytes(whole)


def texts_of(array: Any) -> list[str]:
    """The strings of an array, row by row."""
    return np.asarray(array, object).reshape(-1).tolist()


def compare_strings(program: Any, code: Code, kind: str, x: Value, y: Value) -> Value:
    """`eq`, `ne`, `lt`, `le`, `gt` or `ge` of two strings."""
    assert not code.lanes, "strings are compared one by one"
    program.share("relay.compare_texts", lambda: COMPARE_DEFINITION)
    symbol = code.refer("@relay.compare_texts", "declare i32 @relay.compare_texts(i64, i64)")
    order = code.set("i32", f"call i32 {symbol}({x}, {y})")
    return code.compare(f"icmp {kind if kind in ('eq', 'ne') else f's{kind}'}", order, integer(0, 32))


def load_string(code: Code, data: Value) -> Value:
    """The string that a tensor of rank 0 holds, whose elements are at an address."""
    return code.load("i64", code.load(POINTER, data))


COMPARE_DEFINITION = Piece(
    f"""
@relay.no_text = internal constant i64 0
define internal i32 @relay.compare_texts(i64 %x, i64 %y) nounwind {{
entry:
  %same = icmp eq i64 %x, %y
  br i1 %same, label %equal, label %look
equal:
  ret i32 0
look:
  %x0 = icmp eq i64 %x, 0
  %y0 = icmp eq i64 %y, 0
  %xp = inttoptr i64 %x to ptr
  %yp = inttoptr i64 %y to ptr
  %a = select i1 %x0, ptr @relay.no_text, ptr %xp
  %b = select i1 %y0, ptr @relay.no_text, ptr %yp
  %m = load i64, ptr %a
  %n = load i64, ptr %b
  %short = icmp ult i64 %m, %n
  %both = select i1 %short, i64 %m, i64 %n
  %as = getelementptr i8, ptr %a, i64 {BYTES_OFFSET}
  %bs = getelementptr i8, ptr %b, i64 {BYTES_OFFSET}
  %order = call i32 @memcmp(ptr %as, ptr %bs, i64 %both)
  %differ = icmp ne i32 %order, 0
  br i1 %differ, label %told, label %sizes
told:
  ret i32 %order
sizes:
  %long = icmp ugt i64 %m, %n
  %up = zext i1 %long to i32
  %down = zext i1 %short to i32
  %size = sub i32 %up, %down
  ret i32 %size
}}
""",
    functions=("@relay.compare_texts",),
    declarations=("declare i32 @memcmp(ptr, ptr, i64)",),
)
