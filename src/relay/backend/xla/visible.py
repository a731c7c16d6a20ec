"""Whether those who call a program see what its references hold."""

from collections.abc import Sequence

from relay.ir.expr import Function, GlobalVar
from relay.ir.module import IRModule
from relay.ir.type import FuncType, GlobalTypeVar, RefType, Type
from relay.ir.walk import type_post_order
from relay.typecheck.types import Types


def shows_references(mod: IRModule, types: Types, entries: Sequence[str]) -> bool:
    """Whether references, or functions that may hold some, come in or go out with values of entries, or are
    in constants, which live as long as the program.
    """
    pending: list[Type | None] = []
    for name in entries:
        f = mod.functions[GlobalVar(name)]
        if isinstance(f, Function):
            pending += [f.ret_type, *[p.type_annotation for p in f.params]]
    pending += [types(e) for e in mod.functions.values() if not isinstance(e, Function)]
    seen: set[GlobalTypeVar] = set()
    while pending:
        t = pending.pop()
        for part in () if t is None else type_post_order(t):
            if isinstance(part, RefType | FuncType):
                return True
            if isinstance(part, GlobalTypeVar) and part not in seen:
                seen.add(part)
                pending += [x for c in mod.type_definitions[part].constructors for x in c.inputs]
    return False
