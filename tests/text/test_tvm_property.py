"""Version 0.0.5: random modules that it can express come back from it; all others are refused."""

import relay
from relay.ir.expr import Call, Expr, GlobalVar, replace
from relay.ir.functor import ExprMutator
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.testing.programs import random_module, random_program


class WithoutTypeArguments(ExprMutator):
    """The format does not write type arguments, since inference finds them again."""

    def visit_call(self, call: Call) -> Expr:
        return replace(super().visit_call(call), type_args=())


def without_type_arguments(mod: IRModule) -> IRModule:
    new = mod.copy()
    for var, definition in mod.items():
        new[var] = WithoutTypeArguments().visit(definition)
    return new


def in_old_words(mod: IRModule) -> str | None:
    """The module as 0.0.5 text; None if it says something that the format has no words for."""
    try:
        return mod.astext(dialect="tvm", show_meta_data=True)
    except relay.RelayError as error:
        if set(error.codes) != {"dialect-cannot-express"}:
            raise
        return None


def survives(mod: IRModule, seed: object) -> bool:
    text = in_old_words(mod)
    if text is None:
        return False
    try:
        again = relay.parse(text)
        relay.assert_structural_equal(again, without_type_arguments(mod))
        assert again.astext(dialect="tvm", show_meta_data=True) == text
    except Exception as error:
        raise AssertionError(f"{seed}, printed as\n{text}") from error
    return True


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
