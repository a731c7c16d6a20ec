"""Graphs: node after node, each result bound to a variable of the model's name for it."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from relay.diagnostic import Diagnostic, RelayError, Source, Span, derive_from, fail
from relay.frontend.bindings import Bindings
from relay.frontend.onnx import functions, registry
from relay.frontend.onnx.forks import RanksDifferError, forked
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.scales import FLOAT8E8M0, scales_of
from relay.frontend.onnx.schemas import check
from relay.frontend.onnx.tensors import array_of
from relay.frontend.value import NeedsValueError, Value, constant, fields
from relay.ir.module import IRModule
from relay.ir.type import TupleType, TypeVar

CONTRADICTIONS = (
    ArithmeticError, LookupError, MemoryError, ValueError,
)  # fmt: skip
"""What converters raise for nodes that are not as ONNX demands."""
MAX_SHOWN_OPERANDS = 12
"""The most operands of a node in the lines that messages show."""
MAX_GRAPH_DEPTH = 64
"""How deep graphs and functions may nest."""


class Importer:
    """What all graphs of one model share."""

    def __init__(self, name: str, opsets: Mapping[str, int], folder: Path | None) -> None:
        """`opsets` has the version of each domain's operator set."""
        self.name = name
        self.opsets = dict(opsets)
        self.folder = folder
        self.mod = IRModule()
        self.dims: dict[str, TypeVar] = {}
        self.functions: dict[tuple[str, str], Any] = {}
        self.fresh = 0
        self.forks = 0

    def library(self, name: str) -> None:
        """Import a module of the standard library."""
        self.mod.import_from_std(name)

    def version_of(self, domain: str, opsets: Mapping[str, int]) -> int:
        """The version of a domain's operator set."""
        return opsets.get(domain, self.opsets.get(domain, 1))


class Scope:
    """The values of one graph, and the bindings that compute them."""

    def __init__(
        self,
        importer: Importer,
        parent: "Scope | None" = None,
        opsets: Mapping[str, int] | None = None,
        attributes: Mapping[str, Any] | None = None,
        depth: int = 0,
    ) -> None:
        """`attributes` are those of the call, within a function; there `parent` is None."""
        self.importer = importer
        self.parent = parent
        self.opsets = dict(importer.opsets if opsets is None else opsets)
        self.attributes = attributes
        self.values: dict[str, Value] = {}
        self.bindings = Bindings()
        self.absent: set[str] = set()
        self.choices: dict[str, bool] = {}
        """Which branches are taken, by the names of their nodes, where what follows depends on that."""
        self.prefix = "" if parent is None else parent.prefix
        self.span: Span | None = None
        self.depth = depth
        if depth > MAX_GRAPH_DEPTH:
            fail(
                "onnx-model",
                f"graphs and functions stand more than {MAX_GRAPH_DEPTH} deep within one another",
            )

    def inner(self) -> "Scope":
        """The scope of a graph within this one."""
        return Scope(self.importer, self, self.opsets, self.attributes, self.depth + 1)

    def copy(self) -> "Scope":
        """A scope of the same values, with bindings of its own."""
        other = Scope(self.importer, self.parent, self.opsets, self.attributes, self.depth)
        other.values, other.absent, other.choices = dict(self.values), set(self.absent), dict(self.choices)
        other.prefix = self.prefix
        return other

    def of_function(self, opsets: Mapping[str, int], attributes: Mapping[str, Any]) -> "Scope":
        """The scope of a function that a node of this one calls, with its versions of operator sets."""
        return Scope(self.importer, None, {**self.opsets, **opsets}, attributes, self.depth + 1)

    def find(self, name: str) -> Value | None:
        """The value of a name, here or in a graph around."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.parent
        return None

    def bind(self, name: str, value: Value) -> Value:
        """Bind a value to a variable, unless it is one or a constant."""
        self.values[name] = self.bindings.bind(self.prefix + name, value, self.span)
        return self.values[name]

    def run(self, graph: Any, title: str) -> list[Value]:
        """Convert a graph whose inputs are bound; the values of its outputs."""
        for tensor in graph.initializer:
            if tensor.name not in self.values:
                value = constant(array_of(tensor, self.importer.folder))
                self.values[tensor.name] = scales_of(value) if tensor.data_type == FLOAT8E8M0 else value
        for sparse in graph.sparse_initializer:
            self.values[sparse.values.name] = constant(dense_of(sparse, self.importer.folder))
        outputs = [o.name for o in graph.output]
        return self.present(outputs, self.convert_all(graph.node, title, outputs))

    def results(self, names: Sequence[str]) -> list[Value]:
        """The values of some names (`onnx-model`)."""
        return self.present(names, [self.find(name) for name in names])

    def present(self, names: Sequence[str], values: Sequence[Value | None]) -> list[Value]:
        """Values of some names, each of which there must be (`onnx-model`)."""
        found: list[Value] = []
        for name, value in zip(names, values, strict=True):
            if value is None:
                fail("onnx-model", f"no node computes the graph's output `{name}`")
            found.append(value)
        return found

    def convert_all(self, nodes: Sequence[Any], title: str, outputs: Sequence[str]) -> list[Value | None]:
        """Convert nodes, in an order in which each finds its operands; the values of some names."""
        source = Source(title, "\n".join([describe(n) for n in nodes]))
        return self.convert_from(ordered(nodes, self), 0, nodes, source, outputs)

    def convert_from(
        self, order: Sequence[int], at: int, nodes: Sequence[Any], source: Source, outputs: Sequence[str]
    ) -> list[Value | None]:
        """Convert the nodes from a place in their order on; the values of some names."""
        starts = source.starts if nodes else []
        for k in range(at, len(order)):
            i = order[k]
            line = source.line_text(i + 1)
            self.span = Span(source, starts[i], starts[i] + len(line))
            derive_from(self.span)
            try:
                self.convert(nodes[i])
            except RanksDifferError as found:
                rest = partial(
                    Scope.convert_from, order=order, at=k, nodes=nodes, source=source, outputs=outputs
                )
                return forked(self, found, rest)
            except RelayError as error:
                raise RelayError([_placed(d, self.span) for d in error.diagnostics]) from None
            except NeedsValueError as missing:
                missing.span = missing.span or self.span
                raise
            except CONTRADICTIONS as error:
                fail(
                    "onnx-model",
                    f"`{nodes[i].op_type}` cannot have these operands and attributes ({error})",
                    self.span,
                    hint="onnx.checker.check_model says more",
                )
        return [self.find(name) for name in outputs]

    def convert(self, proto: Any) -> None:
        """Convert a node and bind its results."""
        operands = [self.operand(name) for name in proto.input]
        while operands and operands[-1] is None:
            operands.pop()
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        version = self.importer.version_of(domain, self.opsets)
        node = Node(proto, self.attributes_of(proto), self, version)
        rule = registry.find(domain, proto.op_type, version)
        if (domain, proto.op_type) in self.importer.functions:
            results = functions.inline_local(node, operands)
        else:
            check(node, domain, operands)
            results = (
                functions.inline_standard(node, domain, operands)
                if rule is None
                else apply_rule(rule, node, operands)
            )
        for name, value in zip(proto.output, results, strict=False):
            if name and value is not None:
                self.bind(name, value)

    def operand(self, name: str) -> Value | None:
        """The value of an operand; None for one that is left out."""
        found = self.find(name) if name else None
        if found is None and name and not self.is_absent(name):
            fail("onnx-model", f"no node and no input produces `{name}`")
        return found

    def is_absent(self, name: str) -> bool:
        """Whether a name is an operand of the function around that its call leaves out."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.absent:
                return True
            scope = scope.parent
        return False

    def attributes_of(self, proto: Any) -> dict[str, Any]:
        """The attributes of a node, with those of the function around put in place."""
        found: dict[str, Any] = {}
        for a in proto.attribute:
            if not a.ref_attr_name:
                found[a.name] = a
            elif self.attributes is not None and a.ref_attr_name in self.attributes:
                found[a.name] = self.attributes[a.ref_attr_name]
        return found


def apply_rule(rule: registry.Converter, node: Node, operands: Sequence[Value | None]) -> Sequence[Any]:
    """The results of a converter."""
    found = rule(node, *operands)
    if isinstance(found, Value):
        return fields(found) if type(found) is Value and isinstance(found.type, TupleType) else (found,)
    return found


def describe(node: Any) -> str:
    """A node in a line."""
    name = f' "{node.name}"' if node.name else ""
    return f"{some_of(node.output)} = {node.op_type}({some_of(node.input)}){name}"


def some_of(names: Sequence[str]) -> str:
    """The names of operands, of very many the first."""
    more = f", … {len(names) - MAX_SHOWN_OPERANDS} more" if len(names) > MAX_SHOWN_OPERANDS else ""
    return ", ".join(names[:MAX_SHOWN_OPERANDS]) + more


def _placed(d: Diagnostic, span: Span | None) -> Diagnostic:
    return d if d.span is not None else replace_span(d, span)


def replace_span(d: Diagnostic, span: Span | None) -> Diagnostic:
    """The diagnostic at another place."""
    return Diagnostic(d.code, d.message, span, d.label, d.notes, d.hint, d.severity)


def ordered(nodes: Sequence[Any], scope: Scope) -> list[int]:
    """The numbers of the nodes, each after those that give its operands (`onnx-model` for a cycle)."""
    maker: dict[str, int] = {}
    for i, n in enumerate(nodes):
        for name in n.output:
            if not name:
                continue
            if name in maker:
                fail(
                    "onnx-model",
                    f"two nodes produce `{name}`: `{describe(nodes[maker[name]])}` and `{describe(n)}`",
                )
            maker[name] = i
    done: set[int] = set()
    order: list[int] = []
    for first in range(len(nodes)):
        stack = [(first, False)]
        active: set[int] = set()
        while stack:
            i, ready = stack.pop()
            if ready:
                active.discard(i)
                done.add(i)
                order.append(i)
            elif i not in done:
                if i in active:
                    fail("onnx-model", f"the graph has a cycle through `{describe(nodes[i])}`")
                active.add(i)
                stack.append((i, True))
                needs = {maker[name] for name in needed_by(nodes[i]) if name in maker} - done
                stack += [(j, False) for j in sorted(needs, reverse=True)]
    return order


def needed_by(node: Any) -> list[str]:
    """The names that a node uses, those in its graphs included."""
    found = list(node.input)
    graphs = [a.g for a in node.attribute if a.HasField("g")]
    while graphs:
        g = graphs.pop()
        own = {o for n in g.node for o in n.output} | {i.name for i in g.input}
        for n in g.node:
            found += [name for name in n.input if name not in own]
            graphs += [a.g for a in n.attribute if a.HasField("g")]
        found += [o.name for o in g.output if o.name not in own]
    return found


def dense_of(sparse: Any, folder: Path | None) -> Any:
    """A sparse tensor with all its elements."""
    import numpy as np

    values, places = array_of(sparse.values, folder), array_of(sparse.indices, folder)
    shape = tuple(sparse.dims)
    if any(d < 0 for d in shape) or np.prod(shape, dtype="float64") > 1 << 30:
        fail("onnx-model", f"a sparse tensor cannot have the shape {shape}")
    found = np.zeros(shape, values.dtype)
    try:
        at = tuple(places.T) if places.ndim == 2 else np.unravel_index(places, shape)
        found[at] = values
    except (IndexError, ValueError):
        fail("onnx-model", "an index of a sparse tensor lies outside of it")
    return found
