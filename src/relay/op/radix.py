"""Sorting by digits as loops: a stable radix sort of the places of a line, from the last digit of keys on."""

from collections.abc import Callable, Sequence
from typing import Any

from relay.ir.dtype import bits, is_float, is_signed
from relay.op.conversion import accumulator_name
from relay.op.native import Index, Loops

MIN_RADIX_ELEMENTS = 256
"""The fewest elements of a row for which radix sort is faster."""
MIN_WIDE_DIGIT_ELEMENTS = 8192
"""The fewest elements of a row for which 11-bit digits are faster than 8-bit ones."""


class Radix:
    """What there is to work in: two rows of keys and places, of which one is read and one written, and how
    often each digit occurs at each position.
    """

    def __init__(self, b: Loops, dtype: str, n: int) -> None:
        """For lines of `n` elements of a dtype."""
        self.b = b
        self.n = n
        self.dtype = accumulator_name(dtype) if is_float(dtype) else "int32" if bits(dtype) < 8 else dtype
        width = bits(self.dtype)
        self.key_type = f"uint{width}"
        self.digit = 8 if n < MIN_WIDE_DIGIT_ELEMENTS or width <= 16 else 11
        self.positions = -(-width // self.digit)
        self.keys = b.room(self.key_type, [2 * n])
        self.places = b.room("int64", [2 * n])
        self.counts = b.room("int64", [self.positions, 1 << self.digit])

    def key(self, x: Any, ascending: bool) -> Any:
        """An unsigned integer that is less than that of another element if the element comes before it."""
        b = self.b
        x = b.cast(x, self.dtype)
        ones, sign = (b.const(v, self.key_type) for v in ((1 << bits(self.dtype)) - 1, self.sign))
        found = x if self.dtype == self.key_type else b.reinterpret(x, self.key_type)
        if is_float(self.dtype):
            zero = b.const(0, x)
            is_zero, is_nan = b.compare("eq", x, zero), b.compare("ne", x, x)
            found = b.select(is_zero, b.const(0, found), found)
            negative = b.bits("xor", found, ones)
            found = b.select(b.compare("lt", x, zero), negative, b.bits("or", found, sign))
            found = b.select(is_nan, ones, found)
        elif is_signed(self.dtype):
            found = b.bits("xor", found, sign)
        return found if ascending else b.bits("xor", found, ones)

    @property
    def sign(self) -> int:
        """The highest bit of a key."""
        return 1 << (bits(self.dtype) - 1)

    def digit_of(self, key: Any, position: Index) -> Index:
        """The digit of a key at a position, counted from the last."""
        b = self.b
        shift = b.as_number(b.times(position, self.digit), self.key_type)
        digit = b.bits("and", b.bits("lshr", key, shift), b.const((1 << self.digit) - 1, key))
        return b.as_index(b.cast(digit, "int64"))

    def sort(self, read: Callable[[Index], Any], ascending: bool) -> Index:
        """Sort the places of a line; they stand in `places` from here on."""
        b, n = self.b, self.n
        one = b.const(1, "int64")

        def begin(i: Index, _: Sequence[Any]) -> Sequence[Any]:
            key = self.key(read(i), ascending)
            self.keys.put([i], key)
            self.places.put([i], b.as_number(i, "int64"))
            for position in range(self.positions):
                at = [position, self.digit_of(key, position)]
                self.counts.put(at, b.add(self.counts.at(at), one))
            return []

        def by_digit(position: Index, _: Sequence[Any]) -> Sequence[Any]:
            source = b.times(b.rest(position, 2), n)
            target = b.minus(n, source)

            def first(digit: Index, totals: Sequence[Any]) -> Sequence[Any]:
                count = self.counts.at([position, digit])
                self.counts.put([position, digit], totals[0])
                return [b.add(totals[0], count)]

            def move(i: Index, _: Sequence[Any]) -> Sequence[Any]:
                key = self.keys.at([b.plus(source, i)])
                at = [position, self.digit_of(key, position)]
                to = self.counts.at(at)
                self.counts.put(at, b.add(to, one))
                self.keys.put([b.plus(target, b.as_index(to))], key)
                self.places.put([b.plus(target, b.as_index(to))], self.places.at([b.plus(source, i)]))
                return []

            b.loop(1 << self.digit, [b.const(0, "int64")], first)
            b.long_loop(n, [], move)
            return []

        b.nest(self.counts.sizes, lambda index: self.counts.put(index, b.const(0, "int64")))
        b.long_loop(n, [], begin)
        b.loop(self.positions, [], by_digit)
        return self.positions % 2 * n
