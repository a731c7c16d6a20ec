"""What a module goes through before its code is made."""

from collections.abc import Mapping, Sequence

from relay.autodiff.expand import expand_grad
from relay.backend.native.memory.representation import is_scalar
from relay.backend.native.program.attention_groups import join_attention
from relay.backend.native.program.global_thunks import CYCLIC, ONCE, constants_called
from relay.backend.native.program.narrow_products import narrow_products
from relay.backend.native.program.splitting import PIECE, split
from relay.backend.native.program.unresolved_type_params import decided
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Grad, Let, Var, replace
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.walk import post_order, rewrite
from relay.transform.passes.defuse_ops import defuse_ops
from relay.transform.passes.eta import eta_expand
from relay.transform.passes.expand_composites import expand_composites
from relay.transform.passes.fusion import fuse_ops
from relay.transform.passes.lambda_lifting import lambda_lift
from relay.transform.passes.monomorphize import monomorphize
from relay.transform.passes.to_anf import to_anf
from relay.transform.passes.unused_functions import reached, remove_unused_functions
from relay.transform.rewriting.definitions import annotated, with_definitions
from relay.transform.rewriting.forms import TYPED
from relay.transform.rewriting.monomorphisation import is_monomorphic

MARKS = ("Primitive", "Compiler", ONCE, CYCLIC, PIECE)
"""Attributes that say something to what follows; a program may have written them itself."""


def lowered(mod: IRModule, entries: Sequence[str] = ("main",)) -> IRModule:
    """What `entries` need of `mod`, annotated, without derivatives and type parameters, functions lifted."""
    mod = decided(annotated(mod), entries)
    nodes = [e for f in mod.functions.values() for e in post_order(f) if type(e) in (Function, Grad)]
    if any(is_marked(e) for e in nodes):
        mod = without_marks(mod)
    mod = constants_called(mod, reached(mod, [mod.get_global_var(name) for name in entries]))
    if any(type(e) is Grad for e in nodes):
        mod = expand_grad(mod, reserved=mod.functions)
    mod = remove_unused_functions(mod, entry_functions=tuple(entries))
    mod = mod if is_monomorphic(mod) else monomorphize(mod, entry_functions=tuple(entries))
    expanded = narrow_products(expand_composites(mod))
    # Bindings of decompositions, deep inside of calls, would keep groups apart.
    mod = fused_apart(join_attention(fuse_ops(mod if expanded is mod else to_anf(expanded), lone=True)))
    mod = lambda_lift(eta_expand(mod, expand_op=True, expand_constructor=True))
    return split(mod)


def is_marked(e: Expr) -> bool:
    """Whether `e` is a function of which the program says what is for this backend to say."""
    return isinstance(e, Function) and any(mark in e.attrs for mark in MARKS)


def without_marks(mod: IRModule) -> IRModule:
    """A program without groups of its own, which might hold anything: in place, or as plain functions."""

    def rule(e: Expr) -> Expr | None:
        if not is_marked(e):
            return None
        assert isinstance(e, Function)
        return replace(e, attrs={k: v for k, v in e.attrs.items() if k not in MARKS})

    mod = defuse_ops(mod)
    return with_definitions(mod, {v: rewrite(e, rule) for v, e in mod.functions.items()})


def fused_apart(mod: IRModule) -> IRModule:
    """Groups that `fuse_ops` has made as definitions, which are called where they were.

    Each has the constants that it is called with inside.
    """
    supply = GlobalVarSupply(mod)
    made: dict[GlobalVar, Expr] = {}

    def apart(root: Expr) -> Expr:
        bound = {e.var: e.value for e in post_order(root) if isinstance(e, Let)}

        def rule(e: Expr) -> Expr | None:
            match e:
                case Call(op=Function() as fn) if fn.attrs.get("Primitive"):
                    if is_of_numbers(fn):
                        given: dict[Expr, Expr] = dict(zip(fn.params, e.args, strict=True))
                        return rewrite(fn.body, given.get)
                    v = supply.fresh_global("fused")
                    made[v], args = with_constants(fn, e.args, bound)
                    return replace(e, op=v, args=args)
                case _:
                    return None

        return rewrite(root, rule)

    new: dict[GlobalVar, Expr] = {v: apart(e) for v, e in mod.functions.items()}
    out = with_definitions(mod, {**new, **made})
    if all(is_closed(fn) for fn in made.values()):
        TYPED.note(out)  # sizes with names become type parameters, which inference adds
    return out


def is_closed(group: Expr) -> bool:
    """Whether the type of a group says all sizes."""
    assert isinstance(group, Function)
    types = [group.ret_type, *[p.type_annotation for p in group.params]]
    return all(t is not None and t.is_closed for t in types)


def is_of_numbers(fn: Function) -> bool:
    """Whether a group is one operator on numbers, which is better computed where it is needed."""
    body = fn.body
    if not isinstance(body, Call):
        return False
    types = [
        a.type_annotation if isinstance(a, Var) else a.type if isinstance(a, Constant) else None
        for a in body.args
    ]
    return all(map(is_scalar, (fn.ret_type, *types)))


def with_constants(
    fn: Function, args: Sequence[Expr], bound: Mapping[Var, Expr]
) -> tuple[Function, tuple[Expr, ...]]:
    """A function with those arguments inside that are constants, and the arguments that are left."""
    values = [bound.get(a, a) if isinstance(a, Var) else a for a in args]
    inside = {p: v for p, v in zip(fn.params, values, strict=True) if isinstance(v, Constant)}
    if not inside:
        return fn, tuple(args)
    body = rewrite(fn.body, lambda e: inside.get(e) if isinstance(e, Var) else None)
    left = tuple([a for p, a in zip(fn.params, args, strict=True) if p not in inside])
    return replace(fn, params=tuple([p for p in fn.params if p not in inside]), body=body), left
