"""Programs through the text of version 0.0.5 and back."""

import relay
from relay.ir.expr import Call, Expr, replace
from relay.ir.functor import ExprMutator
from relay.ir.module import IRModule


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
