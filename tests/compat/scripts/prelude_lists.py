"""Lists, options, trees and natural numbers of the standard library."""

import numpy as np
import tvm
from tvm import relay
from tvm.relay.backend.interpreter import ConstructorValue
from tvm.relay.prelude import Prelude
from tvm.relay.testing import count, make_nat_expr

mod = tvm.IRModule()
p = Prelude(mod)
_, cons, nil = mod.get_type("List")
_, some, none = mod.get_type("Option")
_, z, s = mod.get_type("nat")


def items(value):
    found = []
    while len(value) == 2:
        found.append(value.fields[0].numpy().item())
        value = value.fields[1]
    return found


def build_list(numbers):
    e = nil()
    for number in reversed(numbers):
        e = cons(relay.const(number), e)
    return e


for kind in ("debug", "vm"):
    ex = relay.create_executor(kind, mod=mod, device=tvm.cpu(), target="llvm")
    xs = build_list([1, 2, 3, 4])
    assert isinstance(ex.evaluate(xs), ConstructorValue)
    v = relay.var("v", "int32")
    double = relay.Function([v], v + v)
    print(kind, items(ex.evaluate(p.map(double, xs))), items(ex.evaluate(p.rev(xs))))
    print(
        ex.evaluate(p.length(xs)).numpy(), ex.evaluate(p.sum(xs)).numpy(), ex.evaluate(p.hd(p.tl(xs))).numpy()
    )
    acc, each = relay.var("acc", "int32"), relay.var("each", "int32")
    fold = ex.evaluate(p.foldl(relay.Function([acc, each], acc * each), relay.const(1), xs))
    keep = ex.evaluate(
        p.filter(relay.Function([each], relay.equal(relay.mod(each, relay.const(2)), relay.const(0))), xs)
    )
    print(fold.numpy(), items(keep))
    found = ex.evaluate(some(relay.const(7)))
    print(found.constructor.name_hint if kind == "debug" else found.tag == some.tag, found[0].numpy())
    print(count(p, ex.evaluate(p.nat_add(make_nat_expr(p, 3), make_nat_expr(p, 4)))))

x = relay.var("x", relay.TypeCall(mod.get_global_type_var("Option"), [relay.scalar_type("float32")]))
y = relay.var("y")
match = relay.Match(
    x,
    [
        relay.Clause(relay.PatternConstructor(some, [relay.PatternVar(y)]), y + relay.const(1.0)),
        relay.Clause(relay.PatternConstructor(none, []), relay.const(0.0)),
    ],
)
mod["or_zero"] = relay.Function([x], match)
f = relay.create_executor("vm", mod=mod).evaluate(
    relay.Function([], mod.get_global_var("or_zero")(some(relay.const(2.0))))
)
print(f().numpy())
assert np.isclose(f().numpy(), 3.0)
