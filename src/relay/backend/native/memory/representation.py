"""How values of each type are held by machine code.

A value is a row of leaves: a scalar is one register of its kind, a tuple the leaves of its fields in turn,
and anything else a pointer to an object that counts its references.
"""

from itertools import accumulate

from relay.backend.native.llvm.builder import POINTER
from relay.backend.native.llvm.vectors import SIZES as SIZES
from relay.ir.dtype import FLOAT8, is_float
from relay.ir.type import TensorType, TupleType, Type

SCALARS = {
    "bool": "i1", "int2": "i8", "uint2": "i8", "int4": "i8", "uint4": "i8", "int8": "i8", "uint8": "i8",
    "int16": "i16", "uint16": "i16", "int32": "i32", "uint32": "i32", "int64": "i64", "uint64": "i64",
    "float16": "half", "bfloat16": "i16", "float32": "float", "float64": "double",
    **dict.fromkeys((*FLOAT8, "float4_e2m1fn"), "i8"), "string": "i64",
    "index": "i64", "address": POINTER, "object": POINTER,
}  # fmt: skip
"""Dtypes as LLVM types; 2 and 4 bit integers are kept in bytes, a bfloat16 and shorter floats are their
bits, and a string is where it is in memory (`strings`).  The last three are the loop IR's own.
"""


def is_scalar(t: Type | None) -> bool:
    """Whether values of a type are single numbers."""
    return isinstance(t, TensorType) and t.shape == ()


def scalar(dtype: object) -> str:
    """The LLVM type of one element."""
    assert isinstance(dtype, str)
    return SCALARS[dtype]


def memory(leaf: str) -> str:
    """The type that a leaf has in memory."""
    return "i8" if leaf == "i1" else leaf


class Representation:
    """The leaves of types, remembered."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self.known: dict[Type, tuple[str, ...]] = {}
        self.begins: dict[TupleType, list[int]] = {}

    def __call__(self, t: Type | None) -> tuple[str, ...]:
        """The leaves of a value of type `t`."""
        assert t is not None, "programs are annotated before they are compiled"
        found = self.known.get(t)
        return self.found(t) if found is None else found

    def found(self, t: Type) -> tuple[str, ...]:
        """The leaves, those of the types inside first."""
        known, pending = self.known, [t]
        while pending:
            u = pending[-1]
            if not isinstance(u, TupleType):
                known[u] = (scalar(u.dtype) if isinstance(u, TensorType) and u.shape == () else POINTER,)
            elif unknown := [f for f in dict.fromkeys(u.fields) if f not in known]:
                pending += unknown
                continue
            else:
                known[u] = tuple([x for f in u.fields for x in known[f]])
            pending.pop()
        return known[t]

    def field(self, t: TupleType, index: int) -> slice:
        """Where the leaves of a field are among those of its tuple."""
        begins = self.begins.get(t)
        if begins is None:
            begins = self.begins[t] = [0, *accumulate([len(self(f)) for f in t.fields])]
        return slice(begins[index], begins[index + 1])

    def is_managed(self, t: Type | None) -> bool:
        """Whether values of a type hold references to objects."""
        return POINTER in self(t)


def parts_of(t: Type) -> list[Type]:
    """What a value consists of: the types of the fields of its tuples, and of their fields."""
    found: list[Type] = []
    pending = [t]
    while pending:
        part = pending.pop()
        if isinstance(part, TupleType):
            pending += reversed(part.fields)
        else:
            found.append(part)
    return found


def is_signed(dtype: str) -> bool:
    """Whether numbers of a dtype have a sign."""
    return is_float(dtype) or dtype.startswith("int")
