"""A-normal form, basic blocks, graphs, eta expansion: where things are evaluated, and how often."""

import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.analysis import check_basic_block_normal_form
from relay.analysis.normal_form import is_a_normal
from relay.ir.expr import (
    Call,
    Function,
    If,
    Let,
    LetRec,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    constant,
)
from relay.ir.module import IRModule
from relay.ir.type import FuncType, RefType, TensorType, TupleType
from relay.typecheck.infer import infer
from transform.cases import Change, outcome, program, shown, verified

INT = TensorType((), "int32")
BOOL = TensorType((), "bool")
FORMS = [passes.to_anf, passes.to_basic_block_normal_form, passes.to_graph_normal_form]


def call(name: str, *args: relay.Expr) -> Call:
    return Call(Op.get(name), args)


def module(*params: Var, body: relay.Expr) -> IRModule:
    return infer(IRModule.from_expr(Function(params, body)))


# --- A-normal form ---


def test_tail_calls_stay_tail_calls() -> None:
    mod = passes.to_anf(
        program("def @main(%n: int32) -> int32 { if (%n <= 0) { %n } else { @main(%n - 1) } }")
    )
    branch = mod["main"].body.body
    assert isinstance(branch, If)
    assert isinstance(branch.false_branch, Let)
    assert isinstance(branch.false_branch.body, Call)
    assert relay.interpreter.machine.Interpreter(mod, max_depth=5).evaluate("main", 2000) == 0


def test_lets_are_kept_and_flattened() -> None:
    mod = passes.to_anf(program("def @main(%x: int32) { let %a = { let %b = %x + 1; %b * 2 }; (%a, %a) }"))
    assert shown(mod) == (
        "fn (%x: int32) -> (int32, int32) {\n"
        "  let %b: int32 = %x + 1i32;\n"
        "  let %a: int32 = %b * 2i32;\n"
        "  (%a, %a)\n"
        "}"
    )


def test_a_node_that_two_branches_share_is_bound_before_the_construct_and_after_the_condition() -> None:
    mod = passes.to_anf(
        program("def @main(%x: int32) { %0 = %x * 2; if (%x < 3) { %0 + 1 } else { %0 - 1 } }")
    )
    names = []
    e = mod["main"].body
    while isinstance(e, Let):
        names.append(e.value.op.name)
        e = e.body
    assert names == ["less", "multiply"]


def test_a_node_that_a_function_shares_with_its_outside_runs_once() -> None:
    x, y = Var("x", INT), Var("y", INT)
    shared = call("multiply", x, x)
    f, g = Var("f"), Function((y,), call("add", y, shared))
    mod = module(x, body=Let(f, g, Tuple((Call(f, (x,)), Call(f, (shared,))))))
    out = passes.to_anf(mod)
    assert outcome(out, (np.int32(3),)) == outcome(mod, (np.int32(3),))
    assert outcome(out, (np.int32(3),))[1]["multiply"] == 1


def test_reads_and_writes_keep_their_order() -> None:
    r, x = Var("r", RefType(INT)), Var("x", INT)
    late = RefRead(r)
    write = RefWrite(r, call("add", RefRead(r), constant(5)))
    # The read is shared by a branch and by what comes after it, and is first used in the branch.
    body = Let(
        r,
        RefCreate(x),
        Tuple((If(call("less", x, constant(9)), Tuple((write, late)), Tuple((write, late))), late)),
    )
    mod = module(x, body=body)
    for form in FORMS:
        out = verified(form(mod))
        assert outcome(out, (np.int32(1),)) == outcome(mod, (np.int32(1),)), form
        assert outcome(out, (np.int32(20),)) == outcome(mod, (np.int32(20),)), form


def test_functions_of_a_let_rec_that_are_one_node() -> None:
    n = Var("n", INT)
    fn = Function((n,), call("add", n, constant(1)), INT)
    f, g = Var("f", FuncType((INT,), INT)), Var("g", FuncType((INT,), INT))
    mod = module(
        body=Tuple((LetRec((f, g), (fn, fn), Call(f, (Call(g, (constant(1),)),))), Call(fn, (constant(5),))))
    )
    out = passes.to_anf(mod)
    assert outcome(out, ())[0] == outcome(mod, ())[0]


def test_an_annotation_that_says_more_is_kept_apart_from_a_shared_value() -> None:
    text = (
        "def @main(%x: Tensor[(?,), float32]) { %0 = tanh(%x); let %y: Tensor[(2,), float32] = %0; (%0, %y) }"
    )
    mod = program(text)
    out = verified(passes.to_anf(mod))
    assert out["main"].ret_type is mod["main"].ret_type
    good, bad = np.zeros(2, np.float32), np.zeros(3, np.float32)
    assert outcome(out, (good,)) == outcome(mod, (good,))
    assert outcome(out, (bad,))[0] == outcome(mod, (bad,))[0] == ("shape-check",)


def test_a_tuple_that_holds_an_operator_is_annotated_by_inference() -> None:
    text = "def @f(%p: (fn(float32) -> float32, int32)) { %p.0 }  def @main() { @f((tanh, 1))(1.0) }"
    out = verified(passes.to_anf(program(text)))
    assert all(e.var.type_annotation is not None for e in relay.post_order(out["main"]) if isinstance(e, Let))


def test_fused_functions_stay_graphs() -> None:
    text = "def @main(%x: float32) { let %f = fn(%y: float32, Primitive=1) { tanh(sin(%y)) }; %f(cos(%x)) }"
    mod = passes.to_anf(program(text))
    assert "tanh(sin(%y))" in str(mod)
    assert is_a_normal(mod["main"])


def test_constants_of_a_module_become_blocks() -> None:
    mod = passes.to_anf(program("def @c: float32 = tanh(sin(1.0))\ndef @main() { @c }"))
    assert isinstance(mod["c"], Let)


def test_a_shared_let_is_evaluated_once() -> None:
    x, a, r = Var("x", INT), Var("a", INT), Var("r", RefType(INT))
    step = RefWrite(r, call("add", RefRead(r), constant(1)))
    chain = Let(Var("_", TupleType(())), step, Let(a, RefRead(r), call("multiply", a, a)))
    body = Let(r, RefCreate(x), Tuple((chain, call("add", chain, chain), RefRead(r))))
    mod = module(x, body=body)
    for form in FORMS:
        assert outcome(verified(form(mod)), (np.int32(2),)) == outcome(mod, (np.int32(2),)), form


def test_names_and_spans_point_at_the_source() -> None:
    mod = program("def @main(%x: float32) {\n  tanh(\n    sin(%x))\n}")
    out = passes.to_anf(mod)
    assert out["main"].body.value.span.line == 3
    assert out["main"].body.var.span.line == 3


# --- basic blocks ---


def test_what_no_two_scopes_share_stays_a_graph() -> None:
    mod = program(
        "def @main(%x: float32) { %0 = tanh(%x); (%0 + %0, if (%x < 0.0) { sin(%x) } else { %x }) }"
    )
    assert passes.to_basic_block_normal_form(mod) is mod


def test_what_two_scopes_share_is_bound() -> None:
    text = (
        "def @main(%c: bool, %x: float32) {\n"
        "  %0 = tanh(%x); let %f = fn() { %0 }; if (%c) { %0 } else { %f() }\n}"
    )
    mod = program(text)
    assert not check_basic_block_normal_form(mod["main"])
    out = verified(passes.to_basic_block_normal_form(mod))
    assert check_basic_block_normal_form(out["main"])


# --- graphs ---


def test_a_value_does_not_sink_into_a_function() -> None:
    text = "def @main(%x: int32) { let %y = %x * %x; let %f = fn(%z: int32) { %z + %y }; %f(%f(1)) }"
    mod = program(text)
    out = passes.to_graph_normal_form(mod)
    assert outcome(out, (np.int32(3),)) == outcome(mod, (np.int32(3),))
    assert "let %y" in shown(out)


def test_a_value_that_only_a_branch_uses_sinks_into_it() -> None:
    text = "def @main(%x: int32) { let %y = %x * %x; if (%x < 3) { %y } else { %x } }"
    out = passes.to_graph_normal_form(program(text))
    assert outcome(out, (np.int32(5),))[1]["multiply"] == 0


def test_an_annotation_that_is_checked_stays() -> None:
    text = "def @main(%x: Tensor[(?,), float32]) { let %y: Tensor[(2,), float32] = %x; tanh(%y) }"
    assert "let %y" in shown(passes.to_graph_normal_form(program(text)))


def test_there_and_back() -> None:
    mod = program("def @main(%x: float32) { %0 = tanh(%x); %1 = %0 * %0; (%1 + %0, %1) }")
    back = passes.to_graph_normal_form(passes.to_anf(mod))
    assert relay.structural_equal(back["main"], mod["main"])


# --- eta expansion ---


@pytest.mark.parametrize("form", [lambda mod: mod, passes.to_anf], ids=["graph", "A-normal"])
def test_polymorphic_names_are_expanded_at_the_types_of_their_places(form: Change) -> None:
    text = (
        "def @id<a>(%x: a) -> a { %x }\n"
        "def @ap(%f: fn(int32) -> int32, %p: (fn(bool) -> bool, int32)) { (%f(1), (%p.0)(True)) }\n"
        "def @main() { @ap(@id, (@id, 1)) }"
    )
    mod = form(program(text))
    out = verified(passes.eta_expand(mod, expand_global_var=True))
    assert "@id<int32>(%x)" in str(out)
    assert "@id<bool>(%x)" in str(out)
    assert outcome(out, ())[0] == outcome(mod, ())[0]


def test_without_options_nothing_is_expanded() -> None:
    mod = program("def @id(%x: int32) { %x }  def @main() { @id }")
    assert passes.eta_expand(mod) is mod


def test_a_polymorphic_alias_becomes_a_polymorphic_function() -> None:
    text = "def @id<a>(%x: a) -> a { %x }  def @main() { let %g = @id; (%g(1), %g(True)) }"
    mod = program(text)
    out = verified(passes.eta_expand(mod, expand_global_var=True))
    assert outcome(out, ())[0] == outcome(mod, ())[0]


def test_constructors_become_functions() -> None:
    text = 'import "std/list"\ndef @main() { @foldr(Cons, Nil, Cons(1, Cons(2, Nil))) }'
    mod = program(text)
    out = verified(passes.eta_expand(mod, expand_constructor=True))
    assert outcome(out, ())[0] == outcome(mod, ())[0]
    assert "fn (" in shown(out)


def test_a_projection_of_a_tuple_literal_keeps_its_name() -> None:
    x = Var("x", INT)
    mod = module(x, body=TupleGetItem(Tuple((x, Op.get("tanh"))), 0))
    assert passes.eta_expand(mod, expand_op=True)["main"].body.tuple_value.fields[1] is Op.get("tanh")
