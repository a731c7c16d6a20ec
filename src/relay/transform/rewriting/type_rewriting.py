"""Types rebuilt from their parts by a rule."""

from collections.abc import Callable
from typing import Any

from relay.ir.type import Type


class TypeRewriter:
    """`rewriter(t)` is `t` with a rule applied to every part of it, parts before wholes; remembered."""

    def __init__(self, rule: Callable[[Any], Any]) -> None:
        """`rule` gets a type whose parts are done and returns what stands in its place."""
        self.rule = rule
        self.known: dict[int, tuple[Type, Any]] = {}  # by identity; the type itself keeps its number taken

    def __call__(self, root: Any) -> Any:
        """A type; a shape, a dimension, the name of a dtype or None stay."""
        if not isinstance(root, Type):
            return root
        known = self.known
        stack = [root]
        while stack:
            t = stack[-1]
            if id(t) in known:
                stack.pop()
                continue
            missing = [c for c in t.children if id(c) not in known]
            if missing:
                stack += missing
                continue
            stack.pop()
            parts = tuple([known[id(c)][1] for c in t.children])
            same = all(a is b for a, b in zip(parts, t.children, strict=True))
            known[id(t)] = (t, self.rule(t if same else t.rebuild(parts)))
        return known[id(root)][1]
