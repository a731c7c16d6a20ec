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
    _, *kinds = str(target).split()
    if not kinds:
        return None
    if len(kinds) > 1 or kinds[0] not in KINDS:
        names = [f"xla {kind}" for kind in KINDS]
        hint = did_you_mean(str(target), ["xla", *names]) or f"use `xla`, or one of {', '.join(names)}"
        fail("unknown-target", f"programs cannot be compiled for `{target}`", hint=hint)
    return kinds[0]


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
    try:
        return bool(load_jax().devices(kind))
    except RuntimeError:
        return False


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
