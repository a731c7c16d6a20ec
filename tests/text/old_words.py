"""Programs through the text of version 0.0.5 and back."""

from dataclasses import replace as changed

import relay
from relay.ir.expr import Call, Expr, replace
from relay.ir.functor import ExprMutator
from relay.ir.module import IRModule


class AsWritten(ExprMutator):
    """The format writes neither type arguments nor `tvm_attributes`, since inference finds what they say."""

    def visit_call(self, call: Call) -> Expr:
        new = replace(super().visit_call(call), type_args=())
        attrs = getattr(new.attrs, "tvm_attributes", {})
        return replace(new, attrs=changed(new.attrs, **attrs)) if attrs else new


def as_written(mod: IRModule) -> IRModule:
    new = mod.copy()
    for var, definition in mod.items():
        new[var] = AsWritten().visit(definition)
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
        relay.assert_structural_equal(again, as_written(mod))
        assert again.astext(dialect="tvm", show_meta_data=True) == text
    except Exception as error:
        raise AssertionError(f"{seed}, printed as\n{text}") from error
    return True
