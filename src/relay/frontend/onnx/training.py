"""Steps of optimisers."""

from collections.abc import Callable
from typing import Any

from relay.frontend.onnx.graph import Scope
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import TRAINING, converts
from relay.frontend.support import cast
from relay.frontend.value import Value, call, constant, fields, project, union
from relay.ir.bind import substitute
from relay.ir.expr import Call, Expr, Function, Grad, Let, Var
from relay.ir.type import TupleType
from relay.ir.vars import free_vars

Update = Callable[..., tuple[Value, ...]]


def groups(tensors: tuple[Value, ...], kinds: int) -> list[tuple[Value, ...]]:
    """For each parameter what belongs to it; tensors are given kind by kind."""
    count = len(tensors) // kinds
    return [tuple(tensors[k * count + i] for k in range(kinds)) for i in range(count)]


def by_kind(results: list[tuple[Value, ...]]) -> tuple[Value, ...]:
    """Results kind by kind."""
    return tuple([v for column in zip(*results, strict=True) for v in column])


@converts("Adagrad", domain=TRAINING)
def adagrad(node: Node, rate: Value, count: Value, *tensors: Value) -> Any:
    """Steps as long as the root of the sum of squares is short."""
    decay, norm = node.float("decay_factor", 0.0), node.float("norm_coefficient", 0.0)
    epsilon = node.float("epsilon", 0.0)
    pace = rate / (cast(count, rate.dtype) * decay + 1)

    def update(x: Value, g: Value, h: Value) -> tuple[Value, Value]:
        g = x * norm + g
        total = h + g * g
        return x - pace * g / (call("sqrt", total) + epsilon), total

    return by_kind([update(*group) for group in groups(tensors, 3)])


@converts("Adam", domain=TRAINING)
def adam(node: Node, rate: Value, count: Value, *tensors: Value) -> Any:
    """Steps along the running mean of gradients, by the root of that of their squares."""
    alpha, beta = node.float("alpha", 0.9), node.float("beta", 0.999)
    norm, post = node.float("norm_coefficient", 0.0), node.float("norm_coefficient_post", 0.0)
    epsilon = node.float("epsilon", 0.0)
    steps = cast(count, rate.dtype)
    fixed = call("sqrt", 1 - call("power", constant(beta, rate.dtype), steps)) / (
        1 - call("power", constant(alpha, rate.dtype), steps)
    )
    pace = call("where", call("greater", count, 0), rate * fixed, rate)

    def update(x: Value, g: Value, v: Value, h: Value) -> tuple[Value, Value, Value]:
        g = x * norm + g
        v = v * alpha + g * (1 - alpha)
        h = h * beta + g * g * (1 - beta)
        new = x - pace * v / (call("sqrt", h) + epsilon)
        return new * (1 - post), v, h

    return by_kind([update(*group) for group in groups(tensors, 4)])


@converts("Momentum", domain=TRAINING)
def momentum(node: Node, rate: Value, count: Value, *tensors: Value) -> Any:
    """Steps along a running sum of gradients, plain or after Nesterov."""
    alpha, beta = node.float("alpha"), node.float("beta")
    norm, nesterov = node.float("norm_coefficient"), node.text("mode") == "nesterov"
    first = call("greater", count, 0)
    weight = call("where", first, constant(beta, rate.dtype), constant(1.0, rate.dtype))

    def update(x: Value, g: Value, v: Value) -> tuple[Value, Value]:
        g = x * norm + g
        v = v * alpha + weight * g
        return (x - rate * (g + v * alpha) if nesterov else x - rate * v), v

    return by_kind([update(*group) for group in groups(tensors, 3)])


@converts("Gradient", domain=TRAINING)
def gradient(node: Node, *operands: Value) -> Any:
    """The gradient of one result by other values, of which it is computed."""
    names = node.texts("xs")
    scope, xs = node.scope, operands[: len(names)]
    (y,) = scope.results([node.text("y")])
    params = [Var(n, x.type, span=node.span) for n, x in zip(names, xs, strict=True)]
    instead: dict[Var, Expr] = {x.expr: p for x, p in zip(xs, params, strict=True) if isinstance(x.expr, Var)}
    if len(instead) < len(xs):
        return node.fail("it is by a constant")
    body = copied(scope, y.expr, instead)
    found = Call(Grad("grad", Function(tuple(params), body)), tuple([x.expr for x in xs]))
    result = TupleType([y.type, TupleType([x.type for x in xs])])
    return fields(project(Value(found, result, sources=union([y, *xs])), 1))


def copied(scope: Scope, result: Expr, instead: dict[Var, Expr]) -> Expr:
    """`result` as a function of other variables: what it is computed of is bound once more, to new ones."""
    needed = set(free_vars(result))
    chosen: list[tuple[Var, Expr]] = []
    for var, e in reversed(scope.bindings.made):
        if var in needed and var not in instead:
            needed.update(free_vars(e))
            chosen.append((var, e))
    by = {**instead, **{var: Var(var.name_hint, span=var.span) for var, _ in chosen}}
    body = substitute(result, by)
    for var, e in chosen:
        new = by[var]
        assert isinstance(new, Var)
        body = Let(new, substitute(e, by), body, span=var.span)
    return body
