"""Rewriting: what looks like a pattern is replaced, again and again until nothing does."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from relay.diagnostic import fail
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.pattern.matcher import Graph, Matcher
from relay.pattern.patterns import DFPattern, NodeMap

MOST_ROUNDS = 1000
"""Rounds after which a rewriting that has not settled is given up."""


class DFPatternCallback(ABC):
    """What to do with a match: set `self.pattern`, and define `callback`.

    `rewrite_once` replaces the first match only, in one round.  `require_type` is accepted for those who
    know it: `checked_type` of what is matched is there either way.
    """

    pattern: DFPattern

    def __init__(self, require_type: bool = False, rewrite_once: bool = False) -> None:
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr: Expr, mod: IRModule | None = None) -> Expr:
        """`expr` rewritten by this alone."""
        return rewrite(self, expr, mod)

    @abstractmethod
    def callback(self, pre: Expr, post: Expr, node_map: NodeMap) -> Expr:
        """What stands in the place of `post`, which is `pre` with its inside rewritten; `post` itself to
        leave it.

        `node_map` has the nodes that each pattern matched, each with its inside rewritten.
        """


def rewrite(
    callbacks: DFPatternCallback | Sequence[DFPatternCallback], expr: Expr, mod: IRModule | None = None
) -> Expr:
    """`expr` with what matches the patterns of `callbacks` replaced by what they return, until nothing
    changes.

    Operands are rewritten before what uses them; of several callbacks the first goes first.  `mod` has the
    definitions that `expr` mentions.  Raises `rewrite-diverges` if it does not end.
    """
    several = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(callbacks)
    del mod
    for each in several:
        for _ in range(MOST_ROUNDS):
            before, expr = expr, one_round(each, expr)
            if before is expr or each.rewrite_once:
                break
        else:
            fail(
                "rewrite-diverges",
                f"{type(each).__name__} still finds something to rewrite after {MOST_ROUNDS} rounds",
                hint="return `post` itself where nothing is to be done",
            )
    return expr


def one_round(each: DFPatternCallback, root: Expr) -> Expr:
    """Every node tried once, operands first."""
    new: dict[Expr, Expr] = {}
    graph = Graph(root)
    done = False
    for e in post_order(root):
        children = tuple([new[c] for c in e.children])
        kept = e if children == e.children else e.rebuild(children)
        if not (done and each.rewrite_once):
            matcher = Matcher(graph, each.pattern)
            if matcher.matches(each.pattern, e):
                node_map = {
                    p: [kept if n is e else new.get(n, n) for n in nodes]
                    for p, nodes in matcher.node_map.items()
                }
                changed = each.callback(e, kept, node_map)
                done = done or changed is not kept
                kept = changed
        new[e] = kept
    return new[root]
