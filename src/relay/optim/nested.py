"""Rules on nested values of Python: arrays or traced values in dicts, dataclasses, lists and tuples."""

from typing import Any

from relay.optim.rule import Rule
from relay.optim.tree import check_tree
from relay.tracing.function import function
from relay.tracing.nested import flattened, in_trace, traced, typed_leaf
from relay.tracing.pytree import LEAF


def initial_state(rule: Rule, params: Any) -> Any:
    """The state of a rule to begin with, for parameters that are a nested value of arrays or traced values.

    Raises `optimizer-parameter` for what is not a floating-point tensor.
    """

    def begun(params: Any) -> Any:
        expr, _ = flattened(params, typed_leaf, "params")
        types = in_trace()
        t = types(expr)
        check_tree(t)
        return traced(LEAF, rule.initial(t, expr), types)

    return function(begun)(params)


def apply_rule(rule: Rule, params: Any, grads: Any, state: Any) -> tuple[Any, Any]:
    """Parameters and state after a step down the gradients, which have the structure of the parameters.

    On arrays it runs at once; in a function that is traced it is a part of that.  Raises
    `optimizer-parameter` for what is not a floating-point tensor.
    """

    def stepped(params: Any, grads: Any, state: Any) -> Any:
        (p, tree), (g, _), (s, _) = (
            flattened(x, typed_leaf, name)
            for x, name in ((params, "params"), (grads, "grads"), (state, "state"))
        )
        types = in_trace()
        t = types(p)
        check_tree(t)
        now, then = rule.updated(t, p, g, s)
        return traced(tree, now, types), traced(LEAF, then, types)

    return function(stepped)(params, grads, state)
