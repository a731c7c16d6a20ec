"""A module as a picture: the definitions that it has or uses, with what fusion makes one loop of."""

from collections.abc import Mapping
from typing import Any

from relay.ir.collector import paused
from relay.ir.expr import Expr, Function, GlobalVar
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.picture.definition import Definition
from relay.picture.graph import Graph
from relay.picture.parts import divide
from relay.transform.passes.fusion_graph import Dataflow
from relay.transform.passes.fusion_groups import Grouping
from relay.transform.rewriting.purity import Purity
from relay.typecheck.infer import infer
from relay.typecheck.types import Types

MAX_FUSED_OPERATORS = 256
"""As `fuse_ops` has it."""


def graph_of(mod: IRModule, name: str = "program", *, fused: bool = True) -> Graph:
    """The graph of a module: its own definitions, and those it imports and uses.

    With `fused`, operators that machine code computes in one loop are a group.  Raises what is wrong with
    the program.
    """
    with paused():
        return drawn_graph(infer(mod), name, fused)


def drawn_graph(mod: IRModule, name: str, fused: bool) -> Graph:
    """The graph of an annotated module."""
    types, purity = Types(mod), Purity(mod)
    graph = Graph(name)
    for v in drawn(mod):
        e = mod.functions[v]
        loops: Mapping[Expr, Any] = loops_in(e, types, purity) if fused else {}
        Definition(graph, types, v.name_hint, e, loops)
    divide(graph)
    return graph


def drawn(mod: IRModule) -> list[GlobalVar]:
    """The definitions of a module itself, then those that it imports and that are reached from these."""
    found = {v: None for v in mod.functions if v.name_hint not in mod.imported}
    pending = list(found)
    while pending:
        for e in post_order(mod.functions[pending.pop()]):
            if isinstance(e, GlobalVar) and e not in found and e in mod.functions:
                found[e] = None
                pending.append(e)
    return list(found)


def loops_in(e: Expr, types: Types, purity: Purity) -> Mapping[Expr, Any]:
    """For each operator that is computed in one loop with others, the group of these."""
    if isinstance(e, Function) and e.attrs.get("Primitive"):
        return {}
    groups = Grouping(Dataflow(e, types, purity), MAX_FUSED_OPERATORS).of
    return {x: group for x, group in groups.items() if x is not None and group.size > 1}
