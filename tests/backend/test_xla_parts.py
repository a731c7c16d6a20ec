"""What programs for XLA are traced with, where no JAX is needed: structures of values, and loops."""

import numpy as np

import relay
from relay.backend.xla.data import flatten
from relay.backend.xla.functions import Closure, Frame
from relay.backend.xla.tail_calls import Loop, find_loop
from relay.interpreter.placing import plan
from relay.interpreter.value import ConstructorValue
from relay.ir.expr import Function

LIST = "type List { Nil, Cons(int32, List) }\n"


def test_a_value_is_put_together_again_of_its_leaves() -> None:
    nil, cons = relay.parse(LIST).type_definitions[relay.GlobalTypeVar("List")].constructors
    x, y = np.float32(1), np.ones(3)
    value = (x, (), "text", ConstructorValue(cons, (y, ConstructorValue(nil))), cons)
    leaves, structure = flatten(value)
    assert leaves == [x, y]
    assert structure == flatten((y, (), "text", ConstructorValue(cons, (x, ConstructorValue(nil))), cons))[1]
    assert structure != flatten((y, (), "other", ConstructorValue(cons, (x, ConstructorValue(nil))), cons))[1]
    assert structure(*leaves) == value
    assert structure.has((str,))
    assert not structure.has((ConstructorValue,))


def test_deep_data_takes_no_stack() -> None:
    nil, cons = relay.parse(LIST).type_definitions[relay.GlobalTypeVar("List")].constructors
    value = ConstructorValue(nil)
    for i in range(100_000):
        value = ConstructorValue(cons, (np.int32(i), value))
    leaves, structure = flatten(value)
    assert structure(*leaves) == value


def loop_of(text: str) -> tuple[Function, Loop | None]:
    mod = relay.infer(relay.parse(LIST + text))
    name = mod.get_global_var("f")
    fn = mod.functions[name]
    assert isinstance(fn, Function)
    return fn, find_loop(Closure(fn, Frame(plan(fn)), name))


def test_a_loop_is_a_function_that_calls_itself_last() -> None:
    _, loop = loop_of("""def @f(%n: int32, %x: float32, %k: float32) -> float32 {
      let %m = %n - 1;
      if (%n == 0) { %x } else { if (%x > 9f) { @f(0, %x, %k) } else { @f(%m, %x * %k, %k) } }
    }""")
    assert loop is not None
    assert loop.moving == (0, 1)
    assert not loop.is_unrolled
    assert sorted((e.continues, e.exits) for e in loop.ends.values()) == [
        (True, False), (True, False), (True, False), (True, True),
    ]  # fmt: skip


def test_other_functions_are_no_loops() -> None:
    assert loop_of("def @f(%n: int32) -> int32 { if (%n == 0) { 1 } else { %n * @f(%n - 1) } }")[1] is None
    shared = "let %y = @f(%n - 1); if (%n == 0) { %y } else { %y + 1 }"
    assert loop_of(f"def @f(%n: int32) -> int32 {{ {shared} }}")[1] is None


def test_what_follows_data_is_unrolled() -> None:
    text = """def @f(%l: List, %x: int32) -> int32 {
      match (%l) { Nil => %x, Cons(%h, %t) => @f(%t, %h + %x) }
    }"""
    fn, loop = loop_of(text)
    assert loop is not None
    assert loop.is_unrolled
    assert loop.moving == tuple(range(len(fn.params)))
