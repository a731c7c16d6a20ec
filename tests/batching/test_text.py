"""`vmap` in text, JSON and pickles, in comparisons and in visitors."""

import pickle

import pytest

import relay
from relay.ir.expr import VMap
from relay.ir.functor import ExprMutator, ExprVisitor
from relay.text.json_format import load_json, save_json

AXES = [
    "",
    ", in_axes=1",
    ", in_axes=-1",
    ", in_axes=(0, None)",
    ", in_axes=((0, None), 1)",
    ", in_axes=(None, (0, (1, None)))",
    ", out_axes=1",
    ", in_axes=(0, None), out_axes=(0, -1)",
]


def program(axes: str) -> str:
    x = "Tensor[(2, 2), float32]"
    pair = f"({x}, ({x}, {x}))" if "(1, None)" in axes else f"({x}, {x})" if "((" in axes else x
    first, second = (x, pair) if "(None, (" in axes else (pair, x)
    result = "(%x, %y)" if "out_axes=(" in axes else "%x"
    body = f"fn(%x: {first}, %y: {second}) {{ {result} }}"
    return f"def @main() {{ vmap({body}{axes}) }}"


@pytest.mark.parametrize("axes", AXES)
def test_text_json_and_pickles_keep_axes(axes: str) -> None:
    for mod in (relay.parse(program(axes)), relay.infer(relay.parse(program(axes)))):
        assert relay.structural_equal(relay.parse(mod.astext()), mod)
        assert relay.structural_equal(load_json(save_json(mod)), mod)
        assert relay.structural_equal(pickle.loads(pickle.dumps(mod)), mod)
        assert relay.structural_hash(relay.parse(mod.astext())) == relay.structural_hash(mod)


def test_axes_are_part_of_what_is_compared() -> None:
    mods = [relay.parse(f"def @main() {{ vmap(fn(%x: Tensor[(2, 2), float32]) {{ %x }}{axes}) }}")
            for axes in ("", ", in_axes=1", ", out_axes=1", ", in_axes=(0,)")]  # fmt: skip
    for i, a in enumerate(mods):
        for b in mods[:i]:
            assert not relay.structural_equal(a, b) or relay.structural_hash(a) == relay.structural_hash(b)
    assert not relay.structural_equal(mods[0], mods[1])
    assert not relay.structural_equal(mods[0], mods[2])
    assert relay.structural_hash(mods[0]) != relay.structural_hash(mods[1])


def test_visitors_and_mutators_go_through_it() -> None:
    e = relay.parse_expr("vmap(fn(%x: float32) { %x + 1.0 }, out_axes=0)")
    seen: list[str] = []

    class Names(ExprVisitor):
        def visit_call(self, call: relay.Call) -> None:
            seen.append(call.attrs.name)
            super().visit_call(call)

    class Doubled(ExprMutator):
        def visit_constant(self, const: relay.Constant) -> relay.Expr:
            return relay.const(2.0)

    Names().visit(e)
    assert seen == ["add"]
    made = Doubled().visit(e)
    assert isinstance(made, VMap)
    assert "2f" in str(made)
