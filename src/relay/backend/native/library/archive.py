"""Static libraries: object files in an archive, with the table of symbols that linkers look into.

The format of System V and GNU, see `ar(5)` and the System V ABI, chapter 7.
"""

from collections.abc import Sequence

MAGIC = b"!<arch>\n"
HEADER_BYTES = 60


def archive(name: str, code: bytes, symbols: Sequence[str]) -> bytes:
    """An archive of one object file, which defines symbols; dates and owners are zeros, as `ar D` has it."""
    names = b"".join([s.encode() + b"\0" for s in symbols])
    table_bytes = 4 * (1 + len(symbols)) + len(names)
    long_names = f"{name}/\n".encode()
    first = len(MAGIC) + HEADER_BYTES + even(table_bytes) + HEADER_BYTES + even(len(long_names))
    offsets = [len(symbols), *[first] * len(symbols)]
    table = b"".join([n.to_bytes(4, "big") for n in offsets]) + names
    return b"".join([MAGIC, member("/", table), member("//", long_names), member("/0", code)])


def member(name: str, content: bytes) -> bytes:
    """A member of an archive."""
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{0o644:<8o}{len(content):<10}`\n".encode()
    assert len(head) == HEADER_BYTES
    return head + content + b"\n" * (len(content) % 2)


def even(size: int) -> int:
    """Bytes of a member with its padding."""
    return size + size % 2
