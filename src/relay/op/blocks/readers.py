"""How blocks are read: all of an array at once, or an element at a time in loops."""

from collections.abc import Callable
from typing import Any

from relay.op.base import Array, Numpy
from relay.op.blocks.formats import BlockFormat
from relay.op.native import Index, Loops


class ArrayReader:
    """Reads blocks that are the rows of an array of bytes."""

    def __init__(self, np: Numpy, blocks: Array) -> None:
        """`blocks` is `(n, bytes)`, uint8."""
        self.np, self.blocks = np, blocks

    def byte(self, at: Any) -> Array:
        """A byte of each block, or one for each element of it, as int32."""
        places = self.np.reshape(self.np.asarray(at), (-1,))
        return self.np.take(self.blocks, places, 1).astype("int32")

    def half(self, at: int) -> Array:
        """A float16 of each block, as float32."""
        low, high = self.byte(at), self.byte(at + 1)
        return (low | high << 8).astype("uint16").view("float16").astype("float32")

    def bit(self, at: int, number: Any) -> Array:
        """A bit for each element."""
        return (self.byte(at + number // 8) >> (number % 8)) & 1

    def real(self, x: Array) -> Array:
        """Numbers as float32."""
        return x.astype("float32")

    def signed(self, x: Array) -> Array:
        """Bytes as float32, from -128 to 127."""
        return x.astype("uint8").view("int8").astype("float32")

    def either(self, at: Any, limit: int, first: Callable[[], Array], second: Callable[[], Array]) -> Array:
        """The first where a place is below a limit, else the second."""
        return self.np.where(self.np.asarray(at < limit), first(), second())


def numbers_of_blocks(np: Numpy, form: BlockFormat, blocks: Array) -> Array:
    """What blocks `(n, bytes)`, uint8, stand for: `(n, size)`, float32."""
    a = ArrayReader(np, blocks)
    i = np.arange(form.size)
    r, x = i // form.run, i % form.run
    code = form.code(a, r, x)
    if form.levels:
        q = np.take(np.asarray(form.levels, "float32"), code)
    else:
        q = a.signed(code) if form.is_signed else a.real(code) - np.float32(form.zero)
    found = form.scale(a, r) * q
    return found if form.minimum is None else found + form.minimum(a, r)


class Word:
    """A number of loops, with Python's operators."""

    __slots__ = ("b", "x")

    def __init__(self, b: Loops, x: Any) -> None:
        """`x` is a number, of a dtype."""
        self.b, self.x = b, x

    def other(self, y: Any) -> Any:
        """Another operand: a number as it is, an index or a known integer as one of the same dtype."""
        if isinstance(y, Word):
            return y.x
        if isinstance(y, At):
            return self.b.as_number(y.i, self.x.dtype)
        return self.b.const(y, self.x.dtype)

    def __rshift__(self, n: Any) -> "Word":
        return self if isinstance(n, int) and n == 0 else self.bits("lshr", n)

    def __lshift__(self, n: Any) -> "Word":
        return self.bits("shl", n)

    def __and__(self, y: Any) -> "Word":
        return self.bits("and", y)

    def __or__(self, y: Any) -> "Word":
        return self.bits("or", y)

    def bits(self, name: str, y: Any) -> "Word":
        """An operator on bits."""
        return Word(self.b, self.b.bits(name, self.x, self.other(y)))

    def __mul__(self, y: Any) -> "Word":
        return Word(self.b, self.b.multiply(self.x, self.other(y)))

    def __add__(self, y: Any) -> "Word":
        return Word(self.b, self.b.add(self.x, self.other(y)))

    def __sub__(self, y: Any) -> "Word":
        return Word(self.b, self.b.subtract(self.x, self.other(y)))

    def __neg__(self) -> "Word":
        return Word(self.b, self.b.negative(self.x))


class At:
    """An index of loops, with Python's operators; known ones are Python's integers."""

    __slots__ = ("b", "i")

    def __init__(self, b: Loops, i: Index) -> None:
        """`i` is not known."""
        self.b, self.i = b, i

    def of(self, i: Index) -> "At | int":
        """Another index."""
        return i if isinstance(i, int) else At(self.b, i)

    def __add__(self, n: "At | int") -> "At | int":
        return self.of(self.b.plus(self.i, index_of(n)))

    __radd__ = __add__

    def __mul__(self, n: int) -> "At | int":
        return self.of(self.b.times(self.i, n))

    __rmul__ = __mul__

    def __floordiv__(self, n: int) -> "At | int":
        return self.of(self.b.quotient(self.i, n))

    def __mod__(self, n: int) -> "At | int":
        return self.of(self.b.rest(self.i, n))


def index_of(at: "At | int") -> Index:
    """A place as loops have it."""
    return at.i if isinstance(at, At) else at


class ElementReader:
    """Reads a block for one element; bytes are numbers of uint8."""

    def __init__(self, b: Loops, read: Callable[[Index], Any]) -> None:
        """`read(i)` is a byte of the block."""
        self.b, self.read = b, read

    def byte(self, at: "At | int") -> Word:
        """A byte of the block."""
        return Word(self.b, self.read(index_of(at)))

    def half(self, at: int) -> Word:
        """A float16, as float32."""
        b = self.b
        low, high = (Word(b, b.cast(self.read(at + i), "uint16")) for i in (0, 1))
        return Word(b, b.cast(b.reinterpret((low | (high << 8)).x, "float16"), "float32"))

    def bit(self, at: int, number: "At | int") -> Word:
        """A bit of the block."""
        return (self.byte(at + number // 8) >> (number % 8)) & 1

    def real(self, x: Word) -> Word:
        """A byte as float32."""
        return Word(self.b, self.b.cast(self.b.cast(x.x, "int32"), "float32"))

    def signed(self, x: Word) -> Word:
        """A byte as float32, from -128 to 127."""
        return Word(self.b, self.b.cast(self.b.reinterpret(x.x, "int8"), "float32"))

    def either(
        self, at: "At | int", limit: int, first: Callable[[], Word], second: Callable[[], Word]
    ) -> Word:
        """The first where a place is below a limit, else the second."""
        if isinstance(at, int):
            return first() if at < limit else second()
        b = self.b
        return Word(b, b.select(b.is_less(at.i, limit), first().x, second().x))


def element(b: Loops, form: BlockFormat, read: Callable[[Index], Any], i: Index) -> Any:
    """What element `i` of a block stands for, a float32; `read(i)` is a byte of it."""
    a = ElementReader(b, read)
    place = i if isinstance(i, int) else At(b, i)
    r, x = place // form.run, place % form.run
    code = form.code(a, r, x)
    if form.levels:
        import numpy

        levels = b.table(numpy.asarray(form.levels, "float32"))
        q = Word(b, levels.at([b.as_index(b.cast(code.x, "int32"))]))
    else:
        q = a.signed(code) if form.is_signed else a.real(code)
        q = q - form.zero if form.zero else q
    found = form.scale(a, r) * q
    return found.x if form.minimum is None else (found + form.minimum(a, r)).x
