"""The platforms that programs are exported for, and the devices of this machine that belong to one."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from relay.backend.xla.platforms import is_there, kind_of, load_jax
from relay.diagnostic import did_you_mean, fail

PLATFORMS = ("cuda", "tpu", "rocm", "cpu")
"""What programs are exported for."""
OF_KIND = {"cpu": ("cpu",), "gpu": ("cuda", "rocm"), "tpu": ("tpu",)}
"""The platforms of a kind of devices that a target names."""


def load_export() -> Any:
    """JAX, with `jax.export` (`no-xla`)."""
    jax = load_jax()
    try:
        import_module("flatbuffers")
    except ImportError:
        hint = "pip install 'relay-ir[xla]'"
        fail("no-xla", "exported programs need the package flatbuffers, which is not installed", hint=hint)
    import_module("jax.export")
    return jax


def named_platforms(names: Sequence[str] | str) -> tuple[str, ...]:
    """Platforms by their names, each once (`unknown-target`)."""
    several = (names,) if isinstance(names, str) else tuple(names)
    for name in several:
        if name not in PLATFORMS:
            listing = f"they are {', '.join(PLATFORMS)}"
            hint = listing if name in OF_KIND else did_you_mean(str(name), PLATFORMS) or listing
            fail("unknown-target", f"programs cannot be exported for `{name}`", hint=hint)
    if not several:
        fail(
            "unknown-target",
            "there is no platform to export for",
            hint=f"name some of {', '.join(PLATFORMS)}",
        )
    return tuple(dict.fromkeys(several))


def platforms_of(target: object) -> tuple[str, ...]:
    """The platforms that a target like `xla gpu` stands for; of `xla`, that of this machine's device."""
    kind = kind_of(target)
    return (platform_of(load_jax().devices()[0]),) if kind is None else OF_KIND[kind]


def platform_of(device: Any) -> str:
    """The platform that a device belongs to."""
    if device.platform != "gpu":
        return device.platform
    return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"


def device_of(platforms: Sequence[str]) -> Any:
    """A device of this machine on one of some platforms, the one that JAX prefers if it can be; or None."""
    jax = load_jax()
    preferred = jax.devices()[0]
    if platform_of(preferred) in platforms:
        return preferred
    return next((jax.devices(p)[0] for p in platforms if is_there(p)), None)
