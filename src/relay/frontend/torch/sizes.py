"""Numbers that PyTorch traced: sizes, and arithmetic on them."""

from collections.abc import Callable
from math import prod
from typing import Any

from relay.frontend.support import cast
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import as_number, count_of, size_at
from relay.frontend.value import Value, call, constant

SYM_FLOAT_DTYPE = "float64"
"""The dtype of a `SymFloat`."""


@converts("operator.getitem")
def getitem(node: Node, whole: Any, index: int) -> Any:
    """One of several results; None for one that nothing uses."""
    return whole[index] if index < len(whole) else None


@converts("aten.sym_size.int", "aten.size.int")
def sym_size(node: Node, x: Value, axis: int) -> Any:
    """The size of an axis."""
    return size_at(x, axis % x.rank)


@converts("aten.sym_numel", "aten.numel")
def sym_numel(node: Node, x: Value) -> Any:
    """The number of elements."""
    return count_of(x, range(x.rank))


@converts("aten.sym_stride.int")
def sym_stride(node: Node, x: Value, axis: int) -> Any:
    """How far elements along an axis are apart, in a dense tensor."""
    rest = x.shape[axis % x.rank + 1 :]
    return (
        prod(rest) if all(isinstance(d, int) for d in rest) else count_of(x, range(axis % x.rank + 1, x.rank))
    )


@converts("aten.sym_storage_offset")
def sym_storage_offset(node: Node, x: Value) -> int:
    """Where the elements begin: every tensor has its own."""
    return 0


@converts("aten.sym_is_contiguous")
def sym_is_contiguous(node: Node, x: Value, *_: Any) -> bool:
    """Every tensor is dense."""
    return True


def promoted_sizes(*xs: Any) -> tuple[Value, ...]:
    """Operands in the dtype of numbers: whole, or floats if one is."""
    floats = any(x.is_float if isinstance(x, Value) else isinstance(x, float) for x in xs)
    dtype = SYM_FLOAT_DTYPE if floats else "int64"
    return tuple([cast(x, dtype) if isinstance(x, Value) else constant(x, dtype) for x in xs])


ARITHMETIC = {
    "operator.add": "add", "operator.sub": "subtract", "operator.mul": "multiply",
    "operator.floordiv": "floor_divide", "operator.mod": "floor_mod", "operator.pow": "power",
    "torch.sym_max": "maximum", "torch.sym_min": "minimum", "operator.truediv": "divide",
    "operator.eq": "equal", "operator.ne": "not_equal", "operator.lt": "less", "operator.le": "less_equal",
    "operator.gt": "greater", "operator.ge": "greater_equal",
}  # fmt: skip


def _binary(name: str) -> Callable[..., Any]:
    def convert(node: Node, x: Any, y: Any) -> Any:
        a, b = promoted_sizes(x, y)
        if name == "divide":
            a, b = cast(a, SYM_FLOAT_DTYPE), cast(b, SYM_FLOAT_DTYPE)
        return call(name, a, b)

    return convert


for _name, _ours in ARITHMETIC.items():
    converts(_name)(_binary(_ours))


@converts("torch.sym_sum")
def sym_sum(node: Node, xs: list[Any]) -> Any:
    """The sum of several numbers."""
    total = as_number(xs[0])
    for x in xs[1:]:
        total = total + as_number(x)
    return total


@converts("operator.neg")
def neg(node: Node, x: Any) -> Any:
    """`-x`."""
    return -x


@converts("torch.sym_float")
def sym_float(node: Node, x: Any) -> Any:
    """A whole number as a float."""
    return cast(as_number(x), SYM_FLOAT_DTYPE)


@converts("torch.sym_int", "math.trunc")
def sym_int(node: Node, x: Any) -> Any:
    """A number without what is behind the point."""
    return cast(x, "int64")


@converts("math.floor", "math.ceil", "math.sqrt", "torch._sym_sqrt")
def rounded(node: Node, x: Any) -> Any:
    """Functions of one number."""
    name = node.operator.rpartition(".")[2].removeprefix("_sym_")
    found = call(name, cast(as_number(x) if isinstance(x, int) else x, SYM_FLOAT_DTYPE))
    return found if name == "sqrt" else cast(found, "int64")


@converts("torch.sym_not", "operator.not_")
def sym_not(node: Node, x: Any) -> Any:
    """Whether a truth does not hold."""
    return call("logical_not", x) if isinstance(x, Value) else not x


@converts("torch.sym_ite")
def sym_ite(node: Node, condition: Any, x: Any, y: Any) -> Any:
    """One of two numbers."""
    if isinstance(condition, Value):
        return call("where", condition, *promoted_sizes(x, y))
    return x if condition else y


@converts("operator.and_", "operator.or_")
def both(node: Node, x: Any, y: Any) -> Any:
    """Truths, combined."""
    name = "logical_and" if "and" in node.operator else "logical_or"
    return call(name, *[v if isinstance(v, Value) else constant(v) for v in (x, y)])
