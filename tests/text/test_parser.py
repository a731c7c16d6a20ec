"""Text to expressions: what each form means.  `shown` writes the nodes down without the printer."""

import numpy as np
import pytest

from relay.diagnostic import RelayError, Report
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Grad,
    If,
    Let,
    LetRec,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)  # fmt: skip
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from relay.text.parser import parse_expression, parse_module

LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"
NAT = "data Nat { Z : () -> Nat  S : (Nat) -> Nat }\n"


def shown(e: Expr) -> str:
    """An expression in prefix form."""
    match e:
        case Constant():
            dtype = "" if e.type is None else f":{e.type.dtype}"
            return f"{e.value.tolist()}{dtype}"
        case Var():
            return e.name
        case GlobalVar():
            return f"@{e.name}"
        case Op() | Constructor():
            return e.name
        case Tuple():
            return "(" + " ".join(["tuple", *map(shown, e.fields)]) + ")"
        case TupleGetItem():
            return f"{shown(e.tuple_value)}.{e.index}"
        case Call():
            changed = e.attrs.changed_attributes() if isinstance(e.op, Op) else e.attrs
            attrs = [f"{k}={v!r}" for k, v in changed.items()]
            return "(" + " ".join([shown(e.op), *map(shown, e.args), *attrs]) + ")"
        case Function():
            return f"(fn [{' '.join(p.name for p in e.params)}] {shown(e.body)})"
        case Let():
            return f"(let {e.var.name} {shown(e.value)} {shown(e.body)})"
        case LetRec():
            bound = " ".join(f"{v.name} {shown(x)}" for v, x in zip(e.vars, e.values, strict=True))
            return f"(rec [{bound}] {shown(e.body)})"
        case If():
            return f"(if {shown(e.cond)} {shown(e.true_branch)} {shown(e.false_branch)})"
        case Match():
            clauses = " ".join(f"[{pattern(c.lhs)} {shown(c.rhs)}]" for c in e.clauses)
            return f"(match{'' if e.complete else '?'} {shown(e.data)} {clauses})"
        case RefCreate():
            return f"(ref {shown(e.value)})"
        case RefRead():
            return f"(read {shown(e.ref)})"
        case RefWrite():
            return f"(write {shown(e.ref)} {shown(e.value)})"
        case Grad():
            return f"({e.kind} {shown(e.function)})"
        case _:
            raise AssertionError(e)


def pattern(p: object) -> str:
    match p:
        case PatternWildcard():
            return "_"
        case PatternVar():
            return p.var.name
        case PatternTuple():
            return "(" + " ".join(map(pattern, p.patterns)) + ")"
        case PatternConstructor():
            return (
                " ".join([p.constructor.name, *map(pattern, p.patterns)])
                if not p.patterns
                else "(" + " ".join([p.constructor.name, *map(pattern, p.patterns)]) + ")"
            )
        case _:
            raise AssertionError(p)


def of(text: str) -> str:
    return shown(parse_expression(text))


def body(text: str, name: str = "main") -> str:
    return shown(parse_module(text)[name].body)


def codes(text: str) -> tuple[str, ...]:
    with pytest.raises(RelayError) as caught:
        parse_module(text)
    return caught.value.codes


def error(text: str) -> str:
    with pytest.raises(RelayError) as caught:
        parse_module(text)
    return str(caught.value)


def lints(text: str) -> list[str]:
    report = Report()
    parse_module(text, warnings=report)
    return [d.code for d in report.diagnostics]


# --- operators ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%a + %b * %c", "(add a (multiply b c))"),
        ("%a - %b - %c", "(subtract (subtract a b) c)"),
        ("%a ** %b ** %c", "(power a (power b c))"),
        ("-%a ** %b", "(negative (power a b))"),
        ("%a ** -%b * %c", "(multiply (power a (negative b)) c)"),
        ("-%a * %b", "(multiply (negative a) b)"),
        ("!%a && %b", "(if (logical_not a) b False:bool)"),
        ("%a || %b && %c", "(if a True:bool (if b c False:bool))"),
        ("%a % %b / %c", "(divide (mod a b) c)"),
        ("%a < %b == %c >= %d", "(equal (less a b) (greater_equal c d))"),
        ("%a != %b", "(not_equal a b)"),
        ("%a <= %b", "(less_equal a b)"),
        ("%a > %b", "(greater a b)"),
        ("(%a + %b) * %c", "(multiply (add a b) c)"),
        ("%f(%a).0.1(%b)", "((f a).0.1 b)"),
        ("-%t.0", "(negative t.0)"),
        ("%n-1", "(subtract n 1)"),
        ("%n - -1", "(subtract n -1)"),
        ("%n - - 1", "(subtract n (negative 1))"),
        ("- -%x", "(negative (negative x))"),
        ("-2 ** 2", "(power -2 2)"),
        ("floor_divide(%a, %b)", "(floor_divide a b)"),
    ],
)
def test_operators_are_sugar_by_precedence(text: str, expected: str) -> None:
    assert of(text) == expected


@pytest.mark.parametrize("text", ["%a < %b < %c", "%a == %b == %c", "%a < %b >= %c", "%a != %b == %c"])
def test_comparisons_do_not_chain(text: str) -> None:
    with pytest.raises(RelayError) as caught:
        parse_expression(text)
    assert caught.value.codes == ("comparison-chain",)
    assert "&&" in str(caught.value)


# --- literals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", "1"), ("-1", "-1"), ("1.5", "1.5"), ("1e3", "1000.0"), ("1i64", "1:int64"), ("255u8",
        "255:uint8"),
        ("-128i8", "-128:int8"), ("1f", "1.0:float32"), ("3f16", "3.0:float16"), ("0.5bf16", "0.5:bfloat16"),
        ("1.0f64", "1.0:float64"), ("True", "True:bool"), ("False", "False:bool"), ("inff", "inf:float32"),
        ("-inff64", "-inf:float64"), ("nanf", "nan:float32"), ("18446744073709551615",
        "18446744073709551615"),
        ('"a\\n\\"\\u{e9}"', 'a\n"é:string'), ("1.5float8_e5m2", "1.5:float8_e5m2"), ("-7i4", "-7:int4"),
    ],
)  # fmt: skip
def test_scalars(text: str, expected: str) -> None:
    assert of(text) == expected


@pytest.mark.parametrize(
    "text",
    ["300u8", "-1u8", "128i8", "-129i8", "1e999", "1e39f", "70000f16", "18446744073709551616", "9" * 100_000,
     "9" * 100_000 + "f", "-9223372036854775809"],
)  # fmt: skip
def test_numbers_out_of_range_are_errors(text: str) -> None:
    assert codes(text) == ("literal-out-of-range",)


@pytest.mark.parametrize("text", ["1x", "0x10", "1.5i32", "1e3i32", "1bool"])
def test_malformed_numbers_are_errors(text: str) -> None:
    assert codes(text) == ("bad-number",)


def test_a_signed_zero_keeps_its_sign() -> None:
    e = parse_expression("-0.0")
    assert isinstance(e, Constant)
    assert np.signbit(e.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1, 2, 3]", "[1, 2, 3]"), ("[[1, 2], [3, 4]]", "[[1, 2], [3, 4]]"), ("[1, 2.5]", "[1.0, 2.5]"),
        ("[1f, 2]", "[1.0, 2.0]:float32"), ("[-1i8, 2i8]", "[-1, 2]:int8"), ("[True, False]", "[True, "
                                                                                              "False]:bool"),
        ("[[1f], [2]]", "[[1.0], [2.0]]:float32"), ("[1, %x]", "(stack (tuple 1 x) axis=0)"),
        ("[[1, 2], %x]", "(stack (tuple [1, 2] x) axis=0)"), ("[1i8, 2i16]", "(stack (tuple 1:int8 "
                                                                             "2:int16) axis=0)"),
        ("[1, 2].0", "[1, 2].0"), ("[1,]", "[1]"), ("[(1)]", "[1]"), ("[1 + 2]", "(stack (tuple (add 1 "
                                                                                 "2)) axis=0)"),
        ("[inff, -1]", "[inf, -1.0]:float32"),
    ],
)  # fmt: skip
def test_tensor_literals(text: str, expected: str) -> None:
    assert of(text).replace(" axis=0", "") == expected.replace(" axis=0", "")


def test_an_empty_or_ragged_tensor_literal_is_an_error() -> None:
    assert codes("[]") == ("empty-literal",)
    assert codes("[[1, 2], [3]]") == ("ragged-literal",)


def test_constants_take_shape_and_dtype_in_either_order() -> None:
    for text in (
        "Constant(1, (2, 3), float32)",
        "Constant(1, float32, (2, 3))",
        "Constant(1, Float, (2, 3))",
    ):
        e = parse_expression(text)
        assert isinstance(e, Constant)
        assert str(e.type) == "Tensor[(2, 3), float32]"
        assert (e.value == 1).all()


def test_a_huge_constant_is_a_view() -> None:
    e = parse_expression("Constant(1, (1000000, 1000000), float32)")
    assert isinstance(e, Constant)
    assert e.value.strides == (0, 0)


def test_constants_of_values() -> None:
    assert of("Constant([[1, 2], [3, 4]], (2, 2), int64)") == "[[1, 2], [3, 4]]:int64"
    assert of("Constant([], (0,), float32)") == "[]:float32"
    assert parse_expression("Constant([], (0, 3), float32)").value.shape == (0, 3)
    assert of("Constant(-1, (), int8)") == "-1:int8"
    assert of("Constant([True], (1,), bool)") == "[True]:bool"
    assert of('Constant(["a"], (1,), string)') == "['a']:string"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Constant(1, (2,))", "constant-form"),
        ("Constant(1, float32)", "constant-form"),
        ("Constant([1, 2], (3,), float32)", "constant-form"),
        ("Constant([[1], [1, 2]], (3,), float32)", "ragged-literal"),
        ("Constant(1.5, (), int32)", "literal-out-of-range"),
        ("Constant(300, (), uint8)", "literal-out-of-range"),
        ("Constant(1f, (), int32)", "constant-form"),
        ("Constant(%x, (), int32)", "unexpected-token"),
        ("Constant(1, (999999999999999999, 999999999999999999), int8)", "constant-form"),
        ("Constant(1, (2,), float33)", "unknown-type"),
        ("Consantt(1, (2,), float32)", "unknown-name"),
    ],
)
def test_malformed_constants(text: str, code: str) -> None:
    assert codes(text) == (code,)


def test_a_near_miss_is_suggested() -> None:
    assert "did you mean `Constant`?" in error("Consantt(1, (2,), float32)")
    assert "did you mean `nn.relu`?" in error("nn.relo(1.0)")
    assert "did you mean `Cons`?" in error(LIST + "Conss(1, Nil)")


# --- bindings and scopes --------------------------------------------------------------------------------


def test_a_value_sees_the_outer_variable() -> None:
    e = parse_expression("let %a = 1; let %a = %a + %a; %a")
    assert isinstance(e, Let)
    assert isinstance(e.body, Let)
    assert e.body.value.args == (e.var, e.var)
    assert e.body.body is e.body.var


@pytest.mark.parametrize(
    "value",
    [
        "fn(%x) { %f(%x) }",
        "(fn(%x) { %f(%x) })",
        "((fn(%x) { %f(%x) }))",
        "(fn(%x) { %f(%x) } : fn(int32) -> int32)",
    ],
)
def test_a_bare_function_may_call_itself(value: str) -> None:
    e = parse_expression(f"let %f = {value}; %f")
    assert isinstance(e, Let)
    assert isinstance(e.value, Function)
    assert e.value.body.op is e.var
    assert ("fn(int32)" in str(e.var.type_annotation)) == (":" in value)


@pytest.mark.parametrize("value", ["fn(%x) { %f(%x) }(3)", "(fn(%x) { %f(%x) })(3)", "(fn(%x) { %f }, 1)"])
def test_a_function_inside_something_else_does_not(value: str) -> None:
    assert codes(f"let %f = {value}; %f") == ("unknown-variable",)


def test_recursive_groups_see_each_other() -> None:
    e = parse_expression(
        "let rec %f = fn(%x) { %g(%x) } and %g: fn(int32) -> int32 = fn(%x) { %f(%x) }; %f(1)"
    )
    assert shown(e) == "(rec [f (fn [x] (g x)) g (fn [x] (f x))] (f 1))"
    assert isinstance(e, LetRec)
    assert e.values[0].body.op is e.vars[1]
    assert str(e.vars[1].type_annotation) == "fn(int32) -> int32"


def test_a_recursive_value_is_a_function() -> None:
    assert codes("let rec %f = 1 and %g = fn() { 1 }; %f") == ("recursive-value",)


def test_sequences_are_lets() -> None:
    assert of("%f(1); %g(2); %h") == "(let _ (f 1) (let _ (g 2) h))"
    assert codes("{ 1; }") == ("missing-result",)


def test_a_let_on_a_right_hand_side_ends_with_its_expression() -> None:
    assert of("let %x = let %y = 1; %y; %x") == "(let x (let y 1 y) x)"
    assert of("let %x = { let %y = 1; %y }; %x") == "(let x (let y 1 y) x)"
    assert of("%f(let %x = 1; %x)") == "(f (let x 1 x))"
    assert of("(let %x = 1; %g(); %x)") == "(let x 1 (let _ (g) x))"


def test_a_binding_is_not_seen_outside_its_block() -> None:
    assert codes("let %a = { let %b = 1; %b }; %b") == ("unknown-variable",)
    assert codes("def @f(%x) { %x } %x") == ("unknown-variable",)


def test_an_undeclared_local_is_reported_once() -> None:
    assert codes("%x + %x + %y") == ("unknown-variable", "unknown-variable")


def test_parse_expr_makes_free_variables() -> None:
    e = parse_expression("%x + %x")
    assert isinstance(e, Call)
    assert e.args[0] is e.args[1]


def test_ascriptions() -> None:
    for text in ("(%x : int32)", "%x : int32", "{ %x : int32 }"):
        e = parse_expression(text)
        assert isinstance(e, Let)
        assert shown(e) == "(let _ x _)"
        assert str(e.var.type_annotation) == "int32"
    assert of("%x : int32; 2") == "(let _ x 2)"
    assert of("(%x : int32, 2)") == "(tuple (let _ x _) 2)"


# --- graph bindings -------------------------------------------------------------------------------------


def test_graph_bindings_share_nodes() -> None:
    e = parse_expression("%1 = %a + %b\n%2 = %1 + %1\n%2 * %2")
    assert shown(e) == "(multiply (add (add a b) (add a b)) (add (add a b) (add a b)))"
    assert e.args[0] is e.args[1]
    assert e.args[0].args[0] is e.args[0].args[1]


def test_graph_bindings_end_with_a_semicolon_or_a_line() -> None:
    assert of("%1 = %a; %1") == "a"
    assert of("%1 = %a +\n  %b\n%1") == "(add a b)"
    assert of("%1 = %f(\n %a\n)\n(%1, %1)") == "(tuple (f a) (f a))"
    assert of("%1 = if (%c) { %a\n }\n else { %b }\n %1") == "(if c a b)"
    assert of("%1 = %a\n(%1)") == "a"
    assert codes("def @f(%a) { %1 = %a %1 }") == ("unexpected-token",)


@pytest.mark.parametrize("line", ["+ 2", "* 2", "== 2", "&& True", "** 2", ".0", "% 2", "< 3"])
def test_a_line_cannot_go_on_with_an_operator(line: str) -> None:
    assert codes(f"%1 = 1\n{line}\n%1") == ("line-begins-with-operator",)


def test_a_line_that_begins_with_a_minus_is_a_lint() -> None:
    assert lints("%1 = 1\n-%1") == ["line-begins-with-minus"]


def test_graph_bindings_belong_to_their_definition() -> None:
    mod = parse_module("def @f(%x) { %1 = %x + 1\n %1 }\ndef @g(%x) { %1 = %x * 2\n %1 }")
    assert shown(mod["f"].body) == "(add x 1)"
    assert shown(mod["g"].body) == "(multiply x 2)"
    assert codes("def @f(%x) { %1 = 1; %1 = 2; %1 }") == ("duplicate-name",)
    assert codes("def @f(%x) { %1 = 1; %1 }\ndef @g() { %1 }") == ("unknown-graph-binding",)


def test_graph_bindings_are_not_scoped_to_a_block() -> None:
    assert of("(if (%c) { %1 = %a\n %1 } else { %b }, %1)") == "(tuple (if c a b) a)"
    assert codes("def @f(%c) { (fn(%y) { %1 = %y + 1\n %1 }, %1) }") == ("escaped-variable",)


def test_a_graph_binding_is_seen_in_closures() -> None:
    e = parse_expression("fn (%x) {\n  %1 = log(%x)\n  %2 = fn(%y) {\n    add(%y, %1)\n  }\n  %2\n}")
    assert shown(e) == "(fn [x] (fn [y] (add y (log x))))"


# --- calls ----------------------------------------------------------------------------------------------


def test_attributes() -> None:
    assert of("nn.leaky_relu(%x, alpha=0.5)") == "(nn.leaky_relu x alpha=0.5)"
    assert of("cast(%x, float16)") == "(cast x dtype='float16')"
    assert of('cast(%x, "float16")') == "(cast x dtype='float16')"
    assert of("cast(%x, dtype=Float)") == "(cast x dtype='float32')"
    assert (
        of('%f(%x, a=[1, (2,), ()], b={"k": None, j: -1.5}, c=True, d=int8, e="s")')
        == "(f x a=[1, (2,), ()] b={'k': None, 'j': -1.5} c=True d='int8' e='s')"
    )
    assert of("%f(data=1, if=2)") == "(f data=1 if=2)"


def test_attribute_faults_point_at_the_attribute() -> None:
    text = error("nn.leaky_relu(1.0, alpa=0.5)")
    assert "unknown-attribute" in text
    assert "^^^^" in text
    assert ":1:20" in text
    assert ":1:20" in error('nn.leaky_relu(1.0, alpha="a")')
    assert codes("nn.leaky_relu(1.0, alpha=0.5, alpha=1.0)") == ("duplicate-attribute",)
    assert codes("nn.leaky_relu(1.0, alpha=%x)") == ("unexpected-token",)
    assert codes("nn.leaky_relu(1.0, alpha=flat)") == ("attribute-value",)
    assert codes("%f(a=" + "[" * 100 + "]" * 100 + ")")[-1] == "attribute-too-deep"


def test_operators_and_constructors_are_values() -> None:
    assert of("(add, nn.relu)") == "(tuple add nn.relu)"
    assert parse_expression("add") is Op.get("add")
    assert body(LIST + "def @main() { (Cons, Nil, Nil(), List.Nil) }") == "(tuple Cons (Nil) (Nil) Nil)"


def test_forms() -> None:
    assert of("ref_write(ref(%x), ref_read(%y))") == "(write (ref x) (read y))"
    assert of("grad(%f)(vjp(%g), jvp(%h))") == "((grad f) (vjp g) (jvp h))"
    assert codes("ref()") == ("argument-count",)
    assert codes("grad(add, add)") == ("argument-count",)


def test_type_arguments() -> None:
    e = parse_expression("%f<int32, Tensor[(2,), float32]>(%x)")
    assert isinstance(e, Call)
    assert [str(t) for t in e.type_args] == ["int32", "Tensor[(2,), float32]"]
    assert of("%f <%x") == "(less f x)"
    assert of("%f<%x") == "(less f x)"
    assert of("%f<3 > (%x)") in ("(less f (greater 3 x))", "(f x)")


def test_the_kinds_of_type_arguments_are_those_of_the_callee() -> None:
    mod = parse_module(
        "def @main(%x: float32) { @f<(), float32, 3, int8>(%x) }\n"
        "def @f<s: Shape, bt: BaseType, n: Dim, t: Type>(%x: t) { %x }"
    )
    assert mod["main"].body.type_args[:3] == ((), "float32", 3)
    assert str(mod["main"].body.type_args[3]) == "int8"


def test_type_arguments_that_were_meant_are_diagnosed() -> None:
    text = error("def @f(%f) { %f<Tensor[(), bool], Tensor[(), bool)]>(True) }")
    assert "expected `]`, found `)`" in text


# --- functions ------------------------------------------------------------------------------------------


def test_functions() -> None:
    e = parse_expression(
        "fn<t: Type, s: Shape>(%x: t, %y: Tensor[s, float32], Primitive=1) -> t where Broadcast { %x }"
    )
    assert isinstance(e, Function)
    assert [str(p.type_annotation) for p in e.params] == ["t", "Tensor[s, float32]"]
    assert [(p.name, p.kind.value) for p in e.type_params] == [("t", "Type"), ("s", "Shape")]
    assert e.ret_type is e.type_params[0]
    assert e.attrs == {"Primitive": 1}
    assert [str(c.name) for c in e.constraints] == ["Broadcast"]
    assert of("fun (%x) { %x }") == "(fn [x] x)"
    assert of("fn [A, B](%x: A) { %x }") == "(fn [x] x)"


def test_dimensions_are_quantified_where_the_parameters_name_them() -> None:
    mod = parse_module(
        "def @f(%x: Tensor[(n, 2 * n + m), float32], %y: Tensor[(m,), int8]) -> Tensor[(m, n), float32] "
        "{ %x }"
    )
    assert [(p.name, p.kind.value) for p in mod["f"].type_params] == [("n", "Dim"), ("m", "Dim")]
    assert mod["f"].ret_type.shape == (mod["f"].type_params[1], mod["f"].type_params[0])
    inner = parse_module("def @f(%x: Tensor[(n,), float32]) { fn(%y: Tensor[(n,), float32]) { %y } }")["f"]
    assert inner.body.params[0].type_annotation is inner.params[0].type_annotation
    assert codes("def @f(%x: float32) { fn(%y: Tensor[(n,), float32]) { %y } }") == ("unknown-dimension",)
    assert "write `?`" in error("def @f(%x: float32) -> Tensor[(n,), float32] { %x }")


def test_a_dimension_in_a_function_type_belongs_to_the_definition() -> None:
    fn = parse_module(
        "def @f(%g: fn(Tensor[(n,), float32]) -> float32, %x: Tensor[(n,), float32]) { %g(%x) }"
    )["f"]
    assert fn.params[0].type_annotation.arg_types[0] is fn.params[1].type_annotation
    assert len(fn.type_params) == 1


def test_parameters_have_names_of_their_own() -> None:
    assert codes("def @f(%x, %x) { %x }") == ("duplicate-name",)
    assert codes("def @f<a, a>(%x: a) { %x }")[0] == "duplicate-name"


# --- choices --------------------------------------------------------------------------------------------


def test_if() -> None:
    assert of("if (%a) { 1 } else if (%b) { 2 } else { 3 }") == "(if a 1 (if b 2 3))"
    assert of("(if (%a) { 1 } else { 2 }) + 3") == "(add (if a 1 2) 3)"
    assert of("let %x = if (%a) { 1 } else { 2 }; %x") == "(let x (if a 1 2) x)"
    assert "both of its branches" in error("if (True) { 1 }")


def test_match_in_both_syntaxes() -> None:
    text = NAT + "def @main(%v: Nat[]) -> Nat[] { match(%v) { case S(S(%n)) { %n } case _ { %v } } }"
    assert body(text) == "(match v [(S (S n)) n] [_ v])"
    text = LIST + "def @main(%v) { match? (%v) { (%a, Cons(%h, _)) => let %x = %h; %x, (_, Nil) => Nil(), } }"
    assert body(text) == "(match? v [(a (Cons h _)) (let x h x)] [(_ Nil) (Nil)])"
    assert body(LIST + "def @main(%v) { match(%v, %v) { _ => 1 } }") == "(match (tuple v v) [_ 1])"


def test_pattern_faults() -> None:
    assert codes(LIST + "def @f(%v) { match (%v) { Cons(%a, %a) => 1 } }") == ("duplicate-name",)
    assert codes(LIST + "def @f(%v) { match (%v) { Conz(%a, _) => 1 } }") == ("unknown-constructor",)
    assert codes(LIST + "def @f(%v) { match (%v) { 1.5 => 1 } }") == ("literal-kind",)
    assert codes(LIST + "def @f(%v) { match (%v) { [1] => 1 } }") == ("unexpected-token",)
    assert codes(LIST + "def @f(%v) { match (%v) { Nil | Cons(%a, _) => 1 } }") == ("unknown-variable",)
    assert codes(LIST + "def @f(%v) { match (%v) { Cons(%h, _) => %h, Nil => %h } }") == ("unknown-variable",)


# --- leniencies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected", "codes_"),
    [
        ("fun (x: Float, y: Float) -> Float { x + y }", "(fn [x y] (add x y))", ["missing-sigil"] * 4),
        ("let x = 1; %x + x", "(let x 1 (add x x))", ["missing-sigil"] * 2),
        ("let %x = 1; x", "(let x 1 x)", ["missing-sigil"]),
        ("%x = 1; %x", "(let x 1 x)", ["missing-let"]),
        ("let %x = 1", "(let x 1 x)", ["missing-body"]),
        ("let %x = 1;", "(let x 1 x)", ["missing-body"]),
        ("fn() { return 1; }", "(fn [] 1)", ["needless-return"]),
        ("fn() { ret 1 }", "(fn [] 1)", ["needless-return"]),
        ("%0 = 1", "1", ["missing-body"]),
    ],
)
def test_early_forms_are_read_with_a_lint(text: str, expected: str, codes_: list[str]) -> None:
    report = Report()
    assert shown(parse_expression(text, warnings=report)) == expected
    assert [d.code for d in report.diagnostics] == codes_
    assert all(d.severity == "warning" and d.hint for d in report.diagnostics)


def test_a_bare_name_is_first_a_local_bound_without_its_sigil() -> None:
    assert of("let add = 1; add") == "(let add 1 add)"
    assert of("let %add = 1; add") == "(let add 1 add)"
    assert isinstance(parse_expression("let %add = 1; add").body, Op)
    assert isinstance(parse_expression("let add = 1; add").body, Var)
    assert isinstance(parse_expression("let add = 1; let %add = 2; add").body.body, Op)


def test_the_strict_dialect_takes_no_early_forms() -> None:
    head = '#[version = "0.0.5"]\n'
    assert codes(head + "def @f() { let %x = 1; x }") == ("unknown-name",)
    assert codes(head + "def @f() { let %x = 1 }") == ("missing-body",)
    assert codes(head + "def @f() { %0 = 1\n %0 }") == ("unexpected-token",)
    assert codes(head + "def f() { 1 }") == ("missing-sigil",)


def test_the_strict_dialect_decides_literals_at_once() -> None:
    head = '#[version = "0.0.5"]\n'
    assert (
        body(head + "def @main() { (1, 3000000000, 1.5, 2f, [1, 2]) }")
        == "(tuple 1:int32 3000000000:int64 1.5:float32 2.0:float32 [1, 2]:int32)"
    )


def test_a_program_of_the_old_format() -> None:
    mod = parse_module("""#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 8, 8), float32] /* ty=Tensor[(1, 3, 8, 8), float32] */,
          %conv/w: Tensor[(4, 3, 3, 3), float32]) -> (Tensor[(1, 4, 6, 6), float32],) {
  %0 = nn.conv2d(%data, %conv/w, padding=[0, 0, 0, 0], channels=4, kernel_size=[3, 3]) /* ty=… */;
  %1 = fn (%p0: Tensor[(1, 4, 6, 6), float32], Primitive=1, hash="ab") -> Tensor[(1, 4, 6, 6), float32] {
    nn.relu(%p0)
  };
  let %y: (float32) = (1f,);
  (%1(%0),)
}
""")
    assert [v.name for v in mod["main"].params] == ["data", "conv/w"]
    assert shown(mod["main"].body).startswith(
        "(let y (tuple 1.0:float32) (tuple ((fn [p0] (nn.relu p0)) (nn.conv2d data conv/w"
    )
    assert str(mod["main"].body.var.type_annotation) == "(float32,)"


# --- spans ----------------------------------------------------------------------------------------------


def test_spans_cover_what_is_written() -> None:
    text = "let %x = add(%a, -1.5) * 2;\nif (%x) { %t.0 } else { [1, %b] }"
    e = parse_expression(text)
    spans = {
        type(n).__name__: text[n.span.start : n.span.end]
        for n in (e, e.value, e.value.args[0], e.body, e.body.true_branch)
    }
    assert text[e.span.start : e.span.end] == "let %x = add(%a, -1.5) * 2"
    assert text[e.value.span.start : e.value.span.end] == "add(%a, -1.5) * 2"
    assert text[e.value.args[0].span.start : e.value.args[0].span.end] == "add(%a, -1.5)"
    assert text[e.value.args[0].args[1].span.start : e.value.args[0].args[1].span.end] == "-1.5"
    assert text[e.body.span.start : e.body.span.end] == "if (%x)"
    assert spans["TupleGetItem"] == "%t.0"
    assert text[e.body.false_branch.span.start : e.body.false_branch.span.end] == "[1, %b]"


@pytest.mark.parametrize(("name", "meant"), [("float", "float32"), ("double", "float64"), ("int", "int32")])
def test_types_of_other_languages_have_a_suggestion(name, meant):
    with pytest.raises(RelayError, match=f"did you mean `{meant}`"):
        parse_module(f"def @f(%x: {name}) {{ %x }}")
