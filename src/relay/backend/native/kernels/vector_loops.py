"""Loops of kernels over numbers that lie side by side, in vectors of a machine."""

from collections.abc import Callable, Sequence

from relay.backend.native.llvm.machine import Machine
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Index
from relay.backend.native.memory.representation import scalar


def has_masks(machine: Machine, dtypes: Sequence[str]) -> bool:
    """Whether a machine moves a part of a vector of some dtypes as quickly as all of it."""
    return machine.has_masks and all(scalar(dtype) in ("float", "double") for dtype in dtypes)


def vector_loop(
    b: Builder, machine: Machine, dtypes: Sequence[str], n: Index, body: Callable[[Index], None]
) -> None:
    """Run `body(i)` for `i` from 0 to `n`, as many at once as a vector of the last of the dtypes holds; what
    does not fill a vector is masked if the machine has masks for all of the dtypes, else done one by one.
    """
    lanes = machine.lanes(scalar(dtypes[-1]))
    if has_masks(machine, dtypes):
        b.vector_loop(n, lanes, body)
        return
    whole = b.times(b.quotient(n, lanes), lanes)
    b.vector_loop(whole, lanes, body, is_whole=True)
    b.loop(b.minus(n, whole), (), lambda i, _: body(b.plus(whole, i)))
