"""The values of dimensions: where the tensors among a function's parameters determine them."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from relay.diagnostic import derive_from, derived_nodes
from relay.ir import dim
from relay.ir.expr import Call, Expr, Function, Let, Match, RefRead, TupleGetItem, Var, replace
from relay.ir.module import IRModule
from relay.ir.tensor_parts import whole_path
from relay.ir.type import (
    HAS_VAR,
    Dim,
    Dimension,
    DimExpr,
    GlobalTypeVar,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay.ir.walk import type_post_order
from relay.op.computed_sizes import axis_size, computed, dimension_value
from relay.op.dimension import DimValue
from relay.op.records import Opened, alternatives, opened, taken

if TYPE_CHECKING:
    from relay.typecheck.inference import Inference

Choice = tuple[tuple[Opened, int, int], ...]
"""An axis of a tensor in each constructor of a data type: the constructor, the field, the axis."""
Place = tuple[Var, tuple[Any, ...], int | Choice]
"""An axis of a tensor in a parameter: the parameter, the steps to the tensor, the axis; or the steps to a
value of a data type, and the axis by its constructors.

A step is the number of a field of a tuple, or that of a field of a data type with the type, which is opened,
or `CONTENT` of a reference.
"""
CONTENT = "content"

MOST_OPENED = 1000
"""How many data types are looked into for sizes: one may lead to ever new ones."""


def dim_variables(d: Dim) -> set[TypeVar]:
    """The variables inside a dimension."""
    return {v for v in type_post_order(d) if isinstance(v, TypeVar)} if isinstance(d, Dimension) else set()


class Determined:
    """The dimension variables that some parameters determine, as expressions of these."""

    def __init__(self, params: Sequence[Var], mod: IRModule) -> None:
        """The parameters have their types; `mod` has the data types."""
        self.solved: dict[TypeVar, tuple[Place, Dim, TypeVar]] = {}
        """For each variable the size it is found by: the axis, and what it is in terms of `whole` there."""
        open_: list[tuple[Place, Dim]] = []
        chosen: list[tuple[Place, TypeVar]] = []
        for param, path, part in _sources(params, mod):
            if isinstance(part, TypeCall):
                chosen += [((param, path, by), d) for d, by in _choices(part, mod).items()]
                continue
            for axis, d in _axes(part):
                place = param, path, axis
                if isinstance(d, TypeVar):
                    self.solved.setdefault(d, (place, d, d))
                elif isinstance(d, DimExpr):
                    open_.append((place, d))
        self._solve(open_)
        if any(d not in self.solved for _, d in chosen):
            for place, d in chosen:
                self.solved.setdefault(d, (place, d, d))
            self._solve(open_)

    def _solve(self, sizes: list[tuple[Place, Dim]]) -> None:
        """Solve sizes with one unknown variable, and those that wait for it."""
        waiting: dict[TypeVar, list[tuple[Place, Dim]]] = {}
        ready = sizes[::-1]
        for size in sizes:
            for v in dim_variables(size[1]):
                waiting.setdefault(v, []).append(size)
        while ready:
            place, d = ready.pop()
            unknown = [v for v in dim_variables(d) if v not in self.solved]
            if len(unknown) == 1 and (found := inverse(d, unknown[0])) is not None:
                self.solved[unknown[0]] = (place, *found)
                ready += waiting[unknown[0]]

    def value(self, wanted: TypeVar) -> Expr | None:
        """The value of a variable, a scalar of int64; None where it is not determined."""
        if wanted not in self.solved:
            return None
        known: dict[TypeVar, Expr] = {}
        stack = [(wanted, False)]
        while stack:
            v, ready = stack.pop()
            if v in known:
                continue
            place, by, whole = self.solved[v]
            needed = dim_variables(by) - {whole}
            if ready or not needed:
                size = _size(place)
                known[v] = size if by is whole else dimension_value(by, {**known, whole: size})
            else:
                stack.append((v, True))
                stack += [(u, False) for u in needed]
        return known[wanted]


def _axes(t: TensorType) -> Iterator[tuple[int, Any]]:
    return enumerate(t.shape if isinstance(t.shape, tuple) else ())


def _choices(t: TypeCall, mod: IRModule) -> dict[TypeVar, Choice]:
    """The variables that are the size of an axis of a tensor in every constructor of a data type."""
    found: dict[TypeVar, Choice] | None = None
    for c in alternatives(t, mod):
        own: dict[TypeVar, tuple[Opened, int, int]] = {}
        for i, field in enumerate(c.fields):
            for axis, d in _axes(field) if isinstance(field, TensorType) else ():
                if isinstance(d, TypeVar):
                    own.setdefault(d, (c, i, axis))
        earlier = dict.fromkeys(own, ()) if found is None else found
        found = {v: (*by, own[v]) for v, by in earlier.items() if v in own}
        if not found:
            break
    return found or {}


def _sources(
    params: Sequence[Var], mod: IRModule
) -> Iterator[tuple[Var, tuple[Any, ...], TensorType | TypeCall]]:
    """The tensors in parameters: in tuples first, then in references and in data types of one constructor,
    outer ones first; and data types of several constructors.

    Each type is looked into once, as the same type has the same sizes.
    """
    data: deque[tuple[Var, Any, TypeCall | RefType]] = deque()
    seen: set[Type] = set()
    opened_types = 0
    waiting: list[tuple[Var, Any, Any]] = [(param, None, param.type_annotation) for param in reversed(params)]
    while waiting or (data and opened_types < MOST_OPENED):
        if not waiting:
            param, link, call = data.popleft()
            if isinstance(call, RefType):
                waiting = [(param, (link, CONTENT), call.value)]
                continue
            t = opened(call, mod)
            opened_types += 1
            waiting = [(param, (link, (i, t)), f) for i, f in enumerate(t.fields)][::-1]
            continue
        param, link, part = waiting.pop()
        if isinstance(part, TensorType):
            yield param, whole_path(link), part
        elif part in seen:
            continue
        elif isinstance(part, TupleType):
            seen.add(part)
            waiting += [(param, (link, i), f) for i, f in enumerate(part.fields)][::-1]
        elif isinstance(part, RefType):
            seen.add(part)
            data.append((param, link, part))
        elif isinstance(part, TypeCall) and isinstance(part.func, GlobalTypeVar):
            seen.add(part)
            found = mod.type_definitions.get(part.func)
            if found is not None and len(found.constructors) == 1:
                data.append((param, link, part))
            elif found is not None and opened_types < MOST_OPENED:
                opened_types += 1
                yield param, whole_path(link), part


def _size(place: Place) -> Expr:
    """The size of an axis, a scalar of int64."""
    var, path, axis = place
    found: Expr = var
    for step in path:
        if isinstance(step, int):
            found = TupleGetItem(found, step)
        elif step is CONTENT:
            found = RefRead(found, span=var.span)
        else:
            found = taken(found, step[1], step[0], "field", var.span)
    if isinstance(axis, int):
        return axis_size(found, axis)
    fields = [(taken(found, c, i, "field", var.span).clauses[0], number) for c, i, number in axis]
    return Match(found, tuple([replace(c, rhs=axis_size(c.rhs, n)) for c, n in fields]), span=var.span)


def inverse(d: Dim, v: TypeVar) -> tuple[Dim, TypeVar] | None:
    """What `v` is where `d` has some value: a dimension in terms of the variable that comes with it.

    None where `v` is not alone, times a number, in one term of `d`.
    """
    terms, constant = dim.terms_of(d)
    with_v: list[Any] = [atoms for atoms in terms if any(v in dim_variables(a) for a in atoms)]
    if with_v != [(v,)]:
        return None
    factor = terms.pop((v,))
    whole = TypeVar("size", v.kind)
    rest = dim.subtract(whole, dim.from_terms(terms, constant))
    if factor < 0:
        rest, factor = dim.negate(rest), -factor
    return dim.floor_divide(rest, factor), whole


class UndeterminedError(Exception):
    """No tensor in a parameter determines this dimension variable."""

    def __init__(self, var: TypeVar) -> None:
        super().__init__(var)
        self.var = var


class DimensionValues:
    """The functions that are open while a definition is rebuilt, and the dimensions that they bind."""

    def __init__(self, inf: "Inference") -> None:
        """`inf` is told about dimensions without a value."""
        self.inf = inf
        self.open: list[tuple[Function, Sequence[Var]]] = []
        self.determined: dict[Function, Determined] = {}
        self.values: dict[TypeVar, Expr] = {}
        """The values of variables of functions that are open: one node for all uses."""

    def enter(self, fn: Function, params: Sequence[Var]) -> None:
        """Inside a function; its parameters as they are in the result."""
        self.open.append((fn, params))

    def leave(self) -> None:
        """Outside the function that was entered last."""
        fn, _ = self.open.pop()
        if self.determined.pop(fn, None) is not None:
            for v in fn.type_params:
                self.values.pop(v, None)

    def value(self, d: Dim) -> Expr:
        """The value of a dimension here, a scalar of int64."""
        return dimension_value(d, {v: self.variable(v) for v in dim_variables(d)})

    def variable(self, v: TypeVar) -> Expr:
        """The value of a dimension variable, by the parameters of the function that binds it."""
        if v in self.values:
            return self.values[v]
        for fn, params in reversed(self.open):
            if v in fn.type_params:
                known = self.determined.get(fn)
                if known is None:
                    known = self.determined[fn] = Determined(params, self.inf.mod)
                found = known.value(v)
                if found is not None:
                    self.values[v] = found
                    return found
                break
        raise UndeterminedError(v)

    def computed(self, e: Call, types: Sequence[Any], args: Sequence[Expr], result: Type) -> Expr | None:
        """A call with dimensions in attributes as one without, whose type is said where it needs to be.

        None if the dimensions are free, in an open expression.
        """
        try:
            with derived_nodes():
                derive_from(e.span)
                found = computed[e.attrs](e.attrs, self.value, types, args)
        except UndeterminedError as error:
            if self.inf.is_open and not any(error.var in fn.type_params for fn, _ in self.open):
                return None
            name = error.var.name_hint
            self.inf.diagnose(
                "dimension-without-value",
                f"the dimension `{name}` has no value here: no tensor among the parameters determines it",
                e,
                hint=f"pass it: a parameter `%{name}: int64`, or a tensor with an axis of size `{name}`",
            )
            return e
        return found if isinstance(e.attrs, DimValue) else sized(replace(found, span=e.span), result)


def sized(e: Expr, result: Type) -> Expr:
    """An expression whose type is said where it has dimensions that the expression does not show."""
    if not result.flags & HAS_VAR:
        return e
    var = Var("sized", result, span=e.span)
    return Let(var, e, var, span=e.span)
