"""Narrow the operands of int32 products to int16 where a range analysis proves that they fit.

Quantised layers have such operands: int8 numbers minus a zero point.
"""

from typing import Any

import numpy as np

from relay.backend.native.kernels.choice import SMALL_INTEGERS
from relay.ir.expr import Call, Constant, Expr, Op, replace
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.ir.walk import post_order
from relay.op.arithmetic import Subtract
from relay.op.cast import Cast
from relay.op.nn.dense import BatchMatMul, Dense, MatMul
from relay.op.registry import registry
from relay.op.reshape import ExpandDims, Transpose
from relay.transform.passes.constant_folding import fold_constants
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, apply_rules, call, call_of
from relay.typecheck.query import Types

WINDOWS = tuple([registry[f"nn.conv{n}d{how}"] for how in ("", "_transpose") for n in (1, 2, 3)])
PRODUCTS = (Dense, MatMul, BatchMatMul, *WINDOWS)
INT16_MIN, INT16_MAX = -(1 << 15), (1 << 15) - 1
Bounds = tuple[int, int]


@module_pass("narrow_products", opt_level=0)
def narrow_products(mod: IRModule) -> IRModule:
    """Cast int32 factors to int16 where all their values fit, since products of int16 are faster.

    Quantised layers have such factors: 8-bit integers from which a zero point is subtracted.

    >>> show(narrow_products, '''
    ... def @main(%x: Tensor[(2, 4), uint8], %w: Tensor[(3, 4), int8]) {
    ...   nn.dense(cast(%x, dtype=int32) - 128i32, cast(%w, dtype=int32))
    ... }
    ... ''')
    def @main(%x: Tensor[(2, 4), uint8], %w: Tensor[(3, 4), int8]) -> Tensor[(2, 3), int32] {
      nn.dense(cast(cast(%x, dtype=int32) - 128i32, dtype=int16), %w, out_dtype=int32)
    }
    """
    types = Types(mod)
    nodes = (e for root in mod.functions.values() for e in post_order(root))
    if not any(is_int32_product(e, types) for e in nodes):
        return mod
    return apply_rules(fold_constants(mod), dict.fromkeys(PRODUCTS, (_narrowed,)))


def is_int32_product(e: Expr, types: Types) -> bool:
    """Whether a node is an int32 product with an int32 factor."""
    if type(e) is not Call or type(e.op) is not Op or not isinstance(e.attrs, PRODUCTS):
        return False
    dtype, *given = [dtype_of(types(x)) for x in (e, *e.args)]
    return dtype == "int32" and "int32" in given


def dtype_of(t: Any) -> Any:
    """The dtype of a tensor."""
    return t.dtype if isinstance(t, TensorType) else None


def _narrowed(w: Rewriter, e: Call) -> Expr | None:
    """The product of the narrowed factors, if both can be narrowed."""
    if not is_int32_product(e, w.types):
        return None
    args = [narrow_factor(w, x) for x in e.args]
    if None in args:
        return None
    op: Any = e.attrs
    return call(replace(op, out_dtype="int32"), [x for x in args if x is not None], e)


def narrow_factor(w: Rewriter, x: Expr) -> Expr | None:
    """A factor in a narrow dtype, if its values fit."""
    if dtype_of(w.types(x)) in SMALL_INTEGERS:
        return x
    inner = w.parts(x, Cast)
    if inner and dtype_of(w.types(inner[1][0])) in SMALL_INTEGERS:
        return inner[1][0]
    known = value_range(w, x)
    if known is None or known[0] < INT16_MIN or known[1] > INT16_MAX:
        return None
    made = w.seen(x)
    if isinstance(made, Constant):
        value = made.value.astype("int16")
        return Constant(value, TensorType(value.shape, "int16"), span=made.span)
    return call_of("cast", (x,), x, dtype="int16")


def value_range(w: Rewriter, x: Expr) -> Bounds | None:
    """The range of a tensor's values, if it is a cast of narrow integers, a constant, or the difference of
    two of those.
    """
    difference = w.parts(source_of_moves(w, x), Subtract)
    if not difference:
        return bounds_of_leaf(w, x)
    first, second = (bounds_of_leaf(w, y) for y in difference[1])
    return (first[0] - second[1], first[1] - second[0]) if first and second else None


def bounds_of_leaf(w: Rewriter, x: Expr) -> Bounds | None:
    """The range of the values of a constant, or of narrow integers that have been cast."""
    x = source_of_moves(w, x)
    made, inner = w.seen(x), w.parts(x, Cast)
    if isinstance(made, Constant) and dtype_of(made.type) == "int32":
        value = made.value
        return (int(value.min(initial=0)), int(value.max(initial=0)))
    dtype = dtype_of(w.types(inner[1][0] if inner else x))
    if dtype not in SMALL_INTEGERS:
        return None
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def source_of_moves(w: Rewriter, x: Expr) -> Expr:
    """The tensor behind transposes and expanded dimensions, which keep the range."""
    while inner := w.parts(x, Transpose, ExpandDims):
        x = inner[1][0]
    return x
