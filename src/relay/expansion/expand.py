"""Expansion: every `grad`, `vjp` and `jvp` of a module replaced by the function it stands for.

Derivatives inside of what is differentiated are expanded first, so that derivatives nest to any order.
"""

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping

from relay.analysis.annotated_regions import compiler_of
from relay.analysis.effects import Effects
from relay.analysis.lints import identity_dropouts
from relay.autodiff.closing import Closing
from relay.autodiff.dual_types import DualTypes
from relay.autodiff.forward import Forward
from relay.autodiff.reverse import Reverse
from relay.batching.root import Batching
from relay.diagnostic import derive_from, derived_nodes, fail
from relay.expansion.specialize import differentiated_type, specialize_grads, target_type
from relay.ir.collector import paused
from relay.ir.expr import Call, Expr, Function, GlobalVar, Grad, GradKind, Let, Op, Tuple, Var, VMap
from relay.ir.module import IRModule
from relay.ir.subst import substitute_type
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import Any, FuncType, TupleType
from relay.ir.walk import post_order, rewrite
from relay.transform.rewriting.anf_conversion import anf_module
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.defusion import defused
from relay.transform.rewriting.monomorphisation import is_monomorphic, monomorphic
from relay.typecheck.infer import infer
from relay.typecheck.query import Types

EXPANDED = (Grad, VMap)
"""The nodes that are expanded."""


def expand_grad(mod: IRModule, reserved: Iterable[GlobalVar] = ()) -> IRModule:
    """The module without `grad`, `vjp` and `jvp`; the same object where there are none.

    Definitions that differentiate a parameter keep their derivatives; calls of them with known functions go
    to copies.  What has been fused is taken apart again.  Raises `unknown-grad-target` where it is not known
    what function is differentiated, or where a function differentiates itself.  Names that are `reserved` are
    not given to the definitions that are made.
    """
    if not with_grads(mod):
        return mod
    for e in identity_dropouts(mod):
        warnings.warn(
            f"`nn.dropout` without a key drops nothing, and is differentiated ({e.span})", stacklevel=2
        )
    supply = GlobalVarSupply(mod)
    for name in set(reserved) - set(mod.functions):
        supply.reserve_global(name)
    with derived_nodes(), paused():
        mod = infer(mod)
        regions = {v: e for v, e in mod.functions.items() if isinstance(e, Function) and compiler_of(e)}
        known = _with_known_dtypes(_unfused(_opened(mod, regions)))
        out = _expanded(known.map_functions(_at_its_calls), supply)
        return with_definitions(out, {v: e for v, e in regions.items() if v in out.functions})


def _opened(mod: IRModule, regions: Mapping[GlobalVar, Function]) -> IRModule:
    """The module with definitions that another compiler takes as ordinary ones, which are differentiated."""
    return with_definitions(
        mod, {v: e.without_attr("Compiler").without_attr("Primitive") for v, e in regions.items()}
    )


def _unfused(mod: IRModule) -> IRModule:
    """The module without fused functions, whose bodies are not in A-normal form."""
    nodes = (e for definition in mod.functions.values() for e in post_order(definition))
    return defused(mod) if any(type(e) is Function and e.attrs.get("Primitive") for e in nodes) else mod


def _with_known_dtypes(mod: IRModule) -> IRModule:
    """The module in A-normal form, with a copy of each polymorphic function for its uses: then what varies
    is known.
    """
    if is_monomorphic(mod):
        return anf_module(mod)
    mod = mod.map_functions(_at_its_calls)
    types = Types(mod)
    mod = mod.map_functions(lambda f: rewrite(f, lambda e: _at_its_types(e, types)))
    instances = monomorphic(infer(mod))
    if not mod.functions.keys() <= instances.functions.keys():
        instances = instances.copy()
        instances.functions = {**mod.functions, **instances.functions}
    return instances


def _is_at_calls(e: Expr) -> bool:
    """Whether an expression is a `vmap` or the derivative of an operator."""
    return isinstance(e, VMap) or (isinstance(e, Grad) and isinstance(e.function, Op))


def _at_its_calls(root: Expr) -> Expr:
    """`root` with `vmap`s and derivatives of operators that have a name in the place of that name where it is
    called.
    """
    order = list(post_order(root))
    named = {e.var: e.value for e in order if type(e) is Let and _is_at_calls(e.value)}
    passed_on = {c for e in order for c in (e.args if type(e) is Call else e.children)}

    def rule(e: Expr) -> Expr | None:
        if type(e) is Call and e.op in named:
            return Call(named[e.op], e.args, None, e.written_type_args, span=e.span)  # pyright: ignore[reportArgumentType]
        return e.body if type(e) is Let and e.var in named and e.var not in passed_on else None

    return rewrite(root, rule) if named else root


def _at_its_types(e: Expr, types: Types) -> Expr | None:
    """A call of the derivative of something polymorphic, as that of a function of the types it is called
    at.
    """
    if not (isinstance(e, Call) and isinstance(e.op, Grad | VMap)):
        return None
    g = e.op
    if isinstance(g, VMap):
        return _of_known_types(e, g, types)
    if isinstance(g.function, Op):
        given = e.args[0] if g.kind == "jvp" else Tuple(e.args)
        whole = types(given)
        assert isinstance(whole, TupleType)
        arg_types, ret_type, type_args = whole.fields, None, ()
    elif e.written_type_args:
        t, type_args = differentiated_type(g, types), e.written_type_args
        by = dict(zip(t.type_params, type_args, strict=True))
        arg_types, ret_type = [substitute_type(a, by) for a in t.arg_types], substitute_type(t.ret_type, by)
    else:
        return None
    params = tuple([Var("x", a, span=e.span) for a in arg_types])
    f = Function(params, Call(g.function, params, None, type_args, span=e.span), ret_type, span=e.span)
    return Call(Grad(g.kind, f, span=g.span), e.args, span=e.span)


def _of_known_types(e: Call, g: VMap, types: Types) -> Expr | None:
    """A call of `vmap` of something polymorphic as that of a function of the types it is called at."""
    if len(e.written_type_args) < 2:
        return None
    rows, *type_args = e.written_type_args
    t = types(g.function)
    assert isinstance(t, FuncType)
    by = dict(zip(t.type_params, type_args, strict=True))
    params = tuple([Var("x", substitute_type(a, by), span=e.span) for a in t.arg_types])
    body = Call(g.function, params, None, tuple(type_args), span=e.span)
    f = Function(params, body, substitute_type(t.ret_type, by), span=e.span)
    return Call(VMap(f, g.in_axes, g.out_axes, span=g.span), e.args, None, (rows,), span=e.span)


def _expanded(mod: IRModule, supply: GlobalVarSupply) -> IRModule:
    """The annotated module, expanded round by round."""
    mod, generic = specialize_grads(mod, supply)
    pending = with_grads(mod)
    if any(type(x) is VMap for e in pending.values() for x in post_order(e)):
        mod = _Round(mod.copy(), pending, supply).partition([v for v in pending if v not in generic])
        pending = with_grads(mod)
    while known := [v for v in pending if v not in generic]:
        this = _Round(mod.copy(), pending, supply)
        mod = infer(this.expand(known))
        pending = {v: mod.functions[v] for v in pending if v not in this.done}
    return mod


def with_grads(mod: IRModule) -> dict[GlobalVar, Expr]:
    """The definitions that have derivatives in them."""
    return {v: e for v, e in mod.functions.items() if any(type(x) in EXPANDED for x in post_order(e))}


class _Round:
    """Expands the derivatives that have no others inside of them."""

    def __init__(self, mod: IRModule, pending: Mapping[GlobalVar, Expr], supply: GlobalVarSupply) -> None:
        """`mod` is changed; `pending` are the definitions with derivatives."""
        self.mod = mod
        self.pending = pending
        self.forward = Forward(DualTypes(mod, "jvp"), supply)
        kinds = {x.kind for e in pending.values() for x in post_order(e) if isinstance(x, Grad)}
        self.reverse = Reverse(DualTypes(mod, "vjp"), supply, again="vjp" in kinds)
        self.batching = Batching(mod, supply, may_select=not kinds)
        self.type_of = Types(mod)
        self.effects = Effects(mod)
        self.done: set[GlobalVar] = set()
        """The definitions that have no derivatives left."""

    def expand(self, names: Collection[GlobalVar]) -> IRModule:
        """The module with these definitions one level of nesting further."""
        found = False
        for name in names:
            new = self._expansions(name, self.pending[name])
            if new:
                found = True
                self.mod[name] = replaced(self.pending[name], new)
        if not found:
            self._report_cycle()
        self.forward.define_waiting()
        self.reverse.define_waiting()
        return self.mod

    def partition(self, names: Collection[GlobalVar]) -> IRModule:
        """The module with those `vmap`s expanded that have derivatives inside, and conditions that differ
        from row to row: what is differentiated is batched first, since rows do not go different ways on a
        tape.
        """
        is_changed = False
        for name in names:
            closing = Closing(self.pending[name], self.type_of, self.effects)
            order = list(post_order(self.pending[name]))
            new: dict[Expr, Expr] = {}
            for e in order:
                if not isinstance(e, VMap):
                    continue
                f, captured, unknown = closing.closed(
                    closing.literal(e.function, target_type(e, self.type_of))
                )
                inside = {type(x) for x in self._reached(f)}
                if unknown is None and Grad in inside and VMap not in inside:
                    made = self.batching.partitioned(e, f, captured)
                    if made is not None:
                        new[e] = made
            if new:
                is_changed = True
                self.mod[name] = replaced(self.pending[name], new)
        return infer(self.mod) if is_changed else self.mod

    def _reached(self, root: Expr) -> Iterator[Expr]:
        """The nodes of an expression, and of the definitions that it uses."""
        seen: set[GlobalVar] = set()
        stack: list[Expr] = [root]
        while stack:
            for x in post_order(stack.pop()):
                yield x
                if isinstance(x, GlobalVar) and x not in seen:
                    seen.add(x)
                    stack.append(self.mod.functions[x])

    def _expansions(self, name: GlobalVar, definition: Expr) -> dict[Expr, Expr]:
        """The derivatives of a definition that can be expanded now."""
        closing = Closing(definition, self.type_of, self.effects)
        new: dict[Expr, Expr] = {}
        left = False
        order = list(post_order(definition))
        calls: dict[VMap, list[Call]] = {}
        for e in order:
            if isinstance(e, Call) and isinstance(e.op, VMap):
                calls.setdefault(e.op, []).append(e)
        for e in order:
            if isinstance(e, Grad | VMap):
                f, captured, unknown = closing.closed(
                    closing.literal(e.function, target_type(e, self.type_of))
                )
                if unknown is not None:
                    report_unknown(e, unknown)
                if not self._is_ready(f):
                    left = True
                elif isinstance(e, Grad):
                    new[e] = self._expanded(e.kind, f, captured)
                elif e not in calls:
                    new[e] = self.batching.root(e, f, captured, None)
                else:
                    for at in calls[e]:
                        new.update(self._batched_call(at, e, f, captured))
        if not left:
            self.done.add(name)
        return new

    def _expanded(self, kind: GradKind, f: Function, captured: list[Var]) -> Expr:
        derive_from(f.span)
        return self.forward.root(f, captured) if kind == "jvp" else self.reverse.root(kind, f, captured)

    def _batched_call(self, at: Call, e: VMap, f: Function, captured: list[Var]) -> dict[Expr, Expr]:
        """What becomes of a call of a `vmap`, of a known number of rows, or of the `vmap`."""
        derive_from(e.span)
        rows = at.written_type_args[0]
        if len(at.written_type_args) > 1 or isinstance(rows, Any):
            return {e: self.batching.root(e, f, captured, None)}
        return {at: Call(self.batching.root(e, f, captured, rows), at.args, span=at.span)}

    def _is_ready(self, f: Function) -> bool:
        """Whether no derivative is left in a function and in all that it calls."""
        return not any(
            isinstance(x, Grad | VMap) or (isinstance(x, GlobalVar) and x in self.pending)
            for x in self._reached(f)
        )

    def _report_cycle(self) -> None:
        for definition in self.pending.values():
            for e in post_order(definition):
                if isinstance(e, Grad | VMap):
                    fail(
                        "unknown-grad-target",
                        "cannot expand the derivative of a function that differentiates itself",
                        span=e.span,
                        hint="differentiate a function that does not call the one around the derivative",
                    )


def report_unknown(e: Grad | VMap, v: Var) -> None:
    """Report a derivative or `vmap` of something that calls a function nobody knows."""
    fail(
        "unknown-grad-target" if isinstance(e, Grad) else "batch-function",
        f"`{e.kind}` of code that calls `%{v.name_hint}`, a function that is not statically known",
        span=e.span,
        hint="take the derivative where the function is known, or pass it as a parameter of a definition",
    )


def replaced(root: Expr, new: Mapping[Expr, Expr]) -> Expr:
    """`root` with some of its nodes replaced."""
    done: dict[Expr, Expr] = dict(new)
    for e in post_order(root):
        if e not in done:
            children = tuple([done[c] for c in e.children])
            done[e] = e if children == e.children else e.rebuild(children)
    return done[root]
