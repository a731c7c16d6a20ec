"""Passes by known names that are made of others, or whose work is done elsewhere."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from relay.expansion.gradient import gradient
from relay.ir.bind import substitute
from relay.ir.expr import Expr, Function, Var
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.text.parser import parse_module
from relay.text.printer import module_text
from relay.transform.rewriting.context import PassContext, PassInfo
from relay.transform.rewriting.pipeline import Pass, Sequential
from relay.transform.rewriting.user_passes import FunctionPass, ModulePass

__all__ = [
    "AlterOpLayout", "AnnotateSpans", "BatchingOps", "ChangeBatch", "FirstOrderGradient",
    "Legalize", "ManifestLifetimes", "PlanDevices", "SplitArgs",
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


AlterOpLayout = _elsewhere("AlterOpLayout", "the backend chooses the layouts of operators")
Legalize = _elsewhere("Legalize", "the backend chooses the forms of operators")
PlanDevices = _elsewhere("PlanDevices", "there is one device, the processor")
ManifestLifetimes = _elsewhere("ManifestLifetimes", "the backend decides how long values are kept")
SplitArgs = _elsewhere("SplitArgs", "functions have any number of parameters")


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
    return Sequential([registered(name)() for name in names], name="BatchingOps")


def AnnotateSpans() -> Pass:  # noqa: N802
    """A pass that gives each node its place in the text of the module."""

    def run(mod: IRModule, context: PassContext) -> IRModule:
        return parse_module(module_text(mod), "GeneratedSource")

    return ModulePass(run, PassInfo("AnnotateSpans"))


def ChangeBatch(data: Mapping[Var | str, int], batch_size: int = 16) -> Pass:  # noqa: N802
    """A pass that gives parameters another size in one axis: `ChangeBatch({data: 0}, batch_size=8)`."""
    axes = {v if isinstance(v, str) else v.name_hint: axis for v, axis in data.items()}

    def run(fn: Function, mod: IRModule, context: PassContext) -> Function:
        new: dict[Var, Expr] = {}
        for p in fn.params:
            t = p.type_annotation
            if p.name_hint in axes and isinstance(t, TensorType) and isinstance(t.shape, tuple):
                shape = list(t.shape)
                shape[axes[p.name_hint]] = batch_size
                new[p] = Var(p.name_hint, TensorType(shape, t.dtype), span=p.span)
        params = [new.get(p, p) for p in fn.params]
        return Function(params, substitute(fn.body, new), None, fn.type_params, fn.attrs)  # pyright: ignore[reportArgumentType]

    return FunctionPass(run, PassInfo("ChangeBatch"))
