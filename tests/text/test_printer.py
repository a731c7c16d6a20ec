"""Printing: exact text for each form, and reading it back gives the same program."""

import time

import numpy as np
import pytest

import relay
from generators.forms import random_expr, random_module
from relay.diagnostic import RelayError
from relay.ir.dtype import DTYPES
from relay.ir.equal import assert_structural_equal, structural_equal
from relay.ir.expr import (
    Call,
    Clause,
    Constant,
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
    constant,
    literal,
)
from relay.ir.module import IRModule
from relay.ir.pattern import PatternTuple, PatternVar, PatternWildcard
from relay.ir.type import (
    ANY,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeRelation,
    TypeVar,
    scalar_type,
)
from relay.text.parser import parse_expression, parse_module, parse_type
from relay.text.printer import expr_text, module_text, type_text

I32 = scalar_type("int32")


def call(name, *args):
    return Call(Op.get(name), args)


def text_of(body, params=(), **options):
    """The body of `def @main` around an expression, checked to read back."""
    mod = IRModule()
    mod["main"] = Function(tuple(params), body)
    text = module_text(mod, **options)
    if options.get("show_meta_data") is not False:
        back = parse_module(text)
        assert_structural_equal(back, mod)
        assert module_text(back, **options) == text
    lines = text.splitlines()
    return "\n".join(line.removeprefix("  ") for line in lines[1 : lines.index("}")])


x, y, z = Var("x"), Var("y"), Var("z")


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (1, "int32", "1i32"), (-2, "int64", "-2i64"), (2**63, "uint64", "9223372036854775808u64"), (3,
        "uint8", "3u8"),
        (-1, "int2", "-1i2"), (7, "int4", "7i4"), (1.5, "float32", "1.5f"), (2.0, "float32", "2f"),
        (-0.0, "float32", "-0f"),
        (0.1, "float32", "0.1f"), (1e-5, "float32", "1e-05f"), (1e20, "float32", "1e20f"), (0.1,
        "float64", "0.1f64"),
        (3.0, "float16", "3f16"), (0.1, "bfloat16", "0.1bf16"), (float("inf"), "float32", "inff"),
        (float("-inf"), "float64", "-inff64"), (float("nan"), "float16", "nanf16"), (True, "bool", "True"),
        (False, "bool", "False"), (1.5, "float8_e4m3fn", "1.5float8_e4m3fn"), ("a\"b\n", "string",
        '"a\\"b\\n"'),
    ],
)  # fmt: skip
def test_a_solved_scalar_prints_with_its_suffix(value, dtype, text):
    c = constant(np.array(value, object) if dtype == "string" else value, dtype)
    assert text_of(c) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1"), (-1, "-1"), (2**64 - 1, "18446744073709551615"), (1.0, "1.0"), (1e-5, "1e-05"), (1e100,
    "1e100"),
     (float("inf"), "inf"), (float("nan"), "nan")],
)  # fmt: skip
def test_an_open_literal_prints_bare(value, text):
    assert text_of(literal(value)) == text


def test_small_tensors_print_in_place():
    assert text_of(constant(np.array([[1, 2], [3, 4]], "float32"))) == "[[1f, 2f], [3f, 4f]]"
    assert text_of(constant(np.array([True, False]))) == "[True, False]"
    assert text_of(constant(np.array(["a", "b"]))) == '["a", "b"]'
    assert text_of(Constant(np.array([[1, 2]]))) == "[[1, 2]]"
    assert text_of(Constant(np.array([1.0, float("inf")]))) == "[1.0, inf]"


def test_filled_and_empty_tensors_print_as_constants():
    assert text_of(constant(np.broadcast_to(np.float32(0), (10, 10)))) == "Constant(0.0, (10, 10), float32)"
    assert text_of(constant(np.ones((100,), "int8"))) == "Constant(1, (100,), int8)"
    assert text_of(constant(np.broadcast_to(np.float32(-0.0), (10**6, 10**6)))) == (
        "Constant(-0.0, (1000000, 1000000), float32)"
    )
    assert text_of(constant(np.zeros((0, 3), "float32"))) == "Constant([], (0, 3), float32)"
    assert text_of(Constant(np.zeros((0, 3)))) == "Constant(0.0, (0, 3), _)"


def test_large_tensors_go_to_the_metadata():
    c = constant(np.arange(100, dtype="float32"))
    assert text_of(Tuple((c, c))) == "(meta[relay.Constant][0], meta[relay.Constant][0])"
    assert "#[metadata]" not in module_text(IRModule.from_expr(c), show_meta_data=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_of_every_dtype_read_back(dtype):
    small = np.array(["a", "b", "c", ""], object) if dtype == "string" else np.array([1, 0, 1, 1])
    for shape in ((4,), (2, 2), (1, 4, 1)):
        text_of(constant(small.reshape(shape), dtype))
    if dtype != "string":
        text_of(constant(np.tile(small, 50), dtype))


def test_a_generalised_literal_keeps_its_type_parameter():
    bt = TypeVar("bt", Kind.BaseType)
    one = Constant(np.array(1), TensorType((), bt))
    p = Var("p", TensorType((), bt))
    mod = IRModule()
    mod["f"] = Function((p,), call("add", p, one), None, (bt,))
    assert "%p + Constant(1, (), bt)" in module_text(mod)
    assert_structural_equal(parse_module(module_text(mod)), mod)


@pytest.mark.parametrize(
    ("e", "text"),
    [
        (call("add", x, call("multiply", y, z)), "%x + %y * %z"),
        (call("multiply", call("add", x, y), z), "(%x + %y) * %z"),
        (call("subtract", x, call("subtract", y, z)), "%x - (%y - %z)"),
        (call("subtract", call("subtract", x, y), z), "%x - %y - %z"),
        (call("power", call("power", x, y), z), "(%x ** %y) ** %z"),
        (call("power", x, call("power", y, z)), "%x ** %y ** %z"),
        (call("power", call("negative", x), y), "(-%x) ** %y"),
        (call("negative", call("power", x, y)), "-%x ** %y"),
        (call("power", constant(-2), y), "(-2i32) ** %y"),
        (call("negative", constant(1)), "negative(1i32)"),
        (call("negative", call("power", constant(1), x)), "-(1i32 ** %x)"),
        (call("negative", call("negative", x)), "-(-%x)"),
        (call("logical_not", call("equal", x, y)), "!(%x == %y)"),
        (call("equal", call("less", x, y), call("less", y, z)), "%x < %y == %y < %z"),
        (call("less", call("less", x, y), z), "(%x < %y) < %z"),
        (call("mod", x, constant(2)), "%x % 2i32"),
        (call("subtract", x, constant(-1)), "%x - -1i32"),
        (TupleGetItem(call("add", x, y), 0), "(%x + %y).0"),
        (TupleGetItem(TupleGetItem(x, 0), 1), "%x.0.1"),
        (TupleGetItem(constant(1), 0), "(1i32).0"),
        (Call(call("add", x, y), (z,)), "(%x + %y)(%z)"),
        (Call(Call(x, (y,)), (z,)), "%x(%y)(%z)"),
        (Call(Function((), x), ()), "(fn () { %x })()"),
        (call("add", If(x, y, z), y), "(if (%x) { %y } else { %z }) + %y"),
        (If(x, constant(True), y), "%x || %y"), (If(x, y, constant(False)), "%x && %y"),
        (If(x, constant(True), constant(False)), "if (%x) { True } else { False }"),
        (If(If(x, y, constant(False)), z, constant(False)), "%x && %y && %z"),
        (If(x, If(y, z, constant(False)), constant(False)), "%x && (%y && %z)"),
        (If(If(x, constant(True), y), z, constant(False)), "(%x || %y) && %z"),
        (call("logical_not", If(x, y, constant(False))), "!(%x && %y)"),
        (Tuple((x,)), "(%x,)"), (Tuple(()), "()"), (Tuple((x, y)), "(%x, %y)"),
        (RefWrite(RefCreate(x), RefRead(y)), "ref_write(ref(%x), ref_read(%y))"),
        (Grad("vjp", x), "vjp(%x)"), (Op.get("nn.relu"), "nn.relu"),
        (Call(x, (y,), {"Primitive": 1, "a b": (1, [2.5, None], {"k": "v"})}), 
         '%x(%y, Primitive=1, "a b"=(1, [2.5, None], {"k": "v"}))'),
        (Call(x, (y,), None, (I32, TupleType([I32]), 3, (2, 3), "int8", ())),
         "%x<int32, (int32,), 3, (2, 3), int8: BaseType, (): Shape>(%y)"),
    ],
)  # fmt: skip
def test_expressions_print_with_as_few_parentheses_as_they_need(e, text):
    assert text_of(e, (x, y, z)) == text


def test_attributes_print_where_they_differ_from_their_defaults():
    assert text_of(relay.nn.leaky_relu(x), [x]) == "nn.leaky_relu(%x)"
    assert text_of(relay.cast(x, "int8"), [x]) == "cast(%x, dtype=int8)"
    assert text_of(relay.reshape(x, (2, -1)), [x]) == "reshape(%x, newshape=(2, -1))"
    assert text_of(relay.clip(x, -1.0, float("inf")), [x]) == "clip(%x, a_min=-1.0, a_max=inff64)"


def test_let_chains_are_flat_and_values_in_braces():
    a, b = Var("a", I32), Var("b")
    e = Let(a, constant(1), Let(b, Let(Var("c"), constant(2), constant(3)), Tuple((a, b))))
    assert text_of(e) == "let %a: int32 = 1i32;\nlet %b = {\n  let %c = 2i32;\n  3i32\n};\n(%a, %b)"


def test_recursive_functions_print_bare():
    f, g, n = Var("f"), Var("g"), Var("n")
    assert text_of(Let(f, Function((n,), Call(f, (n,))), f)) == "let %f = fn (%n) { %f(%n) };\n%f"
    e = LetRec((f, g), (Function((), Call(g, ())), Function((), Call(f, ()))), f)
    assert text_of(e) == "let rec %f = fn () { %g() }\nand %g = fn () { %f() };\n%f"


def test_shadowing_stays_where_it_does_no_harm():
    a, b = Var("a"), Var("a")
    assert text_of(Let(a, constant(1), Let(b, call("add", a, a), b))) == (
        "let %a = 1i32;\nlet %a = %a + %a;\n%a"
    )


def test_a_hidden_variable_that_is_mentioned_renames_the_one_that_hides_it():
    a, b = Var("a"), Var("a")
    assert text_of(Let(a, constant(1), Let(b, constant(2), call("add", a, b)))) == (
        "let %a = 1i32;\nlet %a_1 = 2i32;\n%a + %a_1"
    )


def test_a_function_bound_to_a_name_it_mentions_from_outside_is_renamed():
    f, g = Var("f"), Var("f")
    assert text_of(Let(f, constant(1), Let(g, Function((), f), g))) == (
        "let %f = 1i32;\nlet %f_1 = fn () { %f };\n%f_1"
    )


def test_parameters_of_one_function_have_names_of_their_own():
    a, b = Var("a"), Var("a")
    mod = IRModule()
    mod["f"] = Function((a, b), Tuple((a, b)))
    assert module_text(mod) == "def @f(%a, %a_1) {\n  (%a, %a_1)\n}\n"


def test_odd_names_are_quoted():
    v = Var("features.0/weight")
    assert text_of(Let(v, constant(1), v)) == 'let %"features.0/weight" = 1i32;\n%"features.0/weight"'
    mod = IRModule()
    mod["my.fn"] = Function((), GlobalVar("my.fn"))
    assert module_text(mod) == 'def @"my.fn"() {\n  @"my.fn"\n}\n'
    assert_structural_equal(parse_module(module_text(mod)), mod)


def test_a_shared_node_prints_once_where_it_is_evaluated():
    shared = call("add", x, y)
    e = If(x, call("negative", shared), Tuple((shared, shared)))
    assert text_of(e, (x, y)) == "%0 = %x + %y;\nif (%x) { -%0 } else { (%0, %0) }"
    inside = If(x, Tuple((shared, shared)), y)
    assert text_of(inside, (x, y)) == "if (%x) {\n  %0 = %x + %y;\n  (%0, %0)\n} else {\n  %y\n}"


def test_a_variable_called_0_is_no_graph_binding():
    zero = Var("0")
    shared = call("add", zero, zero)
    assert text_of(Tuple((shared, shared)), [zero]) == '%0 = %"0" + %"0";\n(%0, %0)'


def test_a_shared_node_first_used_in_an_inner_block_is_named_there():
    shared = call("add", x, y)
    e = Let(z, Let(Var("t"), shared, shared), Tuple((z, shared)))
    assert text_of(e, (x, y)) == ("let %z = {\n  %0 = %x + %y;\n  let %t = %0;\n  %0\n};\n(%z, %0)")


def test_else_if_chains_are_flat():
    e = If(x, constant(1), If(y, constant(2), If(z, constant(3), constant(4))))
    assert text_of(e, (x, y, z)) == (
        "if (%x) {\n  1i32\n} else if (%y) {\n  2i32\n} else if (%z) {\n  3i32\n} else {\n  4i32\n}"
    )


def test_matches_print_a_clause_a_line():
    a, b = Var("a"), Var("b")
    e = Match(x, (Clause(PatternTuple((PatternVar(a), PatternTuple((PatternVar(b),)))), Tuple((a, b))),
                  Clause(PatternWildcard(), Let(Var("t"), constant(1), constant(2)))), False)  # fmt: skip
    assert text_of(e, [x]) == (
        "match? (%x) {\n  (%a, (%b,)) => (%a, %b),\n  _ => {\n    let %t = 1i32;\n    2i32\n  },\n}"
    )


def test_what_does_not_fit_on_a_line_gets_a_name_or_more_lines():
    long = [Var(f"a_rather_long_name_{i}") for i in range(6)]
    e = call("add", call("multiply", long[0], long[1]), call("multiply", long[2], long[3]))
    assert text_of(e, long, width=60) == (
        "%a_rather_long_name_0,\n  %a_rather_long_name_1,".join([]) + text_of(e, long, width=60)
    )
    text = text_of(e, long, width=60)
    assert "%0 = %a_rather_long_name_0 * %a_rather_long_name_1;" in text
    wide = text_of(Tuple(tuple(long)), long, width=60)
    assert wide.endswith(
        "(\n  %a_rather_long_name_0, %a_rather_long_name_1,\n  %a_rather_long_name_2, "
        "%a_rather_long_name_3,\n"
        "  %a_rather_long_name_4, %a_rather_long_name_5\n)"
    )
    assert max(map(len, wide.splitlines())) <= 60


n, m = TypeVar("n", Kind.Dim), TypeVar("m", Kind.Dim)
a = TypeVar("a")


@pytest.mark.parametrize(
    ("t", "text"),
    [
        (I32, "int32"), (TensorType((10,), "int8"), "Tensor[(10,), int8]"), (TensorType((ANY, 3)),
        "Tensor[(?, 3), float32]"),
        (TupleType(()), "()"), (TupleType([I32]), "(int32,)"), (TupleType([I32, I32]), "(int32, int32)"),
        (FuncType([I32], I32), "fn(int32) -> int32"), (RefType(I32), "ref(int32)"),
        (FuncType([a], a, [a]), "fn[a](a) -> a"),
        (FuncType([FuncType([], I32)], FuncType([I32], I32)), "fn(fn() -> int32) -> fn(int32) -> int32"),
        (FuncType([TensorType((n,))], I32, [n]), "fn<n: Dim>(Tensor[(n,), float32]) -> int32"),
        (FuncType([a], a, [a], [TypeRelation("Identity", [a, a])]), "fn[a](a) -> a where Identity(a, a)"),
        (TupleType([FuncType([a], a, [a], [TypeRelation("Broadcast")]), I32]), "((fn[a](a) -> a where "
                                                                               "Broadcast), int32)"),
        (TensorType((n * 2 + 1, n - m, 5 - n)), "Tensor[(2 * n + 1, n - m, 5 - n), float32]"),
        (TensorType(((n + 1) // 2 * 3, n // 2 * m)), "Tensor[(3 * ((n + 1) / 2), (n / 2) * m), float32]"),
        (TypeCall(GlobalTypeVar("Nat")), "Nat"),
        (TypeCall(GlobalTypeVar("Vec"), (3, "float32", (2, n))), "Vec[3, float32, (2, n)]"),
        (IncompleteType(), "_"),
    ],
)  # fmt: skip
def test_types_print_in_canonical_form(t, text):
    assert type_text(t) == str(t) == text


def test_types_read_back():
    for t in (
        FuncType([TensorType((n, 2 * n + 1))], TensorType((n // 2, n * n - 1)), [n]),
        TupleType([RefType(I32)]),
    ):
        assert structural_equal(parse_type(type_text(t)), t)


def test_the_repr_of_a_type_is_one_short_line():
    t = I32
    for _ in range(100_000):
        t = TupleType([t])
    assert repr(t) == "<TupleType, large>"
    assert repr(TupleType([TensorType((2, 3))])) == "(Tensor[(2, 3), float32],)"


def test_a_type_too_large_to_write_is_a_diagnostic():
    t = I32
    for _ in range(60):
        t = TupleType([t, t])
    with pytest.raises(RelayError) as error:
        type_text(t)
    assert error.value.codes == ("type-too-large",)


def test_type_parameters_whose_names_clash_are_told_apart():
    outer, inner = TypeVar("t"), TypeVar("t")
    p, q = Var("p", outer), Var("q", TupleType([inner, outer]))
    mod = IRModule()
    mod["f"] = Function((p,), Function((q,), q, None, (inner,)), None, (outer,))
    assert "fn[t_1](%q: (t_1, t)) { %q }" in module_text(mod)
    assert_structural_equal(parse_module(module_text(mod)), mod)


def test_every_item_of_a_module_prints():
    text = (
        '#[version = "1"]\n\nimport "std/option"\nattributes { "a b": (1, None) }\noptions { level: 3 }\n\n'
        "type Vec[A] {\n  Nil,\n  Cons(A, Vec[A]),\n}\n\nextern type Storage\n\n"
        "def @f<n: Dim>(%x: Tensor[(n,), float32], inline=True) -> Tensor[(n,), float32] where Identity "
        "{\n  %x\n}\n\n"
        "def @c: int32 = 1i32\n\ndef @d = {\n  let %x = 2i32;\n  %x\n}\n"
    )
    assert module_text(parse_module(text), header=True) == text


def test_free_variables_are_declared():
    e = call("add", Var("a", I32), Var("a"))
    text = expr_text(e)
    assert text == "free_var %a: int32;\nfree_var %a_1;\n%a + %a_1"
    assert structural_equal(parse_expression(text), e, map_free_vars=True)


def test_types_and_spans_print_as_comments():
    mod = parse_module("def @f(%x: int32) -> int32 { %x + 1i32 }", "a.relay")
    text = module_text(mod, show_types=True, show_spans=True)
    assert "add(%x, 1i32) /* ty=int32 span=a.relay:1:30 */" in text
    assert structural_equal(parse_module(text), mod)


def test_a_temporary_node_has_no_text():
    with pytest.raises(RelayError) as error:
        expr_text(relay.TempExpr())
    assert error.value.codes == ("temporary-node",)


def test_an_attribute_that_is_no_value_has_no_text():
    with pytest.raises(RelayError) as error:
        expr_text(Call(x, (), {"k": object()}))
    assert error.value.codes == ("attribute-not-printable",)


def test_integers_in_attributes_have_any_size():
    e = Function([x], x, attrs={"seed": 2**300, "least": -(2**64)})
    assert structural_equal(relay.parse_expr(expr_text(e)), e, map_free_vars=True)
    with pytest.raises(RelayError, match="attribute-not-printable"):
        expr_text(Function([x], x, attrs={"seed": 10**5000}))


@pytest.mark.parametrize("seed", range(40))
def test_random_modules_read_back_equal_and_print_the_same(seed):
    mod = random_module(seed * 7 + 1, 15)
    for width in (100, 40):
        text = module_text(mod, width=width)
        back = parse_module(text)
        assert_structural_equal(back, mod)
        assert module_text(back, width=width) == text


@pytest.mark.parametrize("seed", range(30))
def test_random_expressions_read_back(seed):
    e, mod = random_expr(seed, 20)
    text = expr_text(e, mod=mod)
    back = parse_expression(text, mod=mod)
    assert_structural_equal(back, e, map_free_vars=True)
    assert expr_text(back, mod=mod) == text


# --- dialect 0.0.5 --------------------------------------------------------------------------------------


def test_version_0_0_5_has_one_call_a_line():
    v = Var("x", TensorType((1, 3, 8, 8)))
    w = constant(np.arange(108, dtype="float32").reshape(4, 3, 3, 3))
    conv = relay.nn.conv2d(v, w, padding=(1, 1), kernel_size=(3, 3), channels=4)
    out = relay.add(relay.nn.relu(conv), relay.concatenate([conv, conv], axis=0))
    mod = IRModule.from_expr(relay.multiply(out, constant(2.0)))
    text = module_text(mod, dialect="tvm", show_meta_data=False)
    assert text == (
        '#[version = "0.0.5"]\n\n'
        "def @main(%x: Tensor[(1, 3, 8, 8), float32]) {\n"
        "  %0 = nn.conv2d(%x, meta[relay.Constant][0], padding=[1, 1], channels=4, kernel_size=[3, 3]);\n"
        "  %1 = nn.relu(%0);\n  %2 = (%0, %0);\n  %3 = concatenate(%2);\n  %4 = add(%1, %3);\n"
        "  multiply(%4, 2f)\n}\n"
    )
    assert_structural_equal(parse_module(module_text(mod, dialect="tvm")), mod)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (literal(1), "a literal whose dtype is open"), (constant("a"), "a text as a value"),
        (Grad("grad", x), "`grad`"),
        (LetRec((y,), (Function((), y),), y), "functions that call each other"),
        (Function((), x, None, (n,)), "a type parameter of kind Dim"),
        (Function((), x, None, (), {}, (TypeRelation("Broadcast"),)), "a `where` clause"),
        (Call(x, (), {"a": 1}), "attributes of a call"),
    ],
)  # fmt: skip
def test_version_0_0_5_says_what_it_cannot_write(body, what):
    mod = IRModule()
    mod["main"] = Function((x,), body)
    with pytest.raises(RelayError) as error:
        module_text(mod, dialect="tvm")
    assert error.value.codes == ("dialect-cannot-express",)
    assert what in str(error.value)


# --- size -----------------------------------------------------------------------------------------------

DEEP = 100_000


def nest(make, depth=DEEP):
    e = x
    for _ in range(depth):
        e = make(e)
    return e


@pytest.mark.parametrize("depth", [5_000, pytest.param(DEEP, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "make",
    [
        lambda e: Call(Op.get("nn.relu"), (e,)), lambda e: call("add", e, x), lambda e: call("add", x, e),
        lambda e: Let(Var("t"), constant(1), e), lambda e: Let(Var("t"), e, x), lambda e: Tuple((e,)),
        lambda e: Function((), e), lambda e: If(x, e, x), lambda e: If(x, x, e), lambda e: If(e, x, x),
        lambda e: Match(x, (Clause(PatternWildcard(), e),)), lambda e: Match(e,
        (Clause(PatternWildcard(), x),)),
        lambda e: RefRead(e), lambda e: TupleGetItem(e, 0), lambda e: Call(e, ()),
        lambda e: call("negative", e),
        lambda e: Tuple((e, e)),
    ],
)  # fmt: skip
def test_depth_does_not_matter(make, depth):
    mod = IRModule()
    mod["f"] = Function((x,), nest(make, depth))
    text = module_text(mod)
    assert len(text) < 200 * depth


DEPTHS = pytest.mark.parametrize("depth", [DEEP // 20, pytest.param(DEEP, marks=pytest.mark.long)])


@DEPTHS
def test_a_deep_program_reads_back(depth):
    mod = IRModule()
    mod["f"] = Function((x,), nest(lambda e: call("add", call("multiply", e, x), e), depth))
    back = parse_module(module_text(mod))
    assert structural_equal(mod, back)


@DEPTHS
def test_deep_types_and_patterns_print(depth):
    t, p = I32, PatternWildcard()
    for _ in range(depth):
        t, p = TupleType([t]), PatternTuple((p,))
    assert len(type_text(t)) == 3 * depth + len("int32")
    text = expr_text(Match(x, (Clause(p, x),)))
    assert structural_equal(parse_expression(text), Match(x, (Clause(p, x),)), map_free_vars=True)


def test_printing_takes_time_in_proportion_to_the_program():
    def seconds(n):
        v, e, bindings = Var("x0"), Var("y"), []
        first = v
        for i in range(n):
            w = Var(f"x{i + 1}")
            bindings.append((w, call("add", v, e)))
            v = w
        body = v
        for w, value in reversed(bindings):
            body = Let(w, value, body)
        fn = Function((first, e), body)
        started = time.process_time()
        expr_text(fn)
        return time.process_time() - started

    small = min(seconds(2000) for _ in range(3))
    assert min(seconds(8000) for _ in range(3)) < 4 * small * 2


WEIGHTS = ", ".join([f"Tensor[({n}, 8, 3, 3), float32]" for n in range(10, 15)])
LONG_TYPES = """type Layer {
  Layer(
    Tensor[(16, 8, 3, 3), float32], Tensor[(16,), float32], Tensor[(16,), float32],
    Tensor[(16,), float32]
  ),
}

def @f<n: Dim>(
  %weights: (
    Tensor[(10, 8, 3, 3), float32], Tensor[(11, 8, 3, 3), float32], Tensor[(12, 8, 3, 3), float32],
    Tensor[(13, 8, 3, 3), float32], Tensor[(14, 8, 3, 3), float32]
  ),
  %x: fn(Tensor[(n, 64), float32]) -> Tensor[(n, 10), float32]
) -> (
  Tensor[(10, 8, 3, 3), float32], Tensor[(11, 8, 3, 3), float32], Tensor[(12, 8, 3, 3), float32],
  Tensor[(13, 8, 3, 3), float32], Tensor[(14, 8, 3, 3), float32]
) {
  let %y: (
    Tensor[(10, 8, 3, 3), float32], Tensor[(11, 8, 3, 3), float32], Tensor[(12, 8, 3, 3), float32],
    Tensor[(13, 8, 3, 3), float32], Tensor[(14, 8, 3, 3), float32]
  ) = %weights;
  %y
}
"""


def test_long_types_take_several_lines():
    mod = relay.parse(
        f"type Layer {{ Layer(Tensor[(16, 8, 3, 3), float32], {', '.join(['Tensor[(16,), float32]'] * 3)}) }}"
        f"def @f(%weights: ({WEIGHTS}), %x: fn(Tensor[(n, 64), float32]) -> Tensor[(n, 10), float32])"
        f" -> ({WEIGHTS}) {{ let %y: ({WEIGHTS}) = %weights; %y }}"
    )
    assert str(mod) == LONG_TYPES
    assert_structural_equal(relay.parse(str(mod)), mod)


def test_lines_break_at_no_comma_of_a_string_or_of_braces():
    fn = Function((x,), x, I32, attrs={"a": ["b, (c, " * 8, "d"] * 3, "e": {"f, (g": [1] * 40}})
    mod = relay.IRModule.from_expr(fn)
    text = module_text(mod, width=50)
    assert '"b, (c, b, (c, ' in text
    assert_structural_equal(relay.parse(text), mod)


def test_long_constraints_stand_on_lines_of_their_own():
    annotated = relay.infer(parse_module("def @f(%x) { %x.0 + %x.1 }"))
    text = module_text(annotated)
    assert text.split("\n")[:6] == [
        "def @f<a, s: Shape, bt: BaseType, s1: Shape, s2: Shape>(%x: a) -> Tensor[s, bt] where",
        "  Number(bt),",
        "  Field(a, Tensor[s1, bt], index=0),",
        "  Field(a, Tensor[s2, bt], index=1),",
        "  Broadcast(Tensor[s1, bt], Tensor[s2, bt], Tensor[s, bt])",
        "{",
    ]
    assert_structural_equal(parse_module(text), annotated)
    assert module_text(parse_module(text)) == text


def test_print_leaves_long_data_out_and_says_so() -> None:
    short, long = relay.const(np.arange(100, dtype="float32")), relay.const(np.arange(2000, dtype="float32"))
    assert relay.parse(str(relay.IRModule.from_expr(short)))
    mod = relay.IRModule.from_expr(relay.Tuple([long, short]))
    assert str(mod).endswith("// 2 constants of 8,400 bytes left out: mod.astext() has all\n")
    assert str(mod["main"]).endswith("// 2 constants of 8,400 bytes left out: e.astext() has all")
    assert relay.structural_equal(relay.parse(mod.astext()), mod)
