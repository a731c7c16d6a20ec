"""Casts beside what needs them: wide copies of narrow data are not kept for several readers."""

from collections.abc import Mapping

from relay.ir.dtype import bits
from relay.ir.expr import Call, Expr, Let, Op, replace
from relay.ir.module import IRModule
from relay.ir.scope import places
from relay.ir.type import TensorType
from relay.ir.walk import post_order
from relay.op.cast import Cast
from relay.transform.rewriting.anf_conversion import anf
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.query import Types


@module_pass("canonicalize_cast", keeps=(ANF,), opt_level=3, public="CanonicalizeCast")
def canonicalize_cast(mod: IRModule) -> IRModule:
    """Give each user of a widening cast its own copy of the cast, where a block has several users.

    Fusion can then move the cast into each user, which reads the narrow data; otherwise the wide copy would
    be written to memory and read by all of them.  Users in a branch or an inner function keep the outer
    cast.

    >>> text = "def @main(%x: Tensor[(8,), int8]) { let %w = cast(%x, int32); nn.relu(%w) + %w * 2 }"
    >>> show(canonicalize_cast, text)
    def @main(%x: Tensor[(8,), int8]) -> Tensor[(8,), int32] {
      let %w: Tensor[(8,), int32] = cast(%x, dtype=int32);
      nn.relu(cast(%x, dtype=int32)) + cast(%x, dtype=int32) * 2i32
    }
    """
    types = Types(mod)
    new = {v: _separated(e, types, ANF.is_known_of(mod, v)) for v, e in mod.functions.items()}
    return with_definitions(mod, new)


def _separated(root: Expr, types: Types, is_normal: bool) -> Expr:
    """A definition in which readers of a widening cast have casts of their own."""
    order = list(post_order(root))
    bound: dict[Expr, Expr] = {e.var: e.value for e in order if type(e) is Let}
    casts = {e: source for e in order if (source := _widening(e, bound, types)) is not None}
    if not casts:
        return root
    where = places(root).where
    readers: dict[Expr, list[Call]] = {}
    for e in order:
        if type(e) is Call and type(e.op) is Op:
            for a in dict.fromkeys(e.args):
                if a in casts and where[casts[a]] is where[e]:
                    readers.setdefault(casts[a], []).append(e)
    several = {c for c, found in readers.items() if len(found) > 1}
    if not several:
        return root
    made = _rebuilt(order, {e: c for e, c in casts.items() if c in several}, readers)
    return anf(made, types) if is_normal else made


def _widening(e: Expr, bound: Mapping[Expr, Expr], types: Types) -> Call | None:
    """The cast to a wider type of an atom that `e` is, or is a name of."""
    made = bound.get(e, e)
    if not (isinstance(made, Call) and isinstance(made.target, Cast) and not made.args[0].children):
        return None
    t = types(made.args[0])
    if (
        not isinstance(t, TensorType)
        or not isinstance(t.dtype, str)
        or "string" in (t.dtype, made.attrs.dtype)
    ):
        return None
    return made if bits(made.attrs.dtype) > bits(t.dtype) else None


def _rebuilt(order: list[Expr], casts: Mapping[Expr, Call], readers: Mapping[Expr, list[Call]]) -> Expr:
    """The last of `order`, with a new cast for each reader."""
    new: dict[Expr, Expr] = {}
    for e in order:
        own = {a: replace(casts[a]) for a in e.children if a in casts and e in readers[casts[a]]}
        children = tuple([own[c] if c in own else new[c] for c in e.children])
        new[e] = e if children == e.children else e.rebuild(children)
    return new[order[-1]]
