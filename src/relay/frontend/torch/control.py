"""`cond` and `while_loop`: choices, and functions that call themselves."""

from collections.abc import Sequence
from typing import Any

from relay.frontend.support import scalar
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import as_number
from relay.frontend.torch.symbols import Size, dtype_of, size_of
from relay.frontend.value import Value, constant, fields, tuple_of
from relay.ir.expr import Call, Expr, Function, If, Let, Tuple, Var
from relay.ir.type import ANY, TensorType, TupleType, Type


@converts("cond")
def cond(node: Node, condition: Any, yes: Any, no: Any, given: Any = ()) -> Any:
    """One of two graphs, with the same operands."""
    if isinstance(condition, bool):
        return inlined(node, yes if condition else no, list(given))
    scopes = [node.scope.inner(g, f"{node.name}.{n}") for g, n in ((yes, "true"), (no, "false"))]
    found = [typed(node, as_values(s.run(list(given)))) for s in scopes]
    types = result_types(node)
    bodies = [s.bindings.around(packed(v)) for s, v in zip(scopes, found, strict=True)]
    t = types[0] if len(types) == 1 else TupleType(types)
    whole = Value(If(scalar(condition).expr, *bodies), t)
    return unpacked(node, whole, types)


def typed(node: Node, values: list[Value]) -> list[Value]:
    """Results in the dtypes that PyTorch traced."""
    from relay.frontend.support import cast

    return [
        cast(v, dtype_of(t.dtype)) if hasattr(t, "dtype") else v
        for v, t in zip(values, traced_results(node), strict=True)
    ]


def traced_results(node: Node) -> list[Any]:
    """What PyTorch traced of each result."""
    found: Any = node.traced
    return list(found) if isinstance(found, tuple | list) else [found]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def result_types(node: Node) -> list[Type]:
    """The types of the results, as PyTorch traced them."""
    return [traced_type(node, t) for t in traced_results(node)]


def traced_type(node: Node, traced: Any) -> Type:
    """The type of what PyTorch traced."""
    if not hasattr(traced, "dtype"):
        return TensorType((), "int64")
    return TensorType(node.scope.importer.symbols.shape(traced.shape), dtype_of(traced.dtype))


def as_values(results: Any) -> list[Value]:
    """The results of a graph: tensors, and numbers as scalars."""
    several: list[Any] = list(results) if isinstance(results, list | tuple) else [results]  # pyright: ignore[reportUnknownArgumentType]
    return [
        r if isinstance(r, Value) else constant(r, "bool" if isinstance(r, bool) else "int64")
        for r in several
    ]


def packed(values: list[Value]) -> Expr:
    """One result, or a tuple of several."""
    return values[0].expr if len(values) == 1 else tuple_of(values).expr


def unpacked(node: Node, whole: Value, types: Sequence[Type]) -> Any:
    """The parts of a result, which is bound to a variable first."""
    var = Var(f"{node.scope.prefix}{node.name}", whole.type, span=node.span)
    node.scope.bindings.made.append((var, whole.expr))
    bound = Value(var, whole.type)
    return [bound] if len(types) == 1 else list(fields(bound))


def inlined(node: Node, graph: Any, operands: list[Any]) -> Any:
    """A graph that is certain to run: its bindings join those around."""
    scope = node.scope.inner(graph, node.name)
    found = scope.run(operands)
    node.scope.bindings.made += scope.bindings.made
    return found


@converts("wrap_with_set_grad_enabled", "wrap_with_autocast", "strict_mode", "invoke_subgraph")
def wrapped(node: Node, *arguments: Any) -> Any:
    """A graph as a part of the one around."""
    at = next(i for i, a in enumerate(arguments) if hasattr(a, "graph"))
    rest = arguments[at + 1 :]
    operands = rest[1:] if node.operator == "invoke_subgraph" else rest
    return inlined(node, arguments[at], list(operands))


@converts("while_loop")
def while_loop(node: Node, test: Any, body: Any, carried: Any, given: Any = ()) -> Any:
    """A graph, again while a condition holds: a function that calls itself."""
    begin = as_values(carried)
    types = loop_types(node, begin)
    variables = [Var(f"{node.name}.{i}", t, span=node.span) for i, t in enumerate(types)]
    state = [carried_value(v, t, old) for v, t, old in zip(variables, types, carried, strict=True)]
    testing, running = (node.scope.inner(g, f"{node.name}.{n}") for g, n in ((test, "test"), (body, "body")))
    going = as_values(testing.run([*state, *given]))[0]
    after = as_values(running.run([*state, *given]))
    after = [in_type_of(v, t) for v, t in zip(after, types, strict=True)]
    recur = Var(f"{node.name}_loop", span=node.span)
    again = running.bindings.around(Call(recur, tuple([v.expr for v in after])))
    t = types[0] if len(types) == 1 else TupleType(types)
    done: Expr = variables[0] if len(types) == 1 else Tuple(tuple(variables))
    choice = testing.bindings.around(If(scalar(going).expr, again, done))
    function = Function(tuple(variables), choice, t, span=node.span)
    first = [in_type_of(v, s) for v, s in zip(begin, types, strict=True)]
    whole = Let(recur, function, Call(recur, tuple([v.expr for v in first])))
    return unpacked(node, Value(whole, t), types)


def loop_types(node: Node, begin: list[Value]) -> list[Type]:
    """The types of what a loop carries: sizes that may change are `?`."""
    found: list[Type] = []
    for v, traced in zip(begin, traced_results(node), strict=True):
        t = traced_type(node, traced) if hasattr(traced, "dtype") else v.type
        if isinstance(t, TensorType) and isinstance(v.type, TensorType) and t.shape != v.type.shape:
            pairs = zip(v.shape, t.shape if isinstance(t.shape, tuple) else (), strict=True)
            t = TensorType([a if a == b else ANY for a, b in pairs], t.dtype)
        found.append(t)
    return found


def carried_value(var: Var, t: Type, old: Any) -> Value:
    """A variable of a loop; numbers are carried as scalars."""
    if isinstance(old, Value) and not isinstance(old, Size):
        return Value(var, t)
    return size_of(var, ANY)


def in_type_of(v: Value, t: Type) -> Value:
    """A value in the dtype of a variable."""
    from relay.frontend.support import cast

    return cast(as_number(v), str(t.dtype)) if isinstance(t, TensorType) else v
