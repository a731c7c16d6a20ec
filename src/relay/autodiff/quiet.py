"""Functions without what they write: for those that run again, and have written it."""

from collections import deque

from relay.autodiff.plan import passes_on
from relay.ir.expr import Call, Expr, Function, GlobalVar, Grad, Tuple
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.walk import post_order, rewrite


class Quiet:
    """The functions of a module, with their effects passed by; an assertion holds again, and stays."""

    def __init__(self, mod: IRModule, supply: GlobalVarSupply) -> None:
        """`mod` gets copies of definitions that write something, as they are asked for."""
        self.mod = mod
        self.supply = supply
        self.copies: dict[GlobalVar, GlobalVar] | None = None

    def of(self, f: Function) -> Function:
        """A function that writes nothing; itself if it is such a one."""
        if self.copies is None:
            loud = self._loud()
            self.copies = {v: self.supply.fresh_global(v.name_hint) for v in loud}
            for v in loud:
                self.mod[self.copies[v]] = self._without(self.mod.functions[v])
        made = self._without(f)
        assert isinstance(made, Function)
        return made

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
