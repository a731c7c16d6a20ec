import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.ir.expr import Function
from relay.ir.module import IRModule
from transform.cases import outcome, program, verified


def specialised(text: str, *args: object, **options: object) -> IRModule:
    """A program after monomorphisation, which has the value and the work that it had."""
    mod = program(text)
    out = verified(passes.monomorphize(mod, **options))
    assert outcome(out, args) == outcome(mod, args)
    return out


def polymorphic(mod: IRModule) -> list[str]:
    """The definitions with type parameters."""
    return [v.name_hint for v, f in mod.items() if isinstance(f, Function) and f.type_params]


def inner_polymorphic(mod: IRModule) -> int:
    """How many functions have type parameters."""
    nodes = [e for f in mod.functions.values() for e in relay.post_order(f)]
    return sum(1 for e in nodes if isinstance(e, Function) and e.type_params)


def test_each_type_has_one_copy() -> None:
    out = specialised("def @id(%x) { %x }  def @main() { (@id(1), @id(2), @id(True), @id((1, 2))) }")
    assert sorted(v.name_hint for v in out) == ["id_1", "id_2", "id_3", "main"]


def test_copies_call_copies() -> None:
    text = (
        'import "std/list"\n'
        "def @main() { let %l = @map(fn(%x) { cast(%x, dtype=float32) }, Cons(1, Cons(2, Nil))); "
        "@foldr(fn(%x, %y) { %x + %y }, 0.0, %l) }"
    )
    assert inner_polymorphic(passes.remove_unused_functions(specialised(text))) == 0


def test_local_functions_have_copies_where_they_are_bound() -> None:
    text = (
        "def @main() { let %k = 3; let %f = fn(%x) { (%x, %k) }; let %g = fn(%x) { %f(%f(%x)) "
        "}; (%g(1), %g(True)) }"
    )
    assert inner_polymorphic(specialised(text)) == 0


def test_polymorphic_functions_that_are_values() -> None:
    text = (
        "def @id(%x) { %x }\n"
        "def @ap(%f: fn(int32) -> int32, %g: (fn(bool) -> bool, int32)) { (%f(1), (%g.0)(True)) }\n"
        "def @main() { let %alias = @id; let %r = ref((@id, 1)); "
        "ref_write(%r, (fn(%x: float32) { %x }, 2)); (@ap(%alias, (@id, 1)), (ref_read(%r).0)(1.0)) }"
    )
    assert inner_polymorphic(specialised(text)) == 0


def test_branches_that_are_polymorphic() -> None:
    text = (
        "def @id(%x) { %x }  def @const(%x) { %x }\n"
        "def @main(%c: bool) { let %f: fn(int32) -> int32 = if (%c) { @id } else { @const }; %f(3) }"
    )
    assert inner_polymorphic(specialised(text, np.bool_(True))) == 0


def test_recursive_functions_call_their_own_copy() -> None:
    text = (
        'import "std/list"\n'
        "def @count<a>(%l: List[a]) -> int32 { match (%l) { Nil => 0, Cons(_, %t) => 1 + @count(%t) } }\n"
        "def @main() { (@count(Cons(1, Nil)), @count(Cons(True, Cons(False, Nil)))) }"
    )
    out = specialised(text)
    assert {"count_1", "count_2"} <= {v.name_hint for v in out}
    assert "@count_1(" in str(out["count_1"])
    assert "@count_2(" not in str(out["count_1"])


def test_types_that_change_places_are_finite() -> None:
    text = (
        "def @swap<a, b>(%n: int32, %x: a, %y: b) -> int32 { if (%n <= 0) { 0 } else { 1 + "
        "@swap<b, a>(%n - 1, %y, %x) } }\n"
        "def @main() { @swap(3, 1, True) }"
    )
    out = specialised(text)
    assert polymorphic(out) == []
    assert sorted(v.name_hint for v in out) == ["main", "swap_1", "swap_2"]


def test_polymorphic_recursion_stays_polymorphic() -> None:
    text = (
        "def @deep<a>(%n: int32, %x: a) -> int32 { if (%n <= 0) { 0 } else { 1 + @deep<(a, "
        "a)>(%n - 1, (%x, %x)) } }\n"
        "def @main() { @deep(3, 1) }"
    )
    out = specialised(text)
    assert polymorphic(out) == ["deep"]
    assert len(out.functions) == 2


def test_local_polymorphic_recursion_stays_polymorphic() -> None:
    text = (
        "def @main() { let %deep: fn<a>(int32, a) -> int32 = fn<a>(%n: int32, %x: a) -> int32 "
        "{ if (%n <= 0) { 0 } else { 1 + %deep<(a, a)>(%n - 1, (%x, %x)) } }; %deep(3, 1) }"
    )
    assert inner_polymorphic(specialised(text)) == 1


def test_a_group_of_functions_has_a_group_of_copies() -> None:
    text = (
        "def @main() { let rec %f = fn<a>(%n: int32, %x: a) -> a { if (%n <= 0) { %x } else { "
        "%g(%n - 1, %x) } } "
        "and %g = fn<a>(%n: int32, %x: a) -> a { %f(%n, %x) }; (%f(3, 1), %g(2, True)) }"
    )
    assert inner_polymorphic(specialised(text)) == 0


def test_sizes_and_dtypes_are_put_in() -> None:
    text = (
        "def @f(%x: Tensor[(n, 3), t], %y: Tensor[(n,), t]) { (sum(%x) + sum(%y)) * 2 }\n".replace(
            "@f(", "@f<n: Dim, t: BaseType>("
        )
        + "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2,), float32]) { @f(%x, %y) }"
    )
    out = specialised(text, np.ones((2, 3), np.float32), np.ones(2, np.float32))
    assert polymorphic(out) == []
    assert "2f" in str(out["f_1"])


def test_a_size_that_only_running_tells_stays_a_parameter() -> None:
    text = (
        "def @f<n: Dim, t: BaseType>(%a: Tensor[(n,), t], %b: Tensor[(n,), t]) -> Tensor[(n,), t] { %a }\n"
        "def @main(%a: Tensor[(?,), float32], %b: Tensor[(?,), float32]) { @f(%a, %b) }"
    )
    out = specialised(text, np.ones(3, np.float32), np.ones(2, np.float32))
    (left,) = [f for v, f in out.items() if v.name_hint == "f_1"]
    assert [p.name_hint for p in left.type_params] == ["n"]


def test_what_is_a_parameter_of_main_stays_one() -> None:
    text = (
        "def @f<n: Dim, t: BaseType>(%a: Tensor[(n,), t]) -> Tensor[(n,), t] { %a }\n"
        "def @main<m: Dim>(%a: Tensor[(m,), float32]) { @f(%a) }"
    )
    out = specialised(text, np.ones(3, np.float32))
    assert [p.name_hint for p in out["f_1"].type_params] == ["n"]


def test_constraints_of_parameters_that_stay_are_kept() -> None:
    text = (
        "def @f(%a, %b) where Broadcast { add(%a, %b) }\n"
        "def @main(%a: Tensor[(?, 3), float32], %b: Tensor[(3,), float32]) { @f(%a, %b) }"
    )
    specialised(text, np.ones((2, 3), np.float32), np.ones(3, np.float32))


def test_beyond_the_limit_the_polymorphic_function_is_called() -> None:
    uses = ", ".join(f"@id({'(' * i}1{',)' * i})" for i in range(6))
    out = specialised(f"def @id(%x) {{ %x }}  def @main() {{ ({uses}) }}", max_instances=3)
    assert polymorphic(out) == ["id"]
    assert len(out.functions) == 5


def test_without_a_main_every_definition_stays() -> None:
    mod = program("def @id(%x) { %x }  def @f() { @id(1) }")
    out = verified(passes.monomorphize(mod))
    assert sorted(v.name_hint for v in out) == ["f", "id", "id_1"]


def test_derivatives_of_polymorphic_functions() -> None:
    mod = program("def @sq(%x) { %x * %x }  def @main(%x: float32) { grad(@sq)(%x) }")
    out = verified(passes.monomorphize(mod))
    assert inner_polymorphic(out) == 0
    assert "grad(@sq_1)" in str(out)


def test_copies_know_the_rank_where_sizes_are_parameters_or_unknown() -> None:
    text = (
        "def @f<s: Shape, t: BaseType>(%a: Tensor[s, t]) -> Tensor[s, t] { %a }\n"
        "def @main<n: Dim>(%a: Tensor[(?, 3), float32], %b: Tensor[(n, 2 * n, 3, n), float32]) {\n"
        "  (@f(%a), @f(%b))\n"
        "}"
    )
    out = specialised(text, np.ones((2, 3), np.float32), np.ones((1, 2, 3, 1), np.float32))
    found = sorted(str(f.checked_type) for v, f in out.items() if v.name_hint.startswith("f_"))
    assert found == [
        "fn(Tensor[(?, 3), float32]) -> Tensor[(?, 3), float32]",
        "fn<d0: Dim, d1: Dim>(Tensor[(d0, d1, 3, d0), float32]) -> Tensor[(d0, d1, 3, d0), float32]",
    ]


LOOP = """def @loop[A](%n: int32, %f: fn(A) -> A, %x: A) -> A {
  if (%n == 0) { %x } else { @loop(%n - 1, %f, %f(%x)) }
}
def @main(%x: Tensor[(n,), float32]) { let %y: Tensor[SIZE, float32] = %x; @loop(3, STEP, STATE) }
"""


@pytest.mark.parametrize("size", ["(n,)", "(?,)"])
@pytest.mark.parametrize(
    ("state", "step"),
    [
        ("(%y, 0.0)", "fn (%a: (T, float32)) -> (T, float32) { (%a.0 * 2.0, %a.1 + sum(%a.0)) }"),
        ("((%y,), ref(%y))", "fn (%a: ((T,), ref(T))) -> ((T,), ref(T)) { ((ref_read(%a.1) * 2.0,), %a.1) }"),
    ],
)
def test_copies_for_values_with_sizes_that_are_not_known_have_machine_code(size, state, step):
    t = f"Tensor[{size}, float32]"
    text = LOOP.replace("SIZE", size).replace("STEP", step.replace("T", t)).replace("STATE", state)
    mod = program(text)
    assert polymorphic(passes.monomorphize(mod)) in ([], ["main"], ["main", "loop_1"])
    x = np.array([1, 2, 3], np.float32)
    want = relay.create_executor("debug", mod=mod).evaluate()(x)
    found = relay.build(mod, cache=False)(x)
    assert repr(found) == repr(want)
