"""The pipelines: which passes a program goes through, in the order in which they help each other.

`DEFAULT` is for every program, `TRAINING` for one that takes derivatives, and `NATIVE` makes of a module what
the native backend generates code from.  All of them are registered passes, each run by itself: instruments of
the `PassContext` see every one.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from relay.backend.native.program.attention_groups import join_attention
from relay.backend.native.program.expand_operators import expand_operators
from relay.backend.native.program.global_thunks import globals_to_thunks
from relay.backend.native.program.outline_fused_groups import outline_fused_groups
from relay.backend.native.program.reserved_attrs import strip_reserved_attrs
from relay.backend.native.program.splitting import split_long_definitions
from relay.backend.native.program.unresolved_type_params import instantiate_entries
from relay.diagnostic import Span, derived_nodes, fail
from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.type import FuncType, TensorType
from relay.ir.walk import post_order, type_post_order
from relay.op.sizes import ShapeOf
from relay.transform.passes.algebra import simplify_expr
from relay.transform.passes.canonical_cast import canonicalize_cast
from relay.transform.passes.check_nan import check_nan
from relay.transform.passes.choose_precision import has_choice, precision_named, with_precision
from relay.transform.passes.common_subexpressions import eliminate_common_subexpr
from relay.transform.passes.compiler_functions import (
    has_compiler_functions,
    mark_compiler_functions_as_extern,
    outline_compiler_functions,
)
from relay.transform.passes.constant_folding import fold_constants
from relay.transform.passes.convert_layout import convert_layout
from relay.transform.passes.dead_code import dead_code
from relay.transform.passes.eta import eta_expand
from relay.transform.passes.expand_grad import expand_grad, has_derivative
from relay.transform.passes.fast_arithmetic import fast_math
from relay.transform.passes.fusion import fuse_ops
from relay.transform.passes.infer_type import infer_type
from relay.transform.passes.integer_products import integer_products
from relay.transform.passes.lambda_lifting import compute_again, lambda_lift
from relay.transform.passes.monomorphize import monomorphize
from relay.transform.passes.outline_blocks import BATCH, DYNAMIC, outline_blocks
from relay.transform.passes.parallel_batch_matmul import combine_parallel_batch_matmul
from relay.transform.passes.parallel_conv2d import combine_parallel_conv2d
from relay.transform.passes.parallel_dense import combine_parallel_dense
from relay.transform.passes.parallel_rows import combine_rows
from relay.transform.passes.partial_evaluation import partial_evaluate
from relay.transform.passes.precision_report import PrecisionReport
from relay.transform.passes.raise_composites import raise_composites
from relay.transform.passes.scale_forward import fold_scale_axis
from relay.transform.passes.simplify_inference import simplify_inference
from relay.transform.passes.split_concatenations import split_args
from relay.transform.passes.static_shapes import dynamic_to_static
from relay.transform.passes.unused_functions import reached, remove_unused_functions
from relay.transform.rewriting.anf_conversion import anf_module
from relay.transform.rewriting.context import PassContext
from relay.transform.rewriting.definitions import with_definitions, without_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.pipeline import RulePass
from relay.transform.rewriting.registry import module_pass, rules
from relay.typecheck.infer import infer
from relay.typecheck.query import Types

PassFunction: TypeAlias = Callable[..., IRModule]

DEFAULT: tuple[PassFunction, ...] = (
    remove_unused_functions, integer_products, partial_evaluate, simplify_inference, dynamic_to_static,
    fold_constants, canonicalize_cast, simplify_expr, fold_scale_axis, combine_parallel_conv2d, combine_rows,
    combine_parallel_dense, combine_parallel_batch_matmul, raise_composites, fast_math,
    eliminate_common_subexpr, dead_code,
)  # fmt: skip
TRAINING: tuple[PassFunction, ...] = (expand_grad, *DEFAULT)


@module_pass("batch_blocks", opt_level=0)
def batch_blocks(mod: IRModule, *, entry_functions: Sequence[str] = ("main",)) -> IRModule:
    """Make blocks of operators definitions whose calls are recorded and made together, if an entry function
    has the attribute `batch="dynamic"`.

    A block is what a function computes on tensors of known shapes between two calls.  It becomes a
    definition, whose attributes name the definitions that compute many of its calls at once.  Programs that
    take or give functions are left alone.

    >>> show(batch_blocks, '''
    ... def @twice(%x: Tensor[(2,), float32], %n: int32) -> Tensor[(2,), float32] {
    ...   if (%n == 0) { %x } else { let %y = @twice(%x, %n - 1); tanh(%y) * %y }
    ... }
    ... def @main(%x: Tensor[(2,), float32], %n: int32, batch="dynamic") { @twice(%x, %n) }
    ... ''')
    def @twice(%x: Tensor[(2,), float32], %n: int32) -> Tensor[(2,), float32] {
      let %x1: bool = %n == 0i32;
      if (%x1) {
        %x
      } else {
        let %x2: int32 = %n - 1i32;
        let %y: Tensor[(2,), float32] = @twice(%x, %x2);
        let %y: Tensor[(2,), float32] = @block(%y);
        %y
      }
    }
    <BLANKLINE>
    def @main(%x: Tensor[(2,), float32], %n: int32, batch="dynamic") -> Tensor[(2,), float32] {
      @twice(%x, %n)
    }
    <BLANKLINE>
    def @block(%y: Tensor[(2,), float32], Rows="block_rows", Shared=0) -> Tensor[(2,), float32] {
      let %x3: Tensor[(2,), float32] = tanh(%y);
      let %y: Tensor[(2,), float32] = %x3 * %y;
      %y
    }
    <BLANKLINE>
    def @block_rows<b: Dim>(%y: Tensor[(b, 2), float32]) -> Tensor[(b, 2), float32] {
      let %t: Tensor[(b, 2), float32] = tanh(%y);
      %t * %y
    }
    """
    entries = [mod.get_global_var(name) for name in entry_functions]
    if not any(map(is_batched, [mod.functions[v] for v in entries])):
        return mod
    mod, rows = outline_blocks(anf_module(mod), entries)
    if not rows.functions:
        return mod
    names = tuple([v.name_hint for v in rows.functions])
    made = RulePass(rules[optimize], {"entry_functions": names})(infer(rows))
    return with_definitions(mod, made.functions)


def is_batched(definition: Expr) -> bool:
    """Whether calls of an entry function are batched as they run (`attribute-value`)."""
    if not isinstance(definition, Function):
        return False
    batch = definition.attrs.get(BATCH)
    check_batch(batch, definition.span)
    types = [*[p.type_annotation for p in definition.params], definition.ret_type]
    has_functions = any(isinstance(p, FuncType) for t in types if t is not None for p in type_post_order(t))
    return batch == DYNAMIC and not has_functions


def check_batch(batch: object, span: Span | None = None) -> None:
    """Demand a value that the attribute `batch` may have (`attribute-value`)."""
    if batch not in (None, DYNAMIC):
        hint = f'write batch="{DYNAMIC}", or omit it'
        fail("attribute-value", f'`batch` is "{DYNAMIC}", not {batch!r}', span, hint=hint)


SETTLING: tuple[PassFunction, ...] = (
    dynamic_to_static, fold_constants, simplify_expr, eliminate_common_subexpr, dead_code,
)  # fmt: skip
"""What computes with known sizes."""


@module_pass("settle_sizes", opt_level=2)
def settle_sizes(mod: IRModule) -> IRModule:
    """Compute what depends on sizes that copies of polymorphic functions know.

    A function asks for the dimensions of its parameters as `shape_of`.  Where a copy has a number in the
    place of a dimension, that is a constant, and so may be what is computed of it: shapes, conditions, and
    with these whole branches.  An operand of which only the shape was wanted is not kept until then, so that
    its memory can be that of a result.  A module that asks for no known size is left alone.

    >>> show(settle_sizes, '''
    ... def @main(%x: Tensor[(n, 3), float32]) {
    ...   dyn.reshape(%x, stack((take(shape_of(%x), 1), -1)))
    ... }''')
    def @main<n: Dim>(%x: Tensor[(n, 3), float32]) -> Tensor[(3, n), float32] {
      reshape(%x, newshape=(3, -1))
    }
    """
    types = Types(mod)
    if not any(asks_known_size(e, types) for f in mod.functions.values() for e in post_order(f)):
        return mod
    for function in SETTLING:
        mod = RulePass(rules[function])(mod)
    return mod


def asks_known_size(e: Expr, types: Types) -> bool:
    """Whether an expression is the shape of a tensor of which a size is known."""
    if not isinstance(e, Call) or not isinstance(e.attrs, ShapeOf):
        return False
    t = types(e.args[0])
    return (
        isinstance(t, TensorType) and isinstance(t.shape, tuple) and any(isinstance(d, int) for d in t.shape)
    )


NATIVE: tuple[PassFunction, ...] = (
    instantiate_entries, strip_reserved_attrs, globals_to_thunks, expand_grad, remove_unused_functions,
    monomorphize, settle_sizes, batch_blocks, expand_operators, split_args, compute_again, fuse_ops,
    join_attention, outline_fused_groups, eta_expand, lambda_lift, split_long_definitions,
)  # fmt: skip
XLA: tuple[PassFunction, ...] = (
    instantiate_entries, expand_grad, remove_unused_functions, monomorphize, settle_sizes,
)  # fmt: skip
"""The passes behind which a program is traced for XLA."""
OPTIONS: Mapping[PassFunction, Mapping[str, Any]] = {
    split_args: {"max_function_args": 64},  # LLVM's time grows faster than a function with many operands
    fuse_ops: {"lone": True, "link_params": False},
    eta_expand: {"expand_op": True, "expand_constructor": True},
}
"""Options of passes in `NATIVE`: there is code for groups of operators, and for calls of definitions."""
OPTIONAL: tuple[PassFunction, ...] = (settle_sizes, compute_again, join_attention)
"""The passes of `NATIVE` that make code faster; it could not be generated without the others."""


@module_pass("optimize", opt_level=0)
def optimize(
    mod: IRModule, *, level: int | None = None, entry_functions: Sequence[str] = ("main",)
) -> IRModule:
    """Run the passes of the default pipeline up to the given `level`.

    Derivatives are expanded first.  Without a level, the context decides which passes run; its default level
    is 2.

    >>> text = "def @main(%x: float32) { let %f = fn(%y: float32) { %y * 1f }; %f(%x) + %f(2f) }"
    >>> show(optimize, text)
    def @main(%x: float32) -> float32 {
      %x + 2f
    }
    """
    context = PassContext.current()
    for function in TRAINING if any(map(has_derivative, mod.functions.values())) else DEFAULT:
        options = {"entry_functions": entry_functions} if function is remove_unused_functions else {}
        step = RulePass(rules[function], options)
        if context.is_enabled(step.info, level) and not (function is partial_evaluate and is_evaluated(mod)):
            before, mod = mod, step(mod)
            if function is fold_scale_axis and mod is not before:
                # It leaves weights times their scales.
                mod = RulePass(rules[fold_constants])(mod)
    return mod


def with_nan_checks(mod: IRModule) -> IRModule:
    """A module, its derivatives expanded, in which operators fail that make a NaN or an infinity."""
    mod = infer(mod)
    if any(map(has_derivative, mod.functions.values())):
        mod = RulePass(rules[expand_grad]).run(mod)
    return RulePass(rules[check_nan]).run(mod)


def optimize_for_native(
    mod: IRModule, entries: Sequence[str], level: int | None = None, precision: str | None = None
) -> IRModule:
    """What entries need of a module, in a precision, after passes of at most a level; without one, the
    context says it.

    Layouts are chosen last, when weights have taken in what is multiplied with them.
    """
    if has_compiler_functions(mod):
        mod = RulePass(rules[outline_compiler_functions]).run(mod)
    mod, _ = in_precision(mod, entries, level, precision)
    mod = RulePass(rules[optimize], {"level": level, "entry_functions": tuple(entries)})(mod)
    layouts = RulePass(rules[convert_layout])
    return layouts(mod) if PassContext.current().is_enabled(layouts.info, level) else mod


def optimize_for_xla(
    mod: IRModule, entries: Sequence[str], level: int | None = None, precision: str | None = None
) -> IRModule:
    """What entries need of a module, in a precision, as it is traced for XLA: after passes of at most a
    level, without derivatives, and with a copy of each polymorphic function for its uses.
    """
    if has_compiler_functions(mod):
        mod = RulePass(rules[mark_compiler_functions_as_extern]).run(mod)
    mod, _ = in_precision(mod, entries, level, precision)
    mod = RulePass(rules[optimize], {"level": level, "entry_functions": tuple(entries)})(mod)
    for function in XLA:
        rule = rules[function]
        options = {"entry_functions": tuple(entries)} if "entry_functions" in rule.options else {}
        mod = RulePass(rule, options).run(mod)
    return mod


def in_precision(
    mod: IRModule, entries: Sequence[str], level: int | None = None, precision: str | None = None
) -> tuple[IRModule, PrecisionReport]:
    """What entries need of a module, in a precision, and what has become of it (`unknown-precision`).

    The program is optimised first, so that products and what is between them are as they will be computed:
    derivatives are written out, normalisations of known statistics are factors of weights.  If a definition
    chooses a precision for itself, calls of definitions and derivatives stay what they are before.
    """
    wanted = reached(mod, [mod.get_global_var(name) for name in entries])
    mod = RulePass(rules[infer_type]).run(
        without_definitions(mod, [v for v in mod.functions if v not in wanted])
    )
    has_own = has_choice(mod)
    whole = precision_named("f32" if precision is None else precision)
    if whole == "f32" and not has_own:
        return mod, with_precision(mod, whole)[1]
    with derived_nodes():
        if has_own:
            for function in DEFAULT:
                if function not in (remove_unused_functions, partial_evaluate):
                    step = RulePass(rules[function])
                    mod = step(mod) if PassContext.current().is_enabled(step.info, level) else mod
        else:
            mod = RulePass(rules[optimize], {"level": level, "entry_functions": tuple(entries)})(mod)
        return with_precision(mod, whole)


@module_pass("lower_to_native", opt_level=0)
def lower_to_native(mod: IRModule, *, entry_functions: Sequence[str] = ("main",)) -> IRModule:
    """Run the passes that prepare a module for code generation by the native backend.

    Afterwards no derivatives, type parameters or inner functions are left in what the entry functions need,
    and each group of operators whose loops are generated together is a definition, `@fused`.

    >>> show(lower_to_native, "def @main(%x: Tensor[(2,), float32]) { nn.relu(%x) * %x }")
    def @main(%x: Tensor[(2,), float32]) -> Tensor[(2,), float32] {
      @fused(%x)
    }
    <BLANKLINE>
    def @fused(%p0: Tensor[(2,), float32], Primitive=1) -> Tensor[(2,), float32] {
      nn.relu(%p0) * %p0
    }
    """
    context = PassContext.current()
    for function in NATIVE:
        rule = rules[function]
        entries = {"entry_functions": tuple(entry_functions)} if "entry_functions" in rule.options else {}
        step = RulePass(rule, {**OPTIONS.get(function, {}), **entries})
        if function not in OPTIONAL:
            mod = step.run(mod)
        elif context.is_enabled(step.info):
            mod = step(mod)
    return mod


def is_evaluated(mod: IRModule) -> bool:
    """Whether partial evaluation has nothing to go into: all that there is are calls of operators."""
    return len(mod.functions) == 1 and all(map(is_straight, mod.functions.values()))


def is_straight(definition: Expr) -> bool:
    """Whether a definition only calls operators, and takes tuples apart that they have made."""
    body = definition.body if isinstance(definition, Function) else definition
    made: set[Expr] = set()
    for e in post_order(body):
        match e:
            case Call(op=Op()) if not e.attrs.impure:
                continue
            case Let(var, value) if not isinstance(value, Var):
                if type(value) is Tuple:
                    made.add(var)
            case Tuple():
                made.add(e)
            case TupleGetItem(whole) if whole not in made:
                continue
            case Var() | Constant() | Op():
                continue
            case _:
                return False
    return True
