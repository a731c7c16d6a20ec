"""Products of stacks with what rows of other such products become: attention.

`product(rows(product(q, k)), v)` is computed block by block of rows, so that scores stay in the cache; what
only moves operands and the result says where these are read and written.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from relay.backend.native.loops.rules import is_pointwise
from relay.backend.native.loops.strides import Sizes, Strided, is_moved, sizes_of, strided, written
from relay.ir.expr import Call, Constant, Expr, Let, Var
from relay.ir.type import TensorType
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.op.kind import NativeRule
from relay.op.native import Product
from relay.op.reduce import Along
from relay.typecheck.types import Types

FLOATS = ("float32", "float64")
MIN_ROWS = 4
"""Rows that are worth moving the other operands for, if these cannot be read where they lie."""
FEW_ROWS = 8
"""Rows up to which they are read where they lie: more repay moving them."""


@dataclass(frozen=True)
class Attention:
    """What a group computes: scores, a product; their rows, which become the first operand of the other."""

    dtype: str
    scores: Call
    rows: Call
    mixed: Call
    between: list[Call]
    """What makes rows of scores, operands first."""
    queries: Strided
    keys: Strided
    values: Strided
    """The operands, as matrices of the stacks that are not turned but by strides."""
    out: Strided
    """The result of the second product."""

    @property
    def reads_in_place(self) -> bool:
        """Whether keys and values are read where they lie: by few rows, and row by row."""
        most = self.queries.sizes[-2]
        are_rows = [self.queries.strides[-1], self.keys.strides[-2], self.values.strides[-1]] == [1, 1, 1]
        return isinstance(most, int) and most <= FEW_ROWS and are_rows and self.dtype == "float32"

    def dimensions(self) -> Iterator[Any]:
        """All that sizes are made of."""
        for x in (self.queries, self.keys, self.values, self.out):
            for d in (*x.sizes, *x.strides, x.start):
                yield from () if isinstance(d, int) else post_order(cast("Any", d))


def attention_in(body: Expr, types: Types) -> Attention | None:
    """What a group computes, if that is attention."""
    bound = {e.var: e.value for e in post_order(body) if isinstance(e, Let)}

    def resolved(e: Expr) -> Expr:
        while isinstance(e, Let) or (isinstance(e, Var) and e in bound):
            e = e.body if isinstance(e, Let) else bound[e]
        return e

    mixed, out = written(resolved(body), resolved, types)
    second = stacked(mixed, types)
    if second is None or out is None or second.transpose_a:
        return None
    assert isinstance(mixed, Call)
    rows = resolved(mixed.args[0])
    between = steps(rows, resolved, types)
    if between is None:
        return None
    scores = next(e for e in between if stacked(e, types) is not None)
    first = stacked(scores, types)
    assert first is not None
    operands = [strided(e, resolved, types) for e in (*scores.args, mixed.args[1])]
    turned = (first.transpose_a, first.transpose_b, second.transpose_b)
    q, k, v = (as_matrices(x, t) for x, t in zip(operands, turned, strict=True))
    if q is None or k is None or v is None or not isinstance(rows, Call) or out.strides[-1] != 1:
        return None
    stack, most = out.sizes[:-2], out.sizes[-2]
    fits = all(
        len(x.sizes) == len(out.sizes) and all(a in (1, b) for a, b in zip(x.sizes, stack, strict=False))
        for x in (q, k, v)
    )
    is_whole = sizes_of(scores, types) == (*stack, most, v.sizes[-2])
    if any(not isinstance(x.source, Var | Constant) for x in (q, k, v)) or not fits or not is_whole:
        return None
    dtype = str(cast("TensorType", types(scores)).dtype)
    between = [e for e in between if e is not scores]
    found = Attention(dtype, scores, rows, mixed, between, q, k, v, out)
    return None if isinstance(most, int) and most < MIN_ROWS and not found.reads_in_place else found


def stacked(e: Expr, types: Types) -> Product | None:
    """The product of stacks of matrices that a node is, neither of them constant, in the type it is added up
    in.
    """
    if not isinstance(e, Call) or not isinstance(e.attrs, Operator):
        return None
    found = [types(x) for x in (e, *e.args)]
    is_stack = all(isinstance(t, TensorType) and str(t.dtype) in FLOATS and len(sizes_of(x, types) or ()) > 2
                   for t, x in zip(found, (e, *e.args), strict=True))  # fmt: skip
    same = len({cast("Any", t).dtype for t in found}) == 1 if is_stack else False
    return e.attrs.product() if same else None


def as_matrices(x: Strided | None, turned: bool) -> Strided | None:
    """An operand with its matrices as the product takes them, rows or columns of which lie side by side."""
    if x is None:
        return None
    rank = len(x.sizes)
    found = x.transposed([*range(rank - 2), rank - 1, rank - 2]) if turned else x
    return found if 1 in found.strides[-2:] else None


def steps(rows: Expr, resolved: Callable[[Expr], Expr], types: Types) -> list[Call] | None:
    """The scores, and what makes rows of them, operands first; None if there is more than that."""
    sizes = sizes_of(rows, types)
    found: list[Call] = []
    kinds = Counter[str]()
    for e in reversed(below(rows, resolved, types)):
        kind = kind_of(e, sizes, resolved, types)
        if kind is None:
            return None
        kinds[kind] += 1
        found.append(e)
    return found if kinds["scores"] == 1 and kinds["reduction"] else None


def below(rows: Expr, resolved: Callable[[Expr], Expr], types: Types) -> list[Call]:
    """The calls that rows are made of, down to products of stacks, those that read before what they read."""
    seen: set[Expr] = set()
    found: list[Call] = []
    pending = [(rows, False)]
    while pending:
        e, is_done = pending.pop()
        if is_done:
            found.append(cast("Call", e))
        elif isinstance(e, Call) and e not in seen:
            seen.add(e)
            pending.append((e, True))
            pending += [(resolved(a), False) for a in e.args if stacked(e, types) is None]
    return found[::-1]


def kind_of(e: Call, sizes: Sizes | None, resolved: Callable[[Expr], Expr], types: Types) -> str | None:
    """What a node has to do with rows of that size; None if that is nothing."""
    if sizes is None or sizes_of(e, types) is None:
        return None
    if stacked(e, types) is not None:
        return "scores"
    if e.attrs.native_rule is NativeRule.REDUCTION:
        op: Any = e.attrs
        is_along = isinstance(op, Along) and tuple(op.axes(len(sizes))) == (len(sizes) - 1,)
        return "reduction" if is_along and sizes_of(resolved(e.args[0]), types) == sizes else None
    is_known = all(isinstance(resolved(a), Call | Var | Constant) for a in e.args)
    if is_pointwise(e) and is_known:
        return "pointwise"
    source: Expr = e
    while is_moved(source):
        source = resolved(cast("Any", source).args[0])
    return "moved" if isinstance(source, Var | Constant) else None
