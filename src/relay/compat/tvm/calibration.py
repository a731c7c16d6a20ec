"""What functions for other compilers are given and give, on values of a program's parameters."""

from collections.abc import Mapping
from typing import Any

from relay.compat.tvm.executors import create_executor
from relay.compat.tvm.values import ADT
from relay.ir.expr import Call, Expr, Function, GlobalVar, Tuple, replace
from relay.ir.module import IRModule
from relay.ir.walk import post_order

__all__ = ["get_calibration_data"]


def get_calibration_data(mod: IRModule, data: Mapping[str, Any]) -> dict[GlobalVar, dict[str, list[Any]]]:
    """By the name of each function with the attribute `Compiler` that `@main` calls, the arrays that are its
    `inputs` and `outputs`; `data` has those of `@main` by name.
    """
    main = mod["main"]
    assert isinstance(main, Function)
    calls = [e for e in post_order(main.body) if isinstance(e, Call) and is_for_a_compiler(e.op, mod)]
    fields: list[Expr] = [e for call in calls for e in (Tuple(call.args), call)]
    whole = mod.map_functions(without_compiler).copy()
    whole["main"] = replace(main, body=Tuple(fields), ret_type=None)
    values = create_executor("debug", whole).evaluate()(**data)
    found: dict[GlobalVar, dict[str, list[Any]]] = {}
    for i, call in enumerate(calls):
        made: Any = values[2 * i + 1]
        outputs: list[Any] = list(made) if isinstance(made, ADT) else [made]
        assert isinstance(call.op, GlobalVar)
        found[call.op] = {"inputs": list(values[2 * i]), "outputs": outputs}
    return found


def without_compiler(fn: Function) -> Function:
    """A function as one that is computed here."""
    return (
        replace(fn, attrs={k: v for k, v in fn.attrs.items() if k != "Compiler"})
        if "Compiler" in fn.attrs
        else fn
    )


def is_for_a_compiler(callee: Expr, mod: IRModule) -> bool:
    """Whether a definition is one that another compiler compiles."""
    fn = mod.functions.get(callee) if isinstance(callee, GlobalVar) else None
    return isinstance(fn, Function) and "Compiler" in fn.attrs
