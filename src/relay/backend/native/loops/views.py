"""Tensors as operators see them: elements in memory, read and written by index."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from relay.backend.native.loops.index_arithmetic import aligned_axes
from relay.backend.native.loops.nodes import INDEX, Buffer, Index, Release, Store, Value
from relay.ir.type import TensorType, TupleType, Type

if TYPE_CHECKING:
    from relay.backend.native.loops.builder import Builder


class View:
    """A tensor in memory, or a number."""

    def __init__(self, b: "Builder", t: TensorType, found: Value, is_in_memory: bool = False) -> None:
        """`found` is the object; or the number, if the rank is 0 and it is not in memory."""
        self.b = b
        self.dtype = str(t.dtype)
        self.found = found
        self.sizes: list[Index] = [
            d if isinstance(d, int) else b.apply("size", INDEX, found, i)
            for i, d in enumerate(cast("tuple[Any, ...]", t.shape))
        ]
        has_data = is_in_memory or bool(self.sizes)
        self.data = b.data(found) if has_data else None
        self.is_written = is_in_memory
        """Whether its elements may change."""
        self.name = ""

    @property
    def buffer(self) -> Buffer:
        """Its elements."""
        assert self.data is not None
        return Buffer(self.data, self.dtype, tuple(self.sizes), self.name)

    def at(self, index: Sequence[Index]) -> Value:
        """The element at an index; one of an operand is read once."""
        if self.data is None:
            return self.found
        if self.is_written:
            return self.b.read(self.buffer, index)
        return self.b.once((self.data, *index), lambda: self.b.read(self.buffer, index))

    def at_place(self, index: Sequence[Index], sizes: Sequence[Index]) -> Value:
        """The element at an index in another shape of as many elements: axes that this has split are read as
        one, which takes no division.
        """
        if self.data is None:
            return self.found
        groups = aligned_axes(sizes, self.sizes)
        own = tuple([self.b.count(self.sizes[k:n]) for _, _, k, n in groups])
        at = [self.b.position(index[i:j], sizes[i:j]) for i, j, _, _ in groups]
        buffer = Buffer(self.data, self.dtype, own, self.name)
        if self.is_written:
            return self.b.read(buffer, at)
        return self.b.once((self.data, own, *at), lambda: self.b.read(buffer, at))

    def put(self, index: Sequence[Index], x: Value) -> None:
        """Write an element."""
        self.b.add_statement(Store(self.buffer, tuple(index), x))

    def put_place(self, index: Sequence[Index], sizes: Sequence[Index], x: Value) -> None:
        """Write the element that has an index in another shape of as many elements."""
        assert self.data is not None
        self.b.add_statement(Store(Buffer(self.data, self.dtype, tuple(sizes), self.name), tuple(index), x))

    def leaf(self) -> Value:
        """What the program goes on with: the object, or the number that was written."""
        if self.sizes:
            return self.found
        made = self.at(())
        self.b.add_statement(Release(self.found))
        return made


def operand(b: "Builder", t: Type, row: Sequence[Value]) -> Any:
    """What an operator sees of an operand: a view of a tensor, a tuple of what it sees of the fields."""
    leaves = iter(row)
    done: list[list[Any]] = [[]]
    pending: list[Type | None] = [t]
    while pending:
        part = pending.pop()
        if part is None:
            fields = tuple(done.pop())
            done[-1].append(fields)
        elif isinstance(part, TupleType):
            done.append([])
            pending += [None, *reversed(part.fields)]
        else:
            done[-1].append(View(b, cast("TensorType", part), next(leaves)))
    return done[0][0]


def views_in(x: Any) -> list[Any]:
    """The views that a tuple of them, or of such tuples, is made of."""
    found: list[Any] = []
    pending = [x]
    while pending:
        part = pending.pop()
        if isinstance(part, tuple):
            pending += reversed(cast("tuple[Any, ...]", part))
        else:
            found.append(part)
    return found


def new_output(b: "Builder", t: TensorType, sizes: Sequence[Index]) -> View:
    """A new tensor to write to; one number is kept in memory until it is complete."""
    out = View(b, t, b.tensor(t, sizes), is_in_memory=True)
    out.sizes = list(sizes)
    return out
