"""Patterns in `let` and as parameters: what they mean, what prints so, and how many there may be."""

import pickle

import numpy as np
import pytest

import relay
from relay.text.parser import parse_expression, parse_module

HEADER = 'import "std/list"\ntype Pair { Pair(float32, float32) }\n'
STD = parse_module(HEADER)


@pytest.mark.parametrize(
    ("sugar", "plain"),
    [
        ("let (%a, _) = %t; %a", "match (%t) { (%a, _) => %a }"),
        ("let (%a) = %t; %a", "let %a = %t; %a"),
        ("let (_) = %t; 1", "let %_ = %t; 1"),
        ("let () = %t; 1", "match (%t) { () => 1 }"),
        ("let Pair(%a, %b) = %t; %a", "match (%t) { Pair(%a, %b) => %a }"),
        ("let (%a, %b) = %a; %b", "match (%c) { (%a, %b) => %b }"),
        ("let Cons(%a, _) = %t else { 0 }; %a", "match (%t) { Cons(%a, _) => %a, _ => 0 }"),
        ("let Nil = %t else { 0 }; 1", "match (%t) { Nil => 1, _ => 0 }"),
        ("fn ((%a, %b)) { %a }", "fn (%p) { match (%p) { (%a, %b) => %a } }"),
        ("fn (%x, (%a, _): (bool, bool), k=1) { %x }",
         "fn (%x, %p: (bool, bool), k=1) { match (%p) { (%a, _) => %x } }"),
    ],
)  # fmt: skip
def test_a_pattern_that_binds_is_a_match(sugar, plain):
    a, b = parse_expression(sugar, mod=STD), parse_expression(plain, mod=STD)
    assert relay.structural_equal(a, b, map_free_vars=True)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("fn (%t) { match (%t) { (%a, _) => %a } }", "let (%a, _) = %t;"),
        ("fn (%t) { match (%t) { Pair(%a, _) => %a } }", "let Pair(%a, _) = %t;"),
        ("fn (%t) { match (%t) { Cons(%a, _) => { let %b = %a * %a; %b + %b }, _ => 0 } }",
         "let Cons(%a, _) = %t else { 0 };"),
        ("fn (%t) { match (%t) { Cons(%a, _) => %a, _ => 0 } }", "Cons(%a, _) => %a,"),
        ("fn (%t) { match? (%t) { Cons(%a, _) => %a } }", "Cons(%a, _) => %a,"),
        ("fn (%t) { match (%t) { %a => %a } }", "%a => %a,"),
    ],
)  # fmt: skip
def test_what_prints_as_a_binding(text, printed):
    e = parse_expression(text, mod=STD)
    again = e.astext(mod=STD)
    assert printed in [line.strip() for line in again.splitlines()]
    assert relay.structural_equal(parse_expression(again, mod=STD), e)


def test_shared_nodes_below_a_binding_stay_shared():
    mod = parse_module(
        "def @main(%t: (int32, int32)) { let (%a, _) = %t; %0 = %a * %a; let (%b, _) = (%0, %0); %0 + %b }"
    )
    again = parse_module(str(mod))
    assert relay.structural_equal(again, mod)
    assert str(again) == str(mod)
    assert relay.structural_equal(pickle.loads(pickle.dumps(mod)), mod)


def test_values_and_gradients_go_through():
    mod = parse_module(
        HEADER
        + """
        def @f((%a, (%b, _)): (float32, (float32, int32)), Pair(%c, %d)) { %a * %b + %c * %d }
        def @main(%x: float32) {
          let (%y, %g) = (%x * 2.0, grad(@f)((%x, (3.0, 1)), Pair(%x, 5.0)));
          let Cons(%h, _) = [| %y |] else { (0.0, 0.0, 0.0) };
          let (%value, ((%da, (%db, _)), Pair(%dc, %dd))) = %g;
          (%value + %h, %da + %db, %dc + %dd)
        }
        """
    )
    assert relay.structural_equal(parse_module(str(relay.infer(mod))), relay.infer(mod))
    for run in (relay.create_executor("debug", mod=mod).evaluate(), relay.build(mod)):
        assert [float(v) for v in run(np.float32(2))] == [20.0, 5.0, 7.0]


def test_10_000_patterns_in_a_row_go_through():
    rows = "let (%a, %b) = (%b, %a);" * 10_000
    mod = parse_module(f"def @main(%a: int32, %b: int32) {{ {rows} %a }}")
    assert relay.structural_equal(parse_module(str(mod)), mod)
    run = relay.create_executor("debug", mod=mod).evaluate()
    assert int(run(np.int32(1), np.int32(2))) == 1


def test_a_fault_in_the_value_is_the_only_one():
    with pytest.raises(relay.RelayError) as caught:
        parse_module("def @main() { let (%a, %b) = 1 +; %a + %b }")
    assert list(caught.value.codes) == ["unexpected-token"]


PARAMETERS = """def @first((%a, (%b, _)): (float32, (float32, int32)), %x: float32) {
  let %f = fn ((%c, %d)) { %c - %d };
  %f((%a * %x, %b))
}
"""


def test_patterns_of_parameters_are_printed_where_they_stood():
    mod = parse_module(PARAMETERS)
    assert PARAMETERS in str(mod)
    inferred = relay.infer(mod)
    assert "let" in str(inferred)
    assert "let (" not in str(inferred)
    assert relay.structural_equal(parse_module(str(inferred)), inferred)


@pytest.mark.parametrize(
    "text",
    [
        "fn (%arg0) { let (%a, %b) = %arg0; (%a, %arg0) }",
        "fn (%arg0, %a) { let (%a, %b) = %arg0; %a }",
        "fn (%x) { let (%a, %b) = %x; %a }",
        "fn (%arg0, %arg1) { let (%b, _) = %arg1; let (%a, _) = %arg0; %a + %b }",
    ],
)
def test_other_bindings_of_parameters_stay_in_the_body(text):
    e = relay.parse_expr(text)
    assert "let (%a" in str(e)
    assert relay.structural_equal(relay.parse_expr(str(e)), e)
