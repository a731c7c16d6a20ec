"""Programs that are only run: what training needs goes, and normalisation becomes arithmetic."""

from relay.ir.expr import Call, Expr, Tuple, TupleGetItem
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.op.composite import Composite
from relay.op.nn.dropout import Dropout
from relay.op.nn.magnitude import L2Normalize
from relay.op.nn.norm import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RmsNorm
from relay.transform.passes.algebra_shapes import SHAPES
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, apply_rules, call_of
from relay.transform.rewriting.rulebook import Rulebook, table

INFERENCE = Rulebook()


@INFERENCE.rule("nn.dropout(x).0 => x", TupleGetItem)
def _dropped(w: Rewriter, e: TupleGetItem) -> Expr | None:
    inner = w.parts(e.tuple_value, Dropout) if e.index == 0 else None
    return inner[1][0] if inner and len(inner[1]) == 1 else None


@INFERENCE.rule("nn.dropout(x) => (x, ones_like(x))", Dropout)
def _dropout(w: Rewriter, e: Call) -> Expr | None:
    x, *key = e.args
    if key or not w.is_plain(x):
        return None
    return Tuple((x, call_of("ones_like", (x,), e)), span=e.span)


@INFERENCE.rule("nn.batch_norm(…) => (x * scale + shift, mean, variance), and likewise the other norms",
                BatchNorm, LayerNorm, RmsNorm, InstanceNorm, GroupNorm, L2Normalize)  # fmt: skip
def _normalised(w: Rewriter, e: Call) -> Expr | None:
    types = [w.types(x) for x in e.args]
    op = e.attrs
    assert isinstance(op, Composite)
    if not all(w.is_plain(x) for x in e.args):
        return None
    known = all(
        isinstance(t, TensorType) and isinstance(t.shape, tuple) and isinstance(t.dtype, str) for t in types
    )
    return op.decompose(types, *e.args) if known else None


PROJECTION = [entry for entry in SHAPES.entries if entry.kinds == (TupleGetItem,)]
RULES = table([*INFERENCE.entries, *PROJECTION])


@module_pass("simplify_inference", keeps=(ANF,), opt_level=0, public="SimplifyInference")
def simplify_inference(mod: IRModule) -> IRModule:
    """Remove dropout that has no key, and replace normalisations by the arithmetic that defines them.

    `nn.batch_norm` becomes `x * scale + shift`, where scale and shift depend on the parameters alone and
    are folded once these are constants.  The value is the same up to rounding.

    >>> show(simplify_inference, "def @main(%x: Tensor[(2, 3), float32]) { nn.dropout(nn.relu(%x)).0 }")
    def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
      nn.relu(%x)
    }
    """
    return apply_rules(mod, RULES)
