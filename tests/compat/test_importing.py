"""`relay.frontend.common`: what importers that scripts bring ask while they build programs."""

from typing import Any

import numpy as np
import pytest


def test_helpers_of_importers(tvm: Any) -> None:
    relay = tvm.relay
    common = relay.frontend.common
    x = common.new_var("x", shape=(2,))
    assert str(x.type_annotation) == "Tensor[(2,), float32]"
    assert common.infer_channels(relay.var("w", shape=(4, 3, 1, 1))) == 4
    assert common.infer_channels(relay.var("w", shape=(4, 3, 1, 1)), transpose=True) == 3
    twice = relay.add(x, x)
    given = {"x": tvm.nd.array(np.array([1, 2], "float32"))}
    assert common.infer_value(twice, given).numpy().tolist() == [2, 4]
    found, is_known = common.try_infer_value(twice, parameters=given)
    assert (found.tolist(), is_known) == ([2, 4], True)
    assert common.try_infer_value(twice, on_success=lambda a: a.sum(), parameters=given) == (6, True)
    assert common.try_infer_value(twice) == (twice, False)
    assert common.try_infer_value(twice, on_failure=lambda: "open") == ("open", False)
    folded = common.fold_constant(relay.add(relay.const(1.0), relay.const(2.0)))
    assert folded.data.numpy() == 3


def test_what_importers_build(tvm: Any) -> None:
    relay, common = tvm.relay, tvm.relay.frontend.common
    x = relay.var("x", shape=(2, 3))
    parts = common.unbind(x, axis=1)
    value = np.arange(6, dtype="float32").reshape(2, 3)
    run = relay.create_executor("graph").evaluate(relay.Function([x], relay.Tuple([parts[2], parts[0]])))
    assert [part.numpy().tolist() for part in run(value)] == [[2, 5], [0, 3]]
    assert common.shape_of(x).data.numpy().tolist() == [2, 3]
    assert common.shape_of(x, dtype="int32", start=1).data.numpy().dtype == np.int32
    rows = relay.var("rows", relay.TensorType((relay.Any(), 3), "float32"))
    assert relay.create_executor("vm").evaluate(relay.Function([rows], common.shape_of(rows, end=1)))(
        np.ones((5, 3), "float32")
    ).numpy().tolist() == [5]
    assert common.get_relay_op("relu") is relay.op.nn.relu
    assert common.get_relay_op("add") is relay.op.add
    with pytest.raises(tvm.error.OpNotImplemented):
        common.get_relay_op("no_such_operator")
    assert (
        common.try_resolve_var_to_const(x, {"x": tvm.nd.array(value)}).data.numpy().tolist() == value.tolist()
    )
    assert common.try_resolve_var_to_const(x, {}) is x
    assert common.get_name(x) == "x"
    halves = relay.split(x, 3, axis=1)
    assert halves.tuple_value is halves.astuple()
