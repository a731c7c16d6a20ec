"""Rules on nested values of Python: arrays or traced values in dicts, dataclasses, lists and tuples."""

from typing import Any

from relay.diagnostic import caller_span, fail
from relay.ir.type import TensorType, TupleType, Type
from relay.op.numeric import dims
from relay.optim.rule import Rule
from relay.optim.tree import check_tree
from relay.tracing.function import function
from relay.tracing.nested import as_leaf, flattened, in_trace, open_tuples, traced, typed_leaf
from relay.tracing.pytree import LEAF, Node, Path, Tree, Where


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

    _check_rule(rule, "initial_state(rule, params)")
    return function(begun)(params)


def _check_rule(rule: object, call: str) -> None:
    """Demand a rule as the first argument (`optimizer-parameter`)."""
    if not isinstance(rule, Rule):
        message = f"the first argument must be an optimiser; it is a {type(rule).__name__}"
        fail("optimizer-parameter", message, caller_span(), hint=f"call `{call}`")


def _check_gradients(params: tuple[Tree, Type], grads: tuple[Tree, Type]) -> None:
    """Demand the containers and shapes of the parameters of their gradients (`optimizer-parameter`)."""
    pending: list[tuple[Tree, Type, Tree, Type, Where]] = [(*params, *grads, "grads")]
    while pending:
        a, t, b, u, where = pending.pop()
        if isinstance(a, Node) and isinstance(b, Node) and (a.kind, a.keys) != (b.kind, b.keys):
            _refuse_gradient(where, str(a), str(b))
        if isinstance(t, TupleType) and isinstance(u, TupleType) and len(t.fields) == len(u.fields):
            node = a if isinstance(a, Node) else b
            kind, keys = (node.kind, node.keys) if isinstance(node, Node) else (tuple, ())
            of_a, of_b = (x.parts if isinstance(x, Node) else [LEAF] * len(t.fields) for x in (a, b))
            parts = list(enumerate(zip(of_a, t.fields, of_b, u.fields, strict=True)))
            pending += [(*part, Path(where, kind, keys, i)) for i, part in reversed(parts)]
        elif not (isinstance(t, TensorType) and isinstance(u, TensorType) and _can_equal(t, u)):
            is_tree = isinstance(a, Node) or isinstance(b, Node)
            _refuse_gradient(where, *((str(a), str(b)) if is_tree else (str(t), str(u))))


def _can_equal(a: TensorType, b: TensorType) -> bool:
    """Return whether no known size of two shapes differs."""
    if not isinstance(a.shape, tuple) or not isinstance(b.shape, tuple):
        return True
    pairs = zip(dims(a), dims(b), strict=False)
    return len(a.shape) == len(b.shape) and not any(
        isinstance(m, int) and isinstance(n, int) and m != n for m, n in pairs
    )


def _refuse_gradient(where: Where, wanted: str, present: str) -> None:
    fail(
        "optimizer-parameter",
        f"`{where}` is {present}, and its parameter {wanted}",
        caller_span(),
        hint="give gradients in the structure and with the shapes of the parameters",
    )


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
    `optimizer-parameter` for what is not a floating-point tensor, for the state of another rule, and for
    gradients of another structure or other shapes.
    """

    def stepped(params: Any, grads: Any, state: Any) -> Any:
        (p, tree), (g, of_grads), (s, of_state) = (
            flattened(x, typed_leaf, name)
            for x, name in ((params, "params"), (grads, "grads"), (state, "state"))
        )
        types = in_trace()
        t = types(p)
        check_tree(t)
        _check_gradients((tree, t), (of_grads, types(g)))
        check_state(types(s), rule.state_type(t))
        now, then = rule.updated(t, p, g, s)
        return traced(tree, now, types), traced(of_state, then, types)

    _check_rule(rule, "apply_rule(rule, params, grads, state)")
    return function(stepped)(params, grads, state)
