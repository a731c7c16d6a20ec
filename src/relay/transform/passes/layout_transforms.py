"""Calls in other layouts between `layout_transform`s, and operators that these may go behind."""

import re
from collections.abc import Sequence
from typing import Any

from relay.ir.expr import Call, Expr, Tuple
from relay.ir.type import TensorType
from relay.op.arithmetic import Add
from relay.op.broadcast import Where
from relay.op.cast import Cast
from relay.op.family import Broadcast, Elementwise
from relay.op.join import Concatenate
from relay.op.layout import LayoutTransform, layout_of
from relay.op.nn.basic import BiasAdd
from relay.op.nn.global_pool import GlobalAvgPool2D, GlobalMaxPool2D
from relay.op.nn.layout import ntuple, pads
from relay.op.nn.pool import AvgPool2D, MaxPool2D
from relay.op.registry import registry
from relay.transform.rewriting.rewriter import Rewriter, call, call_of


def transformed(e: Expr, source: str, target: str) -> Expr:
    """An expression in another layout."""
    return e if source == target else LayoutTransform(src_layout=source, dst_layout=target)(e)


def in_layouts(old: Any, made: Call, given: Sequence[Expr]) -> Expr:
    """A call on operands as they were, whose own layouts are others."""
    op: Any = made.attrs
    layouts = zip((old.data_layout, old.kernel_layout), (op.data_layout, op.kernel_layout), strict=True)
    args = list(made.args)
    for i, (source, target) in enumerate(layouts):
        if args[i] is given[i]:
            args[i] = transformed(args[i], source, target)
    call_in = Call(made.op, tuple(args), op, span=made.span)
    return transformed(call_in, op.out_layout or op.data_layout, old.out_layout or old.data_layout)


def _twice(w: Rewriter, e: Call) -> Expr | None:
    """From one layout to another, and on to a third."""
    found = w.parts(e.args[0], LayoutTransform)
    if found is None or found[0].dst_layout != e.attrs.src_layout:
        return None
    return transformed(found[1][0], found[0].src_layout, e.attrs.dst_layout)


# --- element by element ---


def _in_any_layout(w: Rewriter, e: Call) -> Expr | None:
    """What works element by element does so in any layout; operands that broadcast are brought to it."""
    found = [w.parts(a, LayoutTransform) for a in e.args]
    back = next((f[0] for f in found if f is not None), None)
    if back is None or e.attrs.impure:
        return None
    args: list[Expr] = []
    for a, f in zip(e.args, found, strict=True):
        x = f[1][0] if f is not None and f[0] == back else broadcast_in_layout(w, a, e, back)
        if x is None:
            return None
        args.append(x)
    return call(back, (call(e.attrs, args, e),), e)


def broadcast_in_layout(w: Rewriter, x: Expr, e: Expr, back: LayoutTransform) -> Expr | None:
    """An operand that broadcasts with what `back` is applied to; None for one that is as large as the result.

    Axes of size 1 are not split: their blocks have size 1 too.
    """
    t, made = w.tensor(x), w.types(e)
    plain, blocks = layout_of(back.dst_layout), layout_of(back.src_layout)
    assert isinstance(made, TensorType)
    assert plain is not None
    assert blocks is not None
    if t is None or len(plain.letters) != len(plain.axes):
        return None
    if not t.concrete_shape:
        return x
    missing = len(plain.axes) - len(t.concrete_shape)
    if missing < 0 or t.shape == made.shape:
        return None
    sizes = dict(zip(plain.letters, (1,) * missing + t.concrete_shape, strict=True))
    if missing:
        x = call_of("expand_dims", (x,), e, axis=0, num_newaxis=missing)
    whole = re.sub(r"\d+(.)", lambda m: m[0] if sizes[m[1].upper()] != 1 else "", back.src_layout)
    x = transformed(x, back.dst_layout, whole)
    for i, (letter, factor) in enumerate(blocks.axes):
        if factor and sizes[letter] == 1:
            x = call_of("expand_dims", (x,), e, axis=i)
    return x


def _bias_added(w: Rewriter, e: Call) -> Expr | None:
    """A bias along an axis that may be split is added as what broadcasts along the others."""
    data, bias = e.args
    t = w.types(data)
    if w.parts(data, LayoutTransform) is None or w.tensor(bias) is None:
        return None
    assert isinstance(t, TensorType)
    assert isinstance(t.shape, tuple)
    behind = -1 - e.attrs.axis if e.attrs.axis < 0 else len(t.shape) - 1 - e.attrs.axis
    if behind:
        bias = call_of("expand_dims", (bias,), e, axis=1, num_newaxis=behind)
    return call(Add(), (data, bias), e)


def _joined(w: Rewriter, e: Call) -> Expr | None:
    """What is joined in whole blocks is joined along the axis of the numbers of blocks."""
    made, op = w.seen(e.args[0]), e.attrs
    assert isinstance(op, Concatenate)
    found = [w.parts(x, LayoutTransform) for x in made.fields] if isinstance(made, Tuple) else []
    back = found[0][0] if found and found[0] is not None else None
    if back is None or any(f is None or f[0] != back for f in found):
        return None
    plain, blocks = layout_of(back.dst_layout), layout_of(back.src_layout)
    assert plain is not None
    assert blocks is not None
    letter, factor = plain.axes[op.axis]
    if factor or plain.inner(letter):
        return None
    fields = Tuple(tuple([f[1][0] for f in found if f is not None]), span=e.span)
    return call(back, (call(Concatenate(axis=blocks.axes.index((letter, 0))), (fields,), e),), e)


# --- pooling ---


def from_blocks(w: Rewriter, e: Call) -> tuple[str, Expr] | None:
    """Layout and value of what pooling is applied to, if its channels are in blocks and all else is whole."""
    found, op = w.parts(e.args[0], LayoutTransform), e.attrs
    if found is None or found[0].dst_layout != op.layout or op.out_layout not in ("", op.layout):
        return None
    layout = layout_of(found[0].src_layout)
    assert layout is not None
    if [letter for letter, factor in layout.axes if factor] != ["C"]:
        return None
    return found[0].src_layout, found[1][0]


def _pooled(w: Rewriter, e: Call) -> Expr | None:
    """Blocks are one more axis, along which windows have size 1: that of the numbers of blocks."""
    found = from_blocks(w, e)
    if found is None:
        return None
    layout, x = found
    op: Any = e.attrs
    before, after = zip(*pads(op.padding, 2), strict=True)
    attrs = {
        **op.attributes(),
        "pool_size": (1, *ntuple(op.pool_size, 2)),
        "strides": (1, *ntuple(op.strides, 2)),
        "dilation": (1, *ntuple(op.dilation, 2)),
        "padding": (0, *before, 0, *after),
        "layout": "".join(["C" if a.islower() else "D" if a == "C" else a for a in layout if a.isalpha()]),
        "out_layout": "",
    }
    made = call_of(op.name.replace("2d", "3d"), (x,), e, **attrs)
    return transformed(made, layout, op.layout)


def _pooled_whole(w: Rewriter, e: Call) -> Expr | None:
    """Global pooling is a reduction along the spatial axes."""
    found = from_blocks(w, e)
    if found is None:
        return None
    layout, x = found
    letters = [a for a in layout if a.isalpha()]
    axes = (letters.index("H"), letters.index("W"))
    t = w.types(e)
    assert isinstance(t, TensorType)
    reduction = call(e.attrs.reduced(x, str(t.dtype), axes).attrs, (x,), e)
    return transformed(reduction, layout, e.attrs.layout)


POINTWISE = [c for c in registry.values() if issubclass(c, Elementwise | Broadcast) and c.is_pointwise]
RULES = {
    LayoutTransform: (_twice,),
    **dict.fromkeys([*POINTWISE, Where, Cast], (_in_any_layout,)),
    BiasAdd: (_bias_added,),
    Concatenate: (_joined,),
    **dict.fromkeys([MaxPool2D, AvgPool2D], (_pooled,)),
    **dict.fromkeys([GlobalMaxPool2D, GlobalAvgPool2D], (_pooled_whole,)),
}
"""Operators behind a `layout_transform` that work in the layout before it."""
