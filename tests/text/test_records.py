"""Records in text: what they mean, how they print, and how deep they may be."""

import pickle

import pytest

import relay
from relay.text.parser import parse_expression, parse_module, parse_type

TYPES = """
type Layer[o: Dim, i: Dim] { Layer { w: Tensor[(o, i), float32], b: Tensor[(o,), float32] } }
type Node { Node { next: Node, value: int32 }, End }
"""
MOD = parse_module(TYPES)


def expr(text):
    return parse_expression(text, mod=MOD)


def same(a, b):
    return relay.structural_equal(expr(a), expr(b), True)


@pytest.mark.parametrize(
    ("sugar", "plain"),
    [
        ("Layer { w: %w, b: %b }", "Layer(%w, %b)"),
        ("Layer { b: %b, w: %w, }", "Layer(%w, %b)"),
        ("Layer { w: cos(%x), b: sin(%x) }", "Layer(cos(%x), sin(%x))"),
        ("Layer { b: sin(%x), w: cos(%x) }", "let %b = sin(%x); let %w = cos(%x); Layer(%w, %b)"),
        ("Layer { b: sin(%x), w: %w }", "let %b = sin(%x); Layer(%w, %b)"),
        ("Node { value: 1, next: End }", "Node(End, 1)"),
        ("Layer<2, 3> { w: %w, b: %b }", "Layer<2, 3>(%w, %b)"),
        ("%l.w", 'index(%l, items=(".w",))'),
        ("%l.next.value", 'index(index(%l, items=(".next",)), items=(".value",))'),
        ("%l.0.w[1]", 'index(index(%l.0, items=(".w",)), items=(1,))'),
        ("%l with { b: %c }", 'index_update(%l, %c, items=(".b",))'),
        ("%l with { b: %c, w: %d }", "(%l with { b: %c }) with { w: %d }"),
        ("%x with { [%i, 1:]: 2, }", 'index_update(%x, 2, %i, items=("%", (1, None, None)))'),
        ("-%l.w + %l with { b: %c }", "(-(%l.w)) + (%l with { b: %c })"),
    ],
)
def test_forms_stand_for_calls(sugar, plain):
    assert same(sugar, plain)


def test_patterns_name_fields():
    sugar = "match (%n) { Node { value: %v, .. } => %v, Node { next: _, value: _ } => 1, End => 0 }"
    assert same(sugar, "match (%n) { Node(_, %v) => %v, Node(_, _) => 1, End => 0 }")
    assert same("match? (%n) { case Node { .. } { 1 } }", "match? (%n) { Node(_, _) => 1 }")


@pytest.mark.parametrize(
    "text",
    [
        "Layer { w: %w, b: %b }",
        "Layer { b: sin(%x), w: cos(%x) }",
        "Node { next: Node { next: End, value: 2 }, value: 1 }.value",
        "(%l with { b: %c, w: %d }).w + 1",
        "%x with { [0]: 1, [%i, ..., None]: %x[1] }",
        "%with + %as.w",
        "%l.w.0",
        "(%a + %b) with { [1]: 2 }",
    ],
)
def test_what_prints_as_it_is_written(text):
    printed = str(parse_module(f"{TYPES}def @main(%w, %b, %x, %l, %c, %d, %i, %with, %as, %a) {{ {text} }}"))
    assert f"\n  {text}\n" in printed


def test_fields_in_another_order_print_so():
    source = (
        TYPES
        + "def @main(%x: float32) { Node { value: @g(%x), next: @f(Node { value: @g(%x), next: End }) } }"
    )
    source += " def @g(%x) { 1 } def @f(%n: Node) { %n }"
    mod = parse_module(source)
    assert "Node { value: @g(%x), next: @f(Node { value: @g(%x), next: End }) }" in str(mod)
    assert relay.structural_equal(parse_module(str(mod)), mod)


def test_a_variable_of_the_program_is_not_taken_for_a_field():
    for body in (
        "let %_w = @g(%x); Layer { w: %_w, b: @h(%_w) }",
        "let %_b = @h(%x); let %_b = @h(%_b); Layer { w: %x, b: %_b }",
        "let %_w = @g(%x); Layer { w: %_w, b: [1] }",
    ):
        mod = parse_module(TYPES + f"def @main(%x) {{ {body} }} def @g(%x) {{ %x }} def @h(%x) {{ %x }}")
        assert relay.structural_equal(parse_module(str(mod)), mod)


def test_records_come_back_from_text_json_and_pickles():
    mod = parse_module(
        TYPES
        + """
        def @f(%l: Layer[o, i], %n) {
          match (%n) { Node { value: %v, .. } if (%v > 0) => %l.b, _ => (%l with { b: %l.b * 2.0 }).b }
        }
        def @main(%x: Tensor[(2,), float32]) {
          @f(Layer { b: %x with { [0]: 1.0 }, w: [[1], [2]] }, Node { value: 3, next: End })
        }
        """
    )
    for m in (mod, relay.transform.InferType()(mod)):
        for again in (
            parse_module(str(m)),
            relay.load_json(relay.save_json(m)),
            pickle.loads(pickle.dumps(m)),
        ):
            assert relay.structural_equal(again, m)
            assert relay.structural_hash(again) == relay.structural_hash(m)
            assert str(again) == str(m)
            assert again.get_constructor("Layer", "Layer").field_names == ("w", "b")


def test_a_pattern_with_too_few_fields_prints():
    mod = parse_module(f"{TYPES} def @main(%l: Layer[2, 3]) {{ match (%l) {{ Layer(%w) => %w }} }}")
    assert "Layer(%w)" in str(mod)


def test_names_of_fields_make_a_type_another():
    other = parse_module(TYPES.replace("value", "key"))
    assert not relay.structural_equal(other, MOD)


def test_an_import_brings_fields(tmp_path):
    (tmp_path / "layers.relay").write_text(TYPES)
    main = tmp_path / "main.relay"
    main.write_text('import "layers.relay"\ndef @main(%l: Layer[1, 1]) { Layer { b: %l.b, w: %l.w } }')
    mod = parse_module(main.read_text(), path=main)
    assert "Layer<1, 1> { w: %_w, b: %_b }" in str(relay.transform.InferType()(mod))


def test_constructors_from_python_have_names():
    header = relay.GlobalTypeVar("P")
    c = relay.Constructor("P", [parse_type("int32")], header, 0, ("x",))
    mod = relay.IRModule(type_definitions={header: relay.TypeData(header, [], [c])})
    mod["main"] = relay.Function([], c(relay.const(1)))
    assert "P { x: 1i32 }" in str(mod)
    assert mod.evaluate("main").x == 1
    for names in (("x", "y"), ("x y",), ("",)):
        with pytest.raises(ValueError, match="field"):
            relay.Constructor("P", [parse_type("int32")], header, 0, names)


FIELDS = """type Two { Two { l: Layer[2, 3], n: int32 } }
type L = Layer[2, 3]
type Box[a] { Box { v: a } }
def @main(%t: Two, %l: L, %any: Layer[?, 3], %p: (int32, (Box[Box[bool]], Two))) {
  let %x = %p.1.0.v;
  (%t.l.w * 2.0 + %l.w, %any.b, %p.1.1.n, -%t.n, if (%x.v && !%x.v) { %t.l } else { %l })
}
def @copies(%t: Two, %w: Layer[2, 3], %b: Tensor[(2,), float32]) {
  %0 = sin(%b);
  let %both = %w with { b: %0 + %0, w: %t.l.w };
  (%t with { n: 3, l: %both with { b: %b } }, (%w with { b: -%b }).b, (%w with { b: %b }) with { b: %b })
}
"""


def test_fields_and_copies_print_so_after_inference():
    mod = relay.infer(parse_module(TYPES + FIELDS))
    text = str(mod)
    assert "let %x: Box[bool] = %p.1.0.v;" in text
    assert "%t.l.w * 2f + %l.w, %any.b, %p.1.1.n, -%t.n" in text
    assert "if (%x.v && !%x.v)" in text
    assert "%0 = sin(%b);\n  let %both: Layer[2, 3] = %w with { b: %0 + %0, w: %t.l.w };" in text
    assert "%t with { n: 3i32, l: %both with { b: %b } }" in text
    assert "(%w with { b: -%b }).b" in text
    assert "(%w with { b: %b }) with { b: %b }" in text
    assert "match" not in text
    assert relay.structural_equal(parse_module(text), mod)
    assert str(parse_module(text)) == text


@pytest.mark.parametrize(
    "body",
    [
        "@own(%l).w",
        "match? (%l) { Layer { w: %w, .. } => %w }",
        "match (%l) { Layer { w: %w, b: %b } => %w }",
        "match (%l) { Layer { w: (%w: Tensor[(2, 3), float32]), .. } => %l }",
        "match (%l) { Layer { w: %w, .. } => Layer { w: %w, b: sum(%w, axis=1) } }",
        "match (%l) { Layer { w: %w, b: %b } => Layer { w: %w, b: [0.0, 1.0] } }",
        "match (%l) { Layer { .. } => Layer { w: %l.w, b: [0.0, 1.0] } }",
        "match (%l) { Layer { w: %w, .. } if (True) => %w, Layer { w: %w, .. } => %w }",
    ],
)
def test_what_reads_as_no_field_prints_as_a_match(body):
    source = f"{TYPES} def @own(%l: Layer[2, 3]) {{ %l }} def @main(%l: Layer[2, 3]) {{ {body} }}"
    mod = relay.infer(parse_module(source))
    assert relay.structural_equal(parse_module(str(mod)), mod)
    assert str(parse_module(str(mod))) == str(mod)


@pytest.mark.parametrize("depth", [1_000, pytest.param(100_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("of", "first", "last", "closing"),
    [
        ("Node", "Node { value: 1, next: ", "End", " }"),
        ("Ring", "", "%n", ".next"),
        ("Ring", "", "%n", " with { value: 1 }"),
        ("Ring", "%n with { next: ", "%n", " }"),
    ],
)
def test_depth_is_no_limit(of, first, last, closing, depth):
    ring = "type Ring { Ring { value: int32, next: Ring } } "
    mod = parse_module(TYPES + ring + f"def @main(%n: {of}) {{ {first * depth}{last}{closing * depth} }}")
    assert relay.structural_equal(parse_module(str(mod)), mod)
    assert relay.transform.InferType()(mod)["main"].ret_type is not None


def test_records_of_one_name_differ_between_modules():
    for type_ in ("Tensor[(2,), float32]", "float32"):
        mod = parse_module(f"type Box {{ Box {{ w: {type_} }} }} def @main(%b: Box) {{ %b.w }}")
        assert str(relay.infer(mod)["main"].ret_type) == type_
