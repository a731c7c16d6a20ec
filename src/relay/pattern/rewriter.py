"""Rewriting: what looks like a pattern is replaced, again and again until nothing does."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from relay.analysis.effects import Effects
from relay.analysis.uses import live_vars
from relay.diagnostic import fail
from relay.ir.equal import structural_equal
from relay.ir.expr import Expr, Let, Var
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.pattern.matcher import Graph, Matcher
from relay.pattern.partition import separate_matches
from relay.pattern.patterns import DFPattern, NodeMap

MOST_ROUNDS = 1000
"""Rounds after which a rewriting that has not settled is given up."""


class DFPatternCallback(ABC):
    """What to do with a match: set `self.pattern`, and define `callback`.

    With `rewrite_once`, one round replaces what matches in the expression as it is; of matches that overlap,
    the one nearest to the result.  `require_type` is accepted for those who
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

    Operands are rewritten before what uses them.  The callbacks take turns, the first one first, until none
    of them finds anything.  `mod` has the definitions that `expr` mentions.  Raises `rewrite-diverges` if it
    does not end.
    """
    active = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(callbacks)
    del mod
    changed: list[DFPatternCallback] = []
    for _ in range(MOST_ROUNDS):
        changed = []
        for each in active:
            before, expr = expr, one_round(each, expr)
            if before is not expr and not structural_equal(before, expr):
                changed.append(each)
        if not changed:
            return expr
        active = [each for each in active if not (each.rewrite_once and each in changed)]
    names = " and ".join([type(each).__name__ for each in changed])
    fail(
        "rewrite-diverges",
        f"after {MOST_ROUNDS} rounds there is still something to rewrite for {names}",
        hint="return `post` itself where nothing is to be done",
    )


def one_round(each: DFPatternCallback, root: Expr) -> Expr:
    """Every match in `root` replaced, operands first; for `rewrite_once`, those that do not overlap.

    Where a variable stands for what matches, its value is replaced, once for all of its uses.
    """
    graph = Graph(root)
    nodes = list(post_order(root))
    found: dict[Expr, NodeMap] = {}
    if each.rewrite_once:
        found = {e: m for e, _, m in separate_matches(each.pattern, graph, lambda _e, _inside: True)}
    else:
        for e in nodes:
            matcher = Matcher(graph, each.pattern)
            if matcher.matches(each.pattern, e) and not (
                isinstance(e, Var) and matcher.matched[each.pattern] is not e
            ):
                found[e] = matcher.node_map
    new: dict[Expr, Expr] = {}
    for e in nodes:
        children = tuple([new[c] for c in e.children])
        new[e] = e if children == e.children else e.rebuild(children)
        if e in found:
            node_map = {p: [new.get(n, n) for n in matched] for p, matched in found[e].items()}
            new[e] = each.callback(e, new[e], node_map)
    return without_lets_that_died(root, new[root])


def without_lets_that_died(before: Expr, after: Expr) -> Expr:
    """`after` without the `let`s that reached the result of `before`, and reach it no more.

    They all stay where one of them has an effect, which may need the others.
    """
    if before is after:
        return after
    reached = live_vars(before) - live_vars(after)
    died: dict[Expr, Let] = {e: e for e in post_order(after) if isinstance(e, Let) and e.var in reached}
    effects = Effects()
    if not died or not all(effects.is_pure(let.value) for let in died.values()):
        return after
    new: dict[Expr, Expr] = {}
    for e in post_order(after):
        children = tuple([new[c] for c in e.children])
        kept = e if children == e.children else e.rebuild(children)
        new[e] = new[died[e].body] if e in died else kept
    return new[after]
