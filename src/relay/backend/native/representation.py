"""How values of each type are held by machine code.

A value is a row of leaves: a scalar is one register of its kind, a tuple the leaves of its fields in turn,
and anything else a pointer to an object that counts its references.
"""

from relay.backend.native.code import POINTER
from relay.backend.native.vectors import SIZES as SIZES
from relay.ir.dtype import FLOAT8, is_float
from relay.ir.type import TensorType, TupleType, Type

SCALARS = {
    "bool": "i1", "int2": "i8", "uint2": "i8", "int4": "i8", "uint4": "i8", "int8": "i8", "uint8": "i8",
    "int16": "i16", "uint16": "i16", "int32": "i32", "uint32": "i32", "int64": "i64", "uint64": "i64",
    "float16": "half", "bfloat16": "i16", "float32": "float", "float64": "double",
    **dict.fromkeys((*FLOAT8, "float4_e2m1fn"), "i8"), "string": "i64",
}  # fmt: skip
"""Base types as LLVM types; 2 and 4 bit integers are kept in bytes, a bfloat16 and shorter floats
are their bits, and a string is where it is in memory (`texts`)."""


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

    def __call__(self, t: Type | None) -> tuple[str, ...]:
        """The leaves of a value of type `t`."""
        assert t is not None, "programs are annotated before they are compiled"
        found = self.known.get(t)
        if found is None:
            found = self.known[t] = self.leaves(t)
        return found

    def leaves(self, t: Type) -> tuple[str, ...]:
        """The leaves, found without recursion."""
        out: list[str] = []
        stack = [t]
        while stack:
            u = stack.pop()
            if isinstance(u, TupleType):
                stack += reversed(u.fields)
            elif isinstance(u, TensorType) and u.shape == ():
                out.append(scalar(u.dtype))
            else:
                out.append(POINTER)
        return tuple(out)

    def is_managed(self, t: Type | None) -> bool:
        """Whether values of a type hold references to objects."""
        return POINTER in self(t)


def is_signed(dtype: str) -> bool:
    """Whether numbers of a base type have a sign."""
    return is_float(dtype) or dtype.startswith("int")
