"""Run-time values: what evaluation yields, and when two of them are the same.

A tensor is a NumPy array, or a NumPy scalar at rank 0 (a `str` for a string); a tuple is a Python tuple; an
instance of a data type is a `ConstructorValue`; a function is a `FunctionValue`; a reference is a `RefValue`.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeGuard

import numpy as np

from relay.interpreter.show import Form, Shown
from relay.ir.dtype import dtype_name
from relay.ir.expr import Constructor, Function
from relay.ir.type import TensorType, TupleType, Type

Value = Any


def is_array(x: Any) -> TypeGuard[np.ndarray[Any, Any]]:
    """Whether a value is a tensor of rank 1 or more."""
    return isinstance(x, np.ndarray)


def is_tensor(x: Any) -> TypeGuard[np.ndarray[Any, Any]]:
    """Whether a value is a tensor of any rank, but for strings of rank 0."""
    return isinstance(x, (np.ndarray, np.generic))


def is_tuple(x: Any) -> TypeGuard[tuple[Any, ...]]:
    """Whether a value is a tuple."""
    return isinstance(x, tuple)


def is_sequence(x: Any) -> TypeGuard[Sequence[Any]]:
    """Whether a Python object is a list or a tuple."""
    return isinstance(x, (list, tuple))


class ConstructorValue(Shown):
    """An instance of a data type, such as `[| 1, 2 |]`.  Equal by value; `tag` is the constructor's position.

    The fields of a record are attributes as well: `layer.w`.
    """

    __slots__ = ("constructor", "fields", "tag")
    __hash__: ClassVar[None]  # pyright: ignore[reportIncompatibleMethodOverride]

    def __init__(self, constructor: Constructor, fields: tuple[Value, ...] = ()) -> None:
        """`fields` are the values the constructor was applied to."""
        self.constructor = constructor
        self.fields = fields
        self.tag = constructor.tag

    def __eq__(self, other: object) -> bool:
        return values_equal(self, other) if isinstance(other, ConstructorValue) else NotImplemented

    def __getattr__(self, name: str) -> Value:
        """The field of that name, of a record."""
        if name in self.__slots__ or name.startswith("__"):
            raise AttributeError(name)  # of an object that is being copied
        c = self.constructor
        if name not in c.field_names:
            known = f"; its fields are {', '.join(c.field_names)}" if c.field_names else ""
            raise AttributeError(f"`{c.name}` has no field `{name}`{known}")
        return self.fields[c.field_names.index(name)]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.constructor.field_names]

    @property
    def shown(self) -> Form:
        c = self.constructor
        if len(c.field_names) == len(self.fields) > 0:
            return Form(f"{c.name} {{ ", self.fields, " }", c.field_names)
        elements = self.elements()
        if elements is not None:
            return Form("[| ", elements, " |]")
        return Form(f"{c.name}(", self.fields, ")") if self.fields else Form(c.name)

    def elements(self) -> Sequence[Value] | None:
        """The elements of a list that is not empty; None for an instance of another data type."""
        found: list[Value] = []
        x: Value = self
        while type(x) is ConstructorValue and x.constructor.belong_to is self.constructor.belong_to:
            if x.constructor.name != "Cons" or len(x.fields) != 2:
                return found if found and x.constructor.name == "Nil" and not x.fields else None
            found.append(x.fields[0])
            x = x.fields[1]
        return None


class RefValue(Shown):
    """A mutable cell; equal only to itself."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        """`value` is what the cell holds at first."""
        self.value = value

    @property
    def shown(self) -> Form:
        return Form("ref(", (self.value,), ")")


class FunctionValue(Shown):
    """What can be applied: the base of closures, operators and constructors as values."""

    __slots__ = ()

    @property
    def shown(self) -> Form:
        return Form("fn")


class Closure(FunctionValue):
    """A function with the values of its free variables.  Python may call it; its arguments are checked then.

    `code` is the lowered function, `env` what it captured, `machine` what runs it.
    """

    __slots__ = ("code", "env", "machine")

    def __init__(self, code: Any, env: tuple[Value, ...], machine: Any) -> None:
        """`env` is in the order of `code`'s captures."""
        self.code = code
        self.env = env
        self.machine = machine

    @property
    def function(self) -> Function:
        """The function as written (and as inference filled it in)."""
        return self.code.function

    @property
    def shown(self) -> Form:
        return Form(f"fn({', '.join('%' + p.name for p in self.function.params)})")

    def __call__(self, *args: Any, **named: Any) -> Value:
        return self.machine.apply(self, args, named)


STRUCTURED = (ConstructorValue, tuple)
"""The classes of values with fields."""


def same_tensor(a: Value, b: Value) -> bool:
    """Whether two tensors (or strings) have one dtype, one shape and the same elements (NaN is NaN)."""
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str) and a == b
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    same = a == b
    if np.all(same):
        return True
    return a.dtype != object and bool(np.all(same | ((a != a) & (b != b))))


def values_equal(a: Value, b: Value) -> bool:
    """Whether two values are the same: tensors by dtype, shape and elements, the rest by structure.

    Functions and references are equal only to themselves.  Takes no stack, however deep the values are, and
    compares what is shared once.
    """
    stack: list[tuple[Value, Value]] = [(a, b)]
    seen: set[tuple[int, int]] = set()
    while stack:
        x, y = stack.pop()
        if x is y:
            continue
        if type(x) not in STRUCTURED:
            if not _same_leaf(x, y):
                return False
            continue
        fields = _matching_fields(x, y)
        if fields is None:
            return False
        inner = [
            (p, q) for p, q in zip(*fields, strict=True) if type(p) in STRUCTURED or not _same_leaf(p, q)
        ]
        if len(inner) > 1:  # only then can sharing multiply the work
            if (id(x), id(y)) in seen:
                continue
            seen.add((id(x), id(y)))
        stack += inner
    return True


def _matching_fields(x: Value, y: Value) -> tuple[Sequence[Value], Sequence[Value]] | None:
    """The fields of two tuples of one length, or of two instances of one constructor."""
    if type(x) is not type(y):
        return None
    if type(x) is ConstructorValue:
        same = x.constructor is y.constructor or x.constructor == y.constructor
        return (x.fields, y.fields) if same else None
    return (x, y) if len(x) == len(y) else None


def _same_leaf(x: Value, y: Value) -> bool:
    """Whether two values are the same, of which the first has no fields."""
    if type(x) is type(y) and isinstance(x, np.generic):
        return bool(x == y or (x != x and y != y))
    if isinstance(x, (FunctionValue, RefValue)) or isinstance(
        y, (FunctionValue, RefValue, tuple, ConstructorValue)
    ):
        return x is y
    return same_tensor(as_tensor(x), as_tensor(y))


def as_tensor(x: Any) -> Any:
    """A Python number or list as the tensor it stands for; arrays and strings as they are."""
    if isinstance(x, str) or is_tensor(x):
        return x
    array: Any = np.asarray(x)
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    elif array.dtype == np.int64 and (array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)):
        array = array.astype(np.int32)
    return array[()]


def type_of_value(value: Value) -> Type:
    """The type of a tensor, a string, or a (nested) tuple of such."""
    done: list[Type] = []
    stack: list[tuple[Value, bool]] = [(value, False)]
    while stack:
        x, ready = stack.pop()
        if ready:
            fields = done[len(done) - len(x) :]
            del done[len(done) - len(x) :]
            done.append(TupleType(fields))
        elif is_tuple(x):
            stack.append((x, True))
            stack += [(f, False) for f in reversed(x)]
        elif isinstance(x, str):
            done.append(TensorType((), "string"))
        else:
            done.append(TensorType(x.shape, dtype_name(x.dtype)))
    return done[0]
