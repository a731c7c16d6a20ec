"""Integers and variables as shapes and attributes have them: `tvm.tir.IntImm`, `tvm.te.size_var`."""

from typing import Any

from relay.ir.type import TypeVar
from relay.ir.type_base import Kind
from relay.op.layout import layout_of

__all__ = [
    "FloatImm", "IntImm", "Layout", "SizeVar", "StringImm", "Var", "const", "layout", "size_var", "var",
]  # fmt: skip


class _IsInteger(type):
    """Dimensions are integers of Python, which scripts ask for as `IntImm`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, int) and not isinstance(instance, bool)


class IntImm(int, metaclass=_IsInteger):
    """An integer with a dtype: `IntImm("int32", 3)`."""

    dtype: str

    def __new__(cls, dtype: str, value: int, span: Any = None) -> "IntImm":
        """`value`, as an integer of Python that says its dtype."""
        del span
        made = super().__new__(cls, value)
        made.dtype = dtype
        return made

    def __getnewargs__(self) -> tuple[str, int]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.dtype, int(self)

    @property
    def value(self) -> int:
        """The number."""
        return int(self)


class FloatImm(float):
    """A float with a dtype: `FloatImm("float32", 0.5)`."""

    dtype: str

    def __new__(cls, dtype: str, value: float, span: Any = None) -> "FloatImm":
        """`value`, as a float of Python that says its dtype."""
        del span
        made = super().__new__(cls, value)
        made.dtype = dtype
        return made

    @property
    def value(self) -> float:
        """The number."""
        return float(self)


class StringImm(str):
    """A text."""

    __slots__ = ()

    @property
    def value(self) -> str:
        """The text."""
        return str(self)


class Layout(str):
    """The order of axes, a letter for each: `layout("NCHW")`."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The text."""
        return str(self)

    def index_of(self, axis: str) -> int:
        """Where a letter stands; -1 where it does not."""
        found = layout_of(str(self))
        letters = [] if found is None else [a if factor == 0 else a.lower() for a, factor in found.axes]
        return letters.index(axis) if axis in letters else -1

    def factor_of(self, axis: str) -> int:
        """The size of the blocks that an axis is in; -1 if it is in none."""
        found = layout_of(str(self))
        sizes = [] if found is None else [factor for a, factor in found.axes if factor and a == axis.upper()]
        return sizes[0] if sizes else -1


layout = Layout


class _IsDimension(type):
    """Symbolic sizes are type parameters of the kind `Dim`, which scripts ask for as `Var`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypeVar) and instance.kind is Kind.Dim


class Var(metaclass=_IsDimension):
    """A symbolic size."""

    def __new__(cls, name: str, dtype: str = "int32", span: Any = None) -> TypeVar:  # pyright: ignore[reportInconsistentConstructor]
        """A size that is any number, of which shapes are made: `relay.var("x", shape=(Var("n"), 3))`."""
        del dtype, span
        return TypeVar(name, Kind.Dim)


class SizeVar(Var):
    """A symbolic size, which is not negative, as all are."""


def var(name: str = "tindex", dtype: str = "int32", span: Any = None) -> TypeVar:
    """A symbolic size."""
    return Var(name, dtype, span)


size_var = var


def const(value: Any, dtype: str = "int32", span: Any = None) -> IntImm | FloatImm:
    """A number with a dtype."""
    return (FloatImm if dtype.startswith("float") else IntImm)(dtype, value, span)
