"""Functions without what they write: for those that run again, and have written it."""

from collections import deque
from collections.abc import Mapping, Sequence

from relay.autodiff.plan import passes_on
from relay.ir.bind import substitute
from relay.ir.expr import Call, Expr, Function, GlobalVar, Grad, Let, Tuple, Var, replace
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.vars import free_vars
from relay.ir.walk import post_order, rewrite


class Quiet:
    """The functions of a module, with their effects passed by; an assertion holds again, and stays."""

    def __init__(self, mod: IRModule, supply: GlobalVarSupply) -> None:
        """`mod` gets copies of definitions that write something, as they are asked for."""
        self.mod = mod
        self.supply = supply
        self.copies: dict[GlobalVar, GlobalVar] | None = None

    def of(self, f: Function, literals: Mapping[Var, Function]) -> Function:
        """A function that writes nothing; itself if it is such a one.

        Functions around it that it calls are known by `literals`, outer ones first.  One that it is given,
        or that another gave, is called as it is and writes again: it is not known here.
        """
        if self.copies is None:
            loud = self._loud()
            self.copies = {v: self.supply.fresh_global(v.name_hint) for v in loud}
            for v in loud:
                self.mod[self.copies[v]] = self._without(self.mod.functions[v])
        made = self._without(f)
        assert isinstance(made, Function)
        return self._with_own(made, literals)

    def _with_own(self, f: Function, literals: Mapping[Var, Function]) -> Function:
        """A function with silent copies of the functions around it that it calls and that write something."""
        called: dict[Var, Sequence[Var]] = {}
        pending = [v for v in free_vars(f) if v in literals]
        while pending:
            v = pending.pop()
            if v not in called:
                called[v] = [w for w in free_vars(literals[v]) if w in literals]
                pending += called[v]
        if not called:
            return f
        silent: dict[Var, Expr] = {}
        own: dict[Var, Var] = {}
        for v in [v for v in literals if v in called]:
            silent[v] = self._without(literals[v])
            if silent[v] is not literals[v] or any(w in own for w in called[v]):
                own[v] = Var(v.name_hint, v.type_annotation, span=v.span)
        if not own:
            return f
        body = substitute(f.body, own)
        for v in reversed(own):
            body = Let(own[v], substitute(silent[v], own), body, span=v.span)
        return replace(f, body=body)

    def _loud(self) -> list[GlobalVar]:
        """The definitions that write something, or mention such a one; those that have derivatives in them
        are not called by what is differentiated.
        """
        users: dict[GlobalVar, list[GlobalVar]] = {}
        found: dict[GlobalVar, None] = {}
        for v, definition in self.mod.functions.items():
            nodes = list(post_order(definition))
            for e in nodes if not any(isinstance(e, Grad) for e in nodes) else ():
                if isinstance(e, GlobalVar):
                    users.setdefault(e, []).append(v)
                elif passes_on(e):
                    found[v] = None
        pending = deque(found)
        while pending:
            for user in users.get(pending.popleft(), ()):
                if user not in found:
                    found[user] = None
                    pending.append(user)
        return list(found)

    def _without(self, root: Expr) -> Expr:
        copies = self.copies or {}

        def rule(e: Expr) -> Expr | None:
            if isinstance(e, GlobalVar):
                return copies.get(e)
            if not passes_on(e):
                return None
            assert isinstance(e, Call)
            return e.args[0] if e.args else Tuple((), span=e.span)

        return rewrite(root, rule)
