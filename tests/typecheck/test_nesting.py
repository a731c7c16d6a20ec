"""Functions that are generalised inside one another."""

import time

import pytest

import relay
from relay.ir.expr import Call, Function, LetRec, Var


def groups(depth):
    """Groups of two polymorphic functions, each in the body of a function of the next."""
    x = Var("x")
    e = x
    for _ in range(depth):
        f, g, a, b = (Var(name) for name in "fgab")
        values = (Function((a,), e), Function((b,), Call(f, (b,))))
        e = LetRec((f, g), values, Call(g, (x,)))
    return Function((x,), e)


NESTED = """def @main[a](%x: a) -> a {
  let rec %f: fn[b](b) -> a = fn[b](%a: b) -> a {
    let rec %f: fn[c](c) -> a = fn[c](%a: c) -> a { %x }
    and %g: fn[c](c) -> a = fn[c](%b: c) -> a { %f<c>(%b) };
    %g<a>(%x)
  }
  and %g: fn[b](b) -> a = fn[b](%b: b) -> a { %f<b>(%b) };
  %g<a>(%x)
}
"""


def test_names_of_type_parameters_in_nested_groups():
    mod = relay.infer(relay.IRModule.from_expr(groups(2)))
    relay.check(mod)
    assert str(mod) == NESTED


@pytest.mark.long
def test_nested_groups_take_time_in_proportion_to_their_depth():
    def seconds(depth):
        mod = relay.IRModule.from_expr(groups(depth))
        started = time.process_time()
        relay.infer(mod)
        return time.process_time() - started

    assert seconds(8000) < 4 * 2 * min(seconds(2000) for _ in range(2))
