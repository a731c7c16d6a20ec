"""Whether the rows of a program depend on each other: what may be computed for many requests at once.

The *rows* of a tensor lie along the axis whose size is a multiple of one type parameter, `n`: row `i` of an
axis of size `n * c` is the elements from `i * c` on.  Of a definition whose inputs all have their rows along
the first axis, it is shown operator by operator that row `i` of each tensor is made of rows `i` alone.  What
no rule here shows counts as dependent: a definition may be refused wrongly, and is never accepted wrongly.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias, TypeGuard

from relay.ir.dim import terms_of
from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.type import Dim, TensorType, TupleType, Type, TypeVar
from relay.ir.walk import post_order
from relay.op.arg_reduce import ArgMax, ArgMin
from relay.op.axes import SIZES
from relay.op.base import Operator
from relay.op.broadcast import BroadcastTo
from relay.op.create import Full, Ones, Zeros
from relay.op.join import Concatenate, Split, Stack
from relay.op.nn.adaptive_pool import Parts
from relay.op.nn.basic import BiasAdd
from relay.op.nn.conv import Conv
from relay.op.nn.dense import BatchMatMul, Dense, MatMul
from relay.op.nn.window import Sliding
from relay.op.pad import Pad
from relay.op.reduce import Along
from relay.op.reshape import Reshaping, Transpose
from relay.op.slice import StridedSlice
from relay.op.take import Take
from relay.typecheck.types import Types

Rows: TypeAlias = Any
"""Of a tensor the axis of its rows, or None where it is the same for all rows; of a tuple a tuple of them."""


class DependentError(Exception):
    """A place where rows may depend on each other; its text says why."""


def row_dependence(mod: IRModule, entry: str) -> str:
    """Why the rows of an annotated definition may depend on each other; an empty text where they do not.

    Calls of other definitions count as dependent: `partial_evaluate` and `expand_composites` before this
    leave operators alone.
    """
    fn = mod[entry]
    if not isinstance(fn, Function) or not fn.params:
        return "it has no inputs"
    n = leading(fn.params[0].type_annotation)
    if n is None or any(leading(p.type_annotation) is not n for p in fn.params):
        return "its inputs do not all have the same open size, such as `n`, along their first axis"
    try:
        found = _Analysis(Types(mod), n).run(fn)
    except DependentError as why:
        return str(why)
    t = fn.ret_type
    for rows, part in zip(
        *([found], [t]) if not isinstance(t, TupleType) else (found, t.fields), strict=True
    ):
        if rows != 0 or leading(part) is not n:
            return "a result does not have its rows along the first axis"
    return ""


def leading(t: Type | None) -> TypeVar | None:
    """The type parameter that is the size of the first axis of a tensor type, if one is."""
    if (
        isinstance(t, TensorType)
        and isinstance(t.shape, tuple)
        and t.shape
        and isinstance(t.shape[0], TypeVar)
    ):
        return t.shape[0]
    return None


class _Analysis:
    """One definition: where each of its values has rows."""

    def __init__(self, types: Types, n: TypeVar) -> None:
        self.types = types
        self.n = n
        self.rows: dict[Expr, Rows] = {}

    def run(self, fn: Function) -> Rows:
        """Where the result has its rows (`DependentError`)."""
        self.rows.update(dict.fromkeys(fn.params, 0))
        order = list(post_order(fn.body))
        values: dict[Var, Expr] = {e.var: e.value for e in order if isinstance(e, Let)}
        for e in order:
            if e not in self.rows:
                self.rows[e] = self.visit(e, values)
        return self.rows[fn.body]

    def visit(self, e: Expr, values: dict[Var, Expr]) -> Rows:
        """Where an expression has its rows."""
        match e:
            case Constant() | Op():
                return None
            case Var() if e in values and values[e] in self.rows:
                return self.rows[values[e]]
            case Let(_, _, body):
                return self.rows[body]
            case Tuple(fields):
                return tuple([self.rows[f] for f in fields])
            case TupleGetItem(whole, index):
                rows = self.rows[whole]
                return rows[index] if are_several(rows) else rows
            case Call(Operator() as op, args):
                return self.call(e, op, args)
            case _:
                raise DependentError(f"a {type(e).__name__}{_place(e)} is more than operators on tensors")

    def call(self, e: Expr, op: Operator, args: Sequence[Expr]) -> Rows:
        """Where the result of a call has its rows, after a check that it is what the types say."""
        rows: list[Rows] = [self.rows[a] for a in args]
        out: Any = self.types(e)
        if op.impure:
            raise DependentError(f"`{op.name}`{_place(e)} has an effect")
        found: Rows = None
        if isinstance(op, Zeros | Ones | Full):
            found = next(iter(self.axes(out)), None) if rows in ([], [None]) else MIXED
        elif any(x is not None for r in rows for x in parts_of(r)):
            found = rule_of(op)(op, rows, [self.types(a) for a in args], out)
        types = out.fields if are_several(found) else (out,)
        for r, t in zip(parts_of(found), types, strict=True):
            if self.axes(t) != ([] if r is None else [r]):
                raise DependentError(f"`{op.name}`{_place(e)} may mix rows")
        return found

    def axes(self, t: Any) -> list[int]:
        """The axes of a tensor whose size is a multiple of `n`; any other use of it is -1."""
        found: list[int] = []
        for part in t.fields if isinstance(t, TupleType) else [t]:
            if not isinstance(part, TensorType) or not isinstance(part.shape, tuple):
                raise DependentError(f"a value of type {t} is not a tensor of known rank")
            for i, d in enumerate(part.shape):
                terms, constant = terms_of(d)
                if any(self.n in monomial for monomial in terms):
                    found.append(i if list(terms) == [(self.n,)] and constant == 0 else -1)
        return found


def _place(e: Expr) -> str:
    return f" ({e.span})" if e.span is not None else ""


def are_several(rows: Rows) -> TypeGuard[tuple[Any, ...]]:
    """Whether they are those of a tuple."""
    return isinstance(rows, tuple)


def parts_of(rows: Rows) -> Sequence[Rows]:
    """What is said of each field of a tuple; of a tensor, that alone."""
    return rows if are_several(rows) else (rows,)


MIXED = -2
"""An axis that no tensor has: the result of a rule that cannot show that rows are kept apart."""
Rule: TypeAlias = Callable[[Any, Sequence[Rows], Sequence[Any], Any], Rows]


def rule_of(op: Operator) -> Rule:
    """How an operator moves rows."""
    if op.is_pointwise or isinstance(op, BroadcastTo):
        return pointwise
    return next((rule for classes, rule in RULES if isinstance(op, classes)), unknown)


def unknown(op: Operator, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """An operator without a rule."""
    return MIXED


def pointwise(op: Operator, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """Operands broadcast from the right; an operand without rows has one element for all of them there."""
    rank = len(out.shape)
    places = [(r, rank - len(t.shape)) for r, t in zip(rows, types, strict=True)]
    found = {r + shift for r, shift in places if r is not None}
    if len(found) != 1:
        return MIXED
    (axis,) = found
    for (r, shift), t in zip(places, types, strict=True):
        size: Dim = t.shape[axis - shift] if axis >= shift else 1
        if size != (out.shape[axis] if r is not None else 1):
            return MIXED
    return axis


def bias(op: BiasAdd, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """A number for each channel."""
    return rows[0] if rows[1] is None and op.axis % len(out.shape) != rows[0] else MIXED


def reduction(op: Along, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """Along other axes than that of rows."""
    axes = op.axes(len(types[0].shape))
    if rows[0] in axes:
        return MIXED
    return rows[0] if op.keepdims else rows[0] - sum(a < rows[0] for a in axes)


def product(op: Dense | MatMul, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """Rows of the first operand, and a matrix for all; or stacks, of whose matrices rows have some each."""
    if isinstance(op, MatMul) and rows[0] == rows[1]:
        place = rows[0]
        first, second = (t.shape for t in types)
        is_stack = len(first) == len(second) == len(out.shape) and place < len(first) - 2
        return place if is_stack and first[place] == second[place] else MIXED
    is_turned = isinstance(op, MatMul) and op.transpose_a
    is_kept = rows[1] is None and not is_turned and rows[0] < len(types[0].shape) - 1
    return rows[0] if is_kept and len(out.shape) == len(types[0].shape) else MIXED


def stacked_product(op: BatchMatMul, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """A matrix for each row; one matrix for all, or rows within the only matrix of a stack, are left out."""
    sizes = {t.shape[0] for r, t in zip(rows, types, strict=True) if r == 0}
    others = [t.shape[0] for r, t in zip(rows, types, strict=True) if r is None]
    return 0 if set(rows) <= {0, None} and len(sizes) == 1 and all(d == 1 for d in others) else MIXED


def windows(op: Any, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """Convolutions and pooling: the data have their rows in front, as layouts put them."""
    layouts = [getattr(op, name, "") for name in ("data_layout", "layout", "out_layout")]
    is_front = all(not isinstance(x, str) or x[:1] in ("", "N") for x in layouts)
    return 0 if rows[0] == 0 and not any(r is not None for r in rows[1:]) and is_front else MIXED


def reshaped(op: Operator, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """The first longer axis that stands behind as many elements as that of the rows did."""
    if any(r is not None for r in rows[1:]):
        return MIXED
    before: Any = prod(types[0].shape[: rows[0]])
    places = [i for i, d in enumerate(out.shape) if d != 1 and prod(out.shape[:i]) == before]
    return places[0] if places else MIXED


def transposed(op: Transpose, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """The axis goes where the order says."""
    return op.order(SIZES, len(out.shape)).index(rows[0])


def joined(op: Concatenate, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """Along another axis; every part has rows."""
    parts = set(parts_of(rows[0]))
    return (
        parts.pop()
        if len(parts) == 1 and op.axis % len(out.shape) not in parts and None not in parts
        else MIXED
    )


def stacked(op: Stack, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """Along a new axis."""
    parts = set(parts_of(rows[0]))
    if len(parts) != 1 or None in parts:
        return MIXED
    axis: int = parts.pop()
    return axis + (op.axis % len(out.shape) <= axis)


def split(op: Split, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """Along another axis."""
    is_apart = op.axis % len(types[0].shape) != rows[0] and isinstance(out, TupleType)
    return tuple([rows[0]] * len(out.fields)) if is_apart else MIXED


def sliced(op: StridedSlice, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """Along other axes."""
    return MIXED if rows[0] in op.cut_axes(len(types[0].shape)) else rows[0]


def padded(op: Pad, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """Along other axes: where rows are padded there are more of them."""
    return rows[0] if not any(r is not None for r in rows[1:]) else MIXED


def taken(op: Take, rows: Sequence[Rows], types: Sequence[Any], out: Any) -> Rows:
    """Rows of indices into data for all, or from data with rows along another axis."""
    data: Any = rows[0]
    indices: Any = rows[1]
    axis = 0 if op.axis is None else op.axis % len(types[0].shape)
    if data is None and not op.batch_dims:
        return indices + axis
    if op.batch_dims or indices is not None or op.axis is None or axis == data:
        return MIXED
    assert data is not None
    place: int = data
    return place if place < axis else place - 1 + len(types[1].shape)


RULES: Sequence[tuple[Any, Rule]] = (
    (BiasAdd, bias),
    ((Along, ArgMax, ArgMin), reduction),
    ((Dense, MatMul), product),
    (BatchMatMul, stacked_product),
    ((Conv, Sliding, Parts), windows),
    (Transpose, transposed),
    (Reshaping, reshaped),
    (Concatenate, joined),
    (Stack, stacked),
    (Split, split),
    (StridedSlice, sliced),
    (Pad, padded),
    (Take, taken),
)
"""The first that names a class of the operator says how it moves rows."""
