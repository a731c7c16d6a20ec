"""Tests of passes, as a folder of them has."""

import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import relay
from tvm.relay import transform
from tvm.relay.testing import run_infer_type, run_opt_pass

executor_kind = tvm.testing.parameter("graph", "vm", "debug")


def test_fold_constant():
    c = relay.const(np.array([1, 2, 3], "float32"))
    x = relay.var("x", shape=(3,))
    before = relay.Function([x], x + c * relay.const(2.0))
    expected = run_infer_type(relay.Function([x], x + relay.const(np.array([2, 4, 6], "float32"))))
    tvm.ir.assert_structural_equal(run_opt_pass(before, transform.FoldConstant()), expected)


def test_simplify_and_normal_forms():
    x = relay.var("x", shape=(2, 8))
    y = relay.reshape(relay.reshape(x, (4, 4)), (16,))
    simplified = run_opt_pass(y, [transform.SimplifyExpr(), transform.InferType()])
    tvm.ir.assert_structural_equal(simplified, run_infer_type(relay.reshape(x, (16,))), map_free_vars=True)
    anf = run_opt_pass(relay.exp(relay.exp(x)), [transform.ToANormalForm(), transform.InferType()])
    assert isinstance(anf, relay.Let)


@tvm.testing.parametrize_targets("llvm", "cuda")
def test_run(target, dev, executor_kind):
    x = relay.var("x", shape=(4,))
    f = relay.create_executor(executor_kind, device=dev, target=target).evaluate(relay.Function([x], x * x))
    tvm.testing.assert_allclose(f(np.arange(4, dtype="float32")).numpy(), np.arange(4) ** 2)


def test_fixtures(target, dev):
    assert (target, str(dev)) == ("llvm", "cpu(0)")


@tvm.testing.requires_gpu
def test_on_gpu():
    raise AssertionError


def test_errors():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(4,))
    with pytest.raises(tvm.error.DiagnosticError):
        run_infer_type(x + y)


if __name__ == "__main__":
    tvm.testing.main()
