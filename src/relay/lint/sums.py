"""The rule about sums and products of narrow integers, which wrap in their dtype."""

import re
from collections.abc import Iterator
from math import inf

import numpy as np

from relay.diagnostic import Span
from relay.ir.dtype import bits, integer_range, is_integer
from relay.ir.expr import Call, Constant, Expr, Var
from relay.ir.type import TensorType
from relay.lint.expressions import here
from relay.lint.finding import Edit, Finding, finding, rule
from relay.lint.names import nodes
from relay.lsp.index import Document
from relay.op.cast import Cast
from relay.op.reduce import Accumulating, Along, Prod
from relay.op.scan import CumProd, Scan

MAX_REPORTED_BITS = 16
"""The bits of the widest integers whose sums are reported."""
VARIABLE = re.compile(r"\(\s*(?P<operand>%[\w./]+)\s*[,)]")
"""A variable as the first operand of a call."""


@rule("sum-may-wrap")
def sums_may_wrap(document: Document) -> Iterator[Finding]:
    """A sum or product of integers of 16 bits or fewer whose value need not fit in their dtype."""
    for e in nodes(document):
        span = here(document, e)
        if span is None or not isinstance(e, Call) or not isinstance(e.attrs, Accumulating):
            continue
        op, data = e.attrs, e.args[0]
        t = document.type_at(span.start, data)
        if not isinstance(t, TensorType) or not isinstance(t.dtype, str):
            continue
        dtype = op.accumulated(t.dtype)
        if not isinstance(dtype, str) or not is_integer(dtype) or bits(dtype) > MAX_REPORTED_BITS:
            continue
        if not may_exceed(document, span.start, op, data, integer_range(dtype)[1]):
            continue
        edit = None
        if dtype == t.dtype and not document.parsed.strict:
            edit = _cast_before(document, op.name, span, data)
        message = f"`{op.name}` in {dtype} wraps beyond {integer_range(dtype)[1]}"
        hint = f"cast first: `{op.name}(cast(x, int64))`"
        yield finding("sum-may-wrap", message, span, hint=hint, edit=edit)


def _cast_before(document: Document, name: str, span: Span, data: Expr) -> Edit | None:
    """Return the edit that casts the operand of a call, if the text of the operand is in that of the call."""
    written = VARIABLE.match(document.text, span.start + len(name), span.end)
    if isinstance(data, Var) and written is not None:
        start, end = written.span("operand")
    else:
        operand = here(document, data)
        if operand is None or not span.start < operand.start <= operand.end < span.end:
            return None
        start, end = operand.start, operand.end
    return Edit(f"Compute `{name}` in int64", start, end, f"cast({document.text[start:end]}, dtype=int64)")


def terms(op: Accumulating, t: TensorType) -> float:
    """Return how many elements of an operand of type `t` the longest sum has; infinity if that is unknown."""
    if not isinstance(t.shape, tuple):
        return inf
    axes = range(len(t.shape))
    if isinstance(op, Along):
        axes = op.axes(len(t.shape))
    elif isinstance(op, Scan) and op.axis is not None:
        axes = [op.axis % len(t.shape)]
    count = 1
    for a in axes:
        size = t.shape[a]
        if not isinstance(size, int):
            return inf
        count *= size
    return count


def may_exceed(document: Document, offset: int, op: Accumulating, data: Expr, greatest: int) -> bool:
    """Return whether the sum or product of an operand may be beyond `greatest`."""
    is_product = isinstance(op, Prod | CumProd)
    t = document.type_at(offset, data)
    if isinstance(data, Constant):
        sizes = np.abs(data.value.astype(np.float64))
        return bool(np.prod(np.maximum(sizes, 1)) > greatest if is_product else np.sum(sizes) > greatest)
    count, bound = terms(op, t), greatest_size(document, offset, data, t.dtype)
    if is_product:
        return count > 1 and bound > 1 and bound ** min(count, MAX_REPORTED_BITS) > greatest
    return count > 1 and count * bound > greatest


def greatest_size(document: Document, offset: int, e: Expr, dtype: str) -> float:
    """Return a bound on the magnitude of the elements of an operand: of truth values that are cast, 1."""
    if isinstance(e, Call) and isinstance(e.attrs, Cast):
        source = document.type_at(offset, e.args[0])
        dtype = "bool" if isinstance(source, TensorType) and source.dtype == "bool" else dtype
    if dtype == "bool":
        return 1
    return -integer_range(dtype)[0] or integer_range(dtype)[1] if is_integer(dtype) else inf
