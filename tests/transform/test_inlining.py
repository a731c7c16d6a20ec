import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.ir.expr import Call, Function, GlobalVar
from relay.ir.module import IRModule
from transform.cases import outcome, program, verified

SMALL = "def @f(%x: float32) { tanh(%x) + %x }  "
LARGE = "def @f(%x: float32) { " + "sin(" * 30 + "%x" + ")" * 30 + " }  "


def inlined(text: str, *args: object, **options: object) -> IRModule:
    """A program after inlining, which has the value and the work that it had."""
    mod = program(text)
    out = verified(passes.inline(mod, **options))
    given = tuple([np.float32(a) if isinstance(a, float) else a for a in args])
    assert outcome(out, given) == outcome(mod, given)
    return out


def calls(mod: IRModule) -> list[str]:
    """The definitions that are called, once for each place."""
    return sorted(
        e.op.name_hint
        for definition in mod.functions.values()
        for e in relay.post_order(definition)
        if isinstance(e, Call) and isinstance(e.op, GlobalVar)
    )


def test_small_functions_are_copied_to_their_calls() -> None:
    out = inlined(SMALL + "def @main(%y: float32) { @f(@f(%y)) }", 0.5)
    assert calls(out) == []
    assert list(out.functions) == [GlobalVar("main")]


def test_large_functions_stay_where_they_are_called_twice() -> None:
    out = inlined(LARGE + "def @main(%y: float32) { @f(@f(%y)) }", 0.5)
    assert calls(out) == ["f", "f"]
    assert calls(inlined(LARGE + "def @main(%y: float32) { @f(@f(%y)) }", 0.5, all_calls=True)) == []


def test_a_large_function_that_is_called_once_goes_there() -> None:
    assert calls(inlined(LARGE + "def @main(%y: float32) { @f(%y) }", 0.5)) == []


def test_what_a_small_function_calls_counts() -> None:
    steps = "".join(f"def @f{i}(%x: float32) {{ @f{i - 1}(%x) + @f{i - 1}(%x) }}  " for i in range(1, 12))
    text = f"def @f0(%x: float32) {{ tanh(%x) }}  {steps} def @main(%y: float32) {{ @f11(%y) }}"
    out = passes.inline(program(text))
    assert sum(1 for f in out.functions.values() for _ in relay.post_order(f)) < 500


def test_attributes_say_yes_or_no() -> None:
    never = SMALL + "attributes @f { inline: false }  def @main(%y: float32) { @f(%y) }"
    assert calls(inlined(never, 0.5)) == ["f"]
    always = LARGE + "attributes @f { inline: true }  def @main(%y: float32) { @f(@f(%y)) }"
    assert calls(inlined(always, 0.5)) == []
    mod = program(LARGE + "def @main(%y: float32) { @f(@f(%y)) }")
    mod["f"] = mod["f"].with_attr("Inline", 1)
    assert calls(passes.Inline()(mod)) == []


def test_recursive_functions_stay() -> None:
    text = (
        "def @f(%n: int32) -> int32 { if (%n <= 0) { 0 } else { @g(%n - 1) } }\n"
        "def @g(%n: int32) -> int32 { 1 + @f(%n) }\n"
        "def @main() { @f(4) }"
    )
    assert calls(inlined(text, all_calls=True)) == ["f", "f", "g"]


def test_entries_and_values_stay_as_definitions() -> None:
    out = inlined(SMALL + "def @main(%y: float32) { (@f(%y), @f) }", 0.5)
    assert calls(out) == []
    assert "f" in out


def test_without_a_main_every_definition_stays() -> None:
    mod = program(LARGE + "def @g(%y: float32) { @f(%y) }")
    assert passes.inline(mod)["f"] is passes.to_anf(mod)["f"] or "f" in passes.inline(mod)


def test_the_budget_is_kept() -> None:
    steps = "".join(f"def @f{i}(%x: float32) {{ @f{i - 1}(%x) + @f{i - 1}(%x) }}  " for i in range(1, 30))
    text = f"def @f0(%x: float32) {{ tanh(%x) }}  {steps} def @main(%y: float32) {{ @f29(%y) }}"
    out = verified(passes.inline(program(text), all_calls=True, max_nodes=2000))
    assert sum(1 for f in out.functions.values() for _ in relay.post_order(f)) < 6000
    assert calls(out)


def test_local_functions_are_inlined_and_go() -> None:
    text = (
        "def @main(%y: float32) { let %f = fn(%x) { tanh(%x) }; let %g = fn(%x) { %f(%f(%x)) "
        "}; %g(%y) + %g(%y) }"
    )
    out = inlined(text, 0.5)
    assert not any(isinstance(e, Function) and e is not out["main"] for e in relay.post_order(out["main"]))


def test_a_function_that_is_passed_becomes_known() -> None:
    text = (
        "def @twice(%f: fn(float32) -> float32, %x: float32) { %f(%f(%x)) }  def @main(%y: "
        "float32) { @twice(tanh, %y) }"
    )
    out = inlined(text, 0.5)
    assert str(out["main"]).count("tanh(") == 2


def test_a_polymorphic_function_that_is_passed_becomes_known() -> None:
    text = (
        "def @id<a>(%x: a) -> a { %x }\n"
        "def @ap(%f: fn(float32) -> float32, %x: float32) { %f(%x) }\n"
        "def @main(%y: float32) { @ap(@id, %y) }"
    )
    assert calls(inlined(text, 0.5)) == []


def test_a_constructor_that_is_passed_becomes_known() -> None:
    text = (
        'import "std/option"\n'
        "def @ap(%f: fn(float32) -> Option[float32], %x: float32) { %f(%x) }\n"
        "def @main(%y: float32) { @ap(Some, %y) }"
    )
    assert "Some<float32>(%y)" in str(inlined(text, 0.5)["main"])


def test_type_parameters_are_put_in() -> None:
    text = (
        "def @scale<n: Dim, t: BaseType>(%v: Tensor[(n,), t], %k: Tensor[(), t]) -> Tensor[(n,), "
        "t] where Number(t) { %v * %k + 1 }\n"
        "def @main(%x: Tensor[(3,), float32]) { @scale(%x, 2.0) }"
    )
    out = inlined(text, np.ones(3, np.float32))
    assert "+ 1f" in str(out["main"])


def test_a_size_that_only_running_tells_is_still_compared() -> None:
    text = (
        "def @f<n: Dim>(%a: Tensor[(n,), float32], %b: Tensor[(n,), float32]) -> Tensor[(n,), "
        "float32] { %a }\n"
        "def @main(%a: Tensor[(?,), float32], %b: Tensor[(?,), float32]) { @f(%a, %b) }"
    )
    out = inlined(text, np.ones(3, np.float32), np.ones(2, np.float32))
    assert calls(out) == ["f"]


@pytest.mark.parametrize("size", [2, 3])
def test_a_parameter_that_says_more_than_the_argument_is_still_checked(size: int) -> None:
    text = (
        "def @f(%a: Tensor[(2,), float32]) -> Tensor[(?,), float32] { tanh(%a) }\n"
        "def @main(%a: Tensor[(?,), float32]) { @f(%a) }"
    )
    assert calls(inlined(text, np.ones(size, np.float32))) == []


@pytest.mark.parametrize("size", [2, 3])
def test_a_result_that_says_more_is_still_checked(size: int) -> None:
    text = (
        "def @f(%a: Tensor[(?,), float32]) -> Tensor[(2,), float32] { tanh(%a) }\n"
        "def @main(%a: Tensor[(?,), float32]) { @f(%a) }"
    )
    assert calls(inlined(text, np.ones(size, np.float32))) == []


def test_effects_happen_as_often_as_they_did() -> None:
    text = (
        "def @tick(%r: ref(int32)) { ref_write(%r, ref_read(%r) + 1); ref_read(%r) }\n"
        "def @main() { let %r = ref(0); let %a = @tick(%r); let %b = @tick(%r); (%a, %b, "
        "@tick(%r) * ref_read(%r)) }"
    )
    assert calls(inlined(text)) == []


def test_a_function_that_is_moved_into_one_that_is_copied_is_bound_once_in_each_copy() -> None:
    text = (
        "def @main(%x: int32) { let %inner = fn(%a: int32) { let %t = %a * 2; %t + %a }; "
        "let %outer = fn(%b: int32) { %inner(%b) + 1 }; %outer(%x) + %outer(%x + 1) }"
    )
    inlined(text, np.int32(4))


def test_fused_functions_stay() -> None:
    text = "def @main(%x: float32) { let %f = fn(%y: float32, Primitive=1) { tanh(sin(%y)) }; %f(%x) }"
    assert "Primitive" in str(inlined(text, 0.5)["main"])


def test_a_long_chain_of_definitions_takes_linear_time() -> None:
    steps = "".join(f"def @f{i}(%x: int32) {{ 1 + @f{i - 1}(%x) }}  " for i in range(1, 2000))
    out = inlined(f"def @f0(%x: int32) {{ %x }}  {steps} def @main(%x: int32) {{ @f1999(%x) }}", np.int32(1))
    assert list(out.functions) == [GlobalVar("main")]
