"""Calls, tuples, and how Python values become expressions where one is expected."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np

from relay.diagnostic import Span, caller_span
from relay.ir import hooks
from relay.ir.argument_types import ArgumentTypes
from relay.ir.leaf import Op, constant, literal
from relay.ir.node import PARAMETER, RelayExpr, listed, node, place, set_field, several
from relay.ir.symbol import Dimension
from relay.ir.traced import Traced, takes_traced

if TYPE_CHECKING:
    from relay.ir.expr import Expr

NO_ATTRS: Mapping[str, Any] = {}


@node
class Tuple(RelayExpr):
    """A tuple of a fixed number of fields."""

    fields: tuple["Expr", ...] = several(converter=listed)

    def __post_init__(self) -> None:
        if type(self.fields) is not tuple:
            set_field(self, "fields", tuple(self.fields))
        if self.span is None:
            place(self)

    @property
    def children(self) -> tuple["Expr", ...]:
        return self.fields

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        return Tuple(children, span=self.span)

    def summary(self) -> str:
        """The number of fields."""
        return f"Tuple/{len(self.fields)}"

    def __iter__(self) -> Any:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


@node
class TupleGetItem(RelayExpr):
    """Field `index` (from 0) of a tuple."""

    tuple_value: "Expr"
    index: int

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.tuple_value,)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        (value,) = children
        return TupleGetItem(value, self.index, span=self.span)

    def summary(self) -> str:
        """The index."""
        return f"TupleGetItem .{self.index}"


def _attributes(op: "Expr", attrs: dict[str, Any]) -> Any:
    """What stands in `attrs` of a call: the operator instance, or a mapping."""
    return hooks.operator_instance(op.name, attrs) if type(op) is Op else attrs or NO_ATTRS


@node
class Call(RelayExpr):
    """A call of an operator, constructor, global or any expression that evaluates to a function.

    For an operator, `op` is its leaf and `attrs` the operator instance, whose fields are the attributes (a
    dict given here becomes one); for other callees `attrs` is a dict.  `type_args` instantiate a polymorphic
    callee.
    """

    op: "Expr"
    args: tuple["Expr", ...]
    attrs: Any
    written_type_args: tuple[Any, ...] = field(metadata={PARAMETER: "type_args"})
    """The type arguments that the program has: those of text and equality, by hand or from inference."""
    __match_args__: ClassVar[tuple[Literal["target"], Literal["args"]]] = (  # pyright: ignore[reportIncompatibleVariableOverride]
        "target",
        "args",
    )

    def __init__(
        self,
        op: "Expr",
        args: Iterable["Expr"],
        attrs: Any = None,
        type_args: Iterable[Any] | None = (),
        *,
        span: Span | None = None,
    ) -> None:
        """The `type_args` of another call of an operator are not written: they follow from the arguments."""
        if type(type_args) is not tuple:
            type_args = () if isinstance(type_args, ArgumentTypes) else listed(type_args)
        if attrs is None or type(attrs) is dict:
            attrs = _attributes(op, cast("dict[str, Any]", attrs or {}))
        set_field(self, "op", op)
        set_field(self, "args", args if type(args) is tuple else tuple(args))
        set_field(self, "attrs", attrs)
        set_field(self, "written_type_args", type_args)
        set_field(self, "span", span)
        if span is None:
            place(self)

    @property
    def type_args(self) -> Sequence[Any]:
        """What the type parameters of the callee stand for; of an operator, the types of the arguments.

        Inference decides both: where it has not, there are none.
        """
        if type(self.op) is Op and not self.written_type_args:
            return ArgumentTypes(self.args)
        return self.written_type_args

    @property
    def target(self) -> Any:
        """The operator instance of an operator call, else the callee."""
        return self.attrs if type(self.op) is Op else self.op

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.op, *self.args)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        op, *args = children
        attrs = self.attrs if op is self.op or type(op) is not Op else None
        return Call(op, tuple(args), attrs, self.written_type_args, span=self.span)

    @property
    def size(self) -> int:
        """The number of fields of a tuple result: as the operator says, else as inference finds."""
        known = self.attrs.result_count(self.args) if type(self.op) is Op else None
        if known is not None:
            return known
        fields = getattr(self.checked_type, "fields", None)
        if fields is None:
            raise TypeError(f"{self!r} is not a tuple")
        return len(fields)

    def astuple(self) -> "Call":
        """The tuple as an expression: the call itself."""
        return self

    @property
    def tuple_value(self) -> "Call":
        """The tuple as an expression, by the name that a `TupleWrapper` has for it."""
        return self

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Any:
        return iter([TupleGetItem(self, i) for i in range(self.size)])

    def __getitem__(self, index: Any) -> "Expr":
        return _projected(self, index + self.size if isinstance(index, int) and index < 0 else index)

    def summary(self) -> str:
        """The callee and the number of arguments."""
        callee = getattr(self.op, "name", type(self.op).__name__)
        return f"Call {callee}/{len(self.args)}"


class _IsTuple(type):
    def __instancecheck__(cls, instance: object) -> bool:
        if type(instance) is Call and type(instance.op) is Op:
            return instance.attrs.result_count(instance.args) is not None
        return super().__instancecheck__(instance)


class TupleWrapper(metaclass=_IsTuple):
    """A tuple-valued expression that unpacks like a Python tuple: `a, b = TupleWrapper(e, 2)`.

    Calls of operators with tuple results (`relay.split`) unpack by themselves and count as instances.
    """

    def __init__(self, tuple_value: "Expr", size: int) -> None:
        """`size` is the number of fields."""
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self) -> "Expr":
        """The tuple as an expression."""
        return self.tuple_value

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> "Expr":
        if not -self.size <= index < self.size:
            raise IndexError(f"field {index} of a tuple of {self.size}")
        return TupleGetItem(self.tuple_value, index % self.size)

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(self.size)])


def as_expr(value: Any) -> "Expr":
    """An expression as it is; a list or tuple as a `Tuple`, a number as an open literal, an array or a text
    as a constant, a dimension as its value.

    Raises `TypeError` for anything else.
    """
    if isinstance(value, RelayExpr):
        return value  # pyright: ignore[reportReturnType]
    return _nested(value) if isinstance(value, list | tuple) else _single(value)


def _nested(value: Any) -> "Expr":
    done: list[Expr] = []
    stack: list[tuple[Any, bool]] = [(value, False)]
    while stack:
        v, ready = stack.pop()
        if ready:
            first = len(done) - len(v)
            done[first:] = [Tuple(tuple(done[first:]))]
        elif isinstance(v, list | tuple):
            stack.append((v, True))  # pyright: ignore[reportUnknownArgumentType]
            stack += [(x, False) for x in reversed(v)]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        else:
            done.append(v if isinstance(v, RelayExpr) else _single(v))  # pyright: ignore[reportArgumentType]
    return done[0]


class NotAnOperandError(TypeError):
    """The error for an argument that is not an expression and cannot be converted to one, at `span`."""

    def __init__(self, value: Any) -> None:
        """`value` is what is there."""
        super().__init__(f"{value!r:.80} is not an expression, a number, a text or an array")
        self.span = caller_span()


def _single(value: Any) -> "Expr":
    if type(value) is TupleWrapper:
        return value.tuple_value
    if isinstance(value, Traced):
        return value.expr
    if isinstance(value, Dimension):
        return Call(Op.get("dim_value"), (), {"dim": value})
    if isinstance(value, bool | str | np.generic | np.ndarray):
        return constant(value)
    if isinstance(value, int | float):
        return literal(value)
    if hasattr(value, "__array__"):
        return constant(np.asarray(value))
    raise NotAnOperandError(value)


def _exprs(values: Sequence[Any]) -> tuple["Expr", ...]:
    return tuple([as_expr(v) for v in values])


def _called(callee: "Expr", args: tuple[Any, ...], attrs: dict[str, Any]) -> Call:
    return Call(callee, _exprs(args), attrs or None)


hooks.call = takes_traced(_called)


def _projected(value: "Expr", index: Any) -> "Expr":
    return TupleGetItem(value, index) if isinstance(index, int) else hooks.index(value, index)


hooks.project = _projected
