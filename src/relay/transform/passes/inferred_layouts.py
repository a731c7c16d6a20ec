"""Operators of which a user's function says how they work in another layout."""

from collections.abc import Callable, Mapping
from typing import Any

from relay.diagnostic import fail
from relay.ir.expr import Call, Expr
from relay.ir.walk import post_order
from relay.op.nn.layout import positions
from relay.op.op_attributes import OpAttributes, columns
from relay.transform.infer_layout_utils import InferCorrectLayoutOutput
from relay.transform.passes.layout_propagation import Order, Turned, Turning

KEY = "FInferCorrectLayout"
HINT = "return InferCorrectLayoutOutput([layout of each operand], [layout of the result], attrs)"


def letters_of(root: Expr) -> Mapping[int, str]:
    """The layouts of a definition by their ranks, as its operators say them first."""
    found: dict[int, str] = {}
    for e in post_order(root):
        for name in ("data_layout", "layout"):
            said = getattr(e.attrs, name, None) if isinstance(e, Call) else None
            if isinstance(said, str) and said.isalpha():
                found.setdefault(len(said), said)
    return found


def inferred_by_user(w: Turning, e: Call, letters: Mapping[int, str]) -> Turned | None:
    """A call as a user's function says it works where operands are turned (`bad-layout`)."""
    function: Callable[..., Any] = OpAttributes(e.attrs.name)[KEY]
    ranks = [len(w.shape(a) or ()) for a in e.args]
    old = [letters.get(n, "") for n in ranks]
    orders = [w.order_of(a) for a in e.args]
    if not any(orders):
        return None
    new = [s if o is None else "".join([s[i] for i in o]) for s, o in zip(old, orders, strict=True)]
    said: Any = function(e.attrs, new, old, [w.types(a) for a in e.args])
    if not isinstance(said, InferCorrectLayoutOutput) or len(said.input_layouts) != len(old):
        fail("bad-layout", f"the layouts of `{e.attrs.name}` cannot be {said!r:.80}", e.span, hint=HINT)
    args = [
        w.as_was(a) if not layout else w.in_order(a, order_from(e, s, str(layout)))
        for a, s, layout in zip(e.args, old, said.input_layouts, strict=True)
    ]
    result = letters.get(len(w.shape(e) or ()), "")
    out = str(said.output_layouts[0]) if said.output_layouts else ""
    return w.applied(e, said.attrs, args, order_from(e, result, out) if out else None)


def is_inferred_by_user(e: Call) -> bool:
    """Whether a function is registered for the operator of a call."""
    return KEY in columns and OpAttributes(e.attrs.name).get(KEY) is not None


def order_from(e: Call, old: str, new: str) -> Order:
    """The order of axes that one layout has in another (`bad-layout`)."""
    if sorted(old) != sorted(new):
        fail("bad-layout", f"`{e.attrs.name}` cannot have the layout {new!r} for {old!r}", e.span, hint=HINT)
    return positions(old, new)
