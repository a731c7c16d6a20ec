"""Basic-block normal form: what several scopes use is bound by a `let` around them."""

from relay.analysis.normal_form import shared_across_scopes
from relay.ir.expr import Expr, Let, LetRec
from relay.ir.module import IRModule
from relay.transform.rewriting.anf_conversion import normalised
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF, BASIC_BLOCKS
from relay.transform.rewriting.purity import Purity
from relay.transform.rewriting.registry import module_pass


@module_pass(
    "to_basic_block_normal_form", gives=(BASIC_BLOCKS,), keeps=(ANF,), public="ToBasicBlockNormalForm"
)
def to_basic_block_normal_form(mod: IRModule) -> IRModule:
    """Bind each node that several function bodies, branches or clauses use, where it is evaluated.

    That is in the innermost scope around all its uses, before the construct that uses it first.  Operations
    on references in such a scope are bound as well, to keep their order; the rest stays a graph.

    >>> show(to_basic_block_normal_form, '''
    ... def @main(%c: bool, %x: float32) { %0 = tanh(%x); if (%c) { %0 + %x } else { sin(%0) } }
    ... ''')
    def @main(%c: bool, %x: float32) -> float32 {
      let %x1: float32 = tanh(%x);
      if (%c) { %x1 + %x } else { sin(%x1) }
    }
    """
    crossing = {v: shared_across_scopes(e) for v, e in mod.functions.items()}
    bound: set[Expr] = set()
    for several in crossing.values():
        for e in several:
            while e not in bound:
                bound.add(e)
                e = e.body if isinstance(e, Let | LetRec) else e  # a chain is known by what it ends in
    if not bound:
        return mod
    purity = Purity(mod)

    def binds(e: Expr) -> bool:
        return e in bound or not purity.is_pure(e)

    return normalised(mod, [v for v, several in crossing.items() if several], binds)
