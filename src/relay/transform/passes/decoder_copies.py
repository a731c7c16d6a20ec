"""A copy of what decodes weights for each product or look-up that reads them: one that several read would be
written to memory, in more bytes than what it is decoded from.
"""

from collections import Counter

from relay.ir.expr import Call, Constant, Expr, Let, Op, Var
from relay.ir.type import TensorType
from relay.ir.walk import post_order, rewrite
from relay.op.base import Operator
from relay.op.blocks.rounding import RoundGroups
from relay.typecheck.types import Types


def with_decoder_copies(root: Expr, types: Types) -> Expr:
    """A definition in which products and look-ups have their own."""
    nodes = list(post_order(root))
    values = {e.var: e.value for e in nodes if type(e) is Let and is_decoder(e.value, types, of_atoms=True)}
    found = {e for e in nodes if is_decoder(e, types)}
    uses = Counter(c for e in nodes for c in e.children if c in found or c in values)
    uses.subtract(values.values())
    shared = {e for e in found if uses[e] > 1} | {v for v in values if uses[v] > 1}
    if not shared:
        return root

    def rule(e: Expr) -> Expr | None:
        if type(e) is Let and e.var in shared and uses[e.var] == 0:
            return e.body
        if type(e) is not Call or type(e.op) is not Op or not reads_parts(e.attrs):
            return None
        args = list(e.args)
        for i, a in enumerate(args):
            if a in shared:
                made = values[a] if type(a) is Var else a
                assert type(made) is Call
                if isinstance(made.attrs, RoundGroups) != (i == 0 and e.attrs.product() is not None):
                    continue
                args[i] = Call(made.op, made.args, made.attrs, span=made.span)
                uses[a] -= 1
        return None if tuple(args) == e.args else Call(e.op, tuple(args), e.attrs, span=e.span)

    return rewrite(root, rule)


def is_decoder(e: Expr, types: Types, of_atoms: bool = False) -> bool:
    """Whether a node decodes weights that it is given, or rounds data for products with such;
    if asked, only one whose operands are variables and constants, so that nothing else moves with it.
    """
    if type(e) is not Call or type(e.op) is not Op or not e.args:
        return False
    if of_atoms and not all(type(a) in (Var, Constant) for a in e.args):
        return False
    if isinstance(e.attrs, RoundGroups):
        return True
    t = types(e.args[0])
    return isinstance(t, TensorType) and isinstance(t.dtype, str) and e.attrs.is_decoding(t.dtype)


def reads_parts(op: Operator) -> bool:
    """Whether an operator is a product, or takes parts of an operand."""
    return op.product() is not None or op.rereads
