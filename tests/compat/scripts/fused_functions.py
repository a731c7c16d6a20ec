"""What fusion makes of a network, and what a network needs."""

import tvm
from tvm import relay
from tvm.relay.analysis import detect_feature, extract_fused_functions, get_total_mac_number, list_op_freqs

x = relay.var("x", shape=(1, 3, 16, 16))
w = relay.var("w", shape=(8, 3, 3, 3))
b = relay.var("b", shape=(8,))
y = relay.nn.conv2d(x, w, kernel_size=(3, 3), padding=(1, 1), channels=8)
y = relay.nn.relu(relay.nn.bias_add(y, b))
y = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y))
mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, w, b], relay.nn.softmax(y))))

print(get_total_mac_number(mod["main"]), 8 * 16 * 16 * 3 * 3 * 3)
print(sorted((str(k), int(v)) for k, v in list_op_freqs(mod).items())[:3])
print(sorted(str(f).rpartition(".")[2] for f in detect_feature(mod["main"])))
fused = relay.transform.FuseOps(fuse_opt_level=2)(mod)
primitives = []
relay.analysis.post_order_visit(
    fused["main"],
    lambda e: primitives.append(e) if isinstance(e, relay.Function) and "Primitive" in e.attrs else None,
)
print(len(primitives), primitives[0].checked_type.ret_type.concrete_shape)
print(len(extract_fused_functions(mod)) >= len(primitives), relay.analysis.well_formed(fused["main"]))
print(tvm.ir.structural_equal(relay.transform.DefuseOps()(fused)["main"], mod["main"]))
