"""Programs over several devices: `relay.build(mod, {"cpu": "native", "gpu": "xla gpu"})`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from relay.diagnostic import fail
from relay.driver.arguments import XLA, first_word
from relay.interpreter.regions import register_compiler
from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.typecheck.infer import infer


def devices_of(target: Any) -> Mapping[str, Any] | None:
    """Targets by the names of devices, where a target is that; else None."""
    return cast("Mapping[str, Any]", target) if isinstance(target, Mapping) else None


def host_target(devices: Mapping[str, Any]) -> Any:
    """The target of machine code among those of devices, which runs the control flow too; this processor
    where there is none (`unknown-target`).
    """
    if not devices:
        fail("unknown-target", "there is no device to run on", hint='name some: {"cpu": "native"}')
    others = {str(t): t for t in devices.values() if first_word(t) != XLA}
    if len(others) > 1:
        hint = 'give one target to all devices that are this processor; others are "xla cpu", "xla gpu", …'
        fail("unknown-target", f"machine code is for one target, not for {', '.join(others)}", hint=hint)
    return next(iter(others.values()), "native")


def placed(
    mod: IRModule, devices: Mapping[str, Any], entries: Sequence[str], level: int | None = None
) -> IRModule:
    """A program whose regions on devices of XLA are definitions for its compiler.

    Derivatives are written out and simplified before: they are computed where the values that they are of
    are.  Raises `device-conflict`, `unknown-device`, `unknown-target`, `no-xla`.
    """
    from relay.pipelines import optimize
    from relay.transform.passes.partition_devices import partition_devices
    from relay.transform.rewriting.pipeline import RulePass
    from relay.transform.rewriting.registry import rules

    compilers = {str(name): str(t) if first_word(t) == XLA else "" for name, t in devices.items()}
    for target in dict.fromkeys(filter(None, compilers.values())):
        check_device(target)
    mod = RulePass(rules[optimize], {"level": level, "entry_functions": tuple(entries)})(infer(mod))
    default = next(iter(compilers))
    return partition_devices(mod, compilers=compilers, default_device=default)


def check_device(target: str) -> None:
    """Demand a device of XLA (`unknown-target`, `no-xla`)."""
    from relay.backend.xla.platforms import named_device

    named_device(target)


@register_compiler(XLA)
def region_code(function: Function) -> Callable[..., Any]:
    """What computes a region on the device that its compiler names: `xla gpu`, `xla cpu:1`."""
    from relay.backend.xla.built import build_for_xla

    region = Function(
        function.params, function.body, function.ret_type, function.type_params, span=function.span
    )
    return build_for_xla(IRModule.from_expr(region), function.attrs["Compiler"], ("main",))["main"]
