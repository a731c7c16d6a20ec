"""What fusion asks of shapes and operators: which loops are the same, and what is computed several times."""

from functools import cache

from relay.ir.expr import Call, Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.base import Operator, registry
from relay.op.column import Column
from relay.op.reduce import Along
from relay.transform.fusion_graph import Kind
from relay.typecheck.types import Types

costly = Column[bool](default=False)
"""Operators that take so long for an element that storing it is better than computing it several times."""
for _name in (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf", "exp", "log", "log10",
    "log2", "power", "sigmoid", "sin", "sinh", "tan", "tanh",
):  # fmt: skip
    costly[registry[_name]] = True

RESHAPING = frozenset({"expand_dims", "reshape", "squeeze"})
"""Operators that may keep every element in its row."""
REPEATING = frozenset(
    {"adv_index", "gather", "gather_nd", "meshgrid", "repeat", "sliding_window", "take", "tile"}
)
"""Injective operators that may read an element several times."""
Sizes = tuple[Dim, ...]
Row = tuple[Sizes, object]
"""What a reduction goes through: the sizes of its operand, and which axes of it are combined."""


@cache
def is_costly(op: type[Operator]) -> bool:
    """Whether storing an element is better than computing it several times."""
    return costly[op]


def sizes(t: Type) -> Sizes | None:
    """The shape of a tensor whose rank is known."""
    return t.shape if type(t) is TensorType and isinstance(t.shape, tuple) else None


def long_axes(shape: Sizes) -> list[Dim]:
    """A shape without the axes of size 1, which a loop does not see."""
    return [d for d in shape if d != 1]


def is_within(shape: Sizes | None, whole: Sizes) -> bool:
    """Whether a loop over `whole` passes through the elements of a tensor of that shape on the way."""
    if shape is None:
        return False
    rest = iter(whole)
    return all(any(d == w for w in rest) for d in long_axes(shape))


def is_stretched(t: Type, by: Type) -> bool:
    """Whether a loop over a tensor of type `by` comes back to elements of one of type `t` after others.

    One that is stretched along its last axes alone is computed before the loop along these begins.
    """
    if t is by:
        return False
    small, large = sizes(t), sizes(by)
    if small is None or large is None:
        return True
    added, stretched = len(large) - len(small), False
    for i, d in enumerate(large):
        own = small[i - added] if i >= added >= 0 else 1
        if own != 1 and stretched:
            return True
        stretched = stretched or (own == 1 and d != 1)
    return False


def is_repeated(e: Expr, kind: Kind, user: Expr, types: Types) -> bool:
    """Whether `user`, a node of that kind, reads elements of `e` several times."""
    if kind is Kind.BROADCAST:
        return is_stretched(types(e), types(user))
    return kind is Kind.INJECTIVE and type(user) is Call and user.attrs.name in REPEATING


def row(e: Expr, types: Types) -> Row | None:
    """What a reduction goes through; None if the rank of its operand is not known."""
    assert type(e) is Call
    shape = sizes(types(e.args[0]))
    if shape is None:
        return None
    return shape, e.attrs.axes(len(shape)) if isinstance(e.attrs, Along) else types(e)


def keeps_rows(e: Expr, types: Types) -> bool:
    """Whether an injective operator only leaves out or adds axes of size 1."""
    if type(e) is not Call or e.attrs.name not in RESHAPING:
        return False
    before, after = sizes(types(e.args[0])), sizes(types(e))
    return before is not None and after is not None and long_axes(before) == long_axes(after)
