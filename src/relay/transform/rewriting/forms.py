"""Forms: what passes rely on and establish."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from relay.ir.expr import Expr, GlobalVar
from relay.ir.module import IRModule

FACTS = "forms"


@dataclass(frozen=True, eq=False)
class Form:
    """A property of definitions: `by` is the pass that establishes it, `holds` tests a definition for it."""

    name: str
    by: str
    holds: Callable[[Expr], bool]

    def is_known(self, mod: IRModule) -> bool:
        """Whether each definition of `mod` is known to have the form, and has not been replaced since."""
        known = mod.facts.get(FACTS, {}).get(self.name, {})
        return all(known.get(v) is e for v, e in mod.functions.items())

    def is_known_of(self, mod: IRModule, v: GlobalVar) -> bool:
        """Whether one definition is known to have the form."""
        return mod.facts.get(FACTS, {}).get(self.name, {}).get(v) is mod.functions[v]

    def note(self, mod: IRModule, names: Iterable[GlobalVar] | None = None) -> None:
        """Note that the definitions of `mod`, or some of them, have the form."""
        known: dict[str, Any] = mod.facts.get(FACTS, {})
        new = mod.functions if names is None else {v: mod.functions[v] for v in names}
        mod.facts[FACTS] = {**known, self.name: dict(new)}


def is_annotated(definition: Expr) -> bool:
    """Anything at all: whether types are filled in, `typecheck.check` says."""
    return True


def is_anf(definition: Expr) -> bool:
    """Whether operands are atoms and nothing is shared but through variables."""
    from relay.analysis.normal_form import is_a_normal

    return is_a_normal(definition)


def is_basic_blocks(definition: Expr) -> bool:
    """Whether nothing is shared between scopes but through variables."""
    from relay.analysis.normal_form import check_basic_block_normal_form

    return check_basic_block_normal_form(definition)


TYPED = Form("typed", "infer_type", is_annotated)
ANF = Form("A-normal", "to_anf", is_anf)
BASIC_BLOCKS = Form("basic-block", "to_basic_block_normal_form", is_basic_blocks)
