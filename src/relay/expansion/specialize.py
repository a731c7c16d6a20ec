"""Specialisation: a definition that differentiates one of its parameters gets a copy for each function it
is given.

`def @slope(%f, %x) { grad(%f)(%x).1.0 }` called as `@slope(fn(%y) { %y * %c }, 2.0)` becomes a call of
`def @slope_1(%c, %x) { let %f = fn(%y) { %y * %c }; grad(%f)(%x).1.0 }`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from relay.analysis.effects import Effects
from relay.analysis.kinds import free_type_vars
from relay.autodiff.closing import Closing, holds_function
from relay.autodiff.local import inlined_at_calls
from relay.diagnostic import fail
from relay.ir.equal import structural_equal
from relay.ir.expr import Call, Expr, Function, GlobalVar, Grad, Let, Op, Var, VMap, replace
from relay.ir.hashing import structural_hash
from relay.ir.module import IRModule
from relay.ir.subst import substitute_type
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import ANY, FuncType, TypeVar
from relay.ir.walk import post_order
from relay.transform.rewriting.anf_conversion import anf_module
from relay.transform.rewriting.copying import Copy, fresh_copy
from relay.transform.rewriting.definitions import with_definitions
from relay.typecheck.infer import infer
from relay.typecheck.query import Types

MAX_COPIES_PER_DEFINITION = 64
"""Copies of one definition; more are made only by a recursion that passes an ever larger function on."""


def specialize_grads(mod: IRModule, supply: GlobalVarSupply) -> tuple[IRModule, set[GlobalVar]]:
    """The module with known functions in the place of differentiated parameters, and what differentiates
    others still.

    `mod` is annotated, and so is the result.
    """
    this = _Specializer(mod, supply)
    while (known := this.with_local_functions_known()) is not this.mod:
        this = _Specializer(infer(anf_module(known)), supply)
    return this.specialized()


class _Specializer:
    def __init__(self, mod: IRModule, supply: GlobalVarSupply) -> None:
        self.mod = mod
        self.supply = supply
        self.needs: dict[GlobalVar, set[int]] = {}
        self.copies: dict[GlobalVar, list[tuple[Any, list[Function], GlobalVar]]] = {}
        self.analyse()

    def analyse(self) -> None:
        """What the current module differentiates, and through which parameters."""
        self.type_of = Types(self.mod)
        self.effects = Effects(self.mod)
        self.closings = {v: Closing(f, self.type_of, self.effects) for v, f in self.mod.functions.items()}
        changed = True
        while changed:
            new = [self._note(v, f) for v, f in self.mod.functions.items()]
            changed = any(new)

    def _note(self, name: GlobalVar, f: Expr) -> bool:
        """Note the parameters of a definition that it differentiates; whether there are new ones."""
        if not isinstance(f, Function) or not any(holds_function(self.type_of(p)) for p in f.params):
            return False
        wanted = {self._unknown(name, e, t) for e, t in self._targets(f)} & set(f.params)
        found = {f.params.index(v) for v in wanted if v is not None}
        new = found - self.needs.get(name, set())
        if new:
            self.needs.setdefault(name, set()).update(new)
        return bool(new)

    def with_local_functions_known(self) -> IRModule:
        """The module with the local functions that differentiate a parameter where they are called."""
        new: dict[GlobalVar, Expr] = {}
        for name, f in self.mod.functions.items():
            inner = [g for g in post_order(f) if isinstance(g, Function) and g is not f]
            owner = {p: g for g in inner for p in g.params if holds_function(self.type_of(p))}
            unknown = [self._unknown(name, e, t) for e, t in self._targets(f)] if owner else []
            which = {owner[v] for v in unknown if v in owner}
            made = inlined_at_calls(f, which) if which else f
            if made is not f:
                new[name] = made
        return with_definitions(self.mod, new)

    def _targets(self, f: Expr) -> Iterator[tuple[Expr, FuncType]]:
        """The functions that must be known in a definition, with their types."""
        for e in post_order(f):
            if isinstance(e, Grad | VMap):
                yield e.function, target_type(e, self.type_of)
            elif isinstance(e, Call) and isinstance(e.op, GlobalVar):
                for i in self.needs.get(e.op, ()):
                    yield e.args[i], self._given(e, i)

    def _given(self, e: Call, i: int) -> FuncType:
        """The type of a function that is passed; of a name with many types, the one asked for."""
        t = self.type_of(e.args[i])
        if isinstance(e.args[i], Op | GlobalVar):
            wanted: Any = self.type_of(e.op)
            by = dict(zip(wanted.type_params, e.written_type_args, strict=False))
            t = substitute_type(wanted.arg_types[i], by)
        assert isinstance(t, FuncType)
        return t

    def _unknown(self, name: GlobalVar, e: Expr, t: FuncType) -> Var | None:
        closing = self.closings[name]
        return closing.closed(closing.literal(e, t))[2]

    def specialized(self) -> tuple[IRModule, set[GlobalVar]]:
        """The module, with a copy for each set of functions that a definition is called with."""
        todo = [v for v in self.mod.functions if v not in self.needs] if self.needs else []
        while todo:
            mod = self.mod.copy()
            made: list[GlobalVar] = []
            for name in todo:
                mod[name] = self._rewritten(name, mod, made)
            self.mod = infer(mod)
            todo = made
            if made:
                self.analyse()
        return self.mod, set(self.needs)

    def _rewritten(self, name: GlobalVar, mod: IRModule, made: list[GlobalVar]) -> Expr:
        """A definition with its calls of what needs functions turned to copies."""
        new: dict[Expr, Expr] = {}
        root = self.mod.functions[name]
        for e in post_order(root):
            children = tuple([new[c] for c in e.children])
            kept = e if children == e.children else e.rebuild(children)
            if isinstance(e, Call) and isinstance(e.op, GlobalVar) and e.op in self.needs:
                assert isinstance(kept, Call)
                kept = self._redirected(name, e, kept, mod, made)
            new[e] = kept
        return new[root]

    def _redirected(self, name: GlobalVar, e: Call, kept: Call, mod: IRModule, made: list[GlobalVar]) -> Expr:
        """A call of the copy for the functions that are passed; the call itself where one is not known."""
        assert isinstance(e.op, GlobalVar)
        closing = self.closings[name]
        which = sorted(self.needs[e.op])
        functions: list[Function] = []
        captured: list[Var] = []
        for i in which:
            t = self._given(e, i)
            f, outside, unknown = closing.closed(closing.literal(e.args[i], t))
            if unknown is not None:
                return kept
            functions.append(
                Function((*outside, *f.params), f.body, f.ret_type, attrs={"captured": len(outside)})
            )
            captured += outside
        copy = self._copy(e, which, functions, mod, made)
        rest = [a for i, a in enumerate(kept.args) if i not in which]
        return Call(copy, (*captured, *rest), span=e.span)

    def _copy(
        self, e: Call, which: Sequence[int], functions: list[Function], mod: IRModule, made: list[GlobalVar]
    ) -> GlobalVar:
        """The copy that a call with these functions is one of, each with what it captures as its first
        parameters.
        """
        name = e.op
        assert isinstance(name, GlobalVar)
        key = (e.written_type_args, *[structural_hash(f) for f in functions])
        known = self.copies.setdefault(name, [])
        for other, before, copy in known:
            if other == key and all(map(structural_equal, before, functions)):
                return copy
        if len(known) == MAX_COPIES_PER_DEFINITION:
            fail(
                "unknown-grad-target",
                f"`@{name.name_hint}` differentiates its argument, and is called with ever more functions",
                span=functions[0].span,
                hint="let the recursion pass the same function on",
            )
        copy = self.supply.fresh_global(f"{name.name_hint}_of")
        known.append((key, functions, copy))
        mod[copy] = specialized_copy(mod.functions[name], e.written_type_args, which, functions)
        made.append(copy)
        return copy


def specialized_copy(
    definition: Any, type_args: Sequence[Any], which: Sequence[int], functions: Sequence[Function]
) -> Expr:
    """A definition without the parameters `which`, at the types that it is called at: `functions` are defined
    inside, what they capture is passed.  The type parameters around the call are those of the copy.
    """
    by = dict(zip(definition.type_params, type_args, strict=True))
    kept = {p: TypeVar(p.name_hint, p.kind) for p, a in by.items() if a is ANY}
    types = Copy(by | kept)
    params, body, ret_type = types.function(definition)
    captured = list[Var]()
    for i, known in reversed(list(zip(which, functions, strict=True))):
        made: Any = fresh_copy(known)
        n = made.attrs["captured"]
        captured[:0] = made.params[:n]
        body = Let(
            params[i],
            Function(made.params[n:], made.body, made.ret_type, span=known.span),
            body,
            span=known.span,
        )
    rest = [p for i, p in enumerate(params) if i not in which]
    needs = [types.type(c) for c in definition.constraints]
    f = Function((*captured, *rest), body, ret_type, (), definition.attrs, needs, span=definition.span)
    return fresh_copy(replace(f, type_params=tuple(free_type_vars(f))))


def target_type(e: Grad | VMap, type_of: Types) -> FuncType:
    """The type of what is differentiated or batched."""
    if isinstance(e, Grad):
        return differentiated_type(e, type_of)
    t = type_of(e.function)
    assert isinstance(t, FuncType)
    return t


def differentiated_type(e: Grad, type_of: Types) -> FuncType:
    """The type of what is differentiated, from the type of the derivative."""
    t: Any = type_of(e)
    params = t.arg_types if e.kind != "jvp" else t.arg_types[0].fields
    return FuncType(params, t.ret_type.fields[0], t.type_params, t.type_constraints)
