"""Passes by known names that are made of others, or whose work is done elsewhere."""

from collections.abc import Callable
from functools import reduce
from importlib import import_module
from typing import Any

import numpy as np

from relay.expansion.gradient import gradient
from relay.ir.expr import Call, Constant, Expr, Function, constant
from relay.ir.module import IRModule
from relay.ir.walk import rewrite
from relay.op.division import Divide
from relay.transform.rewriting.context import PassContext, PassInfo
from relay.transform.rewriting.pipeline import Pass
from relay.transform.rewriting.user_passes import FunctionPass, ModulePass

__all__ = [
    "BatchingOps", "DivToMul", "FirstOrderGradient", "ManifestLifetimes", "PlanDevices",
    "RemoveStandaloneReshapes",
]  # fmt: skip


def registered(name: str) -> Any:
    """What makes a pass of Relay, by its known name."""
    return getattr(import_module("relay.transform"), name)


def _elsewhere(name: str, where: str) -> Callable[..., Pass]:
    """What makes a pass that leaves modules as they are."""

    def make(*_: Any, **__: Any) -> Pass:
        return Pass(PassInfo(name), lambda mod: mod)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A pass that leaves modules as they are: {where}."
    return make


ManifestLifetimes = _elsewhere("ManifestLifetimes", "the backend decides how long values are kept")
RemoveStandaloneReshapes = _elsewhere("RemoveStandaloneReshapes", "the backend copies nothing for a reshape")


def PlanDevices(config: Any = None) -> Pass:  # noqa: N802
    """A pass that puts copies between devices that `on_device` says; targets make no difference."""
    del config
    return registered("PlanDevices")(default_device="cpu(0)")


def DivToMul() -> Pass:  # noqa: N802
    """A pass that multiplies by the reciprocal where it is divided by a constant of floats."""

    def rule(e: Expr) -> Expr | None:
        match e:
            case Call(Divide(), (x, Constant(value=c) as divisor)) if (
                not divisor.is_open and c.dtype.kind == "f"
            ):
                return x * constant(np.reciprocal(c))
            case _:
                return None

    return ModulePass(lambda mod, _: mod.map_functions(lambda fn: rewrite(fn, rule)), PassInfo("DivToMul"))


def FirstOrderGradient() -> Pass:  # noqa: N802
    """A pass that makes of each function one of its value and its gradients, as `gradient` does."""

    def run(fn: Function, mod: IRModule, context: PassContext) -> Function:
        made = gradient(fn, mod, mode="first_order")
        assert isinstance(made, Function)
        return made

    return FunctionPass(run, PassInfo("FirstOrderGradient"))


def BatchingOps() -> Pass:  # noqa: N802
    """A pass that joins parallel convolutions, dense layers and batched products."""
    names = ("CombineParallelConv2D", "CombineParallelDense", "CombineParallelBatchMatmul")
    passes = [registered(name)() for name in names]
    return Pass(PassInfo("BatchingOps"), lambda mod: reduce(lambda made, step: step(made), passes, mod))
