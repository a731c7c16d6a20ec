"""What says something to a backend, in programs that were not written for this one.

These are attributes of functions that passes use to tell this backend something, where the program wrote them
itself, and how tensors are split over several devices.
"""

from relay.analysis.annotated_regions import compiler_of
from relay.backend.native.program.global_thunks import CYCLIC, ONCE
from relay.backend.native.program.splitting import PIECE
from relay.ir.expr import Call, Expr, Function, replace
from relay.ir.module import IRModule
from relay.ir.walk import post_order, rewrite
from relay.op.annotation import Shard
from relay.transform.passes.outline_blocks import ROWS, SHARED, SUM
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.defusion import defused
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass

RESERVED = ("Primitive", "Compiler", ONCE, CYCLIC, PIECE, ROWS, SUM, SHARED)


@module_pass("strip_reserved_attrs", opt_level=0)
def strip_reserved_attrs(mod: IRModule) -> IRModule:
    """Remove the function attributes that passes use to tell the native backend something, and `shard`.

    A function that the program itself has marked as fused may contain anything, and is inlined as by
    `defuse_ops`.

    >>> show(strip_reserved_attrs, "def @main(%x: float32) { fn(%y: float32, Primitive=1) { tanh(%y) }(%x) }")
    def @main(%x: float32) -> float32 {
      tanh(%x)
    }
    """
    if not any(is_marked(e) for f in mod.functions.values() for e in post_order(f)):
        return mod

    def rule(e: Expr) -> Expr | None:
        match e:
            case Call(Shard(), (data,)):
                return data
            case Function() if is_marked(e):
                return replace(e, attrs={k: v for k, v in e.attrs.items() if k not in RESERVED})
            case _:
                return None

    mod = defused(mod)
    return with_definitions(mod, {v: rewrite(e, rule) for v, e in mod.functions.items()})


def is_marked(e: Expr) -> bool:
    """Whether `e` is a function with such an attribute, or a `shard`."""
    match e:
        case Function():
            return not compiler_of(e) and any(name in e.attrs for name in RESERVED)
        case Call():
            return isinstance(e.attrs, Shard)
        case _:
            return False
