"""A program as a graph: what is left of `@main` when everything that it calls is in its place."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from relay.diagnostic import Diagnostic, Note, RelayError, Span, derived_nodes
from relay.frontend.onnx.export.graph import Graph, Value, number_of
from relay.frontend.onnx.export.kinds import NotExportableError
from relay.frontend.onnx.export.registry import writer_of
from relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    LetRec,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)  # fmt: skip
from relay.ir.module import IRModule
from relay.ir.type import TensorType, TupleType, Type
from relay.ir.vars import free_vars
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.op.composite import Composite
from relay.transform.passes.expand_composites import composite_rules
from relay.transform.rewriting.rewriter import Rewriter, apply_rules
from relay.typecheck.query import Types

CONSTRUCTS: dict[type, str] = {
    If: "`if`", Match: "`match`", LetRec: "`let rec`", Function: "a function as a value",
    RefCreate: "references", RefRead: "references", RefWrite: "references",
}  # fmt: skip
MADE = re.compile(r"x\d*")
"""Names that passes give to what has none."""


def prepared(mod: IRModule) -> IRModule:
    """The module with derivatives written out, calls of functions inlined, and `let`s for everything.

    Branches, closures and references that depend on no input are evaluated.  Composite operators that ONNX
    has stay; others are written as what they are composed of.
    """
    from relay.expansion.expand import expand_grad
    from relay.transform.passes.defuse_ops import defuse_ops
    from relay.transform.passes.inlining import inline
    from relay.transform.passes.partial_evaluation import partial_evaluate
    from relay.transform.passes.raise_composites import raise_composites
    from relay.transform.passes.to_anf import to_anf

    mod = inline(to_anf(defuse_ops(expand_grad(mod))), all_calls=True)
    if any(type(e) in CONSTRUCTS for e in post_order(body_of(mod))):
        mod = partial_evaluate(mod)
    mod = raise_composites(mod)
    rules = {op: tuple(map(_unless_written, found)) for op, found in composite_rules().items()}
    with derived_nodes():
        return to_anf(apply_rules(mod, rules))


def body_of(mod: IRModule) -> Expr:
    """The body of `@main`."""
    main = mod["main"]
    assert isinstance(main, Function)
    return main.body


def needed(body: Expr) -> tuple[list[Let], Expr]:
    """The bindings of a block that its result needs, and the result.

    A reference that a block has made changes nothing once it is read no more.
    """
    lets: list[Let] = []
    while isinstance(body, Let):
        lets.append(body)
        body = body.body
    live: set[Expr] = set(free_vars(body))
    kept: list[Let] = []
    for e in reversed(lets):
        place = e.value.ref if isinstance(e.value, RefWrite) else e.var
        if place in live:
            kept.append(e)
            live.update(free_vars(e.value) if type(e.value) in CONSTRUCTS else e.value.children or (e.value,))
    return kept[::-1], body


def _unless_written(rule: Any) -> Any:
    def checked(w: Rewriter, e: Call) -> Expr | None:
        assert isinstance(e.attrs, Composite)
        return None if writer_of(e.attrs) is not None else rule(w, e)

    return checked


class Program:
    """One run over `@main`."""

    def __init__(
        self, mod: IRModule, weights: Mapping[str, np.ndarray[Any, Any]], contributed: bool = False
    ) -> None:
        """`weights` are the values of parameters, by name; `contributed` is as for `Graph`."""
        self.graph = Graph(contributed)
        self.types = Types(mod)
        self.weights = weights
        self.values: dict[Expr, Any] = {}
        self.inputs: list[Value] = []
        self.refused: dict[tuple[str, str], list[Span | None]] = {}
        """What cannot be written, and why: where it is."""

    def run(self, main: Function) -> list[Value]:
        """Write the body, and return the outputs (`onnx-export`)."""
        for p in main.params:
            self.parameter(p)
        lets, result = needed(main.body)
        for e in lets:
            self.values[e.var] = self.statement(e.value, e.var.name_hint)
        found = _flat(self.statement(result, "output"))
        self.check()
        return self.outputs(found)

    def parameter(self, p: Var) -> None:
        """An input, or a weight."""
        t, g = p.type_annotation, self.graph
        assert t is not None
        tensors = _tensors(t)
        if tensors is None:
            self.refuse(f"a parameter of the type {t}", "has no counterpart", p.span)
            return
        values: list[Value] = []
        for part in tensors:
            name = g.fresh(p.name_hint)
            g.dtypes[name] = str(part.dtype)
            if p.name_hint in self.weights:
                g.constants[name] = self.weights[p.name_hint]
            else:
                self.inputs.append(Value(name, part))
            values.append(g.value(name, part))
            try:
                number_of(values[-1].dtype)
                _ = values[-1].shape
            except NotExportableError as why:
                self.refuse("a parameter", f"has no counterpart with {why}", p.span)
        self.values[p] = _named(t, iter(values))

    def statement(self, e: Expr, name: str) -> Any:
        """The value of one binding."""
        match e:
            case Call(Operator() as op):
                return self.call(op, e, name)
            case Tuple(fields=fields):
                return tuple(map(self.atom, fields))
            case TupleGetItem():
                whole: Any = self.atom(e.tuple_value)
                return whole[e.index]
            case Var() | Constant():
                return self.atom(e)
            case _:
                what = "a call of a function that calls itself, or is computed"
                self.refuse(CONSTRUCTS.get(type(e), what), "is not dataflow", e.span)
                return self.unknown(e)

    def atom(self, e: Expr) -> Any:
        """The value of an operand."""
        if isinstance(e, Constant):
            t = self.types(e)
            assert isinstance(t, TensorType)
            try:
                return self.graph.value(self.graph.constant(e.value), t)
            except NotExportableError as why:
                self.refuse("a constant", f"has no counterpart with {why}", e.span)
                return self.unknown(e)
        return self.values[e] if e in self.values else self.unknown(e)

    def unknown(self, e: Expr) -> Any:
        """What stands for something that could not be written, so that others are looked at too."""
        t, g = self.types(e), self.graph
        values = [Value(g.fresh("unknown"), part) for part in _tensors(t) or [TensorType(())]]
        for x in values:
            g.dtypes[x.name] = ""
        return _named(t, iter(values))

    def call(self, op: Operator, e: Call, name: str) -> Any:
        """The nodes of an operator's call."""
        g = self.graph
        g.out = out = self.types(e)
        start = len(g.nodes)
        rule = writer_of(op)
        if rule is None:
            self.refuse(f"`{op.name}`", "has no counterpart", e.span)
            return self.unknown(e)
        try:
            found = rule(g, op, *map(self.atom, e.args))
        except NotExportableError as why:
            self.refuse(f"`{op.name}`", f"has no counterpart with {why}", e.span)
            return self.unknown(e)
        names = [found] if isinstance(found, str) else list(found)
        if len(names) == 1 and not MADE.fullmatch(name):
            names = [self.renamed(names[0], name, start)]
        return _named(out, iter([g.value(n, t) for n, t in zip(names, _tensors(out) or (), strict=True)]))

    def renamed(self, name: str, wanted: str, start: int) -> str:
        """A result that was written just now under the name of its variable."""
        g = self.graph
        made = g.producers.get(name)
        if made is None or all(n is not made for n in g.nodes[start:]):
            return name
        new = g.fresh(wanted)
        made.output[list(made.output).index(name)] = new
        g.producers[new], g.dtypes[new] = g.producers.pop(name), g.dtypes.pop(name)
        return new

    def outputs(self, found: Sequence[Value]) -> list[Value]:
        """The outputs, each under a name that is not an input's, no constant's and no other output's."""
        taken = {x.name for x in self.inputs} | set(self.graph.constants)
        results: list[Value] = []
        for x in found:
            name = x.name
            if name in taken:
                name = self.renamed(self.graph.add("Identity", x), "output", len(self.graph.nodes) - 1)
            taken.add(name)
            results.append(Value(name, x.type))
        return results

    def refuse(self, what: str, why: str, span: Span | None) -> None:
        """Note something that cannot be written."""
        self.refused.setdefault((what, why), []).append(span)

    def check(self) -> None:
        """Raise everything that cannot be written, all at once (`onnx-export`)."""
        hint = "to_onnx writes straight-line programs of operators that ONNX has"
        found = [
            Diagnostic(
                "onnx-export",
                f"{what} {why} in ONNX" if why != "is not dataflow" else f"{what} cannot be written as ONNX",
                spans[0],
                notes=tuple([Note("and here", s) for s in spans[1:] if s is not None]),
                hint=hint,
            )
            for (what, why), spans in self.refused.items()
        ]
        if found:
            raise RelayError(found)


def _tensors(t: Type) -> list[TensorType] | None:
    """The tensor types of a value, from left to right; None if there is something else in it."""
    found: list[TensorType] = []
    stack = [t]
    while stack:
        top = stack.pop()
        if isinstance(top, TupleType):
            stack += reversed(top.fields)
        elif isinstance(top, TensorType):
            found.append(top)
        else:
            return None
    return found


def _named(t: Type, values: Iterator[Value]) -> Any:
    """A value of a type from its tensors."""
    return tuple([_named(f, values) for f in t.fields]) if isinstance(t, TupleType) else next(values)


def _flat(value: Any) -> list[Value]:
    """The tensors of a value."""
    found: list[Value] = []
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            stack += reversed(top)  # pyright: ignore[reportUnknownArgumentType]
        else:
            found.append(top)
    return found
