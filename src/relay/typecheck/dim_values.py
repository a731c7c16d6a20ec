"""The values of dimensions: where the tensors among a function's parameters determine them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relay.diagnostic import derive_from, derived_nodes
from relay.ir import dim
from relay.ir.expr import Call, Expr, Function, Let, TupleGetItem, Var, replace
from relay.ir.tensor_parts import tensor_parts
from relay.ir.type import HAS_VAR, Dim, Dimension, DimExpr, Type, TypeVar
from relay.ir.walk import type_post_order
from relay.op.computed_sizes import axis_size, computed, dimension_value
from relay.op.dimension import DimValue

if TYPE_CHECKING:
    from relay.typecheck.inference import Inference

Place = tuple[Var, tuple[int, ...], int]
"""An axis of a tensor in a parameter: the parameter, the projections to the tensor, the axis."""


def dim_variables(d: Dim) -> set[TypeVar]:
    """The dimension dim_variables inside a dimension."""
    return {v for v in type_post_order(d) if isinstance(v, TypeVar)} if isinstance(d, Dimension) else set()


class Determined:
    """The dimension dim_variables that some parameters determine, as expressions of these."""

    def __init__(self, params: Sequence[Var]) -> None:
        """The parameters have their types."""
        self.solved: dict[TypeVar, tuple[Place, Dim, TypeVar]] = {}
        """For each variable the size it is found by: the axis, and what it is in terms of `whole` there."""
        open_: list[tuple[Place, Dim]] = []
        for param in params:
            for path, tensor in tensor_parts(param.type_annotation):
                for axis, d in enumerate(tensor.shape if isinstance(tensor.shape, tuple) else ()):
                    place = param, path, axis
                    if isinstance(d, TypeVar):
                        self.solved.setdefault(d, (place, d, d))
                    elif isinstance(d, DimExpr):
                        open_.append((place, d))
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
                size = axis_size(*_tensor(place))
                known[v] = size if by is whole else dimension_value(by, {**known, whole: size})
            else:
                stack.append((v, True))
                stack += [(u, False) for u in needed]
        return known[wanted]


def _tensor(place: Place) -> tuple[Expr, int]:
    var, path, axis = place
    found: Expr = var
    for index in path:
        found = TupleGetItem(found, index)
    return found, axis


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
                    known = self.determined[fn] = Determined(params)
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
        if not result.flags & HAS_VAR:
            return found if isinstance(e.attrs, DimValue) else replace(found, span=e.span)
        var = Var("sized", result, span=e.span)
        return Let(var, replace(found, span=e.span), var, span=e.span)
