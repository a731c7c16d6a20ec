"""Derivatives from Python: `gradient`, `value_and_grad`, `jacobian`, `hessian`, `hvp`.

`relay.grad`, `relay.vjp`, `relay.jvp` and `relay.vmap` make the nodes; these build on them.
"""

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Literal

from relay.diagnostic import fail
from relay.expansion.gradient import function_type, gradient, parameters
from relay.ir.axes import Axes
from relay.ir.bind import substitute
from relay.ir.expect import expect_expr
from relay.ir.expr import Call, Expr, Function, Grad, Tuple, TupleGetItem, Var, VMap
from relay.ir.module import IRModule
from relay.ir.subst import substitute_type
from relay.ir.type import ANY, FuncType, TensorType, TupleType, Type, TypeVar
from relay.ir.walk import run
from relay.op.numeric import apply
from relay.transform.rewriting.copying import Copy

__all__ = ["Mode", "gradient", "hessian", "hvp", "jacobian", "value_and_grad"]

Mode = Literal["forward", "reverse"]
MODES = ("forward", "reverse")


def value_and_grad(f: Expr) -> Grad:
    """`grad(f)`: a function from f's arguments to its value and the gradient with respect to each."""
    return Grad("grad", f)


def jacobian(f: Expr, argnum: int = 0, mod: IRModule | None = None, mode: Mode | None = None) -> Function:
    """The function from f's arguments to the derivative of its result by argument `argnum`.

    For `f: fn(…, Tensor[s, t], …) -> Tensor[r, t]` the derivative is a tensor of shape `(*r, *s)`, whose
    sizes may be symbolic.  Tuples are taken apart: the derivative has the structure of the result, with that
    of the argument in the place of each tensor.  `mode="forward"` is a `vmap` of `jvp` over the elements of
    the argument, `mode="reverse"` one of `vjp` over those of the result; the default is that of fewer rows.

    Raises `jacobian-shape`, `ValueError` for no such argument or mode, and what `jvp` and `vjp` raise.
    """
    if mode is not None and mode not in MODES:
        raise ValueError(f"mode is 'forward' or 'reverse', not {mode!r}")
    t = with_own_parameters(function_type(expect_expr(f), mod))
    by, out = _argument(t, argnum), t.ret_type
    sources, results = _tensors(by, t, f), _tensors(out, t, f)
    params = parameters(f, t)
    this = _Partial(f, t, params, argnum)
    if mode is None:
        mode = "forward" if _is_forward_cheaper(sources, results) else "reverse"
    if mode == "forward":
        columns = [this.column(j, sources[j], by, out) for j in range(len(sources))]
        blocks = [list(_leaves(c, out)) for c in columns]
        found = [[blocks[j][i] for j in range(len(sources))] for i in range(len(results))]
    else:
        found = [list(_leaves(this.row(i, results[i], by, out), by)) for i in range(len(results))]
    shaped = [
        [
            apply("reshape", block, newshape=(*r.shape, *s.shape), allowzero=True)  # pyright: ignore[reportGeneralTypeIssues]
            for block, s in zip(blocks_of_result, sources, strict=True)
        ]
        for blocks_of_result, r in zip(found, results, strict=True)
    ]
    body = _nested(out, iter([_nested(by, iter(blocks)) for blocks in shaped]))
    return Function(params, body, None, t.type_params)


def hessian(f: Expr, argnum: int = 0, mod: IRModule | None = None) -> Function:
    """The function from f's arguments to the second derivative of its scalar result by argument `argnum`.

    For `f: fn(…, Tensor[s, t], …) -> Tensor[(), t]` it is a tensor of shape `(*s, *s)`, whose sizes may be
    symbolic; of an argument of tuples it has their structure twice.  It is the Jacobian in forward mode of
    the gradient, so where the result is not one scalar, that of the sum of its elements.

    Raises `jacobian-shape`, and what `grad` raises.
    """
    t = with_own_parameters(function_type(expect_expr(f), mod))
    by = _argument(t, argnum)
    _tensors(by, t, f)
    params = parameters(f, t)
    return jacobian(slope(f, t, params, argnum), argnum, mod, "forward")


def slope(f: Expr, t: FuncType, params: tuple[Var, ...], argnum: int) -> Function:
    """Return the function from f's arguments to the gradient by one of them."""
    gradient = _Partial(f, t, params, argnum).gradient(params[argnum])
    return Function(params, gradient, None, t.type_params, span=f.span)


def hvp(f: Expr, argnum: int = 0, mod: IRModule | None = None) -> Function:
    """The function from f's arguments and a vector to the product of the Hessian of f's scalar result by
    argument `argnum` with the vector.

    For `f: fn(…, A, …) -> Tensor[(), t]` it is `fn(…, A, …, A) -> A`, for any type `A` that has derivatives.
    The Hessian is not made: this costs a few times what `f` does.

    Raises what `grad` and `jvp` raise, `ValueError` for no such argument.
    """
    t = with_own_parameters(function_type(expect_expr(f), mod))
    by = _argument(t, argnum)
    params = parameters(f, t)
    v, z = Var("v", by, span=f.span), Var(params[argnum].name_hint, by, span=f.span)
    along = Function((z,), _Partial(f, t, params, argnum).gradient(z), by, span=f.span)
    both = Call(Grad("jvp", along), (Tuple((params[argnum],)), Tuple((v,))))
    return Function((*params, v), TupleGetItem(both, 1), None, t.type_params)


class _Partial:
    """A function of one of its arguments."""

    def __init__(self, f: Expr, t: FuncType, params: Sequence[Var], argnum: int) -> None:
        """`t` is the type of `f` with the type parameters that `params` have."""
        self.f = f
        self.type_params = t.type_params
        self.params = params
        self.argnum = argnum

    def at(self, x: Expr) -> Expr:
        """Its value where the argument is `x`; of a function literal the body, so that there is no call."""
        args = [x if i == self.argnum else p for i, p in enumerate(self.params)]
        if not isinstance(self.f, Function) or len(self.f.type_params) != len(self.type_params):
            return Call(self.f, tuple(args))
        copy = Copy(dict(zip(self.f.type_params, self.type_params, strict=True)))
        params, body, _ = copy.function(self.f)
        return substitute(body, dict(zip(params, args, strict=True)))

    def gradient(self, x: Expr) -> Expr:
        """Its gradient there."""
        z = self._var("z")
        both = Call(Grad("grad", Function((z,), self.at(z), span=self.f.span)), (x,))
        return TupleGetItem(TupleGetItem(both, 1), 0)

    def column(self, j: int, source: TensorType, by: Type, out: Type) -> Expr:
        """The derivatives by each element of tensor `j` of the argument, along the last axes of results."""
        x = self.params[self.argnum]
        inside = list(_leaves(x, by))
        z, e = Var("z", source, span=self.f.span), Var("e", source, span=self.f.span)
        changed = _nested(by, iter([*inside[:j], z, *inside[j + 1 :]]))
        along = Function((z,), self.at(changed), span=self.f.span)
        push = Call(Grad("jvp", along), (Tuple((inside[j],)), Tuple((e,))))
        return self._rows(Function((e,), TupleGetItem(push, 1)), source, inside[j], _last(out))

    def row(self, i: int, result: TensorType, by: Type, out: Type) -> Expr:
        """The derivatives of each element of tensor `i` of the result, along the first axes of gradients."""
        z, e = self._var("z"), Var("e", result, span=self.f.span)
        part = list(_leaves(self.at(z), out))[i]
        pull = Call(Grad("vjp", Function((z,), part, span=self.f.span)), (self.params[self.argnum],))
        back = Call(TupleGetItem(pull, 1), (e,))
        y = list(_leaves(self.at(self.params[self.argnum]), out))[i]
        return self._rows(Function((e,), TupleGetItem(back, 0)), result, y, 0)

    def _rows(self, f: Function, t: TensorType, like: Expr, out_axes: Axes) -> Expr:
        """`f` of each tensor of type `t` that has a one and zeros."""
        size = _size(t)
        dtype = t.dtype if isinstance(t.dtype, str) else "float32"
        ones = apply("ones", shape=(size,), dtype=dtype)
        units = apply("matrix_set_diag", apply("zeros", shape=(size, size), dtype=dtype), ones)
        if dtype is not t.dtype:
            units = apply("cast_like", units, like)
        assert isinstance(t.shape, tuple)
        units = apply("reshape", units, newshape=(size, *t.shape), allowzero=True)
        return Call(VMap(f, (0,), out_axes, span=self.f.span), (units,))

    def _var(self, name: str) -> Var:
        return Var(name, self.params[self.argnum].type_annotation, span=self.f.span)


def with_own_parameters(t: FuncType) -> FuncType:
    """The type of a function with type parameters that nothing else has."""
    by = {p: TypeVar(p.name_hint, p.kind) for p in t.type_params}
    needs = [substitute_type(c, by) for c in t.type_constraints]
    args = [substitute_type(a, by) for a in t.arg_types]
    return FuncType(args, substitute_type(t.ret_type, by), tuple(by.values()), needs)


def _argument(t: FuncType, argnum: int) -> Type:
    if not 0 <= argnum < len(t.arg_types):
        raise ValueError(f"argnum is from 0 to {len(t.arg_types) - 1}, not {argnum}")
    return t.arg_types[argnum]


def _tensors(root: Type, of: FuncType, f: Expr) -> list[TensorType]:
    """The tensors of nested tuples, whose sizes are all known (`jacobian-shape`)."""
    found: list[TensorType] = []
    stack = [root]
    while stack:
        t = stack.pop()
        if isinstance(t, TupleType):
            stack += reversed(t.fields)
        elif isinstance(t, TensorType) and _is_numeric(t):
            found.append(t)
        else:
            fail(
                "jacobian-shape",
                f"a Jacobian is of a function from numbers to numbers, in tensors of known sizes, not {of}",
                span=f.span,
                hint="name unknown sizes; use vjp or jvp for data types and functions",
            )
    return found


def _is_numeric(t: TensorType) -> bool:
    """Whether a tensor has numbers, and so many axes of known sizes."""
    return isinstance(t.shape, tuple) and ANY not in t.shape and t.dtype != "string"


def _size(t: TensorType) -> Any:
    """How many elements a tensor has."""
    assert isinstance(t.shape, tuple)
    dims: tuple[Any, ...] = t.shape
    return math.prod(dims)


def _is_forward_cheaper(sources: Sequence[TensorType], results: Sequence[TensorType]) -> bool:
    """Whether the argument has no more elements than the result; one of them counts as more where sizes are
    symbolic and differ.
    """
    rows: Any = sum(map(_size, sources))
    columns: Any = sum(map(_size, results))
    return rows <= columns if isinstance(rows, int) and isinstance(columns, int) else rows == columns


def _leaves(root: Expr, t: Type) -> Iterator[Expr]:
    """The tensors of an expression of nested tuples."""
    stack = [(root, t)]
    while stack:
        e, t = stack.pop()
        if isinstance(t, TupleType):
            stack += [(TupleGetItem(e, i), f) for i, f in reversed(list(enumerate(t.fields)))]
        else:
            yield e


def _nested(t: Type, leaves: Iterator[Expr]) -> Expr:
    """Expressions in the nested tuples of a type."""
    return run(_tree(t, lambda: next(leaves), lambda parts: Tuple(tuple(parts))))


def _last(t: Type) -> Axes:
    """The last axis of each tensor."""
    return run(_tree(t, lambda: -1, tuple))


def _tree(t: Type, leaf: Callable[[], Any], node: Callable[[list[Any]], Any]) -> Generator[Any, Any, Any]:
    """Nested tuples made anew."""
    if not isinstance(t, TupleType):
        return leaf()
    parts: list[Any] = []
    for f in t.fields:
        part = yield _tree(f, leaf, node)
        parts.append(part)
    return node(parts)
