"""Devices by the names that scripts call them; the processor is the one that is here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from relay.diagnostic import fail
from relay.text.device_names import KINDS

__all__ = [
    "Device", "cl", "context", "cpu", "cuda", "device", "ext_dev", "gpu", "hexagon", "metal", "mtl", "opencl",
    "rocm", "vpi", "vulkan", "webgpu",
]  # fmt: skip

NUMBERS = {kind: number for number, kind in KINDS.items()}
"""The numbers of kinds of devices, as DLPack and scripts have them."""
OTHER_NAMES = {
    "llvm": "cpu", "c": "cpu", "stackvm": "cpu", "native": "cpu", "nvptx": "cuda", "gpu": "cuda",
    "cl": "opencl", "sdaccel": "opencl", "aocl": "opencl", "mtl": "metal",
}  # fmt: skip
"""Kinds of targets and short names, by the kind of device that they run on."""
ACCELERATORS = {"cuda": "gpu", "rocm": "gpu"}
"""Kinds of devices that XLA compiles for, by its own names."""


def accelerators(kind: str) -> list[str]:
    """The targets of the devices of a kind that XLA finds on this machine, in order."""
    if kind not in ACCELERATORS or find_spec("jax") is None:
        return []
    from relay.backend.xla.platforms import count_of

    return [f"xla {ACCELERATORS[kind]}:{i}" for i in range(count_of(kind))]


@dataclass(frozen=True)
class Device:
    """A device by its kind and number."""

    kind: str
    device_id: int = 0

    @property
    def device_type(self) -> int:
        """The number of its kind."""
        return NUMBERS[self.kind]

    @property
    def exist(self) -> bool:
        """Whether programs can run on it."""
        on_host = self.kind == "cpu" and self.device_id == 0
        return on_host or self.device_id < len(accelerators(self.kind))

    def sync(self) -> None:
        """Nothing: calls are done when they return."""

    def __str__(self) -> str:
        return f"{self.kind}({self.device_id})"

    __repr__ = __str__


def device(dev_type: Any, dev_id: int = 0) -> Device:
    """The device of a kind (`"cpu"`, `"llvm"`, `"cuda"`, or its number) and number.

    Raises `unknown-target` for a kind that nothing is known by.
    """
    if isinstance(dev_type, Device):
        return dev_type
    kinds = {str(number): kind for kind, number in NUMBERS.items()}
    name = str(dev_type).partition(" ")[0]
    kind = kinds.get(name, OTHER_NAMES.get(name, name))
    if kind not in NUMBERS:
        fail(
            "unknown-target", f"there is no kind of devices `{name}`", hint=f"there are {', '.join(NUMBERS)}"
        )
    return Device(kind, dev_id)


context = device


def checked(given: Device | Sequence[Device] | None) -> Device:
    """The device that a program is to run on, which is here (`unknown-target`)."""
    several: Sequence[Any] = [given] if given is None or isinstance(given, Device) else given
    for one in several:
        if one is not None and not device(one).exist:
            hint = "use `tvm.cpu()`; `tvm.cuda()` is a GPU that JAX finds, where it is installed for one"
            fail("unknown-target", f"programs cannot run on `{one}`", hint=hint)
    return cpu()


def _of_kind(kind: str) -> Callable[..., Device]:
    """What makes devices of a kind."""

    def make(dev_id: int = 0) -> Device:
        return Device(kind, dev_id)

    make.__name__ = make.__qualname__ = kind
    make.__doc__ = f"The device of the kind {kind} with that number; its `exist` says whether it is here."
    return make


cpu, cuda, opencl, vulkan, metal = map(_of_kind, ("cpu", "cuda", "opencl", "vulkan", "metal"))
rocm, vpi, ext_dev, hexagon, webgpu = map(_of_kind, ("rocm", "vpi", "ext_dev", "hexagon", "webgpu"))
gpu, cl, mtl = cuda, opencl, metal
