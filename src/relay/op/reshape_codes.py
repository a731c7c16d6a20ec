"""New shapes as `reshape` is given them: sizes, and codes for what becomes of the sizes there are."""

from collections.abc import Sequence
from typing import Any

from relay.ir.dim import product
from relay.ir.type import Dim
from relay.op.attribute import is_dimension
from relay.op.axes import Checker, attribute_fault

MERGED, SPLIT, REST = -3, -4, -2
"""Codes in a new shape; see `Reshape`."""


def reshaped(t: Checker, dims: Sequence[Dim], newshape: Sequence[int], *, allowzero: bool) -> tuple[Dim, ...]:
    """The shape that `newshape` asks for; see `Reshape` for its codes."""
    out: list[Dim] = []
    spare_in: list[Dim] = []  # sizes that are not copied one to one: the rest must have equal products
    spare_out: list[Dim] = []
    inferred: int | None = None
    at = 0
    for code in code_groups(t, newshape):
        match code:
            case 0 if not allowzero:
                out.append(_take(t, dims, at, newshape))
                at += 1
            case -1:
                if inferred is not None:
                    attribute_fault(t, "newshape", tuple(newshape), "only one size can be -1")
                inferred = len(out)
                out.append(1)
                spare_in += dims[at : at + 1]
                at += 1
            case int() if code == REST:
                out += dims[at:]
                at = len(dims)
            case int() if code == MERGED:
                out.append(_take(t, dims, at, newshape) * _take(t, dims, at + 1, newshape))
                at += 2
            case (a, b):
                out += _split(t, _take(t, dims, at, newshape), a, b, newshape)
                at += 1
            case _ if is_dimension(code) or code >= 0:
                out.append(code)
                spare_out.append(code)
                spare_in += dims[at : at + 1]
                at += 1
            case _:
                attribute_fault(t, "newshape", tuple(newshape), f"there is no code {code}")
    whole, part = product([*spare_in, *dims[at:]]), product(spare_out)
    if inferred is None:
        t.require(whole, "==", part, _why(dims, newshape, 0 in newshape and not allowzero), "reshape-size")
    else:
        if part == 0:
            attribute_fault(t, "newshape", tuple(newshape), "-1 stands for any size beside a size of 0")
        t.require(
            part, "divides", whole, _why(dims, newshape, 0 in newshape and not allowzero), "reshape-size"
        )
        out[inferred] = whole // part
    return tuple(out)


def _why(dims: Sequence[Dim], newshape: Sequence[int], copies: bool) -> str:
    text = ", ".join("?" if not isinstance(d, int) else str(d) for d in dims)
    given = f"({text},)" if len(dims) == 1 else f"({text})"
    copied = ", where 0 copies a size," if copies else ""
    return f"reshape of {given} to {tuple(newshape)}{copied} keeps the number of elements"


def code_groups(t: Checker, newshape: Sequence[int]) -> list[Any]:
    """The codes, with -4 and the two sizes after it as a pair."""
    codes: list[Any] = []
    rest = list(newshape)
    while rest:
        code = rest.pop(0)
        if code == SPLIT:
            if len(rest) < 2:
                attribute_fault(t, "newshape", tuple(newshape), "-4 needs two sizes after it")
            code = (rest.pop(0), rest.pop(0))
        codes.append(code)
    return codes


def _take(t: Checker, dims: Sequence[Dim], at: int, newshape: Sequence[int]) -> Dim:
    if at >= len(dims):
        attribute_fault(
            t, "newshape", tuple(newshape), f"it refers to axis {at} of a tensor of rank {len(dims)}"
        )
    return dims[at]


def _split(t: Checker, d: Dim, a: int, b: int, newshape: Sequence[int]) -> tuple[Dim, Dim]:
    """An axis as two; one of the sizes may be -1."""
    is_open = a == -1 or b == -1
    if any(not is_dimension(x) and x < -1 for x in (a, b)) or (is_open and {a, b} <= {-1, 0}):
        message = "after -4 come two sizes, of which one may be -1 beside a positive one"
        attribute_fault(t, "newshape", tuple(newshape), message)
    if is_open:
        known = b if a == -1 else a
        t.require(known, "divides", d, f"an axis is split by {known}", "reshape-size")
        return (d // known, b) if a == -1 else (a, d // known)
    t.require(a * b, "==", d, f"an axis is split into {a} by {b}", "reshape-size")
    return a, b


def flipped_codes(t: Checker, newshape: Sequence[int]) -> list[int]:
    """The codes from right to left."""
    codes: list[int] = []
    for code in reversed(code_groups(t, newshape)):
        codes += [SPLIT, code[1], code[0]] if isinstance(code, tuple) else [code]
    return codes
