"""Dead code, constants, common subexpressions, unused definitions."""

import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.ir.expr import Call, Constant, Function, If, Let, Op, Tuple, Var, constant
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.transform.rewriting.forms import ANF
from relay.typecheck.infer import infer
from transform.cases import Change, outcome, program, shown, verified

INT = TensorType((), "int32")


def body(text: str, change: Change) -> str:
    """The body of `@main(%x: int32, …) { text }` after a pass, without its types."""
    out = verified(change(program(text)))
    return str(out).rpartition("def @main(")[2].partition("{\n")[2].rpartition("\n}")[0]


# --- dead code ---


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("let %y = %x + 1; %x", "  %x"),
        ("let %r = ref(%x); %x", "  %x"),
        ("let %r = ref(%x); ref_write(%r, 2); %x", "  %x"),
        ("let %r = ref(%x); let %s = ref(%r); ref_write(%r, 2); %x", "  %x"),
        ("let %f = fn(%y: int32) { %y }; let %g = fn(%y: int32) { %f(%y) }; %x", "  %x"),
        (
            "let rec %f = fn(%y: int32) -> int32 { %g(%y) } and %g = fn(%y: int32) -> int32 { %f(%y) }; %x",
            "  %x",
        ),
    ],
)
def test_what_nobody_reads_goes(text: str, stays: str) -> None:
    assert body(f"def @main(%x: int32) {{ {text} }}", passes.dead_code) == stays


@pytest.mark.parametrize(
    "text",
    [
        "let %r = ref(%x); ref_write(%r, 2); ref_read(%r)",
        "let %r = ref(%x); let %s = %r; ref_write(%s, 2); ref_read(%r)",
        "let %r = ref(%x); let %f = fn() { ref_write(%r, 2) }; let %y = %f(); ref_read(%r)",
        "let %r = ref(%x); let %p = (%r, 1); ref_write(%p.0, 2); ref_read(%r)",
    ],
)
def test_writes_that_somebody_may_read_stay(text: str) -> None:
    source = program(f"def @main(%x: int32) {{ {text} }}")
    out = passes.dead_code(source)
    assert outcome(out, (np.int32(1),))[0] == outcome(source, (np.int32(1),))[0]
    assert "ref_write" in shown(out)


def test_writes_to_a_reference_from_outside_stay() -> None:
    mod = program("def @f(%r: ref(int32)) { ref_write(%r, 1); 5 }  def @main() { let %r = ref(0); @f(%r) }")
    assert "ref_write" in str(passes.dead_code(mod)["f"])


def test_impurity_may_be_ignored() -> None:
    text = "def @main(%x: int32) { let %r = ref(%x); let %y = ref_read(%r); %x }"
    assert "ref_read" in body(text, passes.dead_code)
    assert body(text, lambda mod: passes.dead_code(mod, ignore_impurity=True)) == "  %x"


def test_a_binding_that_keeps_a_node_out_of_a_function_stays() -> None:
    x, y, f, dead = Var("x", INT), Var("y", INT), Var("f"), Var("dead")
    shared = Call(Op.get("multiply"), (x, x))
    fn = Function((y,), Call(Op.get("add"), (y, shared)))
    inner = Let(f, fn, Call(f, (Call(f, (x,)),)))
    mod = infer(IRModule.from_expr(Function((x,), Let(dead, Tuple((shared, x)), inner))))
    out = verified(passes.dead_code(mod))
    assert outcome(out, (np.int32(2),)) == outcome(mod, (np.int32(2),))


def test_one_of_two_functions_that_know_each_other() -> None:
    text = (
        "def @main(%x: int32) { let rec %f = fn(%y: int32) -> int32 { %f(%y) } "
        "and %g = fn(%y: int32) -> int32 { if (%y < 0) { %y } else { %g(%y - 1) } }; %g(%x) }"
    )
    found = body(text, passes.dead_code)
    assert "%f" not in found
    assert "let %g" in found


def test_programs_that_write_in_many_places_take_linear_time() -> None:
    r = "let %r = ref(0); " + "ref_write(%r, 1); " * 3000
    assert body(f"def @main(%x: int32) {{ {r} %x }}", passes.dead_code) == "  %x"


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("let %y = %x + 1; let %z = %y * %y; %z - %x", "  let %y: int32 = %x + 1i32;\n  %y * %y - %x"),
        ("let %y = %x * %x; if (%x > 0) { %y } else { 0 }", "  if (%x > 0i32) { %x * %x } else { 0i32 }"),
        (
            "let %y = %x * %x; let %f = fn(%z: int32) { %z + %y }; %f(1) + %f(2)",
            "  let %y: int32 = %x * %x;\n"
            "  let %f: fn(int32) -> int32 = fn (%z: int32) -> int32 { %z + %y };\n"
            "  %f(1i32) + %f(2i32)",
        ),
        (
            "let %r = ref(%x); let %y = ref_read(%r); ref_write(%r, 2); %y",
            "  let %r: ref(int32) = ref(%x);\n  let %y: int32 = ref_read(%r);\n"
            "  let %_: () = ref_write(%r, 2i32);\n  %y",
        ),
    ],
)
def test_what_is_used_once_takes_the_place_of_its_variable(text: str, becomes: str) -> None:
    found = body(f"def @main(%x: int32) {{ {text} }}", lambda mod: passes.dead_code(mod, inline_once=True))
    assert found == becomes


def test_dead_code_that_inlines_leaves_the_normal_form() -> None:
    mod = passes.to_anf(program("def @main(%x: int32) { %x + 1 + %x }"))
    assert ANF.is_known(passes.DeadCodeElimination()(mod))
    assert not ANF.is_known(passes.DeadCodeElimination(True)(mod))


# --- constants ---


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("%x + (2 * 3)", "  %x + 6i32"),
        ("let %k = 2; %x + %k * %k", "  %x + 4i32"),
        ("if (1 < 2) { %x } else { 0 }", "  %x"),
        ("(1, %x).1", "  %x"),
        ("let %p = (3, %x); %p.0 + 1", "  let %p: (int32, int32) = (3i32, %x);\n  4i32"),
        ("let %f = fn(%y: int32) { %y + (1 + 1) }; %f(%x)", "  let %f"),
        ("1 / 0", "  1i32 / 0i32"),
        ('cast(2.5, dtype="int32")', "  2i32"),
    ],
)
def test_what_is_known_is_computed(text: str, folded: str) -> None:
    assert body(f"def @main(%x: int32) {{ {text} }}", passes.fold_constants).startswith(folded)


def test_a_shape_is_known_from_the_type() -> None:
    text = 'def @main(%x: Tensor[(2, 3), float32]) { shape_of(%x, dtype="int64") }'
    assert body(text, passes.fold_constants) == "  [2i64, 3i64]"
    unknown = 'def @main(%x: Tensor[(2, ?), float32]) { shape_of(%x, dtype="int64") }'
    assert "shape_of" in body(unknown, passes.fold_constants)


def test_a_tuple_of_constants_is_an_operand() -> None:
    text = "def @main() { let %t = ([1, 2], [3]); concatenate(%t) }"
    assert "[1i32, 2i32, 3i32]" in body(text, passes.fold_constants)


def test_results_in_tuples_are_folded() -> None:
    text = "def @main() { split([1, 2, 3, 4], indices_or_sections=2).1 }"
    assert body(text, passes.fold_constants) == "  [3i32, 4i32]"


def test_large_results_stay_to_be_computed() -> None:
    text = "def @main() { broadcast_to(1.0, shape=(1000, 1000)) }"
    assert "broadcast_to" in body(text, passes.fold_constants)
    assert "Constant" in body(text, lambda mod: passes.fold_constants(mod, max_bytes=10_000_000))


def test_a_large_weight_may_be_rearranged() -> None:
    weight = constant(np.arange(100_000, dtype=np.float32).reshape(100, 1000))
    mod = infer(IRModule.from_expr(relay.transpose(weight)))
    out = passes.fold_constants(mod)["main"].body
    assert isinstance(out, Constant)
    assert np.array_equal(out.value, weight.value.T)


def test_large_work_stays_to_be_done() -> None:
    a = constant(np.ones((50, 50), np.float32))
    mod = infer(IRModule.from_expr(relay.nn.matmul(a, a)))
    assert isinstance(passes.fold_constants(mod)["main"].body, Constant)
    assert isinstance(passes.fold_constants(mod, max_work=1000)["main"].body, Call)


def test_operators_without_operands_stay() -> None:
    text = 'def @main() { zeros(shape=(2,), dtype="float32") }'
    assert body(text, passes.fold_constants).startswith("  zeros")


def test_a_branch_that_shares_a_read_is_not_chosen_in_a_graph() -> None:
    text = (
        "def @main(%x: int32) { let %r = ref(%x); %0 = ref_read(%r); "
        "if (True) { ref_write(%r, 9); %0 } else { %0 } }"
    )
    mod = program(text)
    for form in (lambda m: m, passes.to_anf):
        out = verified(passes.fold_constants(form(mod)))
        assert outcome(out, (np.int32(1),))[0] == outcome(mod, (np.int32(1),))[0]
    assert "if" not in shown(passes.fold_constants(passes.to_anf(mod)))


def test_the_type_of_a_branch_that_says_more_is_the_type_of_both() -> None:
    text = (
        "def @main(%x: Tensor[(2,), float32], %y: Tensor[(?,), float32]) "
        "{ let %z = if (True) { %x } else { %y }; %z }"
    )
    mod = program(text)
    out = verified(passes.fold_constants(mod))
    assert out["main"].ret_type is mod["main"].ret_type


# --- common subexpressions ---


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("tanh(%x) + tanh(%x)", 1),
        ("let %a = tanh(%x); let %b = tanh(%x); %a + %b", 1),
        ("let %a = tanh(%x); let %f = fn() { tanh(%x) }; %a + %f()", 1),
        ("let %f = fn() { tanh(%x) }; let %a = tanh(%x); %a + %f()", 2),
        ("if (%x < 0.0) { tanh(%x) } else { tanh(%x) + 1.0 }", 2),
        ("if (%x < 0.0) { tanh(%x) + tanh(%x) } else { 1.0 }", 1),
        ("let %a = tanh(%x); if (%x < 0.0) { tanh(%x) } else { %a }", 1),
        ("tanh(%x + 1.0) * tanh(1.0 + %x)", 1),
        ("tanh(%x - 1.0) * tanh(1.0 - %x)", 2),
    ],
)
@pytest.mark.parametrize("form", [lambda mod: mod, passes.to_anf], ids=["graph", "A-normal"])
def test_what_is_computed_before_is_used(form: Change, text: str, count: int) -> None:
    found = body(
        f"def @main(%x: float32) {{ {text} }}", lambda mod: passes.eliminate_common_subexpr(form(mod))
    )
    assert found.count("tanh") == count


def test_references_are_never_one() -> None:
    text = "def @main(%x: int32) { let %r = ref(%x); let %s = ref(%x); ref_write(%r, 7); ref_read(%s) }"
    mod = program(text)
    out = passes.eliminate_common_subexpr(mod)
    assert outcome(out, (np.int32(1),))[0] == outcome(mod, (np.int32(1),))[0]


def test_a_function_that_writes_is_called_each_time() -> None:
    text = (
        "def @main(%x: int32) { let %r = ref(0); "
        "let %f = fn() { ref_write(%r, ref_read(%r) + 1); ref_read(%r) }; %f() * 10 + %f() }"
    )
    mod = program(text)
    out = passes.eliminate_common_subexpr(mod)
    assert outcome(out, (np.int32(1),)) == outcome(mod, (np.int32(1),))


def test_pure_functions_are_called_once() -> None:
    text = "def @f(%x: float32) { tanh(%x) }  def @main(%x: float32) { @f(%x) + @f(%x) }"
    assert body(text, passes.eliminate_common_subexpr).count("@f") == 1


def test_some_may_be_skipped() -> None:
    mod = program("def @main(%x: float32) { tanh(%x) + tanh(%x) * (sin(%x) + sin(%x)) }")

    def skip(e: relay.Expr) -> bool:
        return isinstance(e, Call) and e.op is Op.get("tanh")

    found = shown(passes.eliminate_common_subexpr(mod, fskip=skip))
    assert found.count("tanh") == 2
    assert found.count("sin") == 1


def test_equal_constants_are_the_same_operand() -> None:
    text = "def @main(%x: Tensor[(2,), float32]) { (%x + [1.0, 2.0]) * (%x + [1.0, 2.0]) }"
    assert body(text, passes.eliminate_common_subexpr).count("+") == 1


def test_operators_with_other_attributes_are_others() -> None:
    text = (
        "def @main(%x: Tensor[(2, 2), float32]) { sum(%x, axis=[0]) + sum(%x, axis=[1]) + sum(%x, axis=[0]) }"
    )
    assert body(text, passes.eliminate_common_subexpr).count("sum") == 2


# --- definitions ---


def test_what_entries_reach_stays() -> None:
    mod = program("def @f() { @g() }  def @g() { 1 }  def @h() { 2 }  def @main() { @f() }")
    assert [v.name_hint for v in passes.remove_unused_functions(mod)] == ["f", "g", "main"]
    kept = passes.remove_unused_functions(mod, entry_functions=("h", "g"))
    assert [v.name_hint for v in kept] == ["g", "h"]
    assert passes.remove_unused_functions(mod, entry_functions=("nobody",)) is mod


def test_constants_that_are_reached_stay() -> None:
    mod = program("def @c: int32 = 3\ndef @d: int32 = 4\ndef @main() { @c }")
    out = passes.remove_unused_functions(mod)
    assert [v.name_hint for v in out] == ["c", "main"]
    assert len(out.constant_types) == 1


def test_a_chosen_condition_leaves_no_if() -> None:
    mod = program("def @main(%x: int32) { if (2 < 1) { %x } else { if (True) { 1 } else { %x } } }")
    assert not any(isinstance(e, If) for e in relay.post_order(passes.fold_constants(mod)["main"]))
