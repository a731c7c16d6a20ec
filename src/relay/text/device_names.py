"""Devices of programs of TVM, by the numbers that its files have and the names that its scripts print."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

KINDS: Mapping[int, str] = MappingProxyType({
    1: "cpu", 2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 9: "vpi", 10: "rocm", 12: "ext_dev",
    14: "hexagon", 15: "webgpu",
})  # fmt: skip
"""The kinds of devices by number, those of DLPack among them."""


def device_name(attrs: Mapping[str, Any]) -> str:
    """The name of the device that a node `VirtualDevice` stands for, `cuda(0)`; empty where it is left open.

    The node's number is `-1` where any kind will do, and its `virtual_device_id` where any of the kind will.
    """
    number = str(attrs.get("device_type_int", ""))
    kind = KINDS.get(int(number), "") if number.isdecimal() else ""
    which = str(attrs.get("virtual_device_id", ""))
    return f"{kind}({which if which.isdecimal() else 0})" if kind else ""
