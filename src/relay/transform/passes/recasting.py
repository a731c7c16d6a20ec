"""Layers in another dtype: to see what they cost in it."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from relay.diagnostic import fail
from relay.ir.expr import Call, Expr, Op, Tuple
from relay.ir.type import TensorType, Type
from relay.ir.walk import post_order
from relay.op.registry import get
from relay.transform.rewriting.rewriter import call, call_of
from relay.typecheck.infer import infer_expr
from relay.typecheck.types import Types


def recast(
    expr: Expr,
    dtype: str,
    out_dtype: str,
    ops: Sequence[str] | None = None,
    skip_layers: Sequence[int] | None = None,
) -> Expr:
    """`expr` with some operators computed on operands cast to `dtype`, to results of `out_dtype` where they
    have a choice; these are cast back.

    `ops` names the operators, `nn.conv2d` if it does not; of their calls, counted from 0 in the order of
    evaluation, or from -1 backwards, `skip_layers` stay.  Numbers are cast and not scaled: this tells
    what another dtype costs, and not what a network loses by it.  Raises `unknown-operator`,
    `option-type`, and what inference has against the dtypes.
    """
    names = {get(name).name for name in (ops or ("nn.conv2d",))}
    root = infer_expr(expr)
    order = list(post_order(root))
    layers = [e for e in order if type(e) is Call and type(e.op) is Op and e.op.name in names]
    types = Types()
    chosen = {e: types(e) for e in _without(layers, skip_layers or ())}
    new: dict[Expr, Expr] = {}
    for e in order:
        children = tuple([new[c] for c in e.children])
        kept = e if children == e.children else e.rebuild(children)
        new[e] = _recast(kept, chosen[e], dtype, out_dtype) if e in chosen else kept
    return infer_expr(new[root])


def _without(layers: Sequence[Call], skipped: Sequence[int]) -> list[Call]:
    """The layers but for some, by number."""
    count = len(layers)
    for i in skipped:
        if not -count <= i < count:
            fail("option-type", f"there is no layer {i} to skip", hint=f"there are {count} such calls")
    out = {i % count for i in skipped}
    return [e for i, e in enumerate(layers) if i not in out]


def _recast(e: Any, wanted: Type, dtype: str, out_dtype: str) -> Expr:
    """A call on operands of another dtype, and its result in the one that it had."""
    op: Any = e.attrs
    if any(f.name == "out_dtype" for f in fields(op)):
        op = replace(op, out_dtype=out_dtype)
    made = call(op, [_cast(a, dtype) for a in e.args], e)
    return call_of("cast", (made,), e, dtype=wanted.dtype) if isinstance(wanted, TensorType) else made


def _cast(e: Expr, dtype: str) -> Expr:
    """An operand in another dtype; of a tuple, its fields."""
    if isinstance(e, Tuple):
        return Tuple(tuple([call_of("cast", (f,), e, dtype=dtype) for f in e.fields]), span=e.span)
    return call_of("cast", (e,), e, dtype=dtype)
