"""Values of Python as machine code holds them, and back.  Nothing recurses over a value."""

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import cache, partial
from math import prod
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np

from relay.backend.native.host.context import read_leaf, write_leaf
from relay.backend.native.host.donation import Donation
from relay.backend.native.host.python_objects import elements_of
from relay.backend.native.math.minifloats import FORMATS
from relay.backend.native.memory.layout import TENSOR_DATA_OFFSET, TENSOR_SIZES_OFFSET
from relay.backend.native.memory.objects import DONATED, EXTERNAL, Layout, header, layout
from relay.backend.native.memory.strings import lay_out, text_at, texts_of
from relay.backend.native.memory.tensors import SUBBYTE_STORAGE, TENSOR, elements_at, storage_array
from relay.backend.native.runtime.runtime_library import runtime_library
from relay.diagnostic import Diagnostic, RelayError, fail
from relay.interpreter.conversion import convert
from relay.interpreter.tensor_conversion import MisfitError
from relay.interpreter.value import ConstructorValue, RefValue
from relay.ir.dtype import to_numpy
from relay.ir.expr import Constructor
from relay.ir.type import FuncType, GlobalTypeVar, RefType, TensorType, TupleType, Type, TypeCall

Row = Sequence[Any]
Step = Callable[[list[Any]], None]
"""Takes the last results and puts one in their place."""
BY_BITS = frozenset(map(to_numpy, ("bfloat16", *FORMATS)))
"""Dtypes whose numbers are held as their bits."""
SHARED = 4096
"""Bytes from which a result is given away instead of copied."""
HEAD = struct.Struct("<QQ")
"""A tensor's header and the address of its elements, which are its first two parts."""
TAG = 6
"""Where the tag of an object is."""


class Pending(NamedTuple):
    """A value, or its leaves, and its type."""

    value: Any
    type: Type


class Conversion:
    """Between Python and one program."""

    def __init__(
        self, program: Any, allocate: Callable[[int], int], allocate_bytes: Callable[[int], int]
    ) -> None:
        """The two give memory for an object and for a tensor of so many bytes."""
        self.program = program
        self.allocate = allocate
        self.allocate_bytes = allocate_bytes
        self.function: Callable[[int, FuncType], Any] = self.no_function
        """Makes a Python object of a closure."""
        self.callback: Callable[[Any, FuncType], int] = self.no_callback
        """Makes a closure of a function of Python."""
        self.give_away: Callable[[int], int | None] = no_memory
        """Takes the memory of a tensor from the program."""
        self.cells: dict[int, RefValue] = {}
        """References of Python, by the addresses of those that stand for them in this call."""
        self.given: dict[RefValue, tuple[int, RefType]] = {}
        """Where those are that came in."""
        self.donation: Donation | None = None
        """The arrays of a call that gives some up."""

    def no_function(self, address: int, t: FuncType) -> Any:
        """Before there is a program to call."""
        raise AssertionError("functions are made by the program")

    def no_callback(self, function: Any, t: FuncType) -> int:
        """Before there is a program that calls."""
        raise AssertionError("closures are made for a program")

    def new(self, of: Layout) -> int:
        """Memory for an object (`out-of-memory`)."""
        return self.allocate(of.size) or out_of_memory()

    # --- references ---

    def begin(self) -> None:
        """A call begins: no references are known."""
        self.cells, self.given, self.donation = {}, {}, None

    def given_cells(self) -> dict[int, RefValue]:
        """The references that came in, by their addresses."""
        return {p: cell for cell, (p, _) in self.given.items()}

    def reference(self, cell: RefValue, t: RefType) -> tuple[int, Callable[[Sequence[Row]], list[Any]]]:
        """A new object for a reference, and what fills it with the leaves of its value."""
        kinds = self.program.leaves(t.value)
        of = layout(kinds)
        p = self.new(of)
        write_leaf(p, "ptr", header(self.program.layouts.number(of), count=2))
        self.cells[p], self.given[cell] = cell, (p, t)

        def fill(parts: Sequence[Row]) -> list[Any]:
            for v, kind, offset in zip(flatten(parts), kinds, of.offsets, strict=True):
                write_leaf(p + offset, kind, v)
            return [p]

        return p, fill

    def contents_of(self, cell: RefValue, t: RefType) -> Pending:
        """What a reference of Python holds (`argument-type`)."""
        try:
            return Pending(convert(cell.value, t.value, {}, self.program.definitions), t.value)
        except MisfitError as misfit:
            message = f"a reference of type {t} is given: {misfit.message}"
            fail("argument-type", message, hint=misfit.hint)

    def written_back(self) -> list[int]:
        """Give the references that came in what they hold now; returns the objects that are to be dropped."""
        for cell, (p, t) in self.given.items():
            cell.value = self.value(self.contents(p, self.program.leaves(t.value)), t.value)
        return [p for p, _ in self.given.values()]

    # --- in ---

    def leaves(self, x: Any, t: Type, lent: list[Any] | None = None) -> list[Any]:
        """The leaves of a value that has been checked to be of type `t`; objects are made.

        Elements are copied, or read where they are, in the arrays that are added to `lent` then.
        """
        done: list[list[Any]] = []
        stack: list[Step | Pending] = [Pending(x, t)]
        while stack:
            item = stack.pop()
            if not isinstance(item, Pending):
                item(done)
                continue
            v, u = item
            if isinstance(u, TupleType):
                stack.append(gather(len(u.fields), flatten))
                stack += reversed(list(map(Pending, v, u.fields)))
            elif isinstance(u, TensorType):
                done.append([self.tensor(v, lent) if u.shape != () else self.scalar(v)])
            elif isinstance(u, TypeCall | GlobalTypeVar):
                fields, _ = self.program.cell(v.constructor, type_arguments(u))
                stack.append(gather(len(fields), self.maker(v.constructor, u)))
                stack += reversed(list(map(Pending, v.fields, fields)))
            elif isinstance(u, RefType) and v in self.given:
                p, _ = self.given[v]
                write_leaf(p, "i32", read_leaf(p, "i32") + 1)
                done.append([p])
            elif isinstance(u, RefType):
                _, fill = self.reference(v, u)
                stack += [gather(1, fill), self.contents_of(v, u)]
            else:
                assert isinstance(u, FuncType), "values have been checked"
                owner = getattr(v, "signature", None)
                done.append([v.retained() if owner is self.program else self.callback(v, u)])
        return done[0]

    def maker(self, c: Constructor, t: Type) -> Callable[[Sequence[Row]], list[Any]]:
        """Makes an instance of a data type from the leaves of its fields."""

        def make(parts: Sequence[Row]) -> list[Any]:
            fields, of = self.program.cell(c, type_arguments(t))
            kinds = [x for f in fields for x in self.program.leaves(f)]
            p = self.new(of)
            write_leaf(p, "ptr", header(self.program.layouts.number(of), c.tag))
            for v, kind, offset in zip(flatten(parts), kinds, of.offsets, strict=True):
                write_leaf(p + offset, kind, v)
            return [p]

        return make

    def scalar(self, x: Any) -> Any:
        """A number or a string as it is written to memory."""
        return self.texts([x])[0] if isinstance(x, str) else scalar_leaf(x)

    def texts(self, found: Sequence[str]) -> list[int]:
        """The addresses of strings, which are there until all is gone that the call has made."""
        places, whole = lay_out(found, 0)
        p = self.allocate_bytes(max(len(whole), TENSOR_SIZES_OFFSET)) or out_of_memory()
        ctypes.memmove(p, whole, len(whole))
        return [p + at for at in places]

    def tensor(self, x: Any, lent: list[Any] | None) -> int:
        """A new tensor with the elements of an array, or around them."""
        given = x
        x = np.asarray(x)
        if x.dtype == object:
            x = np.asarray(self.texts(texts_of(x)), "int64").reshape(x.shape)
        x = storage_array(x)
        flags = x.flags
        if not (flags.c_contiguous and flags.aligned):
            x = np.require(x, requirements=("C", "A"))
        if lent is None:
            return self.copied(x)
        lent.append(x)
        is_donated = self.donation is not None and x is given and self.donation.takes(given)
        p = self.around(x, DONATED if is_donated else EXTERNAL)
        if self.donation is not None:
            self.donation.note(x, elements_of(x), p, is_donated)
        return p

    def copied(self, x: Any) -> int:
        """A new tensor with the elements of an array in C order."""
        start = elements_at(x.ndim)
        p = self.allocate_bytes(start + x.nbytes) or out_of_memory()
        self.write_head(p, 0, p + start, x.shape)
        ctypes.memmove(p + start, elements_of(x), x.nbytes)
        return p

    def around(self, x: Any, tag: int) -> int:
        """A new tensor whose elements are those of an array in C order."""
        p = self.allocate_bytes(elements_at(x.ndim)) or out_of_memory()
        self.write_head(p, tag, elements_of(x), x.shape)
        return p

    def write_head(self, p: int, tag: int, data: int, shape: Sequence[int]) -> None:
        """What a tensor has before its elements, which are at `data`."""
        first = header(self.program.layouts.number(TENSOR), tag)
        ctypes.memmove(p, HEAD.pack(first, data), HEAD.size)
        if shape:
            ctypes.memmove(p + TENSOR_SIZES_OFFSET, struct.pack(f"<{len(shape)}q", *shape), 8 * len(shape))

    def keep(self, p: int) -> None:
        """A tensor around an array is not to be overwritten after all."""
        write_leaf(p, "ptr", header(self.program.layouts.number(TENSOR), EXTERNAL))

    # --- out ---

    def value(self, leaves: Row, t: Type, given: set[int] | None = None) -> Any:
        """The value that leaves stand for.

        Elements are copied; but those of large tensors among the leaves that nobody else has may be given
        away, which are added to `given` then.
        """
        own = set(leaves) if given is not None else set[Any]()
        done: list[Any] = []
        stack: list[Step | Pending] = [Pending(list(leaves), t)]
        while stack:
            item = stack.pop()
            if not isinstance(item, Pending):
                item(done)
                continue
            row, u = item
            if isinstance(u, TupleType):
                stack.append(gather(len(u.fields), tuple))
                stack += reversed(self.split(row, u.fields))
            elif isinstance(u, TensorType) and (given_up := self.given_up(row[0])) is not None:
                done.append(given_up)
            elif isinstance(u, TensorType):
                may_give = row[0] in own and self.can_be_given(row[0], u)
                if given is not None and may_give:
                    given.add(row[0])
                done.append(self.element(row[0], u, may_give))
            elif isinstance(u, RefType) and row[0] in self.cells:
                done.append(self.cells[row[0]])
            elif isinstance(u, RefType):
                cell = self.cells[row[0]] = RefValue(None)
                stack.append(gather(1, partial(new_reference, cell)))
                stack.append(Pending(self.contents(row[0], self.program.leaves(u.value)), u.value))
            elif isinstance(u, FuncType):
                done.append(self.function(row[0], u))
            else:
                c, fields, inner = self.instance(row[0], u)
                stack.append(gather(len(fields), lambda parts, c=c: ConstructorValue(c, tuple(parts))))
                stack += reversed(self.split(inner, fields))
        return done[0]

    def given_up(self, p: Any) -> Any:
        """The array that a tensor is around, if a call may overwrite it; its address may be another's now."""
        found = None if self.donation is None else self.donation.arrays.get(p)
        return None if found is None or read_leaf(p + TAG, "i16") != DONATED else found

    def instance(self, p: int, t: Type) -> tuple[Constructor, tuple[Type, ...], Row]:
        """An instance of a data type: its constructor, the types of its fields, and their leaves."""
        name = cast("GlobalTypeVar", t.func if isinstance(t, TypeCall) else t)
        tag = struct.unpack("<H", ctypes.string_at(p + TAG, 2))[0]
        c = self.program.definitions[name].constructors[tag]
        fields, of = self.program.cell(c, type_arguments(t))
        kinds = [x for f in fields for x in self.program.leaves(f)]
        return c, fields, [read_leaf(p + o, k) for k, o in zip(kinds, of.offsets, strict=True)]

    def contents(self, p: int, kinds: Sequence[str]) -> Row:
        """The leaves that a reference holds."""
        return [read_leaf(p + o, k) for k, o in zip(kinds, layout(kinds).offsets, strict=True)]

    def shape(self, p: int, t: TensorType) -> list[int]:
        """The sizes of a tensor."""
        rank = len(cast("tuple[Any, ...]", t.shape))
        return list(struct.unpack(f"<{rank}q", ctypes.string_at(p + TENSOR_SIZES_OFFSET, 8 * rank)))

    def can_be_given(self, p: int, t: TensorType) -> bool:
        """Whether a tensor is large, nobody else has it, and NumPy has numbers like those it holds."""
        kind = to_numpy(str(t.dtype))
        if t.shape == () or kind.isbuiltin != 1 or kind.kind == "O":
            return False
        is_own = read_leaf(p, "i64") == header(self.program.layouts.number(TENSOR))
        return is_own and prod(self.shape(p, t)) * kind.itemsize >= SHARED

    def element(self, x: Any, t: TensorType, is_given: bool) -> Any:
        """A number or a string, or a tensor as an array: with the memory that is given, or a copy."""
        if t.shape == ():
            return scalar_value(x, str(t.dtype))
        if not is_given:
            return self.array(x, t)
        data = read_leaf(x + TENSOR_DATA_OFFSET, "ptr")
        return np.asarray(Given(self.give_away(x), data, self.shape(x, t), to_numpy(str(t.dtype)).str))

    def array(self, p: int, t: TensorType) -> Any:
        """A copy of a tensor's elements."""
        shape = self.shape(p, t)
        kind = to_numpy(str(t.dtype))
        made = np.empty(shape, "int64" if kind.kind == "O" else SUBBYTE_STORAGE.get(kind, kind))
        ctypes.memmove(elements_of(made), read_leaf(p + TENSOR_DATA_OFFSET, "ptr"), made.nbytes)
        if kind.kind == "O":
            return np.asarray([text_at(at) for at in made.reshape(-1).tolist()], object).reshape(shape)
        return made if made.dtype == kind else made.astype(kind)

    def split(self, row: Row, types: Sequence[Type]) -> list[Pending]:
        """The leaves of several values, apart."""
        found: list[Pending] = []
        start = 0
        for t in types:
            n = len(self.program.leaves(t))
            found.append(Pending(row[start : start + n], t))
            start += n
        return found


class Given:
    """Memory that a program has given away: it takes it back when this is gone."""

    relay_memory = True

    def __init__(self, memory: int | None, data: int, shape: Sequence[int], kind: str) -> None:
        """`data` is where elements of that kind begin in it."""
        self.memory: Any = new_capsule()(memory, None, runtime_library().forget)
        self.__array_interface__ = {
            "data": (data, False),
            "shape": tuple(shape),
            "typestr": kind,
            "version": 3,
        }


@cache
def new_capsule() -> Any:
    """CPython's function that makes an object of an address."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    return make


def no_memory(p: int) -> int | None:
    """Before there is a context."""
    raise AssertionError("contexts have memory")


def new_reference(cell: RefValue, parts: Sequence[Any]) -> RefValue:
    """A reference with a value in it."""
    (cell.value,) = parts
    return cell


def out_of_memory() -> NoReturn:
    """Refuse to go on (`out-of-memory`)."""
    raise lack_of_memory()


def lack_of_memory() -> RelayError:
    """What says that there is not enough."""
    hint = "check the shapes: one of them is probably larger than it should be"
    return RelayError(Diagnostic("out-of-memory", "out of memory", hint=hint))


def flatten(parts: Sequence[Row]) -> list[Any]:
    """Leaves one after the other."""
    return [x for p in parts for x in p]


def type_arguments(t: Type) -> tuple[Any, ...]:
    """The arguments of a data type."""
    return t.args if isinstance(t, TypeCall) else ()


def gather(n: int, make: Callable[[Sequence[Any]], Any]) -> Step:
    """A step that makes one result of the last `n`."""

    def step(done: list[Any]) -> None:
        parts = done[len(done) - n :]
        del done[len(done) - n :]
        done.append(make(parts))

    return step


def scalar_leaf(x: Any) -> Any:
    """A NumPy scalar as it is written to memory: unsigned numbers and the shortest floats by their bits."""
    array = storage_array(np.asarray(x))
    if array.dtype.kind == "u" or array.dtype in BY_BITS:
        return int(array.view(f"int{8 * array.dtype.itemsize}"))
    return array.item() if array.dtype.kind in "ibf" else int(array)


def scalar_value(leaf: Any, dtype: str) -> Any:
    """What was read from memory as a NumPy scalar, or as a string."""
    if dtype == "string":
        return text_at(leaf)
    kind = to_numpy(dtype)
    if kind in BY_BITS:
        return np.asarray(leaf, f"int{8 * kind.itemsize}").view(kind)[()]
    return kind.type(leaf % 2 ** (8 * kind.itemsize) if dtype.startswith("uint") else leaf)
