"""Analyses by known names that are made of others."""

from collections import Counter
from typing import Any

from relay.ir.equal import structural_hash
from relay.ir.expr import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.ir.walk import post_order
from relay.transform.passes.fusion import fuse_ops
from relay.typecheck.infer import infer, infer_expr

__all__ = ["extract_fused_functions", "infer_shape", "infer_type", "list_fake_quantized_op_freqs"]


def infer_type(node: Expr, mod: IRModule | None = None) -> Expr:
    """An expression with types."""
    return infer_expr(node, mod)


def infer_shape(inputs: Expr, mod: IRModule | None = None) -> tuple[Any, ...]:
    """The shape of a tensor."""
    t = infer_expr(inputs, mod).checked_type
    assert isinstance(t, TensorType)
    assert isinstance(t.shape, tuple)
    return t.shape


def list_fake_quantized_op_freqs(mod: IRModule) -> dict[str, int]:
    """How often each operator is called between `qnn.dequantize` of all that it reads and `qnn.quantize`."""
    calls = [e for f in mod.functions.values() for e in post_order(f) if isinstance(e, Call)]
    ends = [e for e in calls if is_call_of(e, "qnn.quantize")]
    inside = {e: name for end in ends for e, name in region_before(end).items()}
    return dict(Counter(inside.values()))


def is_call_of(e: Expr, name: str) -> bool:
    """Whether an expression is a call of the operator of that name."""
    return isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == name


def region_before(end: Call) -> dict[Expr, str]:
    """The calls between dequantised values and one that quantises, with their operators; none if something
    else is read.
    """
    found: dict[Expr, str] = {}
    seen: set[Expr] = set()
    pending: list[Expr] = [end.args[0]]
    while pending:
        e = pending.pop()
        if e in seen or isinstance(e, Constant) or is_call_of(e, "qnn.dequantize"):
            continue
        seen.add(e)
        match e:
            case Call(op=Op(name=name)):
                found[e] = name
                pending += e.args
            case Tuple() | TupleGetItem():
                pending += e.children
            case _:
                return {}
    return found


def extract_fused_functions(mod: IRModule) -> dict[int, IRModule]:
    """The functions that fusion makes of a module, each as a module, by their structural hashes."""
    fused = fuse_ops(infer(mod), lone=True)
    inside = [e for f in fused.functions.values() for e in post_order(f)]
    made = [e for e in inside if isinstance(e, Function) and "Primitive" in e.attrs]
    return {structural_hash(f): IRModule.from_expr(f) for f in made}
