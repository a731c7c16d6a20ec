"""Which passes run, what watches them, and what says so."""

import tvm
from tvm import relay
from tvm.ir.instrument import PassTimingInstrument, pass_instrument


@pass_instrument
class Counter:
    def __init__(self):
        self.before, self.after, self.entered = [], [], 0

    def enter_pass_ctx(self):
        self.entered += 1

    def run_before_pass(self, mod, info):
        self.before.append(info.name)

    def run_after_pass(self, mod, info):
        self.after.append(info.name)


@pass_instrument
class SkipFusion:
    def should_run(self, mod, info):
        return info.name != "FuseOps"


x = relay.var("x", shape=(2, 3))
unused = relay.var("unused")
body = relay.Let(unused, relay.exp(x), relay.nn.relu(relay.add(x, relay.const(1.0) + relay.const(2.0))))
mod = tvm.IRModule.from_expr(relay.Function([x], body))

seq = tvm.transform.Sequential(
    [
        relay.transform.InferType(),
        relay.transform.FoldConstant(),
        relay.transform.DeadCodeElimination(),
        relay.transform.EliminateCommonSubexpr(),
        relay.transform.FuseOps(),
    ],
    name="pipeline",
)
counter, timing = Counter(), PassTimingInstrument()
with tvm.transform.PassContext(opt_level=3, instruments=[counter, timing, SkipFusion()]):
    out = seq(mod)
    rendered = timing.render()
print([name for name in counter.before if name in ("FoldConstant", "DeadCodeElimination", "FuseOps")])
print(counter.entered, "FoldConstant" in rendered, "Primitive" in str(out))
print(out["main"].body)

with tvm.transform.PassContext(opt_level=1):
    print("nn.relu" in str(seq(mod)), "exp" in str(relay.transform.DeadCodeElimination()(mod)))
with tvm.transform.PassContext(
    opt_level=3, disabled_pass=["FoldConstant"], config={"tir.disable_vectorize": True}
):
    current = tvm.transform.PassContext.current()
    print(current.opt_level, list(current.disabled_pass), "3f" in str(seq(mod)))
