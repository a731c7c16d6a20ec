"""Lists in text: what they mean, what prints as one, and how long they may be."""

import numpy as np
import pytest

import relay
from relay.ir.expr import Call
from relay.text.parser import parse_expression, parse_module

HEADER = 'import "std/list"\n'
STD = parse_module(HEADER)


def same(a: str, b: str) -> bool:
    return relay.structural_equal(parse_expression(a, mod=STD), parse_expression(b, mod=STD), True)


@pytest.mark.parametrize(
    ("sugar", "plain"),
    [
        ("[||]", "Nil"),
        ("[| |]", "Nil"),
        ("[| 1 |]", "Cons(1, Nil)"),
        ("[| 1, 2, |]", "Cons(1, Cons(2, Nil))"),
        ("[| 1, ..%r |]", "Cons(1, %r)"),
        ("[| ..%r |]", "%r"),
        ("[| [||], [| [1, 2] |] |]", "Cons(Nil, Cons(Cons([1, 2], Nil), Nil))"),
        ("[| True || False, -1, ..Nil |]", "Cons(True || False, Cons(-1, Nil))"),
    ],
)
def test_a_list_is_a_chain_of_cells(sugar, plain):
    assert same(sugar, plain)


def test_patterns_are_chains_of_cells():
    sugar = "match (%l) { [| %a, _, ..%t |] => %t, [| ..%r |] => %r }"
    assert same(sugar, "match (%l) { Cons(%a, Cons(_, %t)) => %t, %r => %r }")
    assert same("match? (%l) { [| %a, .. |] => %a }", "match? (%l) { Cons(%a, _) => %a }")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("Cons(1, Cons(%x, Nil))", "[| 1, %x |]"),
        ("Cons(1, Cons(2, %r))", "[| 1, 2, ..%r |]"),
        ("Cons(1, %r)", "Cons(1, %r)"),
        ("Nil", "Nil"),
        ("Cons(Cons(1, Nil), Nil)", "[| [| 1 |] |]"),
    ],
)
def test_what_prints_as_a_list(text, printed):
    assert str(parse_expression(text, mod=STD)).splitlines()[-1] == printed


def test_a_shared_tail_keeps_its_name():
    mod = parse_module(HEADER + "def @main() { %0 = [| 3 |]; ([| 1, 2, ..%0 |], [| 4, 5, ..%0 |]) }")
    assert "[| 1, 2, ..%0 |]" in str(mod)
    assert relay.structural_equal(parse_module(str(mod)), mod)


def test_each_element_has_its_place():
    e = parse_expression("[| 10, 20 |]", mod=STD)
    assert isinstance(e, Call)
    assert str(e.span).endswith("1:1")
    assert str(e.args[1].span).endswith("1:8")


def test_a_list_has_the_value_of_its_cells():
    mod = parse_module(
        HEADER
        + """
        def @f(%x: float32) { @foldl(add, 0.0, [| %x, %x * 2.0, ..[| 4.0 |] |]) }
        def @main(%x: float32) { (@f(%x), grad(@f)(%x).1.0) }
        """
    )
    for run in (relay.create_executor("debug", mod=mod).evaluate(), relay.build(mod)):
        value, gradient = run(np.float32(1))
        assert (float(value), float(gradient)) == (7.0, 3.0)


@pytest.mark.parametrize("length", [20_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_a_long_list_goes_through(length):
    elements = ", ".join(map(str, range(length)))
    mod = parse_module(f"{HEADER}def @main() {{ [| {elements} |] }}")
    assert relay.structural_equal(parse_module(str(mod)), mod)


def test_lists_print_as_lists_after_inference():
    mod = parse_module(
        HEADER
        + "def @main(%x: int32, %r: List[List[int32]]) {"
        + " [| [| 1, %x |], Nil, ..[| @f(Cons(%x, Nil)), [| 2 |], ..%r |] |] }"
        + "def @f<a>(%l: List[a]) -> List[a] { %l }"
    )
    inferred = relay.transform.InferType()(mod)
    text = str(inferred)
    assert "[|<int32> 1i32, %x |]" in text
    assert "@f<int32>([|<int32> %x |])" in text
    assert "Cons<" not in text
    assert relay.structural_equal(parse_module(text), inferred)
    pair = parse_expression("[|<(int32, bool)> (1, True), ..Nil<(int32, bool)>() |]", mod=STD)
    assert pair.type_args == pair.args[1].type_args
