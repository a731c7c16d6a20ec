"""Joins of many tensors in steps of a few."""

from relay.diagnostic import fail
from relay.ir.expr import Call, Expr, Tuple
from relay.ir.module import IRModule
from relay.op.join import Concatenate
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, apply_rules, call


@module_pass("split_args", opt_level=1, public="SplitArgs")
def split_args(mod: IRModule, *, max_function_args: int = 255) -> IRModule:
    """Join more than so many tensors in steps, each of which joins at most so many.

    For compilers of kernels that take a limited number of arguments; machine code takes any.  The number is 2
    or more (`option-value`).

    >>> text = "def @main(%x: Tensor[(1,), f32], %y: Tensor[(1,), f32]) { concatenate((%x, %y, %x, %y, %x)) }"
    >>> show(split_args, text, max_function_args=2)
    def @main(%x: Tensor[(1,), float32], %y: Tensor[(1,), float32]) -> Tensor[(5,), float32] {
      concatenate((concatenate((concatenate((%x, %y)), concatenate((%x, %y)))), %x))
    }
    """
    if max_function_args < 2:
        fail("option-value", f"a join takes 2 tensors or more, not {max_function_args}")

    def rule(w: Rewriter, e: Call) -> Expr | None:
        parts = w.value_of(e.args[0])
        if not isinstance(parts, Tuple) or len(parts.fields) <= max_function_args:
            return None
        fields: list[Expr] = list(parts.fields)
        while len(fields) > max_function_args:
            rows = [fields[i : i + max_function_args] for i in range(0, len(fields), max_function_args)]
            fields = [
                r[0] if len(r) == 1 else call(e.attrs, (Tuple(tuple(r), span=e.span),), e) for r in rows
            ]
        return call(e.attrs, (Tuple(tuple(fields), span=e.span),), e)

    return apply_rules(mod, {Concatenate: (rule,)})
