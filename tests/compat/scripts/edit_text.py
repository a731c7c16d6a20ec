"""Read a program as text, change it, and print it."""

import numpy as np
import tvm
import tvm.parser
from tvm import relay

SOURCE = """
#[version = "0.0.5"]
def @scale(%x: Tensor[(2, 3), float32], %factor: float32) -> Tensor[(2, 3), float32] {
  multiply(%x, %factor)
}

def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  let %y = @scale(%x, 2f);
  %0 = nn.relu(%y);
  add(%0, %y)
}
"""
mod = tvm.parser.parse(SOURCE)
x = np.array([[1, -2, 3], [-4, 5, -6]], "float32")
result = relay.create_executor("vm", mod).evaluate()(x)
tvm.testing.assert_allclose(result.numpy(), np.maximum(2 * x, 0) + 2 * x)

p = relay.var("x", shape=(2, 3))
f = relay.var("factor", shape=())
mod.update_func(mod.get_global_var("scale"), relay.Function([p, f], p * f * f))
mod = relay.transform.InferType()(mod)
print(mod.astext())
again = relay.fromtext(mod.astext())
tvm.ir.assert_structural_equal(mod, again, map_free_vars=True)
tvm.testing.assert_allclose(
    relay.create_executor("graph", again).evaluate()(x).numpy(), np.maximum(4 * x, 0) + 4 * x
)

weights = relay.const(np.arange(200, dtype="float32").reshape(2, 100))
big = relay.Function([], relay.nn.relu(weights))
text = big.astext()
print(
    "#[metadata]" in text,
    "meta[relay.Constant][0]" in text,
    "#[metadata]" in big.astext(show_meta_data=False),
)
tvm.ir.assert_structural_equal(tvm.relay.parse_expr(text), big)
