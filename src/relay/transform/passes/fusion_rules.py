"""Facts about shapes and operators that fusion needs: equal loops, and what is computed repeatedly."""

from collections.abc import Sequence

from relay.ir.expr import Call, Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.blocks.dequantize import Stored
from relay.op.blocks.rounding import RoundGroups
from relay.op.reduce import Along
from relay.transform.passes.fusion_graph import Kind
from relay.typecheck.types import Types

Sizes = tuple[Dim, ...]
Row = tuple[Sizes, object]
"""What a reduction goes through: the sizes of its operand, and which axes of it are combined."""


def computes(e: Expr, kind: Kind) -> bool:
    """Whether there is arithmetic to do for each element."""
    return kind <= Kind.BROADCAST and type(e) is Call and e.attrs.computes


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


def is_repeated(e: Expr, kind: Kind, user: Expr, types: Types, in_kernel: bool) -> bool:
    """Whether `user`, a node of that kind, reads elements of `e` several times.

    The order of a kernel's loops is its own, so that only what is a single number comes before all of them.
    """
    if kind is not Kind.BROADCAST:
        return kind is Kind.INJECTIVE and type(user) is Call and user.attrs.rereads
    if not in_kernel:
        return is_stretched(types(e), types(user))
    small, large = sizes(types(e)), sizes(types(user))
    if small is None or large is None:
        return True
    return any(d != 1 for d in small) and long_axes(small) != long_axes(large)


def row(e: Expr, types: Types) -> Row | None:
    """What a reduction goes through; None if the rank of its operand is not known."""
    assert type(e) is Call
    shape = sizes(types(e.args[0]))
    if shape is None:
        return None
    return shape, e.attrs.axes(len(shape)) if isinstance(e.attrs, Along) else types(e)


def keeps_rows(e: Expr, types: Types) -> bool:
    """Whether an injective operator only leaves out or adds axes of size 1."""
    if type(e) is not Call or not e.attrs.keeps_order:
        return False
    before, after = sizes(types(e.args[0])), sizes(types(e))
    return before is not None and after is not None and long_axes(before) == long_axes(after)


def is_decoded_by(e: Expr, user: Expr, operands: Sequence[Expr], types: Types) -> bool:
    """Whether a product, with these operands, reads what `e` decodes where it lies, in float32: the matrix
    that has a row for each column of the result.
    """
    if type(e) is not Call or type(user) is not Call or len(operands) != 2 or operands[1] is not e:
        return False
    product = user.attrs.product()
    if product is None or not product.transpose_b or product.transpose_a or operands[0] is e:
        return False
    if not e.args:
        return False
    data, whole, found = types(e.args[0]), types(e), types(user)
    if not isinstance(data, TensorType) or not isinstance(found, TensorType) or found.dtype != "float32":
        return False
    is_matrix = len(sizes(whole) or ()) == 2
    return is_matrix and isinstance(data.dtype, str) and e.attrs.is_decoding(data.dtype)


def is_rounded_by(e: Expr, user: Expr, operands: Sequence[Expr], types: Types) -> bool:
    """Whether a product rounds what `e` rounds itself: it has weights in blocks."""
    if type(e) is not Call or not isinstance(e.attrs, RoundGroups) or e.attrs.group != RoundGroups.group:
        return False
    if len(operands) != 2 or operands[0] is not e or not is_decoded_by(operands[1], user, operands, types):
        return False
    t, decoder = types(e), operands[1]
    assert type(decoder) is Call
    return isinstance(t, TensorType) and t.dtype == "float32" and isinstance(decoder.attrs, Stored)
