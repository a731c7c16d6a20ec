"""Threefry in machine code: the words of `random.draw`, bit for bit."""

from collections.abc import Sequence
from typing import Any

from relay.op.native import Index, Loops, Output, View

ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
PARITY = 0x1BD11BDAA9FC1A22
TOP = 1 << 63
UINT64_MAX = 2**64 - 1


def word(b: Loops, n: int) -> Any:
    """A constant word."""
    return b.const(n, "uint64")


def cipher(b: Loops, key: Sequence[Any], counter: Sequence[Any]) -> list[Any]:
    """The four words of the cipher, of 20 rounds."""
    parity = word(b, PARITY)
    for k in key:
        parity = b.bits("xor", parity, k)
    schedule = [*key, parity]
    x = [b.add(w, k) for w, k in zip(counter, key, strict=True)]
    for r in range(20):
        for i, places in zip((0, 2), ROTATIONS[r % 8], strict=True):
            x[i] = b.add(x[i], x[i + 1])
            x[i + 1] = b.bits("xor", rotated(b, x[i + 1], places), x[i])
        x[1], x[3] = x[3], x[1]
        if r % 4 == 3:
            n = r // 4 + 1
            x = [b.add(w, schedule[(n + i) % 5]) for i, w in enumerate(x)]
            x[3] = b.add(x[3], word(b, n))
    return x


def rotated(b: Loops, x: Any, places: int) -> Any:
    """The bits of a word, to the left and around."""
    up, down = b.bits("shl", x, word(b, places)), b.bits("lshr", x, word(b, 64 - places))
    return b.bits("or", up, down)


def read(b: Loops, key: View, row: Sequence[Index] = ()) -> list[Any]:
    """The ten words of a key, which may be a row among others."""
    return [key.at([*row, i]) for i in range(10)]


def write(out: Output, state: Sequence[Any], row: Sequence[Index] = ()) -> None:
    """A key of ten words, which may be a row among others."""
    for i, w in enumerate(state):
        out.put([*row, i], w)


def changed(b: Loops, c: Any, state: Sequence[Any], other: Any) -> Sequence[Any]:
    """A state, or where `c` another that is computed only then."""
    return b.loop(b.as_index(b.cast(c, "int64")), state, lambda _, now: other(now))


def are_all_zero(b: Loops, *words: Any) -> Any:
    """Whether all of some words are 0."""
    return b.both(*[b.compare("eq", w, word(b, 0)) for w in words])


def next_place(b: Loops, high: Any, low: Any) -> tuple[Any, Any]:
    """The single bit of a path, one place to the right."""
    one = word(b, 1)
    carried = b.bits("shl", high, word(b, 63))
    return b.bits("lshr", high, one), b.bits("or", b.bits("lshr", low, one), carried)


def renewed(b: Loops, hashed: Sequence[Any]) -> list[Any]:
    """A new key's state."""
    none = word(b, 0)
    return [*hashed, none, none, none, none, word(b, TOP), none]


def with_room(b: Loops, state: Sequence[Any], n: Any) -> Sequence[Any]:
    """A state whose counter has `n` words left."""
    last = b.subtract(word(b, UINT64_MAX), b.as_number(n, "uint64"))
    full, ended = b.compare("ge", state[7], last), are_all_zero(b, state[8], state[9])
    ones = [word(b, UINT64_MAX)] * 2

    def hashed(s: Sequence[Any]) -> Sequence[Any]:
        return renewed(b, cipher(b, s[:4], [*ones, *s[6:8]]))

    def moved(s: Sequence[Any]) -> Sequence[Any]:
        path = [b.bits("or", s[4], s[8]), b.bits("or", s[5], s[9])]
        return [*s[:4], *path, word(b, 0), word(b, 0), *next_place(b, s[8], s[9])]

    new = changed(b, b.both(full, ended), state, hashed)
    return changed(b, b.both(full, b.negation(ended)), new, moved)


def room_for(b: Loops, n: Index) -> Output:
    """Room for `n` words, and up to three more, as blocks have four."""
    return b.room("uint64", [b.times(4, b.larger(b.quotient(b.plus(n, 3), 4), 1))])


def emit_words(b: Loops, words: Output, state: Sequence[Any], n: Index) -> None:
    """Put `n` random words, and those that the last block has beyond, of a state that has room for them."""
    blocks = b.quotient(b.plus(n, 3), 4)

    def block(i: Any, totals: Sequence[Any]) -> Sequence[Any]:
        number = b.as_number(i, "uint64")
        made = cipher(b, state[:4], [b.add(w, number) for w in state[4:8]])
        for k, w in enumerate(made):
            words.put([b.plus(b.times(i, 4), k)], w)
        return totals

    b.loop(blocks, (), block)


def emit_draw(b: Loops, rest: Output, key: View, n: Index) -> Output:
    """`n` random words, as `emit_words` puts them; the key to go on with is written."""
    words = room_for(b, n)
    emit_row(b, words, rest, key, n)
    return words


def emit_row(b: Loops, words: Output, rest: Output, key: View, n: Index, row: Sequence[Index] = ()) -> None:
    """Put `n` random words of a key, which may be a row among others, and write the one to go on with."""
    state = with_room(b, read(b, key, row), n)
    emit_words(b, words, state, n)
    write(rest, [*state[:6], word(b, 0), b.add(state[7], b.as_number(n, "uint64")), *state[8:]], row)


def emit_split_key(b: Loops, left: Output, right: Output, key: View, row: Sequence[Index] = ()) -> None:
    """The two keys of a split."""

    def hashed(s: Sequence[Any]) -> Sequence[Any]:
        return renewed(b, cipher(b, s[:4], s[4:8]))

    first = read(b, key, row)
    state = changed(b, are_all_zero(b, *first[8:]), first, hashed)
    place = next_place(b, state[8], state[9])
    path = [b.bits("or", state[4], state[8]), b.bits("or", state[5], state[9])]
    write(left, [*state[:8], *place], row)
    write(right, [*state[:4], *path, *state[6:8], *place], row)


def emit_unit(b: Loops, x: Any, bits: int) -> Any:
    """A word as a float64 from 0 up to 1, 1 left out."""
    top = b.bits("lshr", x, word(b, 64 - bits))
    return b.multiply(b.cast(top, "float64"), b.const(2.0**-bits, "float64"))
