"""What the devices of a mesh send each other, counted in the code that XLA has compiled."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

KINDS = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "collective-broadcast",
)
_CALL = re.compile(rf"= (?P<type>.+?) (?P<kind>{'|'.join(KINDS)})(?:-start)?\(")
_TENSOR = re.compile(r"\b(?P<dtype>pred|[a-z]+\d+)\w*\[(?P<shape>[\d,]*)\]")


@dataclass(frozen=True, slots=True)
class Collectives:
    """How many there are of each kind, and how many bytes their results have on one device."""

    counts: Mapping[str, int]
    bytes: int

    def __str__(self) -> str:
        return ", ".join([f"{n} {kind}" for kind, n in self.counts.items()]) or "no collectives"


def collectives_in(text: str) -> Collectives:
    """The collectives in optimised HLO, as XLA prints it.  Those that start and end apart count once."""
    counts: dict[str, int] = {}
    total = 0
    for found in _CALL.finditer(text):
        counts[found["kind"]] = counts.get(found["kind"], 0) + 1
        tensors = list(_TENSOR.finditer(found["type"]))
        if "-start(" in found[0]:  # its result has the operands too
            tensors = tensors[len(tensors) // 2 :]
        total += sum(map(bytes_of, tensors))
    return Collectives({kind: counts[kind] for kind in KINDS if kind in counts}, total)


def bytes_of(tensor: re.Match[str]) -> int:
    """How many bytes a tensor has, written like `f32[2,3]`."""
    bits = re.search(r"\d+", tensor["dtype"])
    size = prod([int(n) for n in tensor["shape"].split(",") if n])
    return -(-size * (int(bits[0]) if bits else 8) // 8)
