"""Operators over one, two and three spatial axes, each family of them written once."""

import re
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from relay.op.base import Operator
from relay.op.nn.layout import SPATIAL
from relay.op.registry import operator

C = TypeVar("C", bound="type[Operator]")


@dataclass(frozen=True, eq=False)
class ByRank:
    """The values of a class attribute, or of the default of a field, for one, two and three spatial axes."""

    values: tuple[Any, Any, Any]


def by_rank(one: Any, two: Any, three: Any) -> Any:
    """A class attribute, or the default of a field, that depends on the number of spatial axes."""
    return ByRank((one, two, three))


def each_axis(value: int) -> Any:
    """The default of a field that has a number for each spatial axis."""
    return by_rank(*[(value,) * rank for rank in SPATIAL])


DATA_LAYOUT = by_rank("NCW", "NCHW", "NCDHW")
KERNEL_LAYOUT = by_rank("OIW", "OIHW", "OIDHW")


def for_ranks(name: str, cls: C) -> tuple[C, C, C]:
    """Register the operators over one, two and three spatial axes that a class describes.

    `name` has `{}` for the rank: `Conv1D, Conv2D, Conv3D = for_ranks("nn.conv{}d", Conv)`.  Each operator is
    a subclass with its `rank` and its value of each attribute that is `by_rank`.  In the docstring `{axes}`
    becomes `h, w` for rank 2, `{kaxes}` `kh, kw`; of the examples it keeps those that call the operator.
    """
    one, two, three = [_of_rank(cls, name.format(rank), rank) for rank in SPATIAL]
    return one, two, three


def _of_rank(cls: C, name: str, rank: int) -> C:
    words = name.rpartition(".")[2].replace(f"{rank}d", f"{rank}D").split("_")
    own = {k: v.values[rank - 1] for k in dir(cls) if isinstance(v := getattr(cls, k), ByRank)}
    own |= {"rank": rank, "__module__": cls.__module__, "__doc__": _docstring(cls, name, rank)}
    own["__annotations__"] = {f.name: f.type for f in fields(cls) if f.name in own}  # pyright: ignore[reportArgumentType]
    made: Any = type(cls)("".join([w[0].upper() + w[1:] for w in words]), (cls,), own)  # pyright: ignore[reportGeneralTypeIssues]
    return operator(name)(made)


def _docstring(cls: type[Operator], name: str, rank: int) -> str:
    text, *examples = (cls.__doc__ or "").split("relay> ")
    letters = SPATIAL[rank].lower()
    text = re.sub(r"\{(\w?)axes\}", lambda found: ", ".join([found[1] + axis for axis in letters]), text)
    own = [f"relay> {example.rstrip()}" for example in examples if example.startswith(f"{name}(")]
    return text.replace("{rank}", str(rank)) + "".join(own)
