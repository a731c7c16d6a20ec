"""Operators whose sizes are operands that are known: the operators that have them as attributes."""

from dataclasses import fields
from typing import Any

import numpy as np

from relay.diagnostic import RelayError
from relay.ir.expr import Call, Constant, Expr, Tuple
from relay.op.base import Operator
from relay.op.broadcast import BroadcastTo
from relay.op.coordinates import DynSparseToDense, SparseToDense
from relay.op.create import Full, Ones, Zeros
from relay.op.dynamic import DynPad
from relay.op.image.resize import DynResize2D, Resize2D
from relay.op.join import Tile
from relay.op.nn.upsample import Upsampling, Upsampling3D
from relay.op.one_hot import OneHot
from relay.op.pad import Pad
from relay.op.registry import registry
from relay.op.reshape import ExpandDims, Reshape, Squeeze
from relay.transform.rewriting.rewriter import Rewriter, call_of

STATIC: tuple[type[Operator], ...] = (
    BroadcastTo, ExpandDims, Full, OneHot, Ones, Reshape, Squeeze, Tile, Upsampling, Upsampling3D, Zeros,
)  # fmt: skip
FORMS: dict[type[Operator], type[Operator]] = {
    **{registry[cls.dynamic_form]: cls for cls in STATIC},
    DynSparseToDense: SparseToDense,
    DynPad: Pad,
    DynResize2D: Resize2D,
}
"""The operator with attributes, by the one with operands."""


def constant_value(w: Rewriter, e: Expr) -> Any:
    """The value of a constant; None if it is not known, a tuple for a tuple of constants."""
    made = w.seen(e)
    if isinstance(made, Constant) and made.type is not None and made.type.is_closed:
        return made.value[()]
    if isinstance(made, Tuple):
        parts = [w.seen(f) for f in made.fields]
        values = [f.value[()] for f in parts if isinstance(f, Constant) and f.type is not None]
        return tuple(values) if len(values) == len(parts) else None
    return None


def static_form(w: Rewriter, e: Call) -> Expr | None:
    """The call with its sizes as attributes; None where they are not known, or would be refused."""
    op: Operator = e.attrs
    static = FORMS[type(op)]
    names = {f.name for f in fields(static)}  # pyright: ignore[reportArgumentType]
    attrs = {k: v for k, v in op.attributes().items() if k in names}
    operands: list[Expr] = []
    for name, a in zip(op.operands, e.args, strict=True):
        if name not in names:
            operands.append(a)
        elif name == "roi" and attrs["coordinate_transformation_mode"] != "tf_crop_and_resize":
            if not w.may_go(a):
                return None
        else:
            value = constant_value(w, a)
            if value is None:
                return None
            attrs[name] = np.asarray(value).tolist()
    try:
        made = call_of(static.name, operands, e, **attrs)
        w.types(made)
    except RelayError:
        return None
    return made
