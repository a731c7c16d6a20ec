"""The names of passes that people know: `FuseOps(max_ops=64)` is a pass object."""

import inspect
from collections.abc import Callable
from typing import Any

from relay.transform.rewriting.pipeline import RulePass
from relay.transform.rewriting.registry import Rule


def spelling(rule: Rule) -> Callable[..., RulePass]:
    """What makes pass objects of a registered pass; options come by position or by name."""
    names = list(rule.options)

    def make(*args: Any, **options: Any) -> RulePass:
        if len(args) > len(names):
            raise TypeError(f"{rule.public}() takes at most {len(names)} arguments, {len(args)} were given")
        return RulePass(rule, {**dict(zip(names, args, strict=False)), **options})

    make.__name__ = make.__qualname__ = rule.public
    make.__doc__ = rule.run.__doc__
    several = [p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in rule.options.values()]
    make.__signature__ = inspect.Signature(several, return_annotation=RulePass)
    return make
