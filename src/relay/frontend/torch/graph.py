"""Graphs: node after node, each result bound to a variable of PyTorch's name for it."""

from collections.abc import Mapping, Sequence
from typing import Any

from relay.diagnostic import Diagnostic, RelayError, Source, Span, derive_from, fail
from relay.frontend.bindings import Bindings
from relay.frontend.torch import registry
from relay.frontend.torch.complex_value import Complex, converter_of_complex, has_complex, is_complex
from relay.frontend.torch.node import Node
from relay.frontend.torch.symbols import Size, Symbols, dtype_of, size_of
from relay.frontend.value import NeedsValueError, Value, call, fields
from relay.ir.module import IRModule
from relay.ir.type import ANY, Dim, TensorType, TupleType

CONTRADICTIONS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What converters raise for arguments that they are not made for."""


AS_PAIRS = "compute with torch.view_as_real(x), pairs along a last axis"


class Importer:
    """What all graphs of one program share."""

    def __init__(self, name: str, symbols: Symbols) -> None:
        """`symbols` are the symbolic sizes."""
        self.name = name
        self.symbols = symbols
        self.mod = IRModule()


class Scope:
    """The values of one graph, and the bindings that compute them."""

    def __init__(self, importer: Importer, module: Any, prefix: str = "") -> None:
        """`module` is the `GraphModule`; names of variables begin with `prefix`."""
        self.importer = importer
        self.module = module
        self.prefix = prefix
        self.values: dict[Any, Any] = {}
        self.bindings = Bindings()
        self.span: Span | None = None

    def inner(self, module: Any, name: str) -> "Scope":
        """The scope of a graph within this one."""
        return Scope(self.importer, module, f"{self.prefix}{name}.")

    def run(self, operands: Sequence[Any]) -> Any:
        """Convert the graph for values of its placeholders; what it returns, in the structure it has."""
        nodes = [n for n in self.module.graph.nodes if n.op == "call_function"]
        source = Source(self.importer.name, "\n".join(map(describe, nodes)))
        lines = dict(zip(nodes, source.starts, strict=False))
        given = iter(operands)
        for fx in self.module.graph.nodes:
            match fx.op:
                case "placeholder":
                    self.values[fx] = next(given)
                case "get_attr":
                    self.values[fx] = self.attribute(fx.target)
                case "output":
                    return self.argument(fx.args[0])
                case _:
                    line = lines[fx]
                    end = source.text.find("\n", line)
                    self.span = Span(source, line, end if end >= 0 else len(source.text))
                    derive_from(self.span)
                    self.values[fx] = self.placed(fx)
        return ()

    def attribute(self, path: str) -> Any:
        """A constant of the graph, or a graph within it."""
        found: Any = self.module
        for part in path.split("."):
            found = getattr(found, part)
        from relay.frontend.torch.arrays import held_value

        return held_value(found) if hasattr(found, "dtype") else found

    def placed(self, fx: Any) -> Any:
        """Convert a node; faults are at its place."""
        try:
            return self.converted(fx)
        except RelayError as error:
            raise RelayError([at(d, self.span) for d in error.diagnostics]) from None
        except NeedsValueError as missing:
            fail(
                "torch-unsupported",
                f"`{registry.name_of(fx.target)}`: {missing.what} must be known when the program is imported",
                self.span,
                hint="export the module with that size fixed: leave it out of dynamic_shapes",
            )
        except CONTRADICTIONS as error:
            name = registry.name_of(fx.target)
            fail("torch-unsupported", f"`{name}` is not converted with these arguments ({error})", self.span)

    def converted(self, fx: Any) -> Any:
        """The result of a node, bound to a variable."""
        rule = registry.find(fx.target) or registry.find_in_place(fx.target)
        operands, options = self.arguments(fx)
        if has_complex(operands):
            rule = converter_of_complex(registry.name_of(fx.target), rule)
            if rule is None:
                Node(fx, self, options).fail("it is not converted for complex numbers", hint=AS_PAIRS)
        assert rule is not None, "checked before"
        found = rule(Node(fx, self, options), *operands)
        if type(found) is Value and isinstance(found.type, TupleType):
            found = fields(found)
        traced: Any = fx.meta.get("val")
        if not isinstance(found, tuple | list):
            return self.bound(fx.name, found, traced)
        results: list[Any] = list(found)  # pyright: ignore[reportUnknownArgumentType]
        several: Any = traced if isinstance(traced, tuple | list) else [None] * len(results)  # pyright: ignore[reportUnknownVariableType]
        pairs = enumerate(zip(results, several, strict=False))
        return [self.bound(f"{fx.name}_{i}", v, t) for i, (v, t) in pairs]

    def bound(self, name: str, value: Any, traced: Any) -> Any:
        """A result as a variable, of the dtype and the sizes that PyTorch traced."""
        if isinstance(value, Value) and is_complex(traced):
            value = Complex(value, call("zeros_like", value))
        if isinstance(value, Complex):
            parts = (("real", value.real), ("imag", value.imaginary))
            return Complex(*[self.bound(f"{name}.{part}", v, None) for part, v in parts])
        if not isinstance(value, Value):
            return value
        sized: TensorType | None = None
        if hasattr(traced, "shape") and isinstance(value.type, TensorType):
            dtype = dtype_of(traced.dtype)
            value = value if value.dtype == dtype else call("cast", value, dtype=dtype)
            sized = self.settled(value, traced)
        elif hasattr(traced, "node") and not isinstance(value, Size) and value.dtype == "int64":
            value = size_of(value.expr, self.importer.symbols.dim(traced))
        return self.bindings.bind(f"{self.prefix}{name}", value, self.span, sized)

    def settled(self, value: Value, traced: Any) -> TensorType | None:
        """The type with the sizes that PyTorch knows and our relations do not (a fault if they disagree)."""
        known = self.importer.symbols.shape(traced.shape)
        if len(known) != value.rank or any(
            isinstance(a, int) and isinstance(b, int) and a != b
            for a, b in zip(known, value.shape, strict=True)
        ):
            raise ValueError(f"its result has the shape {value.shape}, in PyTorch {known}")
        dims: list[Dim] = [k if d is ANY else d for k, d in zip(known, value.shape, strict=True)]
        return TensorType(dims, value.dtype) if tuple(dims) != value.shape else None

    def arguments(self, fx: Any) -> tuple[list[Any], dict[str, Any]]:
        """The positional arguments, and those by name, with the defaults of the operator's schema."""
        schema = getattr(fx.target, "_schema", None)
        if schema is None:
            return [self.argument(a) for a in fx.args], {k: self.argument(v) for k, v in fx.kwargs.items()}
        operands: list[Any] = []
        options: dict[str, Any] = {}
        for i, formal in enumerate(schema.arguments):
            given = fx.args[i] if i < len(fx.args) else fx.kwargs.get(formal.name, formal.default_value)
            if formal.kwarg_only:
                options[formal.name] = self.argument(given)
            else:
                operands.append(self.argument(given))
        return operands, options

    def argument(self, x: Any) -> Any:
        """An argument: nodes as their values, symbolic numbers that are known as numbers."""
        if isinstance(x, list | tuple):
            return [self.argument(v) for v in x]  # pyright: ignore[reportUnknownVariableType]
        try:
            found = self.values.get(x, x)
        except TypeError:
            return x
        if isinstance(found, Size) and isinstance(found.dim, int):
            return found.dim
        return found


def at(d: Diagnostic, span: Span | None) -> Diagnostic:
    """A diagnostic at a place, unless it has one."""
    if d.span is not None:
        return d
    return Diagnostic(d.code, d.message, span, d.label, d.notes, d.hint, d.severity)


def describe(fx: Any) -> str:
    """A node in a line: what it computes, in which module, and the line of Python that asked for it."""
    operands = ", ".join(map(shown, [*fx.args, *fx.kwargs.values()]))
    line = f"{fx.name} = {registry.name_of(fx.target)}({operands})"
    places: list[str] = []
    modules: Mapping[str, Any] = fx.meta.get("nn_module_stack") or {}
    if modules:
        path = list(modules.values())[-1][0]
        places += [path] if path else []
    lines = [t.strip() for t in (fx.meta.get("stack_trace") or "").splitlines()]
    trace = [t for t in lines if t.startswith("File")]
    if trace:
        file, _, rest = trace[-1].removeprefix('File "').partition('", line ')
        places.append(f"{file}:{rest.partition(',')[0]}")
    return f"{line}  # {', '.join(places)}" if places else line


def shown(x: Any) -> str:
    """An argument, shortly."""
    if isinstance(x, list | tuple):
        return f"[{', '.join(map(shown, x))}]"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return str(x)
