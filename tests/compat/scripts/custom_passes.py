"""Passes over functions and modules, as classes and as functions."""

import numpy as np
import tvm
from tvm import relay
from tvm.ir import IRModule
from tvm.relay import ExprMutator


@relay.transform.function_pass(opt_level=1)
class CustomPipeline:
    """Replaces every constant by a multiple of itself."""

    def __init__(self, multiplier):
        self.multiplier = multiplier

    def transform_function(self, func, mod, ctx):
        factor = self.multiplier

        class ReplaceConstant(ExprMutator):
            def visit_constant(self, const):
                return relay.multiply(factor, const)

        return ReplaceConstant().visit(func)


@tvm.ir.transform.module_pass(opt_level=2, name="add_helper")
def add_helper(mod, ctx):
    x = relay.var("x", shape=(2, 2))
    new = IRModule({"helper": relay.Function([x], relay.nn.relu(x))})
    new.update(mod)
    return new


shape = (2, 2)
x = relay.var("x", shape=shape)
y = x + relay.const(np.array([[1, 2], [3, 4]], "float32"))
mod = tvm.IRModule.from_expr(relay.Function([x], relay.subtract(y, relay.const(1.0))))

custom_pass = CustomPipeline(relay.const(3.0, "float32"))
assert custom_pass.info.name == "CustomPipeline"
mod3 = custom_pass(mod)
result = relay.create_executor("debug", mod=mod3).evaluate()(np.zeros(shape, "float32"))
tvm.testing.assert_allclose(result.numpy(), 3 * np.array([[1, 2], [3, 4]]) - 3)
print(mod3)

seq = tvm.transform.Sequential([add_helper, relay.transform.InferType()])
with tvm.transform.PassContext(opt_level=3):
    print(sorted(v.name_hint for v in seq(mod).get_global_vars()))
with tvm.transform.PassContext(opt_level=1):
    print(sorted(v.name_hint for v in seq(mod).get_global_vars()))
