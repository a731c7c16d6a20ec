"""What a module goes through before it is compiled: passes that make it lean, as `PassContext` says."""

from collections.abc import Sequence

from relay.ir.module import IRModule
from relay.transform.passes.convert_layout import convert_layout
from relay.transform.passes.optimize import optimize
from relay.transform.passes.unused_functions import reached
from relay.transform.rewriting.context import PassContext
from relay.transform.rewriting.definitions import without_definitions
from relay.transform.rewriting.pipeline import RulePass
from relay.transform.rewriting.registry import rules
from relay.typecheck.infer import infer


def lean(mod: IRModule, entries: Sequence[str], level: int | None = None) -> IRModule:
    """What entries need of a module, after passes of at most a level; without one, the context says it.

    Layouts are chosen last, when weights have taken in what is multiplied with them.
    """
    wanted = reached(mod, [mod.get_global_var(name) for name in entries])
    mod = infer(without_definitions(mod, [v for v in mod.functions if v not in wanted]))
    now = PassContext.current()
    # That pass knows of no entry but `@main`.
    disabled = (*now.disabled_pass, "remove_unused_functions")
    with PassContext(now.opt_level, now.required_pass, disabled, now.instruments, now.config):
        mod = optimize(mod, level=level)
        layouts = RulePass(rules[convert_layout])
        return layouts(mod) if now.is_enabled(layouts.info, level) else mod
