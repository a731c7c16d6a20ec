"""Marks for another compiler around calls, as `tvm.relay.testing.byoc` sets them."""

from collections.abc import Callable, Collection
from typing import Any

from relay.ir.expr import Call, Constant, Expr, Function, Op, Var, replace
from relay.ir.module import IRModule
from relay.ir.walk import post_order, rewrite
from relay.op.annotation import CompilerBegin, CompilerEnd
from relay.transform.rewriting.context import PassInfo
from relay.transform.rewriting.pipeline import Pass
from relay.transform.rewriting.user_passes import FunctionPass

__all__ = ["CcompilerAnnotator", "WhiteListAnnotator", "WholeGraphAnnotator"]


def _marking(name: str, mark: Callable[[Expr], Expr]) -> Pass:
    """A pass that marks the body of each function."""

    def run(fn: Function, mod: IRModule, context: Any) -> Function:
        del mod, context
        return replace(fn, body=mark(fn.body))

    return FunctionPass(run, PassInfo(name))


def WhiteListAnnotator(op_list: Collection[str], compiler: str) -> Pass:  # noqa: N802
    """A pass that marks each call of these operators by itself."""
    begin, end = CompilerBegin(compiler=compiler), CompilerEnd(compiler=compiler)
    names = frozenset(op_list)

    def rule(e: Expr) -> Expr | None:
        match e:
            case Call(op=Op(name=name)) if name in names:
                return end(replace(e, args=[begin(a) for a in e.args]))
            case _:
                return None

    return _marking("WhiteListAnnotator", lambda body: rewrite(body, rule))


def WholeGraphAnnotator(compiler: str) -> Pass:  # noqa: N802
    """A pass that marks whole functions: where calls read variables, and the result if that is a call."""
    begin, end = CompilerBegin(compiler=compiler), CompilerEnd(compiler=compiler)

    def mark(body: Expr) -> Expr:
        made = rewrite(body, lambda e: _entering(e, begin) if isinstance(e, Call) else None)
        return end(made) if isinstance(made, Call) else made

    return _marking("WholeGraphAnnotator", mark)


def _entering(e: Call, begin: CompilerBegin) -> Call | None:
    """A call that reads variables through a mark; None for one that reads none."""
    if not any(isinstance(a, Var) for a in e.args):
        return None
    return replace(e, args=[begin(a) if isinstance(a, Var) else a for a in e.args])


class CcompilerAnnotator:
    """Marks each `multiply` of differences of sums, with the `subtract` and `add` in it, as one region."""

    def visit(self, expr: Expr) -> Expr:
        """The marked program."""
        begin, end = CompilerBegin(compiler="ccompiler"), CompilerEnd(compiler="ccompiler")
        nodes = list(post_order(expr))
        regions = {e: found for e in nodes if _calls(e, "multiply") and (found := _region(e))}
        inside = {member for found in regions.values() for member in found}
        inner = inside - regions.keys()
        new: dict[Expr, Expr] = {}
        for e in nodes:
            children = tuple([new[c] for c in e.children])
            made = e if children == e.children else e.rebuild(children)
            if isinstance(e, Call) and e in inside:
                stays = [a in inner or isinstance(a, Constant) for a in e.args]
                args = [new[a] if stay else begin(new[a]) for a, stay in zip(e.args, stays, strict=True)]
                made = replace(made, args=args)
            new[e] = end(made) if e in regions else made
        return new[expr]


def _calls(e: Expr, *names: str) -> bool:
    return isinstance(e, Call) and isinstance(e.op, Op) and e.op.name in names


def _region(root: Expr) -> set[Expr]:
    """A product with the differences that it reads, and the sums that these read; none without a sum."""
    found, waiting = {root}, [root]
    while waiting:
        e = waiting.pop()
        more = () if _calls(e, "add") else [a for a in e.children if _calls(a, "subtract", "add")]
        waiting += [a for a in more if a not in found]
        found.update(more)
    return found if any(_calls(e, "add") for e in found) else set()
