"""JAX and the devices that it knows.  No other module imports it, and this one when a program is built."""

from functools import cache
from importlib import import_module
from typing import Any

from relay.analysis.sharding import Sharding
from relay.diagnostic import did_you_mean, fail

OLDEST = (0, 9)
"""The first version of JAX that programs run on."""
KINDS = ("cpu", "gpu", "tpu")
"""The kinds of devices that a target may name."""
INSTALL = "pip install 'relay-ir[xla]'"


@cache
def load_jax() -> Any:
    """JAX (`no-xla`)."""
    try:
        jax = import_module("jax")
    except ImportError:
        fail("no-xla", "programs for XLA need JAX, which is not installed", hint=INSTALL)
    if version_of(jax) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        fail("no-xla", f"JAX {jax.__version__} is too old: programs for XLA need {oldest}", hint=INSTALL)
    return jax


def version_of(jax: Any) -> tuple[int, ...]:
    """Its version, without what is behind the second point."""
    return tuple(map(int, jax.__version__.split(".")[:2]))


def kind_of(target: object) -> str | None:
    """The kind of device that a target like `xla gpu` names, None for any (`unknown-target`)."""
    return kind_and_number(target)[0]


def kind_and_number(target: object) -> tuple[str | None, int | None]:
    """The kind of device that a target names, and which of them, as in `xla gpu:1` (`unknown-target`)."""
    _, *words = str(target).split()
    if not words:
        return None, None
    kind, colon, number = words[0].partition(":")
    if len(words) > 1 or kind not in KINDS or (colon and not number.isdecimal()):
        names = [f"xla {kind}" for kind in KINDS]
        hint = did_you_mean(str(target), ["xla", *names])
        hint = hint or f"use `xla`, or one of {', '.join(names)}; `xla gpu:1` is the second GPU"
        fail("unknown-target", f"programs cannot be compiled for `{target}`", hint=hint)
    return kind, int(number) if colon else None


def named_device(target: object) -> Any:
    """The device that a target names; the first of its kind, or of those that JAX prefers, where it names
    none (`no-xla`, `unknown-target`).
    """
    kind, number = kind_and_number(target)
    first = first_device(kind)
    there = load_jax().devices(kind)
    if number is not None and number >= len(there):
        last = f"the last one is `xla {kind}:{len(there) - 1}`"
        hint = f"{last}; for more on a CPU, set XLA_FLAGS=--xla_force_host_platform_device_count={number + 1}"
        many = f"{len(there)} {kind} device{'s' if len(there) > 1 else ''}"
        fail("unknown-target", f"JAX finds {many} on this machine", hint=hint if kind == "cpu" else last)
    return there[number] if number is not None else first


def first_device(kind: str | None) -> Any:
    """The first device of a kind, or of those that JAX prefers (`no-xla`, `unknown-target`)."""
    jax = load_jax()
    try:
        return jax.devices(kind)[0]
    except RuntimeError:
        there = ", ".join([f"`xla {k}`" for k in KINDS if k != kind and is_there(k)])
        fail("unknown-target", f"JAX finds no {kind} on this machine", hint=f"it has devices for {there}")


def is_there(kind: str) -> bool:
    """Whether there is a device of a kind."""
    return count_of(kind) > 0


def count_of(kind: str) -> int:
    """How many devices of a kind, or of a platform such as `cuda`, there are."""
    try:
        return len(load_jax().devices(kind))
    except RuntimeError:
        return 0


def mesh_of(sharding: Sharding, kind: str | None) -> Any:
    """A mesh of devices of a kind, or of those that JAX prefers (`bad-mesh`, `no-xla`, `unknown-target`)."""
    first = first_device(kind)
    jax = load_jax()
    there = jax.devices(first.platform)
    if sharding.size > len(there):
        few = f"JAX finds {len(there)} {first.platform} device{'s' if len(there) > 1 else ''}"
        hint = f"to try it on the CPU, set XLA_FLAGS=--xla_force_host_platform_device_count={sharding.size}"
        message = f"the mesh of `@{sharding.name}` has {sharding.size} devices, and {few}"
        fail("bad-mesh", message, sharding.span, hint=hint)
    if sharding.size < len(there) and jax.process_count() > 1:
        message = f"the mesh of `@{sharding.name}` has {sharding.size} devices of {len(there)}"
        fail("bad-mesh", message, sharding.span, hint="a mesh over several processes has all their devices")
    sizes, names = tuple(sharding.mesh.values()), tuple(sharding.mesh)
    types = (jax.sharding.AxisType.Auto,) * len(names)
    return jax.make_mesh(sizes, names, types, devices=there[: sharding.size])
