"""Arrays of the caller's that a call leaves its results in: `f(x, out=array)`.

The program is handed those that lie in C order and share memory with no other array of the call; the group of
operators that makes a result writes it there (`program/outputs.py`).  A result that came to lie elsewhere, as
an argument that is passed on, is copied when the program is done.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from relay.backend.native.host.context import read_leaf, write_leaf
from relay.backend.native.host.donation import Donation, Lent
from relay.backend.native.host.python_objects import elements_of
from relay.backend.native.memory.layout import OUTPUTS_OFFSET
from relay.backend.native.memory.objects import DONATED
from relay.backend.native.memory.tensors import SUBBYTE_STORAGE
from relay.diagnostic import fail
from relay.interpreter.tensor_conversion import describe
from relay.interpreter.value import is_array, is_sequence
from relay.ir.dtype import dtype_name, to_numpy
from relay.ir.expr import Function
from relay.ir.subst import substitute_type
from relay.ir.tensor_parts import nested
from relay.ir.type import TensorType, TupleType, Type

OUT = "out"
"""The argument that arrays for results are given by, unless a parameter has that name."""


class Wanted(NamedTuple):
    """A part of the result, and the array that it goes to, None where it may lie anywhere."""

    where: str
    type: Type
    array: Any


class Outputs:
    """The arrays of one call."""

    def __init__(self, header: Function, out: Any, env: Mapping[Any, Any], slots: Sequence[int] = ()) -> None:
        """`env` has what the type parameters stand for, and `slots` are those of the context for the parts of
        the result, if there are any (`output-array`).
        """
        self.header = header
        self.slots = slots
        assert header.ret_type is not None
        self.type: Type = substitute_type(header.ret_type, env)
        self.wanted = list(self.parts(out))
        self.made: list[tuple[int, int]] = []
        """The slots of the context, and the tensors for them."""
        for x in self.wanted:
            if x.array is not None:
                self.check(x)
        given = [x for x in self.wanted if x.array is not None and x.array.nbytes]
        for (_, end, a), (begin, _, b) in pairwise(sorted([(*bounds(x.array), x.where) for x in given])):
            if begin < end:
                first, second = sorted((a, b))
                hint = "give each result an array of its own: `array.copy()`"
                self.refuse(f"`{first}` and `{second}` share memory", hint)

    def refuse(self, message: str, hint: str) -> None:
        """Report an array that cannot take a result (`output-array`)."""
        fail("output-array", message, self.header.span, hint=hint)

    def parts(self, out: Any) -> Iterator[Wanted]:
        """The parts of the result in their order."""
        pending: list[Wanted] = [Wanted(OUT, self.type, out)]
        while pending:
            x = pending.pop()
            if not isinstance(x.type, TupleType):
                yield x
                continue
            fields = x.type.fields
            if x.array is not None and not (is_sequence(x.array) and len(x.array) == len(fields)):
                found = describe(x.array)
                hint = f"give a tuple of {len(fields)}, None for what may lie anywhere"
                self.refuse(f"`{x.where}` is {found}, for a tuple of {len(fields)} results", hint)
            given: Sequence[Any] = [None] * len(fields) if x.array is None else x.array
            inner = [Wanted(f"{x.where}[{i}]", t, given[i]) for i, t in enumerate(fields)]
            pending += reversed(inner)

    def check(self, x: Wanted) -> None:
        """Whether an array can take its part of the result."""
        t, a = x.type, x.array
        if not isinstance(t, TensorType):
            self.refuse(f"`{x.where}` is for a value of type {t}, which is not a tensor", "give None for it")
        assert isinstance(t, TensorType)
        made = f'np.empty({spelled(t)}, "{t.dtype}")'
        if not is_array(a):
            what = describe(a)
            self.refuse(f"`{x.where}` is {what}: results are written to NumPy's arrays", f"give {made}")
        if a.dtype != to_numpy(str(t.dtype)):
            found = dtype_name(a.dtype) if a.dtype.isnative else a.dtype
            self.refuse(f"`{x.where}` has the dtype {found}, the result {t.dtype}", f"give {made}")
        if not fits(a.shape, t):
            self.refuse(f"`{x.where}` has the shape {a.shape}, the result {spelled(t)}", f"give {made}")
        if not a.flags.writeable:
            self.refuse(f"`{x.where}` is read-only", f"give {made}, or a copy: `array.copy()`")

    # --- to the program and back ---

    def make(self, donation: Donation, around: Callable[[Any, int], int]) -> None:
        """Make tensors around arrays that the program may write to, for slots of the context, and note them
        among the arrays of the call; unless a shape is known only afterwards.
        """
        types = [x.type for x in self.wanted]
        if len(self.slots) != len(types) or not all(isinstance(t, TensorType) and t.is_closed for t in types):
            return
        donated = set(map(id, donation.arrays.values()))
        for x, slot in zip(self.wanted, self.slots, strict=True):
            if x.array is not None and id(x.array) not in donated and is_plain(x.array):
                address = around(x.array, DONATED)
                begin, end = bounds(x.array)
                if x.array.nbytes:
                    donation.lent.append(Lent(begin, end, -1, address, True))
                donation.arrays[address] = x.array
                self.made.append((slot, address))

    def lend(self, donation: Donation, context: int) -> None:
        """Leave in the slots of a context what shares memory with no other array."""
        for slot, address in self.made:
            if address in donation.arrays:
                write_leaf(context + OUTPUTS_OFFSET + 8 * slot, "ptr", address)

    def take_back(self, context: int) -> list[int]:
        """Leave no tensor in the slots of a context; returns those that the program has not taken."""
        at = [context + OUTPUTS_OFFSET + 8 * slot for slot, _ in self.made]
        left = [p for place in at if (p := read_leaf(place, "ptr"))]
        for place in at:
            write_leaf(place, "ptr", 0)
        return left

    def finish(self, value: Any) -> Any:
        """The result, in the arrays; what lies elsewhere is copied (`output-array`, before any is)."""
        arrays = {id(x.array) for x in self.wanted if x.array is not None}
        found: list[Any] = []
        for x, v in zip(self.wanted, flat(value, self.type), strict=True):
            if x.array is not None and not fits(x.array.shape, t := made_as(v, x.type)):
                hint = f'give np.empty({spelled(t)}, "{t.dtype}")'
                self.refuse(f"`{x.where}` has the shape {x.array.shape}, the result {spelled(t)}", hint)
            found.append(v.copy() if v is not x.array and id(v) in arrays else v)
        for x, v in zip(self.wanted, found, strict=True):
            if x.array is not None and v is not x.array:
                x.array[...] = v
        pairs = zip(self.wanted, found, strict=True)
        return nested(self.type, iter([v if x.array is None else x.array for x, v in pairs]))


def is_plain(a: Any) -> bool:
    """Whether the elements of an array lie as those of a tensor do."""
    is_same = a.dtype.kind != "O" and a.dtype not in SUBBYTE_STORAGE
    return bool(a.ndim and is_same and a.flags.c_contiguous and a.flags.aligned)


def bounds(a: Any) -> tuple[int, int]:
    """Where the bytes of an array begin and end."""
    if a.flags.c_contiguous:
        begin = elements_of(a)
        return begin, begin + a.nbytes
    return np.lib.array_utils.byte_bounds(a)


def fits(shape: Sequence[int], t: TensorType) -> bool:
    """Whether a shape is one of a type."""
    dims = t.shape
    if not isinstance(dims, tuple):
        return True
    pairs = zip(dims, shape, strict=False)
    return len(dims) == len(shape) and all(d == n for d, n in pairs if isinstance(d, int))


def made_as(v: Any, t: Type) -> TensorType:
    """The type of a tensor that has been computed."""
    assert isinstance(t, TensorType)
    return TensorType(np.shape(v), t.dtype)


def spelled(t: TensorType) -> str:
    """A shape as Python has it."""
    dims = t.shape if isinstance(t.shape, tuple) else ("...",)
    return f"({', '.join(map(str, dims))}{',' if len(dims) == 1 else ''})"


def flat(value: Any, t: Type) -> Iterator[Any]:
    """The parts of a value of tuples, in their order."""
    pending = [(value, t)]
    while pending:
        v, u = pending.pop()
        if isinstance(u, TupleType):
            pending += reversed(list(zip(v, u.fields, strict=True)))
        else:
            yield v
