"""Derivatives, and rules for them, of Python functions as well as of expressions.

Of a Python function, decorated or not, each of these gives a function of the same kind: something to call
with arrays, to compile, and to differentiate again.  Arguments, results and gradients are nested values.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from relay.autodiff import custom
from relay.diagnostic import caller_span, fail
from relay.expansion import api
from relay.ir import build
from relay.ir.expr import Call, Expr, Function, Grad, RelayExpr, Tuple, TupleGetItem, Var
from relay.ir.expr import replace as replace_node
from relay.ir.module import IRModule
from relay.ir.type import TensorType, TupleType, Type
from relay.ir.walk import run
from relay.op.numeric import apply
from relay.op.registry import builders
from relay.tracing.function import Application, TracedFunction, as_function, is_python
from relay.tracing.nested import flattened, typed_leaf
from relay.tracing.pytree import LEAF, Leaf, Node, Tree, flatten, nodes, parts_of, same_structure, unflatten
from relay.tracing.signature import Header, renamed
from relay.typecheck.query import type_of

Argnums = int | Sequence[int] | None
"""Which arguments: one, several, or all."""


def grad(f: Any) -> Any:
    """`grad(f)`: a function from f's arguments to its value and the gradients by each, in a tuple.

    Of an expression, the node; of a Python function, a function to call with arrays.
    """
    return value_and_grad(f) if is_python(f) else build.grad(f)


def value_and_grad(f: Any, argnums: Argnums = None) -> Any:
    """A function from f's arguments to its value and its gradient by the argument `argnums`.

    With several arguments, or None for all of them, the gradients are a tuple.  A gradient has the structure
    and types of its argument; where the result is not one scalar, it is that of the sum of its elements.

    Raises `unknown-grad-target`, `grad-parameter` when it is traced, `ValueError` for no such argument.
    """
    if is_python(f):
        target = as_function(f)
        if not target.header.is_open:
            chosen_arguments(argnums, len(target.header.function.params))

        def pair(a: Application) -> Any:
            chosen = chosen_arguments(argnums, len(a.args))
            both = Call(Grad("grad", a.function), a.args)
            slopes = TupleGetItem(both, 1)
            parts = tuple([a.argument(i, TupleGetItem(slopes, i)) for i in chosen])
            return a.result(TupleGetItem(both, 0)), parts[0] if isinstance(argnums, int) else parts

        return derived(target, "grad", pair)
    if argnums is None:
        return api.value_and_grad(f)
    return value_and_grad_by(f, argnums)


def value_and_grad_by(f: Expr, argnums: int | Sequence[int]) -> Function:
    """`value_and_grad` of an expression by some of its arguments."""
    t = api.function_type(f, None)
    params = api.parameters(f, t)
    both = Call(Grad("grad", f), params)
    parts = [TupleGetItem(TupleGetItem(both, 1), i) for i in chosen_arguments(argnums, len(params))]
    return Function(
        params, Tuple((TupleGetItem(both, 0), parts[0] if isinstance(argnums, int) else Tuple(parts)))
    )


def chosen_arguments(argnums: Argnums, count: int) -> list[int]:
    """The positions that `argnums` names, from the front."""
    given = range(count) if argnums is None else (argnums,) if isinstance(argnums, int) else argnums
    for i in given:
        if not -count <= i < count:
            raise ValueError(f"argnums are from 0 to {count - 1}, not {i}")
    return [i % count for i in given]


def vjp(f: Any) -> Any:
    """`vjp(f)`: a function from f's arguments to its value and the function that pulls cotangents back.

    That function takes a cotangent of the structure of the result, and gives a tuple with one for each
    argument.
    """
    if not is_python(f):
        return build.vjp(f)

    def pair(a: Application) -> Any:
        both = Call(Grad("vjp", a.function), a.args)
        inputs, outputs = Node(tuple, (), (a.made.result,)), Node(tuple, (), a.made.arguments)
        back = a.in_tree(Leaf((inputs, outputs)), TupleGetItem(both, 1))
        return a.result(TupleGetItem(both, 0)), back

    return derived(as_function(f), "vjp", pair)


def jvp(f: Any) -> Any:
    """`jvp(f)`: a function from a tuple of f's arguments and one of their tangents to its value and its
    tangent.
    """
    if not is_python(f):
        return build.jvp(f)
    target = as_function(f)

    def pushed(primals: Any, tangents: Any, **chosen: Any) -> Any:
        a, b = target.applied(primals, chosen), target.applied(tangents, chosen)
        both = Call(Grad("jvp", a.function), (Tuple(a.args), Tuple(b.args)))
        return a.result(TupleGetItem(both, 0)), a.result(TupleGetItem(both, 1))

    header = renamed(target.header, "jvp")
    fn = header.function
    t = None if header.is_open else _tuple_of(fn.params)
    params = tuple([Var(n, t, span=header.span) for n in ("primals", "tangents")])
    fn = replace_node(fn, params=params)
    return TracedFunction(pushed, replace(header, function=fn, by_name=(), rest=None, others=None))


def _tuple_of(params: Sequence[Var]) -> TupleType | None:
    """The type of a tuple of the parameters; None where one is not annotated."""
    types = [p.type_annotation for p in params]
    return None if None in types else TupleType(types)  # pyright: ignore[reportArgumentType]


def jacobian(
    f: Any, argnum: int | Sequence[int] = 0, mod: IRModule | None = None, mode: api.Mode | None = None
) -> Any:
    """Return the function from f's arguments to the derivative of its result by argument `argnum`.

    By several arguments it has a tuple of derivatives in the place of each tensor of the result.

    For a tensor of shape `s` as the argument and one of shape `r` as the result it is a tensor of shape
    `(*r, *s)`, of the dtype of the one that `mode` goes from; sizes may be symbolic.  Of nested values it has
    the structure of the result, with that of the argument in the place of each tensor.  `mode="forward"` is a
    `vmap` of `jvp` over the elements of the argument, `mode="reverse"` one of `vjp` over those of the result;
    the default is that of fewer rows.

    Raises `jacobian-shape`, `ValueError` for no such argument or mode, and what `jvp` and `vjp` raise.
    """
    if not is_python(f):
        is_one = isinstance(argnum, int)
        return api.jacobian(f, argnum, mod, mode) if is_one else by_arguments(f, argnum, mod, mode)

    def derivative(a: Application) -> Any:
        if isinstance(argnum, int):
            (i,) = chosen_arguments(argnum, len(a.args))
            e = Call(api.jacobian(a.function, i, mod, mode), a.args)
        else:
            e = Call(by_arguments(a.function, argnum, mod, mode), a.args)
        return a.in_tree(in_each_leaf(a.made.result, chosen_tree(a, argnum)), e)

    return derived(as_function(f), "jacobian", derivative)


def by_arguments(f: Expr, argnums: Sequence[int], mod: IRModule | None, mode: api.Mode | None) -> Function:
    """Return the function from f's arguments to its derivatives by several: of each tensor of the result a
    tuple.
    """
    t = api.with_own_parameters(api.function_type(f, mod))
    params = api.parameters(f, t)
    chosen = chosen_arguments(argnums, len(params))
    parts = [Call(api.jacobian(f, i, mod, mode), params) for i in chosen]
    return Function(params, run(_tuples(t.ret_type, parts)), None, t.type_params)


def _tuples(t: Type, parts: Sequence[Expr]) -> Generator[Any, Any, Expr]:
    """Return values with a tuple of those of `parts` in the place of each tensor of type `t`."""
    if not isinstance(t, TupleType):
        return Tuple(tuple(parts))
    fields: list[Expr] = []
    for i, field in enumerate(t.fields):
        fields.append((yield _tuples(field, [TupleGetItem(p, i) for p in parts])))
    return Tuple(tuple(fields))


def second_by_arguments(f: Expr, argnums: Sequence[int], mod: IRModule | None) -> Function:
    """Return the function from f's arguments to a tuple with the derivatives of each gradient by several."""
    t = api.with_own_parameters(api.function_type(f, mod))
    params = api.parameters(f, t)
    rows: list[Expr] = []
    for i in chosen_arguments(argnums, len(params)):
        slope = api.slope(f, t, params, i)
        rows.append(Call(by_arguments(slope, argnums, mod, "forward"), params))
    return Function(params, Tuple(tuple(rows)), None, t.type_params)


def chosen_tree(a: Application, argnum: int | Sequence[int]) -> Tree:
    """Return the structure of an argument, or of a tuple of several."""
    trees = [a.made.arguments[i] for i in chosen_arguments(argnum, len(a.args))]
    return trees[0] if isinstance(argnum, int) else Node(tuple, (), tuple(trees))


def hessian(f: Any, argnum: int | Sequence[int] = 0, mod: IRModule | None = None) -> Any:
    """Return the function from f's arguments to the second derivative of its scalar result by `argnum`.

    By several arguments it is a tuple of tuples of derivatives.

    For an argument of shape `s` it is a tensor of shape `(*s, *s)` and the argument's dtype, whose sizes may
    be symbolic; of a nested value it has that structure twice.  It is the Jacobian in forward mode of the
    gradient, so where the result is not one scalar, that of the sum of its elements.

    Raises `jacobian-shape`, and what `grad` raises.
    """
    if not is_python(f):
        is_one = isinstance(argnum, int)
        return api.hessian(f, argnum, mod) if is_one else second_by_arguments(f, argnum, mod)

    def derivative(a: Application) -> Any:
        if isinstance(argnum, int):
            (i,) = chosen_arguments(argnum, len(a.args))
            e = Call(api.hessian(a.function, i, mod), a.args)
        else:
            e = Call(second_by_arguments(a.function, argnum, mod), a.args)
        tree = chosen_tree(a, argnum)
        return a.in_tree(in_each_leaf(tree, tree), e)

    return derived(as_function(f), "hessian", derivative)


def hvp(f: Any, argnum: int = 0, mod: IRModule | None = None) -> Any:
    """The function from f's arguments, and a vector behind them, to the product of the Hessian of f's scalar
    result by argument `argnum` with the vector.

    The vector and the product have the structure, shapes and dtypes of the argument.  The Hessian is not
    made: a call costs a few times what one of `f` does.

    Raises what `grad` and `jvp` raise, `ValueError` for no such argument.
    """
    if not is_python(f):
        return api.hvp(f, argnum, mod)
    target = as_function(f)

    def product(*args: Any, **chosen: Any) -> Any:
        *xs, v = args
        a = target.applied(xs, chosen)
        made = api.hvp(a.function, argnum, mod)
        vector, of_v = flattened(v, typed_leaf, "v")
        tree = a.made.arguments[argnum]
        if not same_structure(tree, of_v):
            fail(
                "bad-argument",
                f"the vector of `hvp({target.header.name})` has structure {of_v}, and the argument {tree}",
                caller_span(),
                hint="give it the containers of the argument",
            )
        return a.argument(argnum, Call(made, (*a.args, vector)))

    header = with_vector(renamed(target.header, "hvp"), argnum)
    return TracedFunction(product, header)


def with_vector(header: Header, argnum: int) -> Header:
    """The header with one more argument by position, of the type of argument `argnum`."""
    if header.rest is not None:
        return header
    params = header.function.params
    at = len(params) - len(header.by_name)
    if not 0 <= argnum < at:
        raise ValueError(f"argnum is from 0 to {at - 1}, not {argnum}")
    name = "v"
    while any(p.name_hint == name for p in params):
        name += "_"
    v = Var(name, params[argnum].type_annotation, span=header.span)
    fn = replace_node(header.function, params=(*params[:at], v, *params[at:]))
    return replace(header, function=fn)


def in_each_leaf(outer: Tree, inner: Tree) -> Tree:
    """A structure with another in each of its places; what these stand in is what either says."""
    return run(_in_each_leaf(outer, inner))


def _in_each_leaf(outer: Tree, inner: Tree) -> Generator[Any, Any, Tree]:
    if isinstance(outer, Leaf) and isinstance(inner, Leaf):
        return Leaf(box=outer.box or inner.box)
    parts: list[Tree] = []
    tree = outer if isinstance(outer, Node) else inner
    assert isinstance(tree, Node)
    for part in tree.parts:
        made: Tree = yield _in_each_leaf(*((part, inner) if tree is outer else (outer, part)))
        parts.append(made)
    return Node(tree.kind, tree.keys, tuple(parts))


def gradient(f: Any, mod: IRModule | None = None, mode: Any = "higher_order") -> Function:
    """The function `grad(f)` written out: from the arguments of `f` to its value and a tuple of gradients.

    The definitions that it needs are added to `mod`.  Both modes, `higher_order` and `first_order`, give the
    same function: programs without calls and branches are differentiated without references and closures
    either way.

    Raises `unknown-grad-target`, `grad-parameter`.
    """
    return api.gradient(as_function(f).function if is_python(f) else f, mod, mode)


def checkpoint(f: Any) -> Any:
    """`f`, marked to be run again when cotangents are pulled back through it, so that nothing of it is
    kept; of an expression that is not a function, its value, as `relay.annotation.checkpoint` marks it.
    """
    if isinstance(f, RelayExpr) and not isinstance(f, Function):
        return builders["annotation.checkpoint"](f)
    if not is_python(f):
        return custom.checkpoint(f)
    return derived(
        as_function(f), "checkpoint", lambda a: a.result(Call(custom.checkpoint(a.made.function), a.args))
    )


def custom_vjp(f: Any, rule: Any, mod: IRModule | None = None) -> Any:
    """`f`, with `rule` for its derivative in reverse mode; forward mode differentiates `f` itself.

    `rule(x1, …, xn, y, g)` gets the arguments, the result and the cotangent of the result, and gives a tuple
    of cotangents of the arguments.  Both are Python functions, or expressions over the definitions of `mod`;
    a cotangent that is None in Python is zero.

    Raises `unknown-grad-target` if `f` is not a function, `type-mismatch` if a rule gives no such tuple.
    """
    if not is_python(f):
        return custom.custom_vjp(f, rule, mod)
    of_rule = as_function(rule)

    def with_rule(a: Application) -> Any:
        y = a.result(Call(a.function, a.args))
        xs = [a.argument(i, e) for i, e in enumerate(a.args)]
        b = of_rule.applied((*xs, y, y), {})
        _check_cotangents(b, len(a.args), of_rule)
        if any(map(is_none, nodes(b.made.result))):
            b = derived(of_rule, "custom_vjp", with_zeros).applied((*xs, y, y), {})
        return a.result(Call(custom.custom_vjp(a.function, b.function, mod), a.args))

    return derived(as_function(f), "custom_vjp", with_rule)


def _check_cotangents(b: Application, count: int, rule: TracedFunction) -> None:
    """A rule gives a tuple of `count` cotangents (`type-mismatch`)."""
    tree = b.made.result
    gives = len(tree.parts) if isinstance(tree, Node) else 0
    is_tensor = not isinstance(tree, Node) and isinstance(type_of(b.made.function.body), TensorType)
    if gives == count or not (gives or is_tensor):
        return
    fail(
        "type-mismatch",
        f"the rule of `custom_vjp` gives {f'{gives} cotangents' if gives else 'no tuple'} for {count}"
        f" argument{'s' if count > 1 else ''}",
        rule.header.span,
        hint="it returns a cotangent for each, in a tuple: `(g,)` for one; None stands for zeros",
    )


def is_none(tree: Tree) -> bool:
    """Whether a structure is that of None."""
    return isinstance(tree, Node) and tree.kind is None


def with_zeros(a: Application) -> Any:
    """What a rule gives, with zeros of the structure of the argument in the place of None."""
    cotangents = a.result(Call(a.function, a.args))
    pairs = zip(cotangents, a.made.arguments, a.args, strict=False)
    return tuple([run(_filled(g, tree, e)) for g, tree, e in pairs])


def _filled(g: Any, tree: Tree, e: Expr) -> Generator[Any, Any, Any]:
    """Return a cotangent of `e`, with zeros in the place of each None where `e` has a value."""
    container = parts_of(g)
    if container is None or not isinstance(tree, Node):
        return zeros_like(e) if g is None else g
    if not is_none(tree) and g is None:
        container = tree.kind, tree.keys, (None,) * len(tree.parts)
    kind, keys, parts = container
    if len(parts) != len(tree.parts):
        return g
    filled: list[Any] = []
    for i, (part, inner) in enumerate(zip(parts, tree.parts, strict=True)):
        filled.append((yield _filled(part, inner, TupleGetItem(e, i))))
    return Node(kind, keys, tree.parts).built(filled)


def stop_gradient(data: Any) -> Any:
    """Return a nested value as it is, whose derivative is taken to be zero."""
    stop = builders["stop_gradient"]
    parts, tree = flatten(data, lambda x, _: (stop(x), LEAF), "data")
    return unflatten(tree, parts, lambda x, _: x, lambda x, i: x[i])


def zeros_like(e: Expr) -> Expr:
    """Zeros of the type of a tensor."""
    return apply("zeros_like", e)


def derived(f: TracedFunction, name: str, python: Callable[[Application], Any]) -> TracedFunction:
    """A function that takes what `f` takes: what `python` makes of the application of `f`."""

    def made(*args: Any, **chosen: Any) -> Any:
        return python(f.applied(args, chosen))

    return TracedFunction(made, renamed(f.header, name))
