"""What programs go through before they run: the passes in the order in which they help each other."""

from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.transform.passes.algebra import simplify_expr
from relay.transform.passes.canonical_cast import canonicalize_cast
from relay.transform.passes.common_subexpressions import eliminate_common_subexpr
from relay.transform.passes.constant_folding import fold_constants
from relay.transform.passes.dead_code import dead_code
from relay.transform.passes.expand_grad import expand_grad, has_derivative
from relay.transform.passes.parallel_batch_matmul import combine_parallel_batch_matmul
from relay.transform.passes.parallel_conv2d import combine_parallel_conv2d
from relay.transform.passes.parallel_dense import combine_parallel_dense
from relay.transform.passes.parallel_rows import combine_rows
from relay.transform.passes.partial_evaluation import partial_evaluate
from relay.transform.passes.scale_forward import fold_scale_axis
from relay.transform.passes.simplify_inference import simplify_inference
from relay.transform.passes.static_shapes import dynamic_to_static
from relay.transform.passes.unused_functions import remove_unused_functions
from relay.transform.rewriting.context import PassContext
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.pipeline import RulePass
from relay.transform.rewriting.registry import module_pass, rules

STEPS = (
    remove_unused_functions, partial_evaluate, simplify_inference, dynamic_to_static, fold_constants,
    canonicalize_cast, simplify_expr, fold_scale_axis, combine_parallel_conv2d, combine_rows,
    combine_parallel_dense, combine_parallel_batch_matmul, eliminate_common_subexpr, dead_code,
)  # fmt: skip


@module_pass("optimize", opt_level=0)
def optimize(mod: IRModule, *, level: int | None = None) -> IRModule:
    """Run the passes that make programs lean, those of at most the `level` that is given.

    Derivatives are written out first.  Without a level, the context says which passes run, 2 being its level
    if there is none.

    >>> text = "def @main(%x: float32) { let %f = fn(%y: float32) { %y * 1f }; %f(%x) + %f(2f) }"
    >>> show(optimize, text)
    def @main(%x: float32) -> float32 {
      %x + 2f
    }
    """
    context = PassContext.current()
    functions = (expand_grad, *STEPS) if any(map(has_derivative, mod.functions.values())) else STEPS
    for function in functions:
        step = RulePass(rules[function])
        if context.is_enabled(step.info, level) and not (function is partial_evaluate and is_evaluated(mod)):
            before, mod = mod, step(mod)
            if function is fold_scale_axis and mod is not before:
                # It leaves weights times their scales.
                mod = RulePass(rules[fold_constants])(mod)
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
