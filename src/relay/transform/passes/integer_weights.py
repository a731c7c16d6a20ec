"""Products of float32 numbers with constant matrices whose numbers become integers of 8 or 4 bits."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relay.ir.build import const
from relay.ir.expr import Call, Constant, Expr, Op
from relay.ir.type import TensorType
from relay.ir.walk import post_order, rewrite
from relay.op.blocks.quantize import quantize_groups
from relay.op.kind import Precision
from relay.op.numeric import scalar
from relay.transform.passes.precision_report import Place, PrecisionReport
from relay.transform.rewriting.rewriter import call_of
from relay.typecheck.query import Types

GROUP_NUMBERS = 32
"""Numbers of 4 bits that share a scale."""
GREATEST_CODE = 127
"""The greatest integer of 8 bits that stands for a number."""
ONLY_CONSTANTS = "only products of data with constant matrices have integers"
UNFINISHED = f"rows of the matrix are not whole groups of {GROUP_NUMBERS}"


def with_integer_weights(
    root: Expr, bits: int, types: Types, place: Callable[..., Place], report: PrecisionReport
) -> Expr:
    """A definition whose constant matrices are integers of so many bits; `report` notes what becomes of it.

    Those of 8 bits have a scale for each column of the product, and rows of data are integers too, each with
    a scale that is found as the program runs: both are multiplied exactly, in int32.  Those of 4 bits have a
    scale for each `GROUP_NUMBERS` numbers along the summed dimension, and so have the integers of 8 bits that
    data are rounded to: sums of a group are exact.
    """
    how = {
        4: "on weights of 4 bits and data of 8, in groups of 32",
        8: "on int8, added up in int32",
    }[bits]
    found: dict[Expr, Call] = {}
    for e in post_order(root):
        if not isinstance(e, Call) or not isinstance(e.op, Op):
            continue
        here = place(e.attrs.name, span=e.span)
        weight = weight_of(e, types)
        if weight is not None and not (bits == 4 and weight.shape[1] % GROUP_NUMBERS):
            report.computed(how, here)
            found[e] = e
        elif is_wide(e, types):
            is_product = e.attrs.precision is Precision.ALWAYS
            reason = (
                UNFINISHED if weight is not None else ONLY_CONSTANTS if is_product else e.attrs.wide.value
            )
            if is_product or (e.attrs.computes and e.attrs.precision is not Precision.FOLLOW):
                report.keep(reason, here)
    if not found:
        return root
    new: dict[Expr, Expr] = {}
    return rewrite(root, lambda e: integer_product(e, bits, types, report, new))


def integer_product(
    e: Expr, bits: int, types: Types, report: PrecisionReport, made: dict[Expr, Expr]
) -> Expr | None:
    """What a product becomes; `made` has what rounds data, or its greatest numbers."""
    weight = weight_of(e, types) if isinstance(e, Call) else None
    if weight is None or not isinstance(e, Call) or (bits == 4 and weight.shape[1] % GROUP_NUMBERS):
        return None
    data = e.args[0]
    if bits == 4:
        codes, scales, _ = quantize_groups(weight)
        report.stored(weight.nbytes, codes.nbytes + scales.nbytes)
        matrix = call_of("dequantize_groups", (const(codes), const(scales)), e)
        if data not in made:
            made[data] = call_of("round_groups", (data,), e, group=GROUP_NUMBERS)
        return call_of("nn.dense", (made[data], matrix), e)
    scale = np.maximum(abs(weight).max(axis=1), np.finfo("float32").tiny) / np.float32(GREATEST_CODE)
    codes = np.rint(weight / scale[:, None]).astype("int8")
    report.stored(weight.nbytes, codes.nbytes + scale.nbytes)
    if data not in made:
        most = call_of("max", (call_of("abs", (data,), e),), e, axis=(-1,), keepdims=True)
        least = scalar(float(np.finfo("float32").tiny), "float32")
        made[data] = call_of("maximum", (most, least), e)
    row = made[data]
    unit = call_of("divide", (scalar(float(GREATEST_CODE), "float32"), row), e)
    rounded = call_of("round", (call_of("multiply", (data, unit), e),), e)
    product = call_of(
        "nn.dense", (call_of("cast", (rounded,), e, dtype="int8"), const(codes)), e, out_dtype="int32"
    )
    total = call_of("cast", (product,), e, dtype="float32")
    factor = call_of("multiply", (row, const(scale / np.float32(GREATEST_CODE))), e)
    return call_of("multiply", (total, factor), e)


def weight_of(e: Call, types: Types) -> Any:
    """The constant float32 matrix of a product, a row for each column of the result, or None."""
    if not isinstance(e.op, Op) or len(e.args) != 2 or not isinstance(e.args[1], Constant):
        return None
    product, matrix = e.attrs.product(), e.args[1].value
    if product is None or product.transpose_a or matrix.ndim != 2 or not is_wide(e, types):
        return None
    first = types(e.args[0])
    if not isinstance(first, TensorType) or not isinstance(first.shape, tuple) or len(first.shape) < 2:
        return None
    return np.ascontiguousarray(matrix if product.transpose_b else matrix.T)


def is_wide(e: Call, types: Types) -> bool:
    """Whether a call gives float32 numbers of float32 ones."""
    found = [types(x) for x in (e, *e.args)]
    floats = [t for t in found if isinstance(t, TensorType)]
    return bool(floats) and isinstance(found[0], TensorType) and all(t.dtype == "float32" for t in floats)
