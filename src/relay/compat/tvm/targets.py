"""Targets: the processor, and names of others, which are refused where a program is built for them."""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

from relay.compat.tvm.devices import ACCELERATORS, OTHER_NAMES, Device, accelerators, cpu, device
from relay.diagnostic import fail

__all__ = [
    "CompilationConfig", "Target", "TargetKind", "arm_cpu", "create", "cuda", "intel_graphics",
    "make_compilation_config", "mali", "target_for",
]  # fmt: skip

_entered: ContextVar[tuple["Target", ...]] = ContextVar("relay_compat_targets", default=())


class TargetKind(str):
    """The kind of a target: a text with the attribute `name`."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The text."""
        return str(self)


class Target:
    """`Target("llvm -mcpu=core-avx2")`: a kind and options; `with Target("llvm"): …` makes it the current."""

    TARGET_KINDS: ClassVar[tuple[str, ...]] = ("llvm", "c", "cuda", "opencl", "vulkan", "metal", "rocm")

    def __init__(self, target: Any, host: Any = None) -> None:
        """A text, a dict with `"kind"` and options, or another target."""
        if isinstance(target, dict):
            options = cast("dict[str, Any]", target)
            kept = [f"-{name}={value}" for name, value in options.items() if name not in ("kind", "host")]
            host = options.get("host", host)
            self.text = " ".join([options["kind"], *kept])
        else:
            self.text = str(target)
            host = target.host if host is None and isinstance(target, Target) else host
        self.host = host if host is None or isinstance(host, Target) else Target(host)

    @property
    def kind(self) -> TargetKind:
        """The first word."""
        return TargetKind(self.text.partition(" ")[0])

    @property
    def attrs(self) -> dict[str, str]:
        """The options, such as `mcpu`."""
        words = [word.lstrip("-").partition("=") for word in self.text.split()[1:]]
        return {name: value for name, _, value in words}

    @property
    def keys(self) -> list[str]:
        """What kind of device it is for."""
        return [OTHER_NAMES.get(self.kind, self.kind)]

    @property
    def mcpu(self) -> str:
        """The processor that the options name."""
        return self.attrs.get("mcpu", "")

    @property
    def libs(self) -> list[str]:
        """The libraries that the options name, which are not called."""
        return [name for name in self.attrs.get("libs", "").split(",") if name]

    @staticmethod
    def current(allow_none: bool = True) -> "Target | None":
        """The innermost target that was entered, or None."""
        entered = _entered.get()
        if not entered and not allow_none:
            raise ValueError('no target is entered; `with tvm.target.Target("llvm"):` enters one')
        return entered[-1] if entered else None

    @staticmethod
    def list_kinds() -> list[str]:
        """The kinds that have names here."""
        return list(Target.TARGET_KINDS)

    def export(self) -> dict[str, Any]:
        """The kind and the options."""
        return {"kind": str(self.kind), **self.attrs}

    def with_host(self, host: Any) -> "Target":
        """The target with another host."""
        return Target(self, host)

    def __enter__(self) -> Self:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _entered.set(_entered.get()[:-1])

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target | str) and str(other) == self.text

    def __hash__(self) -> int:
        return hash(self.text)


create = Target


def _of_model(kind: str) -> Callable[..., Target]:
    """What makes targets of a kind for a model of processors."""

    def make(model: str = "unknown", options: Any = None) -> Target:
        del options
        return Target(f"{kind} -model={model}")

    make.__doc__ = f"The target `{kind}` for a model of processors."
    return make


cuda, arm_cpu = _of_model("cuda"), _of_model("llvm -device=arm_cpu")
intel_graphics, mali = _of_model("opencl -device=intel_graphics"), _of_model("opencl -device=mali")


@dataclass(frozen=True)
class CompilationConfig:
    """The targets of a program, as `PlanDevices` is given them."""

    host_target: Target
    primitive_targets: tuple[Target, ...]
    optional_homogeneous_target: Target | None
    """The one target, if there is one alone."""


def make_compilation_config(ctxt: Any, target: Any, target_host: Any = None) -> CompilationConfig:
    """The targets of a program: `target` is one, a list of them, or a dict by device."""
    del ctxt
    several = tuple([Target(t) for t in each_target(target)])
    host = Target(target_host or several[0].host or "llvm")
    return CompilationConfig(host, several, several[0] if len(several) == 1 else None)


def target_for(given: Any) -> Any:
    """What `relay.build` is given for a target: "native" for any of this machine's, else its name.

    A list or a dict of targets by devices is each of them; None is the target that is entered.  Where there
    are accelerators among them, it is a dict of targets by the names of devices, `cuda(0)`, on the first of
    which is what is not placed: on the accelerator, if it is the only target.
    """
    targets = list(dict.fromkeys([one_target(one) for one in each_target(given)]))
    kinds = [t for t in targets if accelerators(t)]
    if not kinds:
        return targets[0] if len(targets) == 1 else targets
    devices = {f"{kind}({i})": t for kind in kinds for i, t in enumerate(accelerators(kind))}
    others = [t for t in targets if t not in kinds]
    host = {str(cpu()): others[0] if others else "native"}
    return {**host, **devices} if others else {**devices, **host}


def each_target(given: Any) -> Sequence[Any]:
    """The targets that are given as one, a list or a dict by device (`unknown-target` for none)."""
    if not isinstance(given, Mapping | list | tuple):
        return [given]
    named = cast("Mapping[Any, Any]", given).values() if isinstance(given, Mapping) else ()
    several = [*named] or [*cast("Sequence[Any]", given)]
    if not several:
        fail("unknown-target", "no target is given", hint='give one, such as "llvm"')
    return several


def one_target(given: Any) -> str:
    """The name of a target: "native" for this processor, the kind of an accelerator, or what is given."""
    target = given if given is not None else Target.current()
    name = "native" if target is None else str(target).partition(" ")[0]
    if isinstance(target, Device):
        name = target.kind
    if name not in OTHER_NAMES and name not in ACCELERATORS:
        return str(target or name)
    kind = device(name).kind
    exists = device(name).exist
    return str(target or name) if not exists else "native" if kind == "cpu" else kind
