"""One way to write each thing: operators that others say as well."""

from relay.ir.expr import Call, Expr
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.op.arithmetic import Add
from relay.op.broadcast import CollapseSumTo
from relay.op.nn.basic import BiasAdd
from relay.op.reshape import BatchFlatten, ReverseReshape
from relay.transform.passes.algebra_shapes import as_shape
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, apply_rules, call, call_of
from relay.transform.rewriting.rulebook import Rulebook

CANONICAL = Rulebook()


@CANONICAL.rule("nn.bias_add(x, b) => x + expand_dims(b)", BiasAdd)
def _bias_add(w: Rewriter, e: Call) -> Expr | None:
    x, bias = e.args
    t = w.types(x)
    if not isinstance(t, TensorType) or not isinstance(t.shape, tuple):
        return None
    after = len(t.shape) - 1 - e.attrs.axis % len(t.shape)
    spread = call_of("expand_dims", (bias,), e, axis=1, num_newaxis=after) if after else bias
    return call(Add(), (x, spread), e)


@CANONICAL.rule("nn.batch_flatten, contrib_reverse_reshape => reshape", BatchFlatten, ReverseReshape)
def _reshaping(w: Rewriter, e: Call) -> Expr | None:
    t = w.tensor(e)
    return None if t is None or w.tensor(e.args[0]) is None else as_shape(e.args[0], t.concrete_shape, e)


@CANONICAL.rule("collapse_sum_to(x) => sum(x), reshaped where axes of size 1 stay", CollapseSumTo)
def _as_sum(w: Rewriter, e: Call) -> Expr | None:
    x, t = w.tensor(e.args[0]), w.tensor(e)
    if x is None or t is None:
        return None
    shape = t.concrete_shape
    extra = len(x.concrete_shape) - len(shape)
    axes = [i for i, d in enumerate(x.concrete_shape) if i < extra or (shape[i - extra] == 1 and d != 1)]
    total = call_of("sum", e.args, e, axis=tuple(axes)) if axes else e.args[0]
    return total if len(axes) == extra else as_shape(total, shape, e)


RULES = CANONICAL.table()


@module_pass("canonicalize_ops", keeps=(ANF,), opt_level=3, public="CanonicalizeOps")
def canonicalize_ops(mod: IRModule) -> IRModule:
    """Replace operators that are special cases of others, so that passes and backends handle fewer.

    `nn.bias_add` becomes an addition, `nn.batch_flatten` and `contrib_reverse_reshape` a reshape, and
    `collapse_sum_to` a sum.  The results are bitwise equal.

    >>> text = "def @main(%x: Tensor[(2, 3), float32]) { nn.bias_add(%x, [1.0, 2.0], axis=0) }"
    >>> show(canonicalize_ops, text)
    def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
      %x + expand_dims([1f, 2f], axis=1)
    }
    """
    return apply_rules(mod, RULES)
