"""Analyses by known names that are made of others."""

from typing import Any

from relay.ir.equal import structural_hash
from relay.ir.expr import Expr, Function
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.ir.walk import post_order
from relay.transform.passes.fusion import fuse_ops
from relay.typecheck.infer import infer, infer_expr

__all__ = ["extract_fused_functions", "infer_shape", "infer_type"]


def infer_type(node: Expr, mod: IRModule | None = None) -> Expr:
    """An expression with types."""
    return infer_expr(node, mod)


def infer_shape(inputs: Expr, mod: IRModule | None = None) -> tuple[Any, ...]:
    """The shape of a tensor."""
    t = infer_expr(inputs, mod).checked_type
    assert isinstance(t, TensorType)
    assert isinstance(t.shape, tuple)
    return t.shape


def extract_fused_functions(mod: IRModule) -> dict[int, IRModule]:
    """The functions that fusion makes of a module, each as a module, by their structural hashes."""
    fused = fuse_ops(infer(mod), lone=True)
    inside = [e for f in fused.functions.values() for e in post_order(f)]
    made = [e for e in inside if isinstance(e, Function) and "Primitive" in e.attrs]
    return {structural_hash(f): IRModule.from_expr(f) for f in made}
