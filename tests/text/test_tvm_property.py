"""Version 0.0.5: random modules that it can express come back from it; all others are refused."""

import relay
from generators.programs import random_module, random_program
from relay.ir.expr import GlobalVar
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from text.old_words import survives


def without_symbolic_sizes(mod: IRModule) -> IRModule:
    """The module without the definitions that are polymorphic in a dimension, if nothing calls them."""
    new = mod.copy()
    used = {e for d in mod.functions.values() for e in post_order(d) if isinstance(e, GlobalVar)}
    for name in ("scale", "twin"):
        if mod.get_global_var(name) not in used:
            del new.functions[mod.get_global_var(name)]
    return new


def test_annotated_programs_come_back_from_version_0_0_5(seeds):
    expressed = 0
    for seed in seeds:
        mod = without_symbolic_sizes(relay.infer(random_program(seed, 8).mod))
        expressed += survives(mod, f"random_program({seed}, 8)")
    assert expressed >= len(seeds) // 4


def test_modules_of_any_form_come_back_or_are_refused(seeds):
    for seed in seeds:
        survives(random_module(seed, 8), f"random_module({seed}, 8)")
