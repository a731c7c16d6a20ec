"""What a library can ask of the namespace: `__array_namespace_info__`."""

from typing import Any

from relay.numpy import dtypes
from relay.numpy.array import CPU, check_device
from relay.numpy.dtypes import DType


class NamespaceInfo:
    """Devices, dtypes and capabilities of `relay.numpy`."""

    def capabilities(self) -> dict[str, Any]:
        """What arrays may be indexed and made with."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The one device."""
        return CPU

    def devices(self) -> list[str]:
        """All devices."""
        return [CPU]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes of numbers that nothing else decides."""
        check_device(device)
        return {
            "real floating": dtypes.DEFAULT_FLOAT,
            "integral": dtypes.DEFAULT_INTEGER,
            "indexing": dtypes.INDEX,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The dtypes of the standard by name, those of a kind of `isdtype`, or of several."""
        check_device(device)
        names = [name for group in dtypes.STANDARD.values() for name in group]
        found = {name: dtypes.checked_dtype(name) for name in names}
        return {name: d for name, d in found.items() if kind is None or dtypes.isdtype(d, kind)}


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807 - the standard's name
    """What there is: devices, dtypes, capabilities."""
    return NamespaceInfo()
