"""What programs go through before they run: the passes in the order in which they help each other."""

from relay.ir.module import IRModule
from relay.transform.base import find, module_pass
from relay.transform.context import PassContext
from relay.transform.derivatives import has_derivative
from relay.transform.example import show as show
from relay.transform.pipeline import RulePass

DERIVATIVES = "expand_grad"
STEPS = (
    "remove_unused_functions", "partial_evaluate", "simplify_inference", "dynamic_to_static",
    "fold_constants", "canonicalize_cast", "simplify_expr", "fold_scale_axis", "combine_parallel_conv2d",
    "combine_rows", "combine_parallel_dense", "combine_parallel_batch_matmul", "eliminate_common_subexpr",
    "dead_code",
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
    names = (DERIVATIVES, *STEPS) if any(map(has_derivative, mod.functions.values())) else STEPS
    for name in names:
        step = RulePass(find(name))
        if context.is_enabled(step.info, level):
            mod = step(mod)
    return mod
