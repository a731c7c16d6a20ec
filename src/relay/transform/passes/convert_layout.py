"""Layouts: the axes of images in the order in which machine code is quickest, in all of a definition."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from relay.diagnostic import fail
from relay.ir.expr import Call, Expr, Function
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.op.nn.conv import Conv, Convolution
from relay.op.nn.conv_transpose import Conv2DTranspose
from relay.op.nn.conv_weight import ConvBackwardWeight
from relay.op.nn.layout import SPATIAL, positions
from relay.op.registry import registry
from relay.op.reshape import Transpose
from relay.transform.passes.algebra_shapes import SHAPES
from relay.transform.passes.dead_code import dead_code
from relay.transform.passes.layout_propagation import Turned, Turning
from relay.transform.passes.layout_rules import Rule, turning
from relay.transform.rewriting.anf_conversion import anf
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import apply_rules
from relay.typecheck.query import Types

Layouts = Mapping[str, Sequence[str]]
"""By the names of operators the layouts of data and weight."""
AROUND_RESHAPES = {Transpose: SHAPES.table()[Transpose]}
"""Rules of the transposes that are left around a reshape, as between a sequence and an image."""
Wanted = Mapping[type[Operator], tuple[str, str]] | None
"""The same by operators; None is channels last for all convolutions."""


@module_pass("convert_layout", keeps=(ANF,), opt_level=2, public="ConvertLayout")
def convert_layout(mod: IRModule, *, desired_layouts: dict[str, list[str]] | None = None) -> IRModule:
    """Convert convolutions, and the operators between them, to other layouts: channels last by default.

    `desired_layouts` maps the name of a convolution to the layout of its data and that of its weight, or
    `"default"`.  Definitions without such a convolution are left alone, because a transposition costs a pass
    over memory and other operators gain nothing from it.  Tensors are transposed where they enter and leave;
    operators that work on any axes (elementwise operators, pooling, normalisation, sums) take the layout of
    their operands.  Constants are transposed at compile time.

    >>> show(convert_layout, '''
    ... def @main(%x: Tensor[(1, 3, 8, 8), f32], %w: Tensor[(4, 3, 3, 3), f32], %b: Tensor[(4,), f32]) {
    ...   nn.max_pool2d(nn.relu(nn.bias_add(nn.conv2d(%x, %w), %b)), pool_size=(2, 2))
    ... }''')
    def @main(
      %x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %b: Tensor[(4,), float32]
    ) -> Tensor[(1, 4, 5, 5), float32] {
      %0 = transpose(%x, axes=(0, 2, 3, 1));
      %1 = transpose(%w, axes=(2, 3, 1, 0));
      %2 = nn.bias_add(nn.conv2d(%0, %1, data_layout="NHWC", kernel_layout="HWIO"), %b, axis=3);
      transpose(nn.max_pool2d(nn.relu(%2), pool_size=(2, 2), layout="NHWC"), axes=(0, 3, 1, 2))
    }
    """
    wanted = checked(desired_layouts)
    types = Types(mod)
    new: dict[Any, Expr] = {}
    for v, e in mod.functions.items():
        if not has_layouts(e, wanted):
            continue
        made = Turning(e, types, rule_for(wanted)).run()
        new[v] = anf(made, types) if ANF.is_known_of(mod, v) else made
    turned = with_definitions(mod, new)
    made = apply_rules(turned, AROUND_RESHAPES)
    return made if made is turned else dead_code(made)


def checked(desired: Layouts | None) -> Wanted:
    """The desired layouts by operator class (`bad-layout`)."""
    if desired is None:
        return None
    found: dict[type[Operator], tuple[str, str]] = {}
    for name, (data, *weight) in desired.items():
        cls = registry.get(name)
        axes = "" if cls is None or not issubclass(cls, Convolution) else "NC" + SPATIAL[cls.rank]
        if sorted(data) != sorted(axes):
            hint = "names are those of convolutions, layouts orders of N, C and the spatial axes"
            fail("bad-layout", f"`{name}` cannot have the layout {data!r}", hint=hint)
        assert cls is not None
        found[cls] = data, weight[0] if weight else "default"
    return found


def has_layouts(root: Expr, wanted: Wanted) -> bool:
    """Whether a definition has a convolution whose layout is to be another."""
    kinds = (Convolution,) if wanted is None else tuple(wanted)
    return isinstance(root, Function) and any(
        type(e) is Call and isinstance(e.attrs, kinds) for e in post_order(root)
    )


def rule_for(wanted: Wanted) -> Rule:
    """What becomes of a call of an operator, if that is wanted of convolutions."""

    def rule(w: Turning, e: Call) -> Turned | None:
        op: Any = e.attrs
        if not isinstance(op, Convolution):
            change = turning[op]
            return None if change is None else change(w, e)
        if wanted is None:
            return convolved(w, e, f"N{SPATIAL[op.rank]}C", "default")
        return convolved(w, e, *wanted[type(op)]) if type(op) in wanted else None

    return rule


def convolved(w: Turning, e: Call, layout: str, kernel: str) -> Turned | None:
    """A convolution, or one of its derivatives, on data in a layout, and with a weight in another."""
    op: Any = e.attrs
    x, y = e.args
    if w.shape(x) is None or w.shape(y) is None:
        return None
    if isinstance(op, ConvBackwardWeight):
        data = [w.in_order(x, positions(op.grad_layout, layout))]
        data += [w.in_order(y, positions(op.data_layout, layout))]
        kernel = usual(w, e, layout)
        made = replace(op, grad_layout=layout, data_layout=layout, kernel_layout=kernel)
        return w.applied(e, made, data, positions(op.kernel_layout, kernel))
    if kernel == "default":
        kernel = usual(w, e, layout)
    args = [w.in_order(x, positions(op.data_layout, layout))]
    args += [w.in_order(y, positions(op.kernel_layout, kernel))]
    made = replace(op, data_layout=layout, kernel_layout=kernel, out_layout="")
    return w.applied(e, made, args, positions(op.out_layout or op.data_layout, layout))


def usual(w: Turning, e: Call, layout: str) -> str:
    """The layout of a weight that goes with a layout of data: the channels of the result where those of the
    data are.  One array serves a convolution and its derivative.
    """
    op: Any = e.attrs
    if layout[-1] != "C":
        return op.kernel_axes
    swapped = type(op) is Conv2DTranspose
    several = isinstance(op, Conv) and op.attributes()["groups"] > 1 and is_split(w, e)
    return SPATIAL[op.rank] + ("OI" if swapped or several else "IO")


def is_split(w: Turning, e: Call) -> bool:
    """Whether the weight has several filters for each channel of the data: `(channels, multiple, ...)`."""
    op: Any = e.attrs
    data, weight = w.shape(e.args[0]), w.shape(e.args[1])
    assert data is not None
    assert weight is not None
    per_group = weight[op.kernel_layout.index("I")]
    return data[op.data_layout.index("C")] == op.groups and per_group != 1
