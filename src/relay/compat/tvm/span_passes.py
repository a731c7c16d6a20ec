"""Passes that give nodes other places in sources."""

from typing import Any

from relay.analysis.dominators import post_dominators
from relay.diagnostic import SourceName, Span
from relay.ir.expr import Constructor, Expr, Function, GlobalVar, Op, Var, replace
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.text.parser import parse_module
from relay.text.printer import module_text
from relay.transform.rewriting.context import PassContext, PassInfo
from relay.transform.rewriting.pipeline import Pass
from relay.transform.rewriting.user_passes import FunctionPass, ModulePass

__all__ = ["AnnotateSpans", "CapturePostDfsIndexInSpans"]


def AnnotateSpans() -> Pass:  # noqa: N802
    """A pass that gives each node its place in the text of the module."""

    def run(mod: IRModule, context: PassContext) -> IRModule:
        del context
        return parse_module(module_text(mod), "GeneratedSource")

    return ModulePass(run, PassInfo("AnnotateSpans"))


def CapturePostDfsIndexInSpans() -> Pass:  # noqa: N802
    """A pass that gives each node of a function the source `index:I:D`: its number in post-order, and that of
    the node where all uses of it come together, or -1.
    """

    def run(fn: Function, mod: IRModule, context: Any) -> Expr:
        del mod, context
        nodes = list(post_order(fn))
        numbers = {e: i for i, e in enumerate(nodes)}
        users: dict[Expr, list[Expr | None]] = {}
        for e in nodes:
            for part in e.children:
                users.setdefault(part, []).append(e)
        dominators = post_dominators(reversed(nodes), users)
        new: dict[Expr, Expr] = {}
        for e in nodes:
            above = dominators[e]
            source = SourceName(f"index:{numbers[e]}:{-1 if above is None else numbers[above]}")
            is_name = isinstance(e, Var | GlobalVar | Op | Constructor)
            changed = e.rebuild(tuple([new[part] for part in e.children]))
            new[e] = e if is_name else replace(changed, span=Span(source, 0, 0, 0, 0))
        return new[fn]

    return FunctionPass(run, PassInfo("CapturePostDfsIndexInSpans"))  # pyright: ignore[reportArgumentType]
