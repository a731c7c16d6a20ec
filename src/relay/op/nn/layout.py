"""Layouts: the order of a tensor's axes as letters, such as `NCHW`; paddings and strides, one per
spatial axis.
"""

from typing import Literal

from relay.ir.dtype import is_integer
from relay.ir.type import Dim, DType, IncompleteType, Type
from relay.op.attribute import DTypeName, Sizes, is_dimension
from relay.op.base import Array, Numpy
from relay.op.relation import Typing

Spatial = int | tuple[int, ...]
OutDType = Literal[""] | DTypeName
SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def permutation(t: Typing, layout: str, wanted: str, op: str, attr: str) -> tuple[int, ...]:
    """Where each letter of `wanted` stands in `layout`; `bad-layout` if they are not the same letters."""
    if sorted(layout) != sorted(wanted):
        t.fail(
            "bad-layout",
            f'`{op}` cannot have {attr}="{layout}"',
            hint=f'a layout is an order of the letters {", ".join(wanted)}, such as "{wanted}"',
        )
    return positions(layout, wanted)


def positions(layout: str, wanted: str) -> tuple[int, ...]:
    """Where each letter of `wanted` stands in `layout`."""
    return tuple([layout.index(letter) for letter in wanted])


def to_layout(np: Numpy, x: Array, layout: str, wanted: str) -> Array:
    """`x`, whose axes are ordered as `layout`, with its axes ordered as `wanted`."""
    return x if layout == wanted else np.transpose(x, positions(layout, wanted))


def per_axis(t: Typing, value: Sizes, n: int, op: str, attr: str, least: int = 1) -> tuple[int, ...]:
    """One number for each of `n` spatial axes; `attribute-value` if there are not so many, or one is
    too small.
    """
    several = value if isinstance(value, tuple) else (value,)
    if len(several) not in (1, n):
        t.fail(
            "attribute-value",
            f"`{op}` has {len(several)} numbers in {attr}={several}",
            hint=f"give one number, or one for each of the {n} spatial axes",
        )
    if any(not is_dimension(v) and v < least for v in several):
        t.fail(
            "attribute-value", f"`{op}` cannot have {attr}={value}", hint=f"each number is at least {least}"
        )
    return ntuple(value, n)


def ntuple(value: Sizes, n: int) -> tuple[int, ...]:
    """One number for each of `n` axes; a single one repeats."""
    several = value if isinstance(value, tuple) else (value,)
    return several * n if len(several) == 1 else several


def pads(padding: Spatial, n: int) -> tuple[tuple[int, int], ...]:
    """`(before, after)` for each of `n` spatial axes: from one number, `n` numbers, or all before and
    then all after.
    """
    several = (padding,) if isinstance(padding, int) else padding
    several = several * n if len(several) == 1 else several
    return tuple(zip(several[:n], several[-n:], strict=True))


def checked_pads(t: Typing, padding: Spatial, n: int, op: str) -> tuple[tuple[int, int], ...]:
    """`pads`, with `attribute-value` for another count of numbers or negative ones."""
    several = (padding,) if isinstance(padding, int) else padding
    if len(several) not in (1, n, 2 * n):
        t.fail(
            "attribute-value",
            f"`{op}` has {len(several)} numbers in padding={several}",
            hint=f"give 1, {n} or {2 * n} numbers: the last form is all sizes before, then all sizes after",
        )
    if any(p < 0 for p in several):
        t.fail("attribute-value", f"`{op}` cannot have padding={padding}", hint="padding is not negative")
    return pads(padding, n)


def result_dtype(t: Typing, x: Type, weight: Type, out_dtype: str) -> DType:
    """The dtype of a contraction; its operands have one dtype, unless integers go to a given one."""
    if out_dtype and is_integer(out_dtype):
        if isinstance(t.dtype(weight), IncompleteType):
            t.equal(t.dtype(weight), t.known_dtype(x), why="nothing else says the dtype of the weight")
        a, b = t.known_dtype(x), t.known_dtype(weight)
        if not (is_integer(a) and is_integer(b)):
            t.equal(t.dtype(weight), t.dtype(x), why="data and weight have one dtype")
        return out_dtype
    t.equal(t.dtype(weight), t.dtype(x), why="data and weight have one dtype")
    return out_dtype or t.dtype(x)


def same_size(t: Typing, d: Dim, n: int, why: str) -> None:
    """Demand that a dimension is the number that an attribute says; one that is open becomes it."""
    if t.static(d) is None:
        t.equal(d, n, why=why)
    else:
        t.require(d, "==", n, why)
