"""Programs and their values.  Expected values are worked out by hand or are those of the same Python."""

import math

import pytest

import relay
from relay.interpreter.machine import Interpreter
from relay.interpreter.show import show


def value(text: str) -> str:
    return show(Interpreter(relay.parse(text)).evaluate("main"))


LIST = "type List[A] { Nil, Cons(A, List[A]), }\n"
NAT = "type Nat { Z, S(Nat), }\n"
DEFINITIONS = {
    "factorial": "def @f(%n: int32) -> int32 { if (%n == 0) { 1 } else { %n * @f(%n - 1) } }",
    "ackermann": """def @ack(%m: int32, %n: int32) -> int32 {
        if (%m == 0) { %n + 1 }
        else if (%n == 0) { @ack(%m - 1, 1) }
        else { @ack(%m - 1, @ack(%m, %n - 1)) } }""",
    "sum": LIST + """def @sum(%l) { match (%l) { Nil => 0, Cons(%h, %t) => %h + @sum(%t) } }""",
    "two": LIST
    + """def @two(%l: List[int32]) -> int32 { match (%l) {
        Cons(%a, Cons(%b, Nil)) => 10 * %a + %b, Cons(_, %t) => @two(%t), _ => -1 } }""",
    "nat": NAT
    + """def @half(%n: Nat) -> (Nat, bool) { match (%n) {
        Z => (Z, True),
        S(Z) => (Z, False),
        S(S(%m)) => match (@half(%m)) { (%h, %even) => (S(%h), %even) } } }""",
    "even": """def @even(%n: int32) -> bool { if (%n == 0) { True } else { @odd(%n - 1) } }
        def @odd(%n: int32) -> bool { if (%n == 0) { False } else { @even(%n - 1) } }""",
    "constant": "def @two: int32 = 1 + 1\ndef @four = @two * @two",
    "generic": "def @poly(%x) { %x * %x + 1 }",
    "hidden": LIST + "def @total(%l) { match (%l) { Nil => 7, Cons(%h, %t) => %h + @total(%t) } }",
}


@pytest.mark.parametrize(
    ("definitions", "expression", "expected"),
    [
        ("factorial", "@f(10)", str(math.factorial(10))),
        ("ackermann", "@ack(2, 3)", "9"),
        ("sum", "@sum(Cons(1, Cons(2, Cons(3, Nil))))", "6"),
        ("sum", "@sum(Cons(1.5, Nil))", "1.5"),
        ("two", "(@two(Nil), @two(Cons(5, Nil)), @two(Cons(1, Cons(2, Nil))))", "(-1, -1, 12)"),
        ("two", "@two(Cons(1, Cons(2, Cons(3, Nil))))", "23"),
        ("nat", "@half(S(S(S(S(S(Z))))))", "(S(S(Z)), False)"),
        ("even", "(@even(10), @odd(10))", "(True, False)"),
        ("constant", "@four + @two", "6"),
        ("generic", "(@poly(3), @poly(2.5), @poly(255u8))", "(10, 7.25, 2)"),
        ("hidden", "(@total(Cons(1i64, Nil)), @total(Cons(0.5, Nil)))", "(8, 7.5)"),
        ("", "let %a = 1; let %b = 2 * %a; let %a = %a + %a; %a + %b", "4"),
        ("", "let %f = fn(%x: float32, %y: float32) { %x + %y + 1 }; %f(10, 11)", "22.0"),
        ("", "let %f = fn(%x) { %x + 1 }; (%f(2), %f(2.5), %f(3u8))", "(3, 3.5, 4)"),
        ("", "let %t = (1, (2.0, True)); (%t.1.0, %t.0)", "(2.0, 1)"),
        ("", "match ((1, 2)) { (%a, %b) => %a * 10 + %b }", "12"),
        ("", "if (1 < 2 && 3 < 2) { 1 } else { 2 }", "2"),
        ("", "127i8 + 1i8", "-128"),
        ("", "(-128i8) / -1i8", "-128"),
        ("", "[1, 2] + [[10], [20]]", "[[11, 12],\n [21, 22]]"),
        ("", '"a" == "a"', "True"),
        ("", "let %r = ref(1); ref_write(%r, ref_read(%r) + 4); ref_read(%r)", "5"),
        ("", "(fn(%f, %x, %y) { %f(%x, %y) })(multiply, 2, 3)", "6"),
        ("", "let %plus = add; %plus(2, 3)", "5"),
        ("", "let %compose = fn(%f, %g) { fn(%x) { %f(%g(%x)) } };"
             " %compose(fn(%x) { %x + 1 }, fn(%x) { %x * 2 })(5)", "11"),
        ("", "let %x = 1; let %f = fn(%y) { %y + %x }; let %x = 10; %f(%x)", "11"),
        ("", "let %f = fn(%n: int32) -> int32 { if (%n < 2) { %n } else { %f(%n - 1) + %f(%n - 2) } }; "
             "%f(15)", "610"),
        ("", "let rec %e = fn(%n: int32) -> bool { if (%n == 0) { True } else { %o(%n - 1) } } "
             "and %o = fn(%n: int32) -> bool { if (%n == 0) { False } else { %e(%n - 1) } }; "
             "(%e(11), %o(11))", "(False, True)"),
    ],
)  # fmt: skip
def test_value(definitions: str, expression: str, expected: str) -> None:
    assert value(DEFINITIONS.get(definitions, "") + "\n" + expression) == expected


def test_recursive_local_function_reaches_itself_from_an_inner_one() -> None:
    text = """let %k = 100;
    let %f = fn(%n: int32) -> int32 {
      let %g = fn(%y: int32) -> int32 { %f(%y - 1) };
      if (%n == 0) { %k } else { 1 + %g(%n) }
    };
    %f(50)"""
    assert value(text) == "150"


def test_members_of_a_group_share_what_they_capture_and_can_be_passed_on() -> None:
    text = """let %a = 3; let %b = 5;
    let rec %f = fn(%n: int32) -> fn(int32) -> int32 { %g }
    and %g = fn(%n: int32) -> int32 { if (%n == 0) { %a } else { %b + %f(%n)(%n - 1) } };
    (%f(0)(2), %g(1))"""
    assert value(text) == "(13, 8)"


def test_constructor_is_a_function_value() -> None:
    text = (
        LIST
        + """def @apply(%f: fn(int32, List[int32]) -> List[int32]) -> List[int32] { %f(1, Nil) }
    @apply(Cons)"""
    )
    assert value(text) == "[| 1 |]"


def test_closures_in_references_tie_a_knot() -> None:
    text = """let %r = ref(fn(%n: int32) -> int32 { %n });
    ref_write(%r, fn(%n: int32) -> int32 { if (%n == 0) { 1 } else { %n * ref_read(%r)(%n - 1) } });
    ref_read(%r)(5)"""
    assert value(text) == "120"


def test_polymorphic_function_passed_as_a_value_takes_the_type_of_its_arguments() -> None:
    text = """def @twice(%f, %x) { %f(%f(%x)) }
    (@twice(fn(%x) { %x * 2 }, 3), @twice(fn(%x) { %x * 2 }, 0.5))"""
    assert value(text) == "(12, 2.0)"


def test_global_constant_is_evaluated_once_per_interpreter() -> None:
    mod = relay.parse("def @c = [1, 2] + [3, 4]\ndef @f() { @c }")
    machine = Interpreter(mod)
    assert machine.evaluate("c") is not None
    first = machine._cells[relay.GlobalVar("c")].value
    machine.evaluate("f")
    assert machine._cells[relay.GlobalVar("c")].value is first


def test_edited_definition_is_prepared_again_and_nothing_else() -> None:
    mod = relay.parse("def @f(%x: int32) { %x + 1 }\ndef @g(%x: int32) { @f(%x) * 10 }")
    assert mod.evaluate("g", 1) == 20
    mod["f"] = relay.parse("def @f(%x: int32) { %x + 2 }")["f"]
    assert mod.evaluate("g", 1) == 30


def test_nothing_is_prepared_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    import relay.typecheck.infer

    machine = Interpreter(relay.parse("def @main(%x: int32) { %x + 1 }"))
    e = relay.parse_expr("(1, 2)")
    assert machine.evaluate("main", 1) == 2
    assert machine.evaluate(e) == (1, 2)
    monkeypatch.setattr(relay.typecheck.infer, "infer", None)
    assert machine.evaluate("main", 2) == 3
    assert machine.evaluate(e) == (1, 2)


def test_derivatives_may_bring_data_types_of_their_own() -> None:
    text = """type Shape { Circle(float64), Box(float64, float64) }
    def @area(%s: Shape) -> float64 { match (%s) { Circle(%r) => 3.0 * %r * %r, Box(%a, %b) => %a * %b } }
    def @main() { (grad(@area)(Circle(2.0)).1.0, grad(@area)(Box(3.0, 4.0)).1.0) }"""
    assert value(text) == "(Circle(12.0), Box(4.0, 3.0))"
