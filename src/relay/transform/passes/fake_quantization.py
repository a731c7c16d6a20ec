"""Networks quantised for training as integer arithmetic: what is between `dequantize` and `quantize`."""

from collections.abc import Sequence

from relay.diagnostic import fail
from relay.ir.expr import Call, Expr, Op
from relay.ir.module import IRModule
from relay.ir.walk import run
from relay.op.qnn.convert import Dequantize, Quantize
from relay.op.registry import get
from relay.transform.passes.quantized_arithmetic import Affine, Integers, is_known
from relay.transform.passes.quantized_rules import PRODUCTS, taken_product
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, Rule, apply_rules, call_of


@module_pass("fake_quantization_to_integer", keeps=(ANF,), opt_level=0, public="FakeQuantizationToInteger")
def fake_quantization_to_integer(
    mod: IRModule,
    *,
    hard_fail: bool = False,
    use_qat: bool = False,
    optional_qnn_ops: Sequence[str] | None = None,
) -> IRModule:
    """Compute in integers what lies between `qnn.dequantize` and `qnn.quantize`.

    Products, convolutions and what is added to them become `qnn` operators that accumulate in int32.
    Operators that move or select elements work on the integers directly.  Sums, elementwise products and
    functions of tensors use the scale of the `qnn.quantize` that they end in.  Rounding happens in other
    places than before, so results may differ by one step of their scale, and by one more for each sum or
    function in between.

    If an operator in between has no integer form, the region is left alone, or is an error with
    `hard_fail`; with `use_qat`, products of dequantised data still become integer products.
    `optional_qnn_ops` names `nn.softmax` if that should be converted too.

    >>> text = "def @main(%x: Tensor[(2, 4), int8], %w: Tensor[(3, 4), int8]) { "
    >>> text += "%0 = nn.dense(qnn.dequantize(%x, 0.5, 3), qnn.dequantize(%w, 0.25, 0)); "
    >>> show(fake_quantization_to_integer, text + "qnn.quantize(nn.relu(%0), 2.0, 0) }")
    def @main(%x: Tensor[(2, 4), int8], %w: Tensor[(3, 4), int8]) -> Tensor[(2, 3), int8] {
      %0 = maximum(qnn.dense(%x, %w, 3i32, 0i32, 0.5f, 0.25f), 0i32);
      qnn.requantize(%0, 0.5f * 0.25f, 0i32, 2f, 0i32)
    }
    """
    optional = frozenset(get(name).name for name in optional_qnn_ops or ())
    regions: dict[Rewriter, Integers] = {}

    def of(w: Rewriter) -> Integers:
        return regions.setdefault(w, Integers(w, optional))

    table: dict[type, Sequence[Rule]] = {Quantize: [lambda w, e: _quantised(of(w), e, hard_fail)]}
    if use_qat:
        table.update({product: [lambda w, e: _product(of(w), e)] for product in PRODUCTS})
    return apply_rules(mod, table)


def _quantised(r: Integers, e: Call, hard_fail: bool) -> Expr | None:
    """`qnn.quantize` of what can be computed in integers."""
    x, scale, zero = e.args
    if not is_known(r.w.types(e)):
        return None
    wanted = Affine(e, scale, zero, e.attrs.axis)
    r.refused = None
    found = run(r.visit(x, wanted))
    if found is not None and _may_go(r, found, wanted):
        return r.rescaled(found, wanted, e.attrs.out_dtype, e).whole
    if hard_fail and _is_of_quantised(r.w, x):
        what = e if r.refused is None else r.refused
        fail(
            "no-integer-form",
            f"`{what.target.name}` of quantised data has no form in integers here",
            what.span,
            hint="without `hard_fail` it is computed on floats",
        )
    return None


def _may_go(r: Integers, found: Affine, wanted: Affine) -> bool:
    """Whether one of both has one scale, or both have theirs along the same axis."""
    if r.is_one(found.scale, found.zero) or r.is_one(wanted.scale, wanted.zero):
        return True
    rank = r.rank(found.whole)
    return found.axis % rank == wanted.axis % rank


def _is_of_quantised(w: Rewriter, e: Expr) -> bool:
    """Whether an expression is computed of dequantised data."""
    seen: set[Expr] = set()
    stack = [e]
    while stack:
        made = w.seen(stack.pop())
        if made is None or made in seen:
            continue
        seen.add(made)
        if isinstance(made, Call) and isinstance(made.target, Dequantize):
            return True
        if not (isinstance(made, Call) and isinstance(made.target, Quantize)):
            stack += [c for c in made.children if not isinstance(c, Op)]
    return False


def _product(r: Integers, e: Call) -> Expr | None:
    """A product of dequantised data, taken in integers and dequantised."""
    found = run(taken_product(r, e, None)) if is_known(r.w.types(e)) else None
    if found is None:
        return None
    return call_of("qnn.dequantize", (found.whole, found.scale, found.zero), e, axis=found.axis)
