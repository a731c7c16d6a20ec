"""Expressions: what a Relay program is made of.

Nodes are immutable and compare by identity: a shared node *is* the sharing, and each `Var` object is one binding
site.  `GlobalVar`, `Op` and `Constructor` are leaves that name something, and are equal by that name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

from relay.diagnostic import Span, caller_span
from relay.ir import hooks
from relay.ir.dtype import dtype_name, to_numpy
from relay.ir.type import GlobalTypeVar, TensorType, Type, TypeRelation
from relay.ir.type import TypeVar as RelayTypeVar

C = TypeVar("C", bound=type)
_set = object.__setattr__
NO_ATTRS: Mapping[str, Any] = {}


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def node(cls: C) -> C:
    """Make a class a node: a frozen dataclass with slots, equal by identity."""
    return dataclass(frozen=True, slots=True, eq=False, repr=False)(cls)


@cache
def _field_names(cls: type) -> tuple[str, ...]:
    return tuple([f.name for f in fields(cls)])


def replace(e: Any, **changes: Any) -> Any:
    """A copy of node `e` with some fields changed; the span comes along."""
    values = {name: getattr(e, name) for name in _field_names(type(e))}
    values.update(changes)
    return type(e)(**values)


@node
class Node:
    """What has a place in a source: expressions, patterns, clauses, items of a module."""

    span: Span | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.span is None:
            _set(self, "span", caller_span())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return hooks.pickle_node(self)

    def __repr__(self) -> str:
        return f"<{self.summary()}{'' if self.span is None else f' {self.span}'}>"

    def summary(self) -> str:
        """A few words for `repr`: the class, and the name or size if there is one."""
        return type(self).__name__

    def __str__(self) -> str:
        return hooks.expr_text(self)


@node
class RelayExpr(Node):
    """The base of all expressions; arithmetic on them builds calls of the registered operators."""

    __array_ufunc__ = None  # `array * e` is `e.__rmul__(array)`, not an array of expressions

    @property
    def children(self) -> tuple["Expr", ...]:
        """The expressions directly inside, in evaluation order."""
        return ()

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        """The same node around other children; the span comes along."""
        assert not children
        return self  # pyright: ignore[reportReturnType]

    @property
    def checked_type(self) -> Type:
        """The type, as inference found it; a `RelayError` if it cannot be known."""
        return hooks.checked_type(self)

    def astext(self, **options: Any) -> str:
        """The text format; options as for `relay.astext`."""
        return hooks.expr_text(self, **options)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": hooks.expr_text(self)}

    def __call__(self, *args: Any, **attrs: Any) -> "Call":
        return Call(self, tuple([as_expr(a) for a in args]), attrs or None)  # pyright: ignore[reportArgumentType]

    def astype(self, dtype: str) -> "Expr":
        """This value cast to another base type."""
        return hooks.binary("cast", self, dtype)

    def __add__(self, other: Any) -> "Expr":
        return hooks.binary("add", self, other)

    def __radd__(self, other: Any) -> "Expr":
        return hooks.binary("add", other, self)

    def __sub__(self, other: Any) -> "Expr":
        return hooks.binary("subtract", self, other)

    def __rsub__(self, other: Any) -> "Expr":
        return hooks.binary("subtract", other, self)

    def __mul__(self, other: Any) -> "Expr":
        return hooks.binary("multiply", self, other)

    def __rmul__(self, other: Any) -> "Expr":
        return hooks.binary("multiply", other, self)

    def __truediv__(self, other: Any) -> "Expr":
        return hooks.binary("divide", self, other)

    def __rtruediv__(self, other: Any) -> "Expr":
        return hooks.binary("divide", other, self)

    def __floordiv__(self, other: Any) -> "Expr":
        return hooks.binary("floor_divide", self, other)

    def __mod__(self, other: Any) -> "Expr":
        return hooks.binary("mod", self, other)

    def __pow__(self, other: Any) -> "Expr":
        return hooks.binary("power", self, other)

    def __matmul__(self, other: Any) -> "Expr":
        return hooks.binary("nn.matmul", self, other)

    def __neg__(self) -> "Expr":
        return hooks.binary("negative", self)

    def __lt__(self, other: Any) -> "Expr":
        return hooks.binary("less", self, other)

    def __le__(self, other: Any) -> "Expr":
        return hooks.binary("less_equal", self, other)

    def __gt__(self, other: Any) -> "Expr":
        return hooks.binary("greater", self, other)

    def __ge__(self, other: Any) -> "Expr":
        return hooks.binary("greater_equal", self, other)

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value before it runs; use relay.If(…) or relay.where(…)")

    def __iter__(self) -> Any:
        raise TypeError(f"{self!r} cannot be iterated; project its fields with e[0], e[1], …")

    def __getitem__(self, index: int) -> "Expr":
        return TupleGetItem(self, index)  # pyright: ignore[reportArgumentType]


def as_expr(value: Any) -> "Expr":
    """An expression as it is; a list or tuple as a `Tuple`; a Python number as an open literal; an array as a constant."""
    if isinstance(value, RelayExpr):
        return value  # pyright: ignore[reportReturnType]
    if type(value) is TupleWrapper:
        return value.tuple_value
    if isinstance(value, list | tuple):
        return Tuple(tuple([as_expr(v) for v in value]))
    if isinstance(value, bool | np.generic | np.ndarray):
        return constant(value)
    if isinstance(value, int | float):
        return literal(value)
    if hasattr(value, "__array__"):
        return constant(np.asarray(value))
    raise TypeError(f"{value!r} is not an expression, a number or an array")


@node
class Constant(RelayExpr):
    """A tensor that is known.

    `type` is the tensor type, or None for an **open literal**: a number of text without a suffix (or a nest of
    them), whose base type inference decides; its `value` is then int64, uint64 or float64.  A literal whose base
    type was generalised has a type parameter for its base type.
    """

    value: NDArray[Any]
    type: TensorType | None = None

    @property
    def data(self) -> NDArray[Any]:
        """The value, by the name users know."""
        return self.value

    @property
    def is_open(self) -> bool:
        """Whether the base type is still to be decided."""
        return self.type is None

    @property
    def is_scalar(self) -> bool:
        """Whether the rank is 0."""
        return self.value.ndim == 0

    def summary(self) -> str:
        """The value if it is a scalar, else the type."""
        return (
            f"Constant {self.value[()]}"
            if self.is_scalar
            else f"Constant {self.value.dtype}{self.value.shape}"
        )


def constant(value: Any, dtype: str | None = None, *, span: Span | None = None) -> Constant:
    """A closed constant; Python ints are int32 (int64 if too large) and floats float32 unless `dtype` says else."""
    if dtype is None and not isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype == np.float64:
            dtype = "float32"
        elif array.dtype == np.int64 and (
            array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)
        ):
            dtype = "int32"
    else:
        array = np.asarray(value)
    name = dtype_name(array.dtype if dtype is None else dtype)
    array = array.astype(to_numpy(name), copy=False)
    return Constant(array, TensorType(array.shape, name), span=span)


def literal(value: int | float, *, span: Span | None = None) -> Constant:
    """An open literal: an integer or a float whose base type inference decides."""
    if isinstance(value, float):
        return Constant(np.asarray(value, np.float64), span=span)
    if not -(2**63) <= value < 2**64:
        raise ValueError(f"{value} does not fit in 64 bits")
    return Constant(np.asarray(value, np.int64 if value < 2**63 else np.uint64), span=span)


@node
class Var(RelayExpr):
    """A local variable; the object is the binding site.  `Var(name)` twice is two variables."""

    name_hint: str
    type_annotation: Type | None = None

    @property
    def name(self) -> str:
        """The name as written, without the sigil."""
        return self.name_hint

    def summary(self) -> str:
        """The name with its sigil."""
        return f"Var %{self.name_hint}"


@node
class GlobalVar(RelayExpr):
    """The name of a definition in a module."""

    name_hint: str

    @property
    def name(self) -> str:
        """The name as written, without the sigil."""
        return self.name_hint

    def summary(self) -> str:
        """The name with its sigil."""
        return f"GlobalVar @{self.name_hint}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalVar) and other.name_hint == self.name_hint

    def __hash__(self) -> int:
        return hash((GlobalVar, self.name_hint))


@node
class Op(RelayExpr):
    """An operator as a leaf of the program: one object per name, made by `Op.get`."""

    name: str
    interned: ClassVar[dict[str, "Op"]] = {}

    @staticmethod
    def get(name: str) -> "Op":
        """The one leaf of that name."""
        found = Op.interned.get(name)
        if found is None:
            found = Op.interned[name] = Op(name, span=None)
            _set(found, "span", None)
        return found

    def summary(self) -> str:
        """The name."""
        return f"Op {self.name}"


@node
class Constructor(RelayExpr):
    """A constructor of a data type: `inputs` are the types of its fields, `tag` its position."""

    name_hint: str
    inputs: tuple[Type, ...]
    belong_to: GlobalTypeVar
    tag: int = 0

    @property
    def name(self) -> str:
        """The name as written."""
        return self.name_hint

    def summary(self) -> str:
        """The name and the number of fields."""
        return f"Constructor {self.name_hint}/{len(self.inputs)}"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Constructor)
            and other.name_hint == self.name_hint
            and other.belong_to is self.belong_to
        )

    def __hash__(self) -> int:
        return hash((Constructor, self.name_hint))


@node
class Tuple(RelayExpr):
    """A tuple of a fixed number of fields."""

    fields: tuple["Expr", ...]

    def __post_init__(self) -> None:
        if type(self.fields) is not tuple:
            _set(self, "fields", tuple(self.fields))
        if self.span is None:
            _set(self, "span", caller_span())

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


@node
class Call(RelayExpr):
    """A call of an operator, constructor, global or any expression that evaluates to a function.

    For an operator, `op` is its leaf and `attrs` the operator instance, whose fields are the attributes (a dict
    given here becomes one); for other callees `attrs` is a dict.  `type_args` instantiate a polymorphic callee.
    """

    op: "Expr"
    args: tuple["Expr", ...]
    attrs: Any = None
    type_args: tuple[Any, ...] = ()
    __match_args__: ClassVar[tuple[Literal["target"], Literal["args"]]] = (  # pyright: ignore[reportIncompatibleVariableOverride]
        "target",
        "args",
    )

    def __post_init__(self) -> None:
        if type(self.args) is not tuple:
            _set(self, "args", tuple(self.args))
        if type(self.type_args) is not tuple:
            _set(self, "type_args", tuple(self.type_args or ()))
        attrs = self.attrs
        if attrs is None or type(attrs) is dict:
            made = (
                hooks.operator_instance(self.op.name, attrs or {})
                if type(self.op) is Op
                else attrs or NO_ATTRS
            )
            _set(self, "attrs", made)
        if self.span is None:
            _set(self, "span", caller_span())

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
        return Call(op, tuple(args), attrs, self.type_args, span=self.span)

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

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Any:
        return iter([TupleGetItem(self, i) for i in range(self.size)])

    def __getitem__(self, index: int) -> "Expr":
        return TupleGetItem(self, index + self.size if index < 0 else index)

    def summary(self) -> str:
        """The callee and the number of arguments."""
        callee = getattr(self.op, "name", type(self.op).__name__)
        return f"Call {callee}/{len(self.args)}"


@node
class Function(RelayExpr):
    """`fn<type_params>(params) -> ret_type where constraints { body }`; attributes are metadata."""

    params: tuple[Var, ...]
    body: "Expr"
    ret_type: Type | None = None
    type_params: tuple[RelayTypeVar, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    constraints: tuple[TypeRelation, ...] = ()

    def __post_init__(self) -> None:
        for name in ("params", "type_params", "constraints"):
            given = getattr(self, name)
            if type(given) is not tuple:
                _set(self, name, tuple(given or ()))
        if self.attrs is None:  # pyright: ignore[reportUnnecessaryComparison]
            _set(self, "attrs", NO_ATTRS)
        if self.span is None:
            _set(self, "span", caller_span())

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.body,)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        (body,) = children
        return replace(self, body=body)

    def with_attr(self, name: str | Mapping[str, Any], value: Any = None) -> "Function":
        """A copy with one attribute (or a mapping of them) set."""
        more = {name: value} if isinstance(name, str) else dict(name)
        return replace(self, attrs={**self.attrs, **more})

    def without_attr(self, name: str) -> "Function":
        """A copy without that attribute."""
        return replace(self, attrs={k: v for k, v in self.attrs.items() if k != name})

    def summary(self) -> str:
        """The number of parameters."""
        return f"Function/{len(self.params)}"


@node
class Let(RelayExpr):
    """`let var = value; body`.  `var` is in scope in `body`, and in `value` when that is a function."""

    var: Var
    value: "Expr"
    body: "Expr"

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.value, self.body)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        value, body = children
        return Let(self.var, value, body, span=self.span)

    def summary(self) -> str:
        """The variable."""
        return f"Let %{self.var.name_hint}"


@node
class LetRec(RelayExpr):
    """`let rec v1 = f1 and v2 = f2; body`: mutually recursive functions; each variable is in scope everywhere."""

    vars: tuple[Var, ...]
    values: tuple["Expr", ...]
    body: "Expr"

    def __post_init__(self) -> None:
        for name in ("vars", "values"):
            given = getattr(self, name)
            if type(given) is not tuple:
                _set(self, name, tuple(given))
        if self.span is None:
            _set(self, "span", caller_span())

    @property
    def children(self) -> tuple["Expr", ...]:
        return (*self.values, self.body)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        *values, body = children
        return LetRec(self.vars, tuple(values), body, span=self.span)


@node
class If(RelayExpr):
    """`if (cond) { true_branch } else { false_branch }`; the condition is a scalar bool."""

    cond: "Expr"
    true_branch: "Expr"
    false_branch: "Expr"

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.cond, self.true_branch, self.false_branch)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        cond, yes, no = children
        return If(cond, yes, no, span=self.span)


@node
class Pattern(Node):
    """The base of patterns (the cases are in `relay.ir.pattern`)."""

    @property
    def children(self) -> tuple["Pattern", ...]:
        """The patterns directly inside."""
        return ()


@node
class Clause(Node):
    """One case of a match: `lhs => rhs`."""

    lhs: Pattern
    rhs: "Expr"


@node
class Match(RelayExpr):
    """`match (data) { clauses }`; the first clause that matches is taken.  Incomplete only where `complete` is False."""

    data: "Expr"
    clauses: tuple[Clause, ...]
    complete: bool = True

    def __post_init__(self) -> None:
        if type(self.clauses) is not tuple:
            _set(self, "clauses", tuple(self.clauses))
        if self.span is None:
            _set(self, "span", caller_span())

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.data, *[c.rhs for c in self.clauses])

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        data, *bodies = children
        clauses = [Clause(c.lhs, rhs, span=c.span) for c, rhs in zip(self.clauses, bodies, strict=True)]
        return Match(data, tuple(clauses), self.complete, span=self.span)

    def summary(self) -> str:
        """The number of clauses."""
        return f"Match/{len(self.clauses)}"


@node
class RefCreate(RelayExpr):
    """`ref(value)`: a new mutable cell."""

    value: "Expr"

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.value,)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        (value,) = children
        return RefCreate(value, span=self.span)


@node
class RefRead(RelayExpr):
    """`ref_read(ref)`: what the cell holds now."""

    ref: "Expr"

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.ref,)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        (ref,) = children
        return RefRead(ref, span=self.span)


@node
class RefWrite(RelayExpr):
    """`ref_write(ref, value)`: store, and return the empty tuple."""

    ref: "Expr"
    value: "Expr"

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.ref, self.value)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        ref, value = children
        return RefWrite(ref, value, span=self.span)


GradKind = Literal["grad", "vjp", "jvp"]


@node
class Grad(RelayExpr):
    """`grad(function)`, `vjp(function)`, `jvp(function)`: a derivative of a function known at compile time."""

    kind: GradKind
    function: "Expr"

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.function,)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        (function,) = children
        return Grad(self.kind, function, span=self.span)

    def summary(self) -> str:
        """The kind."""
        return f"Grad {self.kind}"


@node
class TempExpr(RelayExpr):
    """The base for nodes that a pass puts in for its own use and takes out again."""

    def realize(self) -> "Expr":
        """The expression this stands for."""
        raise TypeError(f"{type(self).__name__} must say what it stands for")


Expr: TypeAlias = (
    Constant
    | Var
    | GlobalVar
    | Op
    | Constructor
    | Tuple
    | TupleGetItem
    | Call
    | Function
    | Let
    | LetRec
    | If
    | Match
    | RefCreate
    | RefRead
    | RefWrite
    | Grad
    | TempExpr
)
Rule = Callable[[Expr], Expr | None]


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


def operator_of(e: Expr) -> Any:
    """The operator instance if `e` is a call of an operator, else None."""
    return e.attrs if type(e) is Call and type(e.op) is Op else None


def call_args(args: Sequence[Any]) -> tuple[Expr, ...]:
    """Arguments given from Python as expressions."""
    return tuple([as_expr(a) for a in args])
