"""Programs whose sizes are known when they run."""

import numpy as np
import tvm
from tvm import relay

dynamic = relay.Any()
a = relay.var("a", shape=(dynamic, 4), dtype="float32")
b = relay.var("b", shape=(relay.Any(), 4), dtype="float32")
joined = relay.concatenate([a, b], axis=0)
body = relay.Tuple(
    [relay.nn.softmax(joined), relay.shape_of(joined, "int64"), relay.argwhere(joined > relay.const(0.0))]
)
mod = tvm.IRModule()
mod["main"] = relay.Function([a, b], body)
typed = relay.transform.InferType()(mod)
print(typed["main"].checked_type)

for kind in ("vm", "debug"):
    run = relay.create_executor(kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()
    for rows in ((1, 2), (3, 0), (5, 5)):
        p, q = (np.random.RandomState(rows[i]).randn(rows[i], 4).astype("float32") for i in range(2))
        soft, shape, positive = run(p, q)
        whole = np.concatenate([p, q])
        e = np.exp(whole - whole.max(axis=1, keepdims=True))
        tvm.testing.assert_allclose(soft.numpy(), e / e.sum(axis=1, keepdims=True), rtol=1e-5)
        assert shape.numpy().tolist() == list(whole.shape)
        assert positive.numpy().tolist() == np.argwhere(whole > 0).tolist()
        print(kind, soft.numpy().shape, positive.numpy().shape[1])

n = tvm.te.size_var("n")
x = relay.var("x", shape=(n, 3))
f = relay.Function([x], relay.transpose(x))
print(relay.transform.InferType()(tvm.IRModule.from_expr(f))["main"].ret_type)
