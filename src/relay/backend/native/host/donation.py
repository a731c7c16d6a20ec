"""Arrays that a call may overwrite, since the caller gives them up: which can be, and which overlap.

An array can be overwritten if it may be written to, has its memory to itself, and its elements lie in C
order, aligned, in the dtype of the parameter.  Any other is read as ever, and a result is made elsewhere.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from relay.backend.native.host.python_objects import capsule_type
from relay.diagnostic import fail
from relay.ir.expr import Function


class Lent(NamedTuple):
    """An array whose elements a call reads where they are."""

    begin: int
    end: int
    """Where its bytes begin and end."""
    param: int
    """The number of the parameter that it came in by."""
    address: int
    """The tensor that it is for the call."""
    is_donated: bool
    """Whether that may be overwritten."""


class Donation:
    """The arrays of one call."""

    def __init__(self, header: Function, donated: tuple[int, ...]) -> None:
        """`donated` are the numbers of the parameters that are given up."""
        self.header = header
        self.donated = frozenset(donated)
        self.param = -1
        """The parameter whose argument comes in."""
        self.lent: list[Lent] = []
        self.arrays: dict[int, Any] = {}
        """Those that may be overwritten, by the tensors that they are."""

    def takes(self, x: Any) -> bool:
        """Whether an array that comes in may be overwritten."""
        return self.param in self.donated and may_overwrite(x)

    def note(self, x: Any, begin: int, address: int, is_donated: bool) -> None:
        """Note where an array is that comes in."""
        if x.nbytes:
            self.lent.append(Lent(begin, begin + x.nbytes, self.param, address, is_donated))
        if is_donated:
            self.arrays[address] = x

    def settle(self, keep: Callable[[int], None]) -> None:
        """Call `keep(address)` for each array that shares memory with another one, which is only read then
        (`donated`, if both are given up).
        """
        last: Lent | None = None
        for x in sorted(self.lent):
            if last is not None and x.begin < last.end:
                if x.param in self.donated and last.param in self.donated:
                    self.refuse(last, x)
                for one in (last, x):
                    if one.is_donated and self.arrays.pop(one.address, None) is not None:
                        keep(one.address)
            if last is None or x.end > last.end:
                last = x

    def refuse(self, a: Lent, b: Lent) -> None:
        """Report two arrays that are given up and share memory."""
        names = sorted({f"`%{self.header.params[x.param].name_hint}`" for x in (a, b)})
        what = (
            f"{names[0]} and {names[1]} share memory" if len(names) > 1 else f"{names[0]} has one array twice"
        )
        hint = "give each its own: `array.copy()`"
        fail("donated", f"arguments that are donated are given twice: {what}", self.header.span, hint=hint)


def may_overwrite(x: Any) -> bool:
    """Whether an array may be written to and has its memory to itself, or from a compiled program."""
    if type(x) is not np.ndarray:
        return False
    flags, base = x.flags, x.base
    owns = flags.owndata or type(base) is capsule_type() or hasattr(base, "relay_memory")
    return bool(flags.writeable and flags.c_contiguous and flags.aligned and owns)
