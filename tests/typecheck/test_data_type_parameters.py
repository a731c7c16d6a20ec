"""Parameters that stand for the bare name of a data type, of kind `AdtHandle`."""

import pytest

import relay

DATA = """type List[A] { Cons(A, List[A]), Nil, }
type Vec<n: Dim, A> { Vec(A), }
def @same<h: AdtHandle, A>(%x: h[A], %y: h[A]) -> h[A] { %x }
def @apply<h: AdtHandle, A, B>(%x: h[A], %f: fn(h[A]) -> B) -> B { %f(%x) }
def @sized<h: AdtHandle, n: Dim, A>(%x: h[n, A]) -> h[n, A] { %x }
def @phantom<h: AdtHandle, A>(%f: fn(h[A]) -> int32) -> int32 { 1 }
"""


def inferred(main):
    mod = relay.infer(relay.parse(DATA + main))
    relay.check(mod)
    relay.assert_structural_equal(relay.parse(str(mod)), mod)
    return mod


@pytest.mark.parametrize(
    ("body", "type_args", "value"),
    [
        ("@same(Cons(1, Nil), Nil)", "<List, int32>", "[| 1 |]"),
        ("@same<List, int32>(Cons(1, Nil), Nil)", "<List, int32>", "[| 1 |]"),
        (
            "@apply(Cons(1, Nil), fn(%l) { match? (%l) { Cons(%h, _) => %h } })",
            "<List, int32, int32>",
            "1",
        ),
        ("let %v: Vec[3, float32] = Vec(1.0); @sized(%v)", "<Vec, 3, float32>", "Vec(1.0)"),
    ],
)
def test_a_call_finds_the_data_type(body, type_args, value):
    mod = inferred(f"def @main() {{ {body} }}")
    assert type_args in str(mod)
    assert str(mod.evaluate("main")) == value


def test_a_definition_without_annotations_is_generalised_over_it():
    mod = inferred("def @f(%x, %y) { @same(%x, %y) }\ndef @main() { @f(Nil, Cons(True, Nil)) }")
    assert mod["f"].type_params[0].kind is relay.TypeKind.AdtHandle
    assert str(mod.evaluate("main")) == "Nil"


@pytest.mark.parametrize(
    ("main", "code"),
    [
        ("def @main() { @same(Cons(1, Nil), Vec(1)) }", "type-mismatch"),
        ("def @main() { @same(1, 2) }", "type-mismatch"),
        ("def @main() { @phantom(fn(%x) { 1 }) }", "ambiguous-type"),
        ("def @main() { @phantom<Vec, int32>(fn(%x) { 1 }) }", "type-arity"),
        ("def @main<h: AdtHandle, A>(%x: h[A]) { match? (%x) { Cons(%h, _) => %h } }", "type-mismatch"),
        ("def @main<h: AdtHandle>(%x: h) { %x }", "kind-mismatch"),
        ("def @main<h: Type>(%x: h[int32]) { %x }", "unexpected-token"),
    ],
)
def test_what_does_not_fit_is_a_diagnostic(main, code):
    with pytest.raises(relay.RelayError) as caught:
        inferred(main)
    assert set(caught.value.codes) == {code}


def test_a_constraint_that_nothing_decides_is_a_diagnostic():
    with pytest.raises(relay.RelayError) as caught:
        inferred("def @f<r: Constraint>(%x: int32) { %x }  def @main() { @f(1) }")
    assert caught.value.codes == ("ambiguous-type",)
