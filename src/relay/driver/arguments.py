"""What builds and executors are given: targets, and values of parameters."""

from collections.abc import Mapping
from typing import Any

from relay.diagnostic import did_you_mean, fail
from relay.interpreter.arguments import convert_argument
from relay.ir.bind import bind_params_by_name
from relay.ir.expr import Constant, Function, constant
from relay.ir.module import IRModule

XLA = "xla"
"""The target, and the executor, of programs that XLA compiles."""


def first_word(target: object) -> str:
    """What a target or a device is called, without its options: `llvm` of `llvm -mcpu=native`."""
    return str(target).partition("(")[0].strip().partition(" ")[0]


def with_params(mod: IRModule, params: Mapping[str, Any]) -> IRModule:
    """The module with parameters of `@main` bound by name, as their types want them.

    Raises `unknown-input`, `argument-type`.
    """
    bound = mod.copy()
    name = bound.get_global_var("main")
    bound[name] = bind_params_by_name(bound[name], param_values(mod, params))
    return bound


def param_values(mod: IRModule, params: Mapping[str, Any]) -> dict[str, Constant]:
    """Values of parameters of `@main` by name, as their types want them.

    Raises `unknown-input`, `argument-type`.
    """
    main = mod["main"]
    known = {p.name_hint: p for p in main.params} if isinstance(main, Function) else {}
    for n in params:
        if n not in known:
            names = ", ".join([f"`{k}`" for k in list(known)[:8]])
            hint = did_you_mean(n, known) or (f"its parameters are {names}" if known else "it has none")
            fail("unknown-input", f"the program has no parameter `{n}`", hint=hint)
    env: dict[Any, Any] = {}
    return {
        n: constant(convert_argument("@main", known[n], x, env, mod), span=known[n].span)
        for n, x in params.items()
    }
