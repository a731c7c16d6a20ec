"""Eta expansion: a function literal in the place of a name that is used as a value."""

from collections.abc import Callable

from relay.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Op, Var
from relay.ir.module import IRModule
from relay.ir.subst import substitute_type
from relay.ir.type import FuncType, Type, TypeCall, TypeVar
from relay.ir.walk import post_order
from relay.transform.rewriting.anf_conversion import anf
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.defusion import values_of
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.expected_types import wanted_types
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.instantiation import instance_args
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.types import Types


@module_pass("eta_expand", keeps=(ANF,), public="EtaExpand")
def eta_expand(
    mod: IRModule,
    *,
    expand_constructor: bool = False,
    expand_global_var: bool = False,
    expand_op: bool = False,
) -> IRModule:
    """Replace constructors, definitions or operators that are used as values by functions that call them.

    Each kind has its own option.  A polymorphic one is instantiated at the types that its context requires,
    and stays where these are unknown.

    >>> show(eta_expand, '''
    ... def @main(%f: fn(float32) -> float32, %x: float32) { if (%x < 0.0) { %f } else { tanh } }
    ... ''', expand_op=True)
    def @main(%f: fn(float32) -> float32, %x: float32) -> fn(float32) -> float32 {
      if (%x < 0f) { %f } else { fn (%x: float32) -> float32 { tanh(%x) } }
    }
    """
    flags = ((Constructor, expand_constructor), (GlobalVar, expand_global_var), (Op, expand_op))
    kinds = tuple([kind for kind, wanted in flags if wanted])
    types = Types(mod)
    new: dict[GlobalVar, Expr] = {}
    for v, e in mod.functions.items():
        made = expanded(e, types, lambda c: isinstance(c, kinds))
        new[v] = anf(made, types) if made is not e and ANF.is_known_of(mod, v) else made
    return with_definitions(mod, new)


def expanded(root: Expr, types: Types, applies: Callable[[Expr], bool]) -> Expr:
    """A definition with function literals in the place of values that are names, where `applies` says so."""
    nodes = list(post_order(root))
    chosen = {c for e in nodes for c in values_of(e) if not c.children and applies(c)}
    if not chosen:
        return root
    wanted = wanted_types(root, None if isinstance(root, Function) else types(root), types)
    new: dict[Expr, Expr] = {}
    for e in nodes:
        first = 1 if isinstance(e, Call) else 0
        children = [new[c] for c in e.children]
        for i, c in enumerate(e.children):
            if i >= first and c in chosen:
                children[i] = eta_expansion(c, wanted.get((e, i)), types)
        new[e] = e if tuple(children) == e.children else e.rebuild(tuple(children))
    return new[root]


def eta_expansion(c: Expr, wanted: Type | None, types: Types) -> Expr:
    """A function literal that calls `c`; `c` itself where its type is not known, or that of no function."""
    t = types(c)
    if not isinstance(t, FuncType):
        return c
    if t.type_params and isinstance(wanted, FuncType) and wanted.type_params:
        return polymorphic(c, wanted)
    if not t.type_params:
        return literal(c, t, ())
    instance = wanted if isinstance(wanted, FuncType) else None
    args = None if instance is None else instance_args(t, instance)
    return c if instance is None or args is None else literal(c, instance, args)


def polymorphic(c: Expr, t: FuncType) -> Function:
    """A polymorphic function that calls a polymorphic one."""
    params = {p: TypeVar(p.name_hint, p.kind) for p in t.type_params}
    inner = FuncType([substitute_type(a, params) for a in t.arg_types], substitute_type(t.ret_type, params))
    made = literal(c, inner, tuple(params.values()))
    constraints = tuple([substitute_type(r, params) for r in t.type_constraints])
    return Function(
        made.params, made.body, made.ret_type, tuple(params.values()), constraints=constraints, span=c.span
    )


def literal(c: Expr, t: FuncType, args: tuple[object, ...]) -> Function:
    """A function of type `t` that calls `c` with type arguments."""
    params = tuple([Var("x", a, span=c.span) for a in t.arg_types])
    if isinstance(c, Constructor):
        args = t.ret_type.args if isinstance(t.ret_type, TypeCall) else ()
    type_args = () if isinstance(c, Op) else args
    return Function(params, Call(c, params, None, type_args, span=c.span), t.ret_type, span=c.span)
