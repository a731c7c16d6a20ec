"""The helpers for tests do what they say."""

import numpy as np
import pytest

import relay
from relay import testing
from relay.ir.type import TensorType


def test_run_infer_type_types_functions_and_open_expressions() -> None:
    x = relay.var("x", shape=(2, 3))
    found = testing.run_infer_type(relay.Function([x], relay.sum(x)))
    assert found.ret_type is TensorType((), "float32")
    body = testing.run_infer_type(relay.add(x, relay.const(1.0)))
    assert body.checked_type is TensorType((2, 3), "float32")


def test_run_opt_pass_applies_one_or_several() -> None:
    seen = []

    def note(mod):
        seen.append(len(mod.functions))
        return mod

    x = relay.var("x", shape=(2,))
    testing.run_opt_pass(relay.Function([x], x), note)
    testing.run_opt_pass(x, [note, note])
    assert seen == [1, 1, 1]
    testing.run_opt_pass(x, note, import_prelude=True)
    assert seen[-1] > 20


def test_rand_fills_a_shape() -> None:
    x = testing.rand("float64", 2, 3)
    assert (x.shape, x.dtype) == ((2, 3), np.float64)
    assert x.min() >= 0
    assert x.max() < 1


@pytest.mark.parametrize("n", [0, 1, 5, 20_000])
def test_natural_numbers_go_there_and_back(n: int) -> None:
    mod = relay.parse('import "std/nat"')
    assert testing.count(mod, testing.make_nat_value(mod, n)) == n
    assert (
        testing.count(mod, relay.create_executor("debug", mod).evaluate(testing.make_nat_expr(mod, n))) == n
    )


def test_a_natural_number_is_not_negative() -> None:
    mod = relay.parse('import "std/nat"')
    with pytest.raises(ValueError, match="negative"):
        testing.make_nat_expr(mod, -1)


def test_count_ops_counts_calls() -> None:
    net = testing.mlp.get_net(1)
    assert testing.count_ops(net) == {
        "nn.batch_flatten": 1,
        "nn.dense": 3,
        "nn.bias_add": 3,
        "nn.relu": 2,
        "nn.softmax": 1,
    }
    assert testing.count_ops(relay.IRModule.from_expr(net))["nn.dense"] == 3


def function():
    """`sum(x * y)` and an integer that has nothing to do with it."""
    x, y = relay.var("x", shape=(3,), dtype="float64"), relay.var("y", shape=(3,), dtype="float64")
    n = relay.var("n", shape=(), dtype="int32")
    return relay.Function([x, y, n], relay.Tuple([relay.multiply(x, y), n]))


def test_check_grad_accepts_the_right_gradient() -> None:
    testing.check_grad(function(), gradient=lambda x, y, n: (None, (y, x, None)))
    testing.check_grad(function(), test_inputs=[1], gradient=lambda x, y, n: (None, (None, x, None)))
    given = [np.asarray([1.0, 2.0, 3.0]), np.asarray([4.0, 5.0, 6.0]), np.int32(1)]
    testing.check_grad(function(), given, gradient=lambda x, y, n: (None, (y, x, None)))


def test_check_grad_takes_the_gradient_of_the_language() -> None:
    x = relay.var("x", shape=(2, 3), dtype="float64")
    f = relay.Function([x], relay.sum(relay.tanh(x) * relay.exp(x)))
    testing.check_grad(f)
    testing.check_grad(f, mode="first_order")
    testing.check_grad(relay.Function([x], relay.nn.softmax(x)), eps=1e-7, scale=1.0)
    with pytest.raises(ValueError, match="higher_order"):
        testing.check_grad(f, mode="second_order")


def test_check_grad_of_float32() -> None:
    """Steps that are rounded off where values are near 1, and kinks where they are near 0."""
    x, y = relay.var("x", shape=(3, 4)), relay.var("y", shape=(4,))
    for e in (relay.sigmoid(x), relay.exp(x), x + y, relay.nn.softmax(x) * y, relay.nn.relu(x)):
        f = relay.Function(relay.analysis.free_vars(e), e)
        testing.check_grad(f, mean=1.0)
        testing.check_grad(f, scale=1.0, mean=0.5)
    with pytest.raises(AssertionError, match="parameter 0"):
        testing.check_grad(relay.Function([x], x * x), scale=1.0, gradient=lambda x: (None, (x,)))


def test_check_grad_on_executors_and_targets() -> None:
    x = relay.var("x", shape=(3,), dtype="float64")
    f = relay.Function([x], relay.tanh(x))
    testing.check_grad(f, executor_kind="graph", target_devices=[("llvm", "cpu"), ("llvm", None)])
    with pytest.raises(relay.RelayError) as caught:
        testing.check_grad(f, target_devices=[("cuda", "cuda")])
    assert caught.value.codes == ("unknown-target",)
    with pytest.raises(relay.RelayError) as caught:
        testing.check_grad(f, executor_kind="jit")
    assert caught.value.codes == ("unknown-executor",)


def test_check_grad_is_told_which_inputs_to_check() -> None:
    given = [np.asarray([1.0, 2.0, 3.0]), np.asarray([4.0, 5.0, 6.0]), np.int32(1)]
    wrong_in_the_first = lambda x, y, n: (None, (x, x, None))  # noqa: E731
    testing.check_grad(function(), given, [given[1]], gradient=wrong_in_the_first)
    with pytest.raises(AssertionError, match="parameter 0"):
        testing.check_grad(function(), given, [given[0]], gradient=wrong_in_the_first)
    with pytest.raises(ValueError, match="none of the inputs"):
        testing.check_grad(function(), given, [np.ones(3)])


def test_check_grad_refuses_a_wrong_one() -> None:
    with pytest.raises(AssertionError, match="parameter 1"):
        testing.check_grad(function(), scale=1.0, gradient=lambda x, y, n: (None, (y, y, None)))
