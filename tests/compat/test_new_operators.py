"""Operators that programs of `tvm` register by name; expected values are NumPy's."""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from relay import RelayError
from relay.op.registry import builders, registry

NAME = "demo.mix"
X = np.array([[1, -2, 3], [-4, 5, -6]], "float32")
Y = np.array([[2, 2, 0], [1, 0, 3]], "float32")


@pytest.fixture
def op(tvm: Any) -> Iterator[Any]:
    """The operator, without rules as yet; it is no operator of other tests."""
    before = {*registry}
    tvm.relay.op.register(NAME, "Mixes two tensors.")
    yield tvm.relay.op.get(NAME)
    for name in {*registry} - before:
        del registry[name], builders[name]
    for key in ("num_inputs", "arguments", "support_level", "attrs_type_key", "type_rel", "FTVMLegalize"):
        tvm.relay.op.get("add").reset_attr(key)


@pytest.fixture
def mix(tvm: Any, op: Any) -> Any:
    """`scale * (x + y)`, of two tensors of one type."""
    op.set_num_inputs(2)
    op.add_type_rel("Identity")
    tvm.relay.op.register_legalize(NAME, lambda attrs, xs, types: (xs[0] + xs[1]) * attrs["scale"])
    return op


def main(tvm: Any, *params: Any, body: Any) -> Any:
    return tvm.relay.transform.InferType()(tvm.IRModule.from_expr(tvm.relay.Function([*params], body)))


def mixed(tvm: Any, **attrs: Any) -> Any:
    x, y = tvm.relay.var("x", shape=(2, 3)), tvm.relay.var("y", shape=(2, 3))
    call = tvm.relay.Call(tvm.relay.op.get(NAME), [x, y], tvm.ir.make_node("DictAttrs", **attrs))
    return main(tvm, x, y, body=call)


def refused(code: str, f: Any, *args: Any, **kwargs: Any) -> str:
    """The diagnostic that a function reports."""
    with pytest.raises(RelayError) as caught:
        f(*args, **kwargs)
    assert caught.value.codes == (code,)
    return str(caught.value)


def test_what_is_said_of_it(tvm: Any, op: Any) -> None:
    assert op.num_inputs == -1
    op.set_num_inputs(2)
    op.add_argument("x", "Tensor", "One.")
    op.add_argument("y", "Tensor", "Another.")
    op.set_support_level(3)
    op.set_attrs_type_key("DictAttrs")
    tvm.relay.op.op.register_pattern(NAME, tvm.relay.op.OpPattern.ELEMWISE)
    tvm.relay.op.op.register_stateful(NAME, False)
    assert (op.name, op.num_inputs, op.get_attr("support_level")) == (NAME, 2, 3)
    assert [name for name, _, _ in op.get_attr("arguments")] == ["x", "y"]
    assert (op.get_attr("TOpPattern"), op.get_attr("TOpIsStateful")) == (0, False)
    assert tvm.ir.Op.get(NAME) is op
    assert tvm.relay.op.get("add").num_inputs == 2
    assert tvm.relay.op.get("concatenate").num_inputs == 1


def test_a_name_is_registered_once(tvm: Any, op: Any) -> None:
    for name in (NAME, "add"):
        assert f"`{name}` already" in refused("operator-rule", tvm.relay.op.op.register, name, "Once more.")
    add = tvm.relay.op.get("add")
    assert "`add` is an operator of Relay" in refused("operator-rule", add.add_type_rel, "Identity")
    assert "there is no operator" in refused("unknown-operator", tvm.relay.op.get, "demo.nothing")


@pytest.mark.parametrize("kind", ["debug", "graph", "vm"])
def test_it_runs(tvm: Any, mix: Any, kind: str) -> None:
    mod = mixed(tvm, scale=0.5)
    assert mod["main"].ret_type == tvm.relay.TensorType((2, 3), "float32")
    found = tvm.relay.create_executor(kind, mod).evaluate()(X, Y)
    np.testing.assert_allclose(found.numpy(), 0.5 * (X + Y), rtol=1e-6)


def test_it_is_built(tvm: Any, mix: Any) -> None:
    graph = tvm.contrib.graph_executor.GraphModule(tvm.relay.build(mixed(tvm, scale=2), "llvm")["default"]())
    graph.run(x=X, y=Y)
    np.testing.assert_allclose(graph.get_output(0).numpy(), 2 * (X + Y), rtol=1e-6)


def test_its_gradient(tvm: Any, mix: Any) -> None:
    both = tvm.relay.transform.gradient(mixed(tvm, scale=3.0)["main"])
    value, (dx, dy) = tvm.relay.create_executor("debug").evaluate(both)(X, Y)
    np.testing.assert_allclose(value.numpy(), 3 * (X + Y), rtol=1e-6)
    np.testing.assert_array_equal([dx.numpy(), dy.numpy()], np.full((2, 2, 3), 3.0))


def test_it_is_legalised(tvm: Any, mix: Any) -> None:
    legal = tvm.relay.transform.Legalize()(mixed(tvm, scale=0.5))
    assert tvm.relay.testing.count_ops(legal) == {"add": 1, "multiply": 1}


def test_another_function_counts_from_then_on(tvm: Any, mix: Any) -> None:
    run = tvm.relay.create_executor("debug", mixed(tvm, scale=1)).evaluate()
    np.testing.assert_array_equal(run(X, Y).numpy(), X + Y)
    with tvm.relay.testing.temp_op_attr.TempOpAttr(NAME, "FTVMLegalize", lambda attrs, xs, types: xs[1]):
        run = tvm.relay.create_executor("debug", mixed(tvm, scale=1)).evaluate()
        np.testing.assert_array_equal(run(X, Y).numpy(), Y)


def test_its_text(tvm: Any, mix: Any) -> None:
    mod = mixed(tvm, scale=0.5, name="a", sizes=[1, [2, 3]], flag=True)
    attrs = mod["main"].body.attrs
    assert (attrs.scale, attrs["name"], attrs.sizes, attrs.flag) == (0.5, "a", (1, (2, 3)), True)
    assert dict(attrs) == {"flag": True, "name": "a", "scale": 0.5, "sizes": (1, (2, 3))}
    with pytest.raises(AttributeError, match="flag, name, scale, sizes"):
        _ = attrs.axis
    again = tvm.relay.parse(mod.astext(dialect="relay"))
    assert tvm.ir.structural_equal(mod, again)
    assert again["main"].body.op is mix
    assert tvm.ir.structural_equal(mod, tvm.ir.load_json(tvm.ir.save_json(mod)))
    assert tvm.ir.structural_equal(mod, pickle.loads(pickle.dumps(mod)))
    x, y = mod["main"].params
    assert tvm.ir.structural_equal(mod["main"].body, tvm.relay.demo.mix(x, y, **attrs))
    other = mixed(tvm, scale=0.25)
    assert not tvm.ir.structural_equal(mixed(tvm, scale=0.5), other)
    assert tvm.ir.structural_equal(tvm.relay.parse(other.astext()), other)


def test_a_relation_of_its_own(tvm: Any, op: Any) -> None:
    relay = tvm.relay
    seen: list[Any] = []

    def relation(arg_types: Any, attrs: Any) -> Any:
        seen.append((bool(attrs), len(arg_types)))
        sizes = [size for i, size in enumerate(arg_types[0].fields[0].shape) if i != attrs.axis]
        return relay.TupleType([relay.TensorType(sizes, "float32"), arg_types[1]])

    def legalize(attrs: Any, inputs: Any, types: Any) -> Any:
        total = relay.sum(inputs[0][0] * inputs[0][1], axis=attrs.axis)
        assert types[-1].fields[0] == total.checked_type
        return relay.Tuple([total, inputs[1]])

    op.add_type_rel("mine", relation)
    relay.op.register_legalize(NAME, legalize)
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    n = relay.var("n", shape=(), dtype="int32")
    call = relay.Call(op, [relay.Tuple([x, y]), n], tvm.ir.make_node("DictAttrs", axis=1))
    mod = main(tvm, x, y, n, body=call)
    assert seen[0] == (True, 2)
    assert str(mod["main"].ret_type) == "(Tensor[(2,), float32], int32)"
    for kind in ("debug", "graph"):
        total, same = relay.create_executor(kind, mod).evaluate()(X, Y, np.int32(7))
        np.testing.assert_allclose(total.numpy(), (X * Y).sum(axis=1), rtol=1e-6)
        assert same.numpy() == 7


def test_open_sizes_and_broadcasting(tvm: Any, op: Any) -> None:
    relay = tvm.relay
    op.add_type_rel("Broadcast")
    relay.op.register_legalize(NAME, lambda attrs, xs, types: relay.maximum(xs[0], xs[1]) + 1.0)
    n = tvm.te.size_var("n")
    x, y = relay.var("x", shape=(n, 3)), relay.var("y", shape=(3,))
    mod = main(tvm, x, y, body=op(x, y))
    for kind in ("debug", "vm"):
        found = relay.create_executor(kind, mod).evaluate()(X, Y[0]).numpy()
        np.testing.assert_array_equal(found, np.maximum(X, Y[0]) + 1)
    assert "between 3 types, found 2" in refused("arity", main, tvm, x, body=op(x))


def test_types_that_are_found_later(tvm: Any, op: Any) -> None:
    relay = tvm.relay
    op.add_type_rel("last", lambda types, attrs: relay.TensorType((*types[0].shape, 1), types[0].dtype))
    relay.op.register_legalize(NAME, lambda attrs, xs, types: relay.expand_dims(xs[0], axis=2))
    x, y = relay.var("x"), relay.var("y", shape=(2, 3))
    mod = main(tvm, x, y, body=relay.Tuple([op(x), relay.If(relay.const(True), x, y)]))
    assert str(mod["main"].ret_type) == "(Tensor[(2, 3, 1), float32], Tensor[(2, 3), float32])"
    found, _ = relay.create_executor("graph", mod).evaluate()(X, Y)
    np.testing.assert_array_equal(found.numpy(), X[:, :, None])


def test_what_is_missing_is_said(tvm: Any, op: Any) -> None:
    assert "which type a call" in refused("operator-rule", mixed, tvm)
    op.add_type_rel("Identical")
    assert "`Identity`" in refused("unknown-relation", mixed, tvm)
    op.reset_attr("type_rel")
    op.set_num_inputs(1)
    op.add_type_rel("Identity")
    assert "takes 1 operands, found 2" in refused("arity", mixed, tvm)
    op.reset_attr("num_inputs")
    mod = mixed(tvm)
    for run in (tvm.relay.build, lambda m: tvm.relay.create_executor("debug", m).evaluate()(X, Y)):
        said = refused("operator-rule", run, mod)
        assert f"what a call of `{NAME}` computes" in said
        assert "register_legalize" in said
        assert "test_new_operators.py" in said


def test_what_does_not_fit_is_said(tvm: Any, op: Any) -> None:
    relay = tvm.relay
    op.add_type_rel("mine", lambda types, attrs: attrs.get("type", types[0]))
    assert "gave 'float32'" in refused("operator-rule", mixed, tvm, type="float32")
    assert "cannot be {'a': 1}" in refused("attribute-type", mixed, tvm, axis={"a": 1})
    x = relay.const(X)
    choice = relay.If(relay.const(True), x, x)
    wrong = (
        (relay.sum(x), "not Tensor[(2, 3), float32]"),
        (3, "not 3"),
        (choice, "If"),
        (op(x), f"Call {NAME}"),
    )
    for made, said in wrong:
        op.reset_attr("FTVMLegalize")
        relay.op.register_legalize(NAME, lambda attrs, xs, types, made=made: made)
        assert said in refused("operator-rule", relay.build, mixed(tvm))
