"""The types of `vmap(f)`: each batched tensor has one axis more than in `f`, with the number of rows."""

from typing import TYPE_CHECKING, Any, NoReturn

from relay.diagnostic import fail
from relay.ir.axes import Axes, axes_by_part, names_an_axis
from relay.ir.deep import with_room
from relay.ir.expr import VMap
from relay.ir.type import (
    Dim,
    FuncType,
    GlobalTypeVar,
    Kind,
    RefType,
    Shape,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
)
from relay.typecheck.goals import Goal, Silenced, Stuck, Wait
from relay.typecheck.messages import Fault, show
from relay.typecheck.schemes import constrained
from relay.typecheck.unknown import ERROR, Unknown, head, zonk

if TYPE_CHECKING:
    from relay.typecheck.solver import Solver

LONGEST_PLACE = 60
"""From how many characters on the name of a place says nothing of the fields inside."""


def vmap_type(e: VMap, f: FuncType, rows: Dim) -> FuncType:
    """The type of `vmap` of a function of type `f`, of which all is known, for a number of rows."""
    axes = argument_axes(e, len(f.arg_types))
    params = [batched(a, t, rows) for a, t in zip(axes, f.arg_types, strict=True)]
    needs = [TypeRelation(c.name, constrained(c, f), c.attrs) for c in f.type_constraints]
    return FuncType(params, batched(e.out_axes, f.ret_type, rows), f.type_params, needs)


def polymorphic_vmap_type(e: VMap, f: FuncType) -> FuncType:
    """The type of `vmap` of a function of type `f` for any number of rows, its first type parameter."""
    rows = TypeVar("b", Kind.Dim)
    made = vmap_type(e, f, rows)
    return FuncType(made.arg_types, made.ret_type, (rows, *made.type_params), made.type_constraints)


def is_known(f: FuncType) -> bool:
    """Whether `vmap` of a function of this type has a type: its parameters of types are all dimensions."""
    if any(p.kind is not Kind.Dim for p in f.type_params):
        return False
    stack: list[Any] = [*f.arg_types, f.ret_type]
    while stack:
        t = head(stack.pop())
        if isinstance(t, TupleType):
            stack += t.fields
        elif isinstance(t, TensorType):
            if not isinstance(head(t.shape), tuple):
                return False
        elif not isinstance(t, FuncType | RefType | TypeCall):
            return False
        elif isinstance(t, TypeCall):
            stack += [a for a in t.args if is_type(a)]
    return True


def argument_axes(e: VMap, count: int) -> tuple[Axes, ...]:
    """The axes of each of `count` arguments."""
    axes = axes_by_part(e.in_axes, count)
    if axes is None:
        assert isinstance(e.in_axes, tuple)
        several = "argument" if count == 1 else "arguments"
        raise Fault(
            "batch-axes",
            f"`in_axes` is for {len(e.in_axes)}, but the function takes {count} {several}",
            hint="give one axis for each argument, None where the rows share it",
        )
    return axes


@with_room
def batched(axes: Axes, root: Type, rows: Dim) -> Type:
    """The type of the values of many rows, by that of one."""
    t = head(root)
    if axes is None or t is ERROR:
        return t
    if isinstance(t, TupleType):
        several = field_axes(axes, len(t.fields))
        return TupleType([batched(a, f, rows) for a, f in zip(several, t.fields, strict=True)])
    axis = one_axis(axes, t)
    if isinstance(t, TensorType):
        shape: Shape = head(t.shape)
        if not isinstance(shape, tuple):
            raise Silenced if shape is ERROR else Wait(shape) if isinstance(shape, Unknown) else Stuck
        at = position(axis, len(shape) + 1)
        return TensorType((*shape[:at], rows, *shape[at:]), t.dtype)
    if isinstance(t, TypeCall) and isinstance(t.func, GlobalTypeVar):
        expect_first(axis, t)
        return TypeCall(t.func, [batched(axis, a, rows) if is_type(a) else a for a in t.args])
    refuse(t)


@with_room
def row_type(axis: int, t: Type, sizes: list[Dim]) -> Type:
    """The type of one row of values of type `t`; the numbers of rows of its tensors go to `sizes`."""
    match t:
        case TensorType(shape=tuple() as shape):
            at = rows_axis(axis, shape)
            sizes.append(shape[at])
            return TensorType((*shape[:at], *shape[at + 1 :]), t.dtype)
        case TensorType() | TypeVar():
            raise Stuck
        case TupleType():
            return TupleType([row_type(axis, f, sizes) for f in t.fields])
        case TypeCall(func=GlobalTypeVar()):
            expect_first(axis, t)
            return TypeCall(t.func, [row_type(axis, a, sizes) if is_type(a) else a for a in t.args])
        case _:
            refuse(t)


def is_type(arg: Any) -> bool:
    """Whether an argument of a data type is a type of values."""
    return isinstance(arg, Type) and arg.kind is Kind.Type


def rows_axis(axis: int, shape: tuple[Dim, ...]) -> int:
    """The axis of rows of a batched tensor, from the front."""
    if not shape:
        raise Fault(
            "axis-out-of-range",
            "a scalar has no axis of rows",
            hint="share it with None in `in_axes`",
        )
    return position(axis, len(shape))


def expect_first(axis: int, t: TypeCall) -> None:
    """Report rows of a value of a data type along another axis than the first."""
    if axis != 0:
        raise Fault(
            "batch-axes",
            f"the rows of a value of type {show(t)} lie along axis 0 of its tensors, not {axis}",
            hint="transpose its tensors",
        )


def refuse(t: Type) -> NoReturn:
    """Report a value that has no batched form."""
    if isinstance(t, Unknown):
        raise Wait(t)
    what = "a function" if isinstance(t, FuncType) else "a reference" if isinstance(t, RefType) else "a value"
    raise Fault(
        "batch-type",
        f"{what} of type {show(t)} cannot be batched",
        hint="share it with None in `in_axes`, or close over it",
    )


def field_axes(axes: Axes, count: int) -> tuple[Axes, ...]:
    """The axes of each field of a tuple."""
    found = axes_by_part(axes, count)
    if found is None:
        raise Fault(
            "batch-axes",
            f"axes for {len(axes)} fields, but the tuple has {count}",  # pyright: ignore[reportArgumentType]
            hint="axes nest as tuples do; one number is for all fields",
        )
    return found


def one_axis(axes: Axes, t: Any) -> int:
    """Axes of what is not a tuple."""
    if isinstance(t, Unknown):
        raise Wait(t)
    if not isinstance(axes, int):
        what = "a tensor" if isinstance(t, TensorType) else f"a value of type {show(t)}"
        raise Fault("batch-axes", f"axes of a tuple for {what}", hint="give one axis, or None to share it")
    return axes


def position(axis: int, rank: int) -> int:
    """An axis of a batched tensor of that rank, from the front."""
    if not -rank <= axis < rank:
        raise Fault(
            "axis-out-of-range",
            f"axis {axis} of `vmap` is out of range for a batched tensor of rank {rank}",
            hint=f"its axes are {-rank} to {rank - 1}",
        )
    return axis % rank


class VMapGoal(Goal):
    """The batched form of a function whose type may not be known yet."""

    outputs = 3

    def __init__(self, e: VMap, f: Any, rows: Any, out: Any) -> None:
        super().__init__("", (f, rows, out), (), e)

    def run(self, t: "Solver") -> None:
        e = self.call
        assert isinstance(e, VMap)
        f, rows, out = head(self.types[0]), self.types[1], head(self.types[2])
        if f is ERROR:
            raise Silenced
        if type(f) is Unknown:
            f = self._from_result(t, f, out)
        if type(f) is not FuncType:
            raise Fault(
                "batch-function",
                f"`vmap` needs a function, found {show(f)}",
                hint="declare the parameter as a function: `%f: fn(…) -> …`"
                if type(f) is TypeVar
                else "write the function itself: `vmap(@f)`, `vmap(fn (%x) { … })`",
            )
        if not names_an_axis(e.in_axes):
            t.post(CountGoal(e, rows))
        sizes: list[Any] = []
        params: list[Any] = []
        for i, (axes, row) in enumerate(zip(argument_axes(e, len(f.arg_types)), f.arg_types, strict=True)):
            params.append(t.fresh())
            t.post(RowsGoal(e, axes, (row, rows, params[-1]), f"argument {i + 1}", sizes))
        result = t.fresh()
        t.post(RowsGoal(e, e.out_axes, (f.ret_type, rows, result), "the result", sizes))
        t.unify(FuncType(params, result), out)

    def _from_result(self, t: "Solver", f: Unknown, out: Any) -> FuncType:
        """A batched function that is called says how many parameters the function has."""
        if type(out) is Unknown:
            raise Wait(f, out)
        if type(out) is not FuncType:
            raise Stuck
        made = FuncType([t.fresh() for _ in out.arg_types], t.fresh())
        t.unify(f, made)
        return made

    @property
    def what(self) -> str:
        return "vmap"

    @property
    def unsolved(self) -> Fault:
        return Fault(
            "batch-function",
            "`vmap` needs a function whose type is known here",
            hint="call it here, or declare the parameter: `%f: fn(…) -> …`",
        )


class CountGoal(Goal):
    """A known number of rows, if no argument has rows."""

    outputs = 1

    def __init__(self, e: VMap, rows: Any) -> None:
        super().__init__("", (rows,), (), e)

    def run(self, t: "Solver") -> None:
        rows = head(self.types[0])
        if type(rows) is Unknown:
            raise Wait(rows)

    @property
    def what(self) -> str:
        return "vmap"

    @property
    def unsolved(self) -> Fault:
        return Fault(
            "batch-axes",
            "`vmap` of a function of which no argument is batched",
            hint="name an axis in `in_axes`, say how many rows there are, `vmap(f, in_axes=None)<3>(x)`, "
            "or call the function itself",
        )


class RowsGoal(Goal):
    """That one type is the batched form of another, for a number of rows that all arguments share."""

    __slots__ = ("axes", "place", "sizes")
    outputs = 3

    def __init__(self, e: VMap, axes: Axes, types: tuple[Any, Any, Any], place: str, sizes: Any) -> None:
        """`types` are a row's, the number of rows, and the batched one; `sizes` notes who said which."""
        super().__init__("", types, (), e)
        self.axes, self.place, self.sizes = axes, place, sizes

    def run(self, t: "Solver") -> None:
        axes, row, many = self.axes, head(self.types[0]), head(self.types[2])
        if row is ERROR or many is ERROR:
            raise Silenced
        if axes is None:
            t.unify(row, many)
        elif isinstance(row, TupleType) or isinstance(many, TupleType):
            self._fields(t, axes, row, many)
        else:
            self._leaf(t, axes, row, many)

    def _fields(self, t: "Solver", axes: Axes, row: Any, many: Any) -> None:
        """Relate the fields of tuples, each by itself."""
        count = len(row.fields if isinstance(row, TupleType) else many.fields)
        rows = TupleType([t.fresh() for _ in range(count)]) if isinstance(row, Unknown) else row
        whole = TupleType([t.fresh() for _ in range(count)]) if isinstance(many, Unknown) else many
        t.unify(row, rows)
        t.unify(many, whole)
        if not isinstance(rows, TupleType) or not isinstance(whole, TupleType):
            raise Fault("type-mismatch", f"{self.place} of `vmap` is {show(many)}, a row {show(row)}")
        if len(whole.fields) != count:
            t.unify(rows, whole)
        several = zip(field_axes(axes, count), rows.fields, whole.fields, strict=True)
        for i, (a, one, all_) in enumerate(several):
            place = f"field {i} of {self.place}" if len(self.place) < LONGEST_PLACE else self.place
            t.enqueue(RowsGoal(self.call, a, (one, self.types[1], all_), place, self.sizes))  # pyright: ignore[reportArgumentType]

    def _leaf(self, t: "Solver", axes: Axes, row: Any, many: Any) -> None:
        """Relate what is not a tuple."""
        shape: Shape | None = head(many.shape) if isinstance(many, TensorType) else None
        if isinstance(shape, tuple):
            at = rows_axis(one_axis(axes, many), shape)
            t.unify(row, TensorType((*shape[:at], *shape[at + 1 :]), many.dtype))
            self._size(t, shape[at])
        elif isinstance(row, Unknown):
            if isinstance(many, Unknown):
                raise Wait(row, many)
            t.unify(row, self._row(t, axes, many))
        else:
            try:
                t.unify(batched(axes, row, self.types[1]), many)
            except Wait as wait:
                raise Wait(*wait.on, *([many] if isinstance(many, Unknown) else [])) from None

    def _row(self, t: "Solver", axes: Axes, many: Any) -> Any:
        """The type of a row of a data type."""
        axis = one_axis(axes, many)
        if not isinstance(many, TypeCall):
            if isinstance(many, TensorType):
                raise Wait(head(many.shape))
            refuse(many)
        expect_first(axis, many)
        args: list[Any] = []
        for a in many.args:
            args.append(t.fresh() if is_type(a) else a)
            if is_type(a):
                t.enqueue(RowsGoal(self.call, axis, (args[-1], self.types[1], a), self.place, self.sizes))  # pyright: ignore[reportArgumentType]
        return TypeCall(many.func, args)

    def _size(self, t: "Solver", size: Any) -> None:
        """Note a number of rows; all are to be the same."""
        size, rows = head(size), zonk(self.types[1])
        if isinstance(size, int) and isinstance(rows, int) and size != rows:
            other = next((place for place, d in self.sizes if zonk(d) == rows), "another")
            raise Fault(
                "batch-size",
                f"{self.place} of `vmap` has {size} rows, {other} has {rows}",
                hint="all that is batched has the same number of rows; None in `in_axes` shares an argument",
            )
        self.sizes.append((self.place, size))
        t.unify(self.types[1], size)

    @property
    def what(self) -> str:
        return "vmap"

    @property
    def unsolved(self) -> Fault:
        return Fault(
            "ambiguous-type",
            "the types of the rows of this `vmap` are not known",
            hint="annotate the parameters of its function",
        )


def checked_axes(e: VMap, count: int) -> tuple[Axes, ...]:
    """`argument_axes` of a program that inference has seen."""
    try:
        return argument_axes(e, count)
    except Fault as fault:
        fail(fault.code, fault.message, e.span, hint=fault.hint)
