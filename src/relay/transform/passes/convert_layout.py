"""Layouts: the axes of images in the order in which machine code is quickest, in all of a definition."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias, cast

from relay.diagnostic import fail
from relay.ir.expr import Call, Expr, Function
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.op.nn.conv import Conv2D, Convolution
from relay.op.nn.layout import SPATIAL
from relay.op.registry import registry
from relay.op.reshape import Transpose
from relay.transform.passes.algebra_shapes import SHAPES
from relay.transform.passes.blocked_layouts import in_blocks, is_blocked
from relay.transform.passes.convert_op_layout import Chosen, chosen_by_user
from relay.transform.passes.dead_code import dead_code
from relay.transform.passes.inferred_layouts import inferred_by_user, is_inferred_by_user, letters_of
from relay.transform.passes.layout_changes import can_have, change, kernel_that_stays
from relay.transform.passes.layout_config import LayoutConfig
from relay.transform.passes.layout_propagation import Turned, Turning
from relay.transform.passes.layout_rules import Rule, turning
from relay.transform.passes.layout_transforms import RULES
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
Wanted: TypeAlias = dict[type[Operator], "tuple[str, str] | Chosen"] | None
"""The same by operators, or what a user's function chooses; None is channels last for all convolutions."""
HINT = (
    "operators that have layouts are named, with an order of N, C and the spatial axes;"
    " for `nn.conv2d` there are blocks of channels too: NCHW4c"
)


@module_pass("convert_layout", keeps=(ANF,), opt_level=2, public="ConvertLayout")
def convert_layout(mod: IRModule, *, desired_layouts: dict[str, list[str]] | None = None) -> IRModule:
    """Convert convolutions, and the operators between them, to other layouts: channels last by default.

    `desired_layouts` maps the name of an operator that has layouts (convolutions and pooling, quantised ones
    too, `nn.deformable_conv2d`, `image.resize2d`, `vision.roi_align`, …) to the layout of its data and, if it
    has a weight, that of its weight, or `"default"`.  Definitions without such an operator are left alone,
    because a transposition costs a pass over memory and other operators gain nothing from it.  Tensors are
    transposed where they enter and leave; operators that work on any axes (elementwise operators, pooling,
    normalisation, sums) take the layout of their operands.  Constants are transposed at compile time.

    For `nn.conv2d` channels may be in blocks, as in `["NCHW4c", "OIHW4i4o"]`, where `"default"` means the
    same weight.  Such convolutions become `nn.contrib_conv2d_NCHWc`, or `nn.contrib_depthwise_conv2d_NCHWc`,
    with `layout_transform` where tensors enter and leave; elementwise operators, a bias, joins and pooling
    between them take blocks, too.  A convolution whose channels are not whole blocks stays.

    `relay.op.register_convert_op_layout(name, f)` registers a function that chooses call by call:
    `f(attrs, inputs, types, desired_layouts)` is given the operator with its attributes, the operands, their
    types, and the list of `desired_layouts`; it returns a call of the operands whose layouts are others, an
    expression of the same type, or None to leave the call alone.  `LayoutConfig(skip_layers=...)` leaves
    calls of `nn.conv2d` by their numbers, and a function of `relay.op.register_infer_correct_layout` says how
    an operator works on operands in other layouts.  Raises `bad-layout` and `type-mismatch`.

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
    stay = left_alone(mod, wanted)
    blocks = None if wanted is None else wanted.get(Conv2D)
    if blocks is not None and not callable(blocks) and is_blocked(*blocks):
        mod = in_blocks(mod, *blocks, stay)
        wanted = {cls: layouts for cls, layouts in (wanted or {}).items() if cls is not Conv2D}
    types = Types(mod)
    new: dict[Any, Expr] = {}
    for v, e in mod.functions.items():
        if not has_layouts(e, wanted):
            continue
        made = Turning(e, types, rule_for(wanted, stay, letters_of(e))).run()
        new[v] = anf(made, types) if ANF.is_known_of(mod, v) else made
    turned = with_definitions(mod, new)
    is_chosen = any(callable(layouts) for layouts in (wanted or {}).values())
    made = apply_rules(turned, {**RULES, **AROUND_RESHAPES} if is_chosen else AROUND_RESHAPES)
    return made if made is turned else dead_code(made)


def left_alone(mod: IRModule, wanted: Wanted) -> AbstractSet[Expr]:
    """The calls of `nn.conv2d` that are to stay as `LayoutConfig` says."""
    config = LayoutConfig.current
    if config is None or (wanted is not None and Conv2D not in wanted):
        return frozenset()
    every = [e for f in mod.functions.values() for e in post_order(f)]
    return {e for e in every if type(e) is Call and isinstance(e.attrs, Conv2D) and config.check_skip()}


def checked(desired: Layouts | None) -> Wanted:
    """The desired layouts by operator class (`bad-layout`)."""
    if desired is None:
        return None
    found: dict[type[Operator], tuple[str, str] | Chosen] = {}
    for name, layouts in desired.items():
        if not are_layouts(layouts):
            hint = "give a list: the layout of the data and, of what has a weight, that of the weight"
            fail("bad-layout", f"`{name}` cannot have the layouts {layouts!r:.60}", hint=hint)
        data, kernel = (*layouts, "default")[:2]
        cls = registry.get(name)
        chosen = None if cls is None else chosen_by_user(cls, layouts)
        if cls is not None and chosen is not None:
            found[cls] = chosen
            continue
        if cls is None or change[cls] is None or not can_have(cls, data, kernel):
            said = repr(data) if kernel == "default" else f"{data!r} with a weight in {kernel!r}"
            fail("bad-layout", f"`{name}` cannot have the layout {said}", hint=HINT)
        found[cls] = data, kernel
    return found


def are_layouts(given: Any) -> bool:
    """Whether something is a list of one or two texts."""
    if not isinstance(given, list | tuple):
        return False
    several = cast("Sequence[Any]", given)
    return len(several) in (1, 2) and all(type(x) is str for x in several)


def has_layouts(root: Expr, wanted: Wanted) -> bool:
    """Whether a definition has an operator whose layout is to be another."""
    kinds = (Convolution,) if wanted is None else tuple(wanted)
    return isinstance(root, Function) and any(
        type(e) is Call and isinstance(e.attrs, kinds) for e in post_order(root)
    )


def rule_for(wanted: Wanted, stay: AbstractSet[Expr], letters: Mapping[int, str]) -> Rule:
    """What becomes of a call of an operator, if layouts are wanted of some; `letters` are those of now."""

    def rule(w: Turning, e: Call) -> Turned | None:
        op: Any = e.attrs
        asked = None
        if e in stay:
            return None
        if wanted is not None:
            asked = wanted.get(cast("type[Operator]", type(op)))
        elif isinstance(op, Convolution):
            asked = f"N{SPATIAL[op.rank]}C", kernel_that_stays(w, e)
        if callable(asked):
            return asked(w, e)
        if asked is not None:
            make = change[op]
            return None if make is None else make(w, e, *asked)
        if is_inferred_by_user(e):
            return inferred_by_user(w, e, letters)
        follow = turning[op]
        return None if follow is None else follow(w, e)

    return rule
