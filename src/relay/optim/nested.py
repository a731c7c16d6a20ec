"""Rules on nested values of Python: arrays or traced values in dicts, dataclasses, lists and tuples."""

from typing import Any

from relay.diagnostic import caller_span, fail
from relay.ir.type import TensorType, TupleType, Type
from relay.optim.rule import Rule
from relay.optim.tree import check_tree
from relay.tracing.function import function
from relay.tracing.nested import as_leaf, flattened, in_trace, open_tuples, traced, typed_leaf


def initial_state(rule: Rule, params: Any) -> Any:
    """The state of a rule to begin with, for parameters that are a nested value of arrays or traced values.

    Raises `optimizer-parameter` for what is not a floating-point tensor.
    """

    def begun(params: Any) -> Any:
        expr, _ = flattened(params, typed_leaf, "params")
        types = in_trace()
        t = types(expr)
        check_tree(t)
        state, tree = flattened(rule.initial(t, expr), open_tuples(as_leaf, types), "state")
        return traced(tree, state, types)

    return function(begun)(params)


def check_state(found: Type, wanted: Type) -> None:
    """Demand the containers and dtypes of the state of a rule (`optimizer-parameter`)."""
    pending = [(found, wanted)]
    while pending:
        a, b = pending.pop()
        if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.fields) == len(b.fields):
            pending += zip(a.fields, b.fields, strict=True)
        elif a is not b and not (
            isinstance(a, TensorType) and isinstance(b, TensorType) and a.dtype == b.dtype
        ):
            fail(
                "optimizer-parameter",
                f"the state of this rule has {b}, and this one {a} in its place",
                caller_span(),
                hint="`initial_state(rule, params)` begins; older states count steps in float32, not int32",
            )


def apply_rule(rule: Rule, params: Any, grads: Any, state: Any) -> tuple[Any, Any]:
    """Parameters and state after a step down the gradients, which have the structure of the parameters.

    Both come back in the structures in which they were given.

    On arrays it runs at once; in a function that is traced it is a part of that.  Raises
    `optimizer-parameter` for what is not a floating-point tensor, and for the state of another rule.
    """

    def stepped(params: Any, grads: Any, state: Any) -> Any:
        (p, tree), (g, _), (s, of_state) = (
            flattened(x, typed_leaf, name)
            for x, name in ((params, "params"), (grads, "grads"), (state, "state"))
        )
        types = in_trace()
        t = types(p)
        check_tree(t)
        check_state(types(s), rule.state_type(t))
        now, then = rule.updated(t, p, g, s)
        return traced(tree, now, types), traced(of_state, then, types)

    return function(stepped)(params, grads, state)
