"""Single steps on single expressions, for tests."""

from collections.abc import Callable, Sequence
from typing import Any

from relay.driver.executor import create_executor
from relay.ir.expr import Call, Expr, Function, Op
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.typecheck.infer import infer

Pass = Callable[[IRModule], IRModule]


def run_infer_type(expr: Expr, mod: IRModule | None = None) -> Expr:
    """`expr` with types inferred; what is free in it becomes a parameter meanwhile."""
    return run_opt_pass(expr, infer, mod=mod)


def run_opt_pass(
    expr: Expr, opt_pass: Pass | Sequence[Pass], import_prelude: bool = False, *, mod: IRModule | None = None
) -> Any:
    """What a pass (or several in turn) makes of `expr`, which must not be changed by any other.

    `import_prelude` puts the prelude into the module that the passes see.
    """
    whole = IRModule.from_expr(expr)
    if import_prelude:
        from relay.text.api import parse

        mod = parse('import "std/prelude"')
    if mod is not None:
        main, whole = whole["main"], mod.copy()
        whole["main"] = main
    whole = infer(whole)
    for step in [opt_pass] if callable(opt_pass) else opt_pass:
        whole = step(whole)
    entry = whole["main"]
    return entry if isinstance(expr, Function) else entry.body


def run_as_python(expr: Expr, mod: IRModule | None = None) -> Any:
    """The value of `expr` over the definitions of a module; a function is something to call."""
    return create_executor("debug", mod).evaluate(expr)


def count_ops(expr: Expr | IRModule) -> dict[str, int]:
    """How often each operator is called."""
    roots = list(expr.functions.values()) if isinstance(expr, IRModule) else [expr]
    found: dict[str, int] = {}
    for root in roots:
        for e in post_order(root):
            if isinstance(e, Call) and isinstance(e.op, Op):
                found[e.op.name] = found.get(e.op.name, 0) + 1
    return found
