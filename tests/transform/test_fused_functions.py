"""Fused functions: what they say, how effects and checks survive, and what other passes make of them."""

import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.ir.expr import Function, GlobalVar, Var
from relay.ir.module import IRModule
from relay.ir.type import ANY, TensorType
from relay.typecheck.infer import infer
from transform.cases import outcome, program, verified
from transform.fused import functions, main_of, operators


def body(text: str, **options: int) -> str:
    """`@main` after fusion, on one line a binding."""
    return str(verified(passes.fuse_ops(program(text), **options)))


def test_numbers_are_inside_and_larger_constants_are_operands() -> None:
    found = body("def @main(%x: Tensor[(2,), float32]) { (%x * [1.0, 2.0] + 3.0) * [4.0] }")
    assert "%p0 * %p1 + 3f" in found
    assert "(%x, [1f, 2f])" in found
    assert found.count("[4f]") == 1


def test_what_is_used_twice_is_one_operand() -> None:
    (fn,) = functions(passes.fuse_ops(main_of("(%x + %y) * (%x - %y)")))
    assert len(fn.params) == 2


def test_constants_of_a_module_are_operands() -> None:
    found = body("def @k: Tensor[(2,), float32] = [1.0, 2.0]\ndef @main(%x: float32) { %x * @k + @k }")
    assert "(%x, @k)" in found


def test_functions_have_types() -> None:
    text = (
        "def @main<n: Dim>(%x: Tensor[(n, 2), float32], %y: Tensor[(?, 2), float32]) { tanh(%x) + %y * 2.0 }"
    )
    (fn,) = functions(passes.fuse_ops(program(text)))
    n = fn.params[0].type_annotation
    assert isinstance(n, TensorType)
    assert n.shape[1] == 2  # pyright: ignore
    assert fn.params[1].type_annotation == TensorType((ANY, 2))
    assert fn.attrs == {"Primitive": 1}


def test_polymorphic_code_is_fused() -> None:
    mod = program("def @f(%x) { %x * %x + %x }  def @main(%x: Tensor[(2,), float32]) { @f(%x) }")
    out = verified(passes.fuse_ops(mod))
    assert [operators(fn.body) for fn in functions(out)] == ["multiply add"]
    x = np.array([1.0, 2.0], "float32")
    assert outcome(out, (x,)) == outcome(mod, (x,))


def test_effects_keep_their_order() -> None:
    text = (
        "def @main(%x: float32) { let %r = ref(%x); let %f = fn() { ref_write(%r, ref_read(%r) * 2.0); "
        "ref_read(%r) }; let %a = tanh(ref_read(%r)); let %b = %f() - tanh(%f()) * ref_read(%r); "
        "ref_write(%r, 7.0); (%a + 1.0) * %b - ref_read(%r) }"
    )
    mod = program(text)
    out = verified(passes.fuse_ops(mod))
    assert len(functions(out)) >= 2
    for made in (out, verified(passes.defuse_ops(out))):
        assert outcome(made, (np.float32(0.7),)) == outcome(mod, (np.float32(0.7),))


def test_what_is_checked_on_the_way_is_not_looked_through() -> None:
    mod = program(
        "def @main(%x: Tensor[(?,), float32]) { let %a: Tensor[(3,), float32] = tanh(%x); %a + 1.0 }"
    )
    assert passes.fuse_ops(mod) is mod


def test_functions_that_are_fused_already_are_left_alone() -> None:
    text = (
        "def @main(%x: float32) { let %f = fn(%y: float32, Primitive=1) { tanh(sin(%y)) + 1.0 }; "
        "%f(cos(%x) * 2.0) }"
    )
    out = passes.fuse_ops(program(text))
    assert sorted([operators(fn.body) for fn in functions(out)]) == ["cos multiply", "sin tanh add"]


def test_definitions_that_are_fused_already_are_left_alone() -> None:
    x = Var("x", TensorType((), "float32"))
    fn = Function((x,), relay.tanh(relay.sin(x)), attrs={"Primitive": 1})
    mod = infer(IRModule({GlobalVar("main"): fn}))
    assert passes.fuse_ops(mod) is mod
    assert passes.defuse_ops(mod) is mod


# --- defusion ---


def defused(text: str) -> str:
    out = verified(passes.defuse_ops(program(text)))
    return str(out).rpartition("{\n")[2].rpartition("\n}")[0]


def test_arguments_stand_for_parameters() -> None:
    assert defused("def @main(%x: int32) { (fn(%a: int32, Primitive=1) { %a * %a })(%x + %x) }") == (
        "  %0 = %x + %x;\n  %0 * %0"
    )


def test_a_function_of_two_calls_is_put_in_twice() -> None:
    text = "def @main(%x: int32) { let %f = fn(%a: int32, Primitive=1) { %a * %x }; %f(%f(%x)) }"
    assert defused(text) == "  %x * %x * %x"


def test_a_function_that_is_a_value_stays() -> None:
    text = "def @main(%x: int32) { let %f = fn(%a: int32, Primitive=1) { %a * %a }; (%f(%x), %f) }"
    out = verified(passes.defuse_ops(program(text)))
    assert len(functions(out)) == 1
    assert "(%x * %x, %f)" in str(out)


def test_a_function_that_calls_itself_stays() -> None:
    mod = program(
        "def @main(%x: int32) { let %f = fn(%a: int32, Primitive=1) -> int32 "
        "{ if (%a < 1) { 0 } else { %f(%a - 1) } }; %f(%x) }"
    )
    assert passes.defuse_ops(mod) is mod


@pytest.mark.parametrize(
    "function",
    [
        "fn(%a: int32, %b: int32, Primitive=1) { %b - %a * 2 }",
        "fn(%a: int32, %b: int32, Primitive=1) { %a }",
        "fn(%a: int32, %b: int32, Primitive=1) { if (%x < 3) { %b } else { %a } }",
        "fn(%a: int32, %b: int32, Primitive=1) { let %c = %b; %a - %c }",
    ],
)
def test_arguments_are_evaluated_once_and_in_order(function: str) -> None:
    mod = program(
        "def @main(%x: int32) { let %r = ref(%x); let %t = fn(%k: int32) "
        "{ ref_write(%r, ref_read(%r) * 3 + %k); ref_read(%r) }; "
        f"let %y = ({function})(%t(1), %t(2)); (%y, ref_read(%r)) }}"
    )
    out = verified(passes.defuse_ops(mod))
    assert not functions(out)
    for x in (1, 5):
        assert outcome(out, (np.int32(x),)) == outcome(mod, (np.int32(x),))


def test_checks_at_the_call_stay() -> None:
    mod = program(
        "def @main(%x: Tensor[(?,), float32]) -> Tensor[(2,), float32] "
        "{ (fn(%a: Tensor[(2,), float32], Primitive=1) { %a + %a })(%x) }"
    )
    out = verified(passes.defuse_ops(mod))
    assert not functions(out)
    for size in (2, 3):
        x = np.ones(size, "float32")
        assert outcome(out, (x,))[0] == outcome(mod, (x,))[0]


def test_polymorphic_functions_are_put_in_at_their_types() -> None:
    mod = program(
        "def @main(%x: float32) { let %f = fn<a: Type>(%y: a, Primitive=1) -> (a, a) { (%y, %y) }; "
        "(%f(%x), %f(True)) }"
    )
    out = verified(passes.defuse_ops(mod))
    assert not functions(out)
    assert outcome(out, (np.float32(3),)) == outcome(mod, (np.float32(3),))


# --- other passes know fused functions ---


OTHERS = (
    "to_anf",
    "eliminate_common_subexpr",
    "fold_constants",
    "dead_code",
    "lambda_lift",
    "inline",
    "to_cps",
)


@pytest.mark.parametrize("name", OTHERS)
def test_fused_functions_stay_closed(name: str) -> None:
    text = (
        "let %z = zeros(shape=(8, 8), dtype=float32); "
        "(@g(%z), nn.dense(%x, %y) * %x, sum(zeros(shape=(8, 8), dtype=float32) + tanh(%x), axis=0))"
    )
    mod = main_of(text)
    out = passes.fuse_ops(mod)
    made = verified(getattr(passes, name)(out))
    for fn in functions(made):
        assert not relay.analysis.free_vars(fn)
    assert [operators(fn.body) for fn in functions(made)] == [operators(fn.body) for fn in functions(out)]
