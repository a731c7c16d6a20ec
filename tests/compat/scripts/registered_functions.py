"""Functions of Python that other code finds by name."""

import numpy as np
import tvm
from tvm import relay


@tvm.register_func("example.double")
def double(x):
    return tvm.nd.array(2 * x.numpy())


tvm.register_func("example.twice", lambda f, x: f(f(x)))
f = tvm.get_global_func("example.double")
print(tvm.get_global_func("example.twice")(f, tvm.nd.array(np.array([1.0, 2.0]))).numpy())
print(tvm.get_global_func("example.missing", allow_missing=True), tvm.ir.EnvFunc.get("example.double").name)
try:
    tvm.get_global_func("example.doubl")
except tvm.TVMError as error:
    print(str(error).splitlines()[0])

seen = []
x = relay.var("x", shape=(2,))
shown = relay.op.debug(x, debug_func=lambda value: seen.append(np.asarray(value).tolist()))
result = relay.create_executor("debug").evaluate(relay.Function([x], shown + x))(np.array([1, 2], "float32"))
print(seen, result.numpy())
