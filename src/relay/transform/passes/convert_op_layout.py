"""Layouts that users' functions choose where `ConvertLayout` is asked for some."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from relay.ir.expr import Call
from relay.op.base import Operator
from relay.op.op_attributes import OpAttributes
from relay.transform.passes.alter_op_layout import says_layouts
from relay.transform.passes.layout_changes import can_have, change
from relay.transform.passes.layout_propagation import Turned, Turning
from relay.transform.passes.layout_transforms import in_layouts
from relay.transform.passes.legalize import of_same_type

KEY = "FTVMConvertOpLayout"
NAMES = ("data_layout", "kernel_layout", "out_layout", "layout")
"""Attributes that say layouts."""
Chosen: TypeAlias = Callable[[Turning, Call], Turned | None]


def chosen_by_user(cls: type[Operator], desired: Sequence[str]) -> Chosen | None:
    """What becomes of calls of an operator, if a user's function says it; None without one."""
    function = OpAttributes(cls.name).get(KEY)
    return None if function is None else lambda w, e: _by_user(w, e, function, desired)


def _by_user(w: Turning, e: Call, function: Callable[..., Any], desired: Sequence[str]) -> Turned | None:
    old: Any = e.attrs
    given = [w.as_was(a) for a in e.args]
    found: Any = function(old, list(given), [w.types(a) for a in e.args], list(desired))
    made = found
    if isinstance(found, Call) and type(found.attrs) is type(old) and same(found.args, given):
        op: Any = found.attrs
        said: Mapping[str, str] = {k: v for k, v in op.attributes().items() if k in NAMES}
        data = said.get("data_layout") or said.get("layout", "")
        kernel = said.get("kernel_layout", "default")
        make, cls = change[old], cast("type[Operator]", type(old))
        if make is not None and (data + kernel).isalpha() and can_have(cls, data, kernel):
            as_it_was = replace(op, **{k: getattr(old, k) for k in said})
            return make(w, Call(e.op, e.args, as_it_was, span=e.span), data, kernel)
    if isinstance(found, Call) and says_layouts(made.attrs) and says_layouts(old):
        made = in_layouts(old, found, given)
    made = of_same_type(made, e, w.types(e))
    return None if made is None else Turned(made, None)


def same(xs: Sequence[Any], ys: Sequence[Any]) -> bool:
    """Whether these are the same nodes."""
    return len(xs) == len(ys) and all(x is y for x, y in zip(xs, ys, strict=True))
