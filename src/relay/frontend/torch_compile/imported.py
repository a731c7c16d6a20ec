"""Graphs of `aten` operators, as AOTAutograd makes them, as Relay modules."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from relay.diagnostic import derived_nodes
from relay.frontend.support import definition
from relay.frontend.torch.complex_value import Complex, is_complex
from relay.frontend.torch.graph import Importer, Scope
from relay.frontend.torch.report import check_supported
from relay.frontend.torch.symbols import Symbols, dtype_of, size_of
from relay.frontend.torch.unused import is_token
from relay.frontend.torch_compile.aliases import bases
from relay.frontend.value import Value
from relay.ir.collector import paused
from relay.ir.expr import Expr, Tuple, Var
from relay.ir.module import IRModule
from relay.ir.type import TensorType


@dataclass(frozen=True)
class Result:
    """Where a result of a graph comes from: one of `@main` or a view of it, an argument, or a fixed value."""

    kind: str
    """`"computed"`, `"view"`, `"argument"` or `"fixed"`."""
    value: Any
    """The place among the results of `@main` or among the arguments, or the value."""
    traced: Any = None
    """What PyTorch traced of a view."""


@dataclass(frozen=True)
class ImportedGraph:
    """A graph as a module, whose `@main` takes some of the arguments and returns a tuple."""

    mod: IRModule
    taken: tuple[int, ...]
    """The arguments that `@main` takes, by their places."""
    traced: tuple[Any, ...]
    """What PyTorch traced of these."""
    computed: tuple[Any, ...]
    """What PyTorch traced of the results of `@main`: tensors, and symbolic numbers."""
    results: tuple[Result, ...]


def import_graph(module: Any, constants: Mapping[int, Any], seen: int) -> ImportedGraph:
    """A `GraphModule` as a Relay module; `constants` are values of arguments that become part of it, by their
    places, and `seen` is how many of the results programs may see (`torch-unsupported`, `torch-type`).
    """
    check_supported(module)
    with paused(), derived_nodes():
        return graph_of(module, constants, seen)


def graph_of(module: Any, constants: Mapping[int, Any], seen: int) -> ImportedGraph:
    """The module of a graph all of whose operators are known."""
    from relay.typecheck.infer import infer

    nodes = list(module.graph.nodes)
    placeholders = [fx for fx in nodes if fx.op == "placeholder"]
    symbols = Symbols()
    for fx in placeholders:
        if hasattr(fx.meta["val"], "shape"):
            symbols.bind(fx.meta["val"].shape)
    params: list[Var] = []
    taken: list[int] = []
    values: list[Any] = []
    for i, fx in enumerate(placeholders):
        if i in constants:
            values.append(constants[i])
        elif is_token(fx):
            values.append(None)
        else:
            var, value = parameter(fx.name, fx.meta["val"], symbols)
            params.append(var)
            taken.append(i)
            values.append(value)
    importer = Importer("graph of torch.compile", symbols)
    scope = Scope(importer, module)
    found = scope.run(values)
    outs = next(fx for fx in reversed(nodes) if fx.op == "output").args[0]
    places = {fx: i for i, fx in enumerate(placeholders)}
    computed: dict[Any, Expr] = {}
    views = bases(nodes, outs[:seen])
    results: list[Result] = []
    for i, (value, fx) in enumerate(zip(found, outs, strict=True)):
        if i < seen and views.get(fx, fx) is not fx:
            base = result_of(scope.values[views[fx]], views[fx], places, computed)
            results.append(Result("view", base.value, fx.meta["val"]))
        else:
            results.append(result_of(value, fx, places, computed))
    body = scope.bindings.around(Tuple(tuple(computed.values())))
    importer.mod["main"] = definition(params, body)
    traced = tuple([placeholders[i].meta["val"] for i in taken])
    made = tuple([fx.meta.get("val") for fx in computed])
    return ImportedGraph(infer(importer.mod), tuple(taken), traced, made, tuple(results))


def parameter(name: str, traced: Any, symbols: Symbols) -> tuple[Var, Any]:
    """A parameter of `@main` for a placeholder, and its value."""
    if not hasattr(traced, "shape"):
        kind = "bool" if "Bool" in type(traced).__name__ else "int64"
        kind = "float64" if isinstance(traced, float) or "Float" in type(traced).__name__ else kind
        t = TensorType((), kind)
        var = Var(name, t)
        return var, size_of(var, symbols.dim(traced)) if kind == "int64" else Value(var, t)
    shape, dtype = symbols.shape(traced.shape), dtype_of(traced.dtype)
    t = TensorType((*shape, 2) if is_complex(traced) else shape, dtype)
    var = Var(name, t)
    value = Value(var, t, sources=frozenset({name}))
    return var, Complex.of(value) if is_complex(traced) else value


def result_of(value: Any, fx: Any, places: dict[Any, int], computed: dict[Any, Expr]) -> Result:
    """Where a result comes from; an expression that is computed is entered once."""
    if not hasattr(fx, "op"):
        return Result("fixed", fx)
    if fx in places:
        return Result("argument", places[fx])
    if not isinstance(value, Value | Complex):
        return Result("fixed", value)
    computed.setdefault(fx, (value.pairs if isinstance(value, Complex) else value).expr)
    return Result("computed", list(computed).index(fx))
