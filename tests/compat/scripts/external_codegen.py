"""Parts of a network are set aside for an accelerator: patterns, annotations, regions, and numbers."""

import numpy as np
import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import is_op, wildcard
from tvm.relay.op.contrib.register import get_pattern_table, register_pattern_table


def dense_relu():
    return is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard()))


def is_small(call):
    return int(call.args[0].args[1].checked_type.shape[0]) <= 16


@register_pattern_table("accel")
def patterns():
    return [("accel.dense_relu", dense_relu(), is_small)]


@tvm.ir.register_op_attr("tanh", "target.accel")
def tanh_is_taken(expr):
    return expr.args[0].checked_type.dtype == "float32"


x = relay.var("x", shape=(2, 8), dtype="float32")
w1 = relay.var("w1", shape=(16, 8), dtype="float32")
w2 = relay.var("w2", shape=(32, 16), dtype="float32")
small = relay.tanh(relay.nn.relu(relay.nn.dense(x, w1)))
large = relay.nn.relu(relay.nn.dense(relay.exp(small), w2))
mod = tvm.IRModule.from_expr(relay.Function([x, w1, w2], large))
plain = relay.transform.InferType()(mod)

partition = tvm.transform.Sequential(
    [
        relay.transform.InferType(),
        relay.transform.MergeComposite(get_pattern_table("accel")),
        relay.transform.AnnotateTarget(["accel"]),
        relay.transform.MergeCompilerRegions(),
        relay.transform.PartitionGraph(),
    ]
)
parts = partition(plain)
regions = [v for v in parts.get_global_vars() if v.name_hint != "main"]
for region in regions:
    fn = parts[region]
    print("region for", fn.attrs["Compiler"], "with", len(fn.params), "parameters")


class Composites(relay.ExprVisitor):
    def visit_function(self, f):
        if f.attrs and "Composite" in f.attrs:
            print("  composite", f.attrs["Composite"])
        super().visit_function(f)


for region in regions:
    Composites().visit(parts[region])

rng = np.random.default_rng(0)
arrays = [rng.standard_normal(s).astype("float32") for s in ((2, 8), (16, 8), (32, 16))]
inlined = relay.transform.InlineCompilerFunctionsBoundTo(regions)(parts)
before = relay.create_executor("graph", mod=plain, target="llvm").evaluate()(*arrays).numpy()
after = relay.create_executor("graph", mod=inlined, target="llvm").evaluate()(*arrays).numpy()
np.testing.assert_allclose(after, before, rtol=1e-6)
print("equal without the accelerator:", after.shape)
