"""What tests of fusion share: programs of one expression, and their fused functions."""

from relay.ir.expr import Call, Expr, Function, Op
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from transform.cases import program

CONTEXT = (
    'import "std/list"\n'
    "def @g(%z: Tensor[(8, 8), float32]) {{ %z }}\n"
    "def @main(%x: Tensor[(8, 8), float32], %y: Tensor[(8, 8), float32], %b: Tensor[(8,), float32],"
    " %c: bool) {{ {text} }}"
)


def main_of(text: str) -> IRModule:
    """A program of one expression over two matrices, a vector and a condition."""
    return program(CONTEXT.format(text=text))


def functions(mod: IRModule) -> list[Function]:
    """The fused functions of a module, in the order of evaluation."""
    found = [e for d in mod.functions.values() for e in post_order(d) if isinstance(e, Function)]
    return [fn for fn in found if fn.attrs.get("Primitive")]


def operators(e: Expr) -> str:
    """The operators under an expression, in the order of evaluation."""
    names = [n.op.name for n in post_order(e) if isinstance(n, Call) and isinstance(n.op, Op)]
    return " ".join([name.removeprefix("nn.") for name in names])
