"""When two programs are the same program."""

import pytest
import tvm
from tvm import relay
from tvm.ir import assert_structural_equal, structural_equal, structural_hash


def function(name, alpha=0.1):
    x = relay.var(name, shape=(10,))
    return relay.Function([x], relay.nn.leaky_relu(x + relay.const(1.0), alpha=alpha))


print(
    structural_equal(function("x"), function("y")),
    structural_hash(function("x")) == structural_hash(function("y")),
)
print(
    structural_equal(function("x"), function("x", 0.1 + 1e-10)),
    structural_equal(function("x"), function("x", 0.2)),
)

x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
print(structural_equal(x + x, y + y), structural_equal(x + x, y + y, map_free_vars=True))
shared = relay.exp(x)
print(structural_equal(shared + shared, relay.exp(x) + relay.exp(x)))
print(
    relay.TensorType((1, 2), "float32") == relay.TensorType((1, 2)),
    structural_equal(relay.TensorType((1, 2)), relay.TensorType((2, 1))),
)

a, b = relay.TypeVar("a"), relay.TypeVar("b")
print(structural_equal(relay.FuncType([a], a, [a]), relay.FuncType([b], b, [b])))
with pytest.raises(tvm.TVMError):
    assert_structural_equal(function("x"), function("x", 0.3))

for node in (
    function("x"),
    tvm.IRModule.from_expr(function("x")),
    relay.TupleType([relay.scalar_type("int32")]),
):
    assert_structural_equal(node, tvm.ir.load_json(tvm.ir.save_json(node)))
print("json keeps programs")
