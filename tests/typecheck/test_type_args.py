"""`Call.type_args`: what inference found a callee to take, and what it leaves out of programs."""

import copy
import json
import pickle

import pytest

import relay
from relay.ir.expr import Call, Op
from relay.ir.walk import post_order

ROW, PAIR = "Tensor[(3,), float32]", "Tensor[(2, 3), float32]"


def inferred(text):
    return relay.transform.InferType()(relay.parse(text))


def type_args(root):
    """The type arguments of the calls of a program by their callees, as text."""
    calls = [e for e in post_order(root) if isinstance(e, Call)]
    return [(e.op.name, [str(t) for t in e.type_args]) for e in calls]


def test_of_operators_they_are_the_types_of_the_arguments():
    mod = inferred("""
    def @main(%x: Tensor[(2, 3), float32], %i: Tensor[(4,), int64]) {
      let %y = nn.bias_add(%x, ones((3,), dtype=float32));
      take(concatenate((%x, %y), axis=0), %i, axis=0)
    }
    """)
    assert type_args(mod["main"]) == [
        ("ones", []),
        ("nn.bias_add", [PAIR, ROW]),
        ("concatenate", [f"({PAIR}, {PAIR})"]),
        ("take", ["Tensor[(4, 3), float32]", "Tensor[(4,), int64]"]),
    ]
    data, indices = mod["main"].body.body.type_args
    assert data.concrete_shape == (4, 3)
    assert (data.dtype, indices.dtype) == ("float32", "int64")


def test_of_polymorphic_functions_they_are_what_the_parameters_stand_for():
    mod = inferred("""
    import "std/list"
    def @pair<a, b>(%x: a, %y: b) { (%y, %x) }
    def @neg(%x: Tensor[(n,), float32]) { negative(%x) }
    def @main(%x: Tensor[(3,), float32]) {
      let %id = fn (%y) { %y };
      let %twice = fn (%y: int32) { %y + %y };
      (@pair(%x, 1), Cons(%x, Nil()), %id(True), %id(%x), %twice(2), @neg(%x))
    }
    """)
    assert type_args(mod["main"].body.body.body) == [
        ("pair", [ROW, "int32"]),
        ("Nil", [ROW]),
        ("Cons", [ROW]),
        ("id", ["bool"]),
        ("id", [ROW]),
        ("twice", []),
        ("neg", ["3"]),
    ]
    assert type_args(mod["pair"]) == []


def test_written_ones_are_there_before_inference():
    main = relay.parse("def @id<a>(%x: a) { %x } def @main() { @id<int32>(1) }")["main"]
    assert main.body.type_args == (relay.scalar_type("int32"),)


def test_before_inference_there_are_none():
    x = relay.var("x")
    call = relay.nn.relu(relay.exp(x))
    assert not call.type_args
    assert call.type_args == ()
    assert list(relay.GlobalVar("f")(x).type_args) == []
    with pytest.raises(IndexError):
        call.type_args[0]


def test_an_argument_with_an_error_has_none():
    x = relay.var("x", shape=(2, 3))
    bad = relay.add(x, relay.var("y", shape=(4,)))
    assert relay.exp(bad).type_args == ()
    assert [str(t) for t in bad.type_args] == [PAIR, "Tensor[(4,), float32]"]


@pytest.mark.parametrize("name", ["ToANormalForm", "FuseOps", "ToGraphNormalForm", "EliminateCommonSubexpr"])
def test_calls_that_passes_make_have_them(name):
    mod = inferred("def @main(%x: Tensor[(2, 3), float32]) { sum(exp(%x) * 2.0, axis=1) }")
    mod = getattr(relay.transform, name)()(mod)
    found = [
        (e.op.name, [str(t) for t in e.type_args])
        for e in post_order(mod["main"])
        if isinstance(e, Call) and isinstance(e.op, Op)
    ]
    assert found == [("exp", [PAIR]), ("multiply", [PAIR, "float32"]), ("sum", [PAIR])]


def test_derivatives_have_them():
    mod = inferred("def @main(%x: Tensor[(2, 3), float32]) { sum(exp(%x)) }")
    made = relay.transform.gradient(mod["main"], mod)
    mod = relay.transform.InferType()(relay.IRModule.from_expr(made))
    calls = [e for e in post_order(mod["main"]) if isinstance(e, Call) and isinstance(e.op, Op)]
    assert calls
    for e in calls:
        assert e.type_args == tuple([a.checked_type for a in e.args])


def test_a_call_that_takes_those_of_another_is_the_same_program():
    mod = inferred("def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }")
    call = mod["main"].body
    assert call.type_args
    made = Call(call.op, call.args, call.attrs, call.type_args)
    assert relay.ir.structural_equal(made, call)
    assert str(made) == str(call)
    shorter = Call(call.op, [relay.var("y", shape=(3,))], call.attrs, call.type_args)
    assert [str(t) for t in shorter.type_args] == [ROW]
    assert (
        relay.transform.InferType()(relay.IRModule.from_expr(made))["main"].body.type_args == call.type_args
    )


def test_programs_do_not_say_those_of_operators():
    mod = inferred("def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }")
    call = mod["main"].body
    before = str(mod), relay.ir.structural_hash(mod), relay.save_json(mod), pickle.dumps(mod)
    assert [str(t) for t in call.type_args] == [PAIR]
    assert (str(mod), relay.ir.structural_hash(mod), relay.save_json(mod), pickle.dumps(mod)) == before
    assert call.written_type_args == ()
    assert "<" not in str(call).partition("nn.relu")[2]
    assert copy.deepcopy(call) is call
    assert pickle.loads(pickle.dumps(mod))["main"].body.type_args == call.type_args


def test_json_that_says_those_of_operators_is_read():
    mod = inferred("def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }")
    saved = json.loads(relay.save_json(mod))
    nodes = saved["nodes"]
    (tensor,) = {i for i, n in enumerate(nodes) if n["type_key"] == "relay.TensorType"}
    (call,) = [n for n in nodes if n["type_key"] == "relay.Call"]
    call["attrs"]["type_args"] = str(len(nodes))
    nodes.append({"type_key": "Array", "data": [tensor]})
    read = relay.load_json(json.dumps(saved))
    assert relay.ir.structural_equal(read, mod)
    assert [str(t) for t in relay.infer(read)["main"].body.type_args] == [PAIR]


def test_they_are_a_sequence():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(3,))
    found = relay.add(x, y).type_args
    assert len(found) == 2
    assert found == (found[0], found[1]) == relay.add(x, y).type_args
    assert found == [*found]
    assert found != (found[0],)
    assert found != "xy"
    assert hash(found) == hash(tuple(found))
    assert found[1:] == (y.type_annotation,)
    assert x.type_annotation in found
    assert repr(found) == repr(tuple(found))


def test_a_call_deep_in_a_program_is_asked_once_for_each_node():
    e = x = relay.var("x", shape=(3,))
    for _ in range(20_000):
        e = relay.nn.relu(e)
    mod = relay.transform.InferType()(relay.IRModule.from_expr(relay.Function([x], e)))
    calls = [e for e in post_order(mod["main"]) if isinstance(e, Call)]
    assert {str(e.type_args[0]) for e in reversed(calls)} == {ROW}
