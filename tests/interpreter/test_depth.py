"""Recursion, programs and values of any depth."""

import gc
import time
from collections.abc import Callable

import numpy as np
import pytest

import relay
from relay.interpreter.machine import Interpreter
from relay.interpreter.show import show
from relay.interpreter.value import ConstructorValue, values_equal
from relay.ir.expr import Call, Expr, Function, If, Let, Tuple, TupleGetItem, Var, constant
from relay.ir.type import TensorType

INT = TensorType((), "int32")
DEEP = 100_000
LIST = "type List[A] { Nil, Cons(A, List[A]), }\n"
BUILD = (
    LIST
    + """
def @build(%n: int32, %l: List[int32]) -> List[int32] {
  if (%n == 0) { %l } else { @build(%n - 1, Cons(%n, %l)) }
}
def @sum(%l: List[int32]) -> int64 { match (%l) { Nil => 0, Cons(%h, %t) => cast(%h, "int64") + @sum(%t) } }
def @long(%n: int32) { @build(%n, Nil) }
"""
)


def test_recursion_is_a_hundred_thousand_calls_deep() -> None:
    mod = relay.parse("def @f(%n: int32) -> int32 { if (%n == 0) { 0 } else { 1 + @f(%n - 1) } }")
    assert Interpreter(mod).evaluate("f", DEEP) == DEEP


@pytest.mark.parametrize(
    "text",
    [
        "def @f(%n: int32, %s: int32) -> int32 { if (%n == 0) { %s } else { @f(%n - 1, %s + 1) } }",
        "def @f(%n: int32, %s: int32) -> int32 { if (%n == 0) { %s } else { @g(%n - 1, %s + 1) } }\n"
        "def @g(%n: int32, %s: int32) -> int32 { let %m = %n; match ((%m, %s)) { (%a, %b) => @f(%a, %b) } }",
        "def @f(%n: int32, %s: int32) -> int32 { let %k = 1; let %go = fn(%i: int32, %t: int32) -> int32 "
        "{ if (%i == 0) { %t } else { %go(%i - %k, %t + %k) } }; %go(%n, %s) }",
        "def @f(%n: int32, %s: int32) -> int32 { let %k = 1; "
        "let rec %p = fn(%i: int32, %t: int32) -> int32 { if (%i == 0) { %t } else { %q(%i - %k, %t + 1) } } "
        "and %q = fn(%i: int32, %t: int32) -> int32 { if (%i == 0) { %t } else { %p(%i - %k, %t + 1) } }; "
        "%p(%n, %s) }",
        "def @f(%n: int32, %s: int32) -> int32 { @apply(@f, %n, %s) }\n"
        "def @apply(%h: fn(int32, int32) -> int32, %n: int32, %s: int32) -> int32 "
        "{ if (%n == 0) { %s } else { %h(%n - 1, %s + 1) } }",
    ],
    ids=["itself", "mutual", "local", "group", "value"],
)
def test_tail_calls_take_no_stack(text: str) -> None:
    assert Interpreter(relay.parse(text), max_depth=5).evaluate("f", 20_000, 0) == 20_000


def test_deeper_than_the_limit_is_a_diagnostic() -> None:
    mod = relay.parse("def @f(%n: int32) -> int32 { 1 + @f(%n) }")
    with pytest.raises(relay.RelayError) as error:
        Interpreter(mod, max_depth=1000).evaluate("f", 1)
    (d,) = error.value.diagnostics
    assert d.code == "recursion-limit"
    assert "1,000" in d.message
    assert d.span is not None
    assert d.span.source.text[d.span.start : d.span.end] == "@f(%n)"
    assert "times in a row" in d.notes[0].message


def test_list_of_a_million_cells_is_built_compared_shown_and_freed() -> None:
    n = 1_000_000
    machine = Interpreter(relay.parse(BUILD))
    cells = machine.evaluate("long", n)
    again = machine.evaluate("long", n)
    assert values_equal(cells, again)
    assert show(cells).startswith("[| 1, 2, ")
    assert len(show(cells)) < 20_000
    del cells, again
    gc.collect()


def test_list_of_a_hundred_thousand_cells_is_summed_without_tail_calls() -> None:
    machine = Interpreter(relay.parse(BUILD))
    assert machine.evaluate("sum", machine.evaluate("long", DEEP)) == DEEP * (DEEP + 1) // 2


def test_python_list_becomes_a_linked_list() -> None:
    machine = Interpreter(relay.parse(BUILD))
    assert machine.evaluate("sum", list(range(10))) == 45
    assert show(machine.evaluate("build", 0, [7, 8])) == "[| 7, 8 |]"


def deep_call(x: Var, n: int) -> Expr:
    e: Expr = x
    for _ in range(n):
        e = relay.add(e, constant(1))
    return e


def deep_let(x: Var, n: int) -> Expr:
    names = [Var(f"v{i}") for i in range(n)]
    e: Expr = names[-1]
    for i in range(n - 1, -1, -1):
        e = Let(names[i], relay.add(names[i - 1] if i else x, constant(1)), e)
    return e


def deep_if(x: Var, n: int) -> Expr:
    e: Expr = x
    for _ in range(n):
        e = relay.add(If(relay.less(x, constant(0)), x, e), constant(1))
    return e


def deep_function(x: Var, n: int) -> Expr:
    e: Expr = x
    for _ in range(n):
        e = relay.add(Call(Function((), e), ()), constant(1))
    return e


def deep_tuple(x: Var, n: int) -> Expr:
    e: Expr = x
    for _ in range(n):
        e = Tuple((e,))
    for _ in range(n):
        e = TupleGetItem(e, 0)
    return relay.add(e, constant(n))


@pytest.mark.parametrize("make", [deep_call, deep_let, deep_if, deep_function, deep_tuple])
def test_deep_program_runs(make: Callable[[Var, int], Expr]) -> None:
    x = Var("x", INT)
    assert Interpreter().evaluate(Function((x,), make(x, 5000)), 2) == 5002


@pytest.mark.long
@pytest.mark.parametrize("make", [deep_call, deep_let, deep_if, deep_function, deep_tuple])
def test_program_a_hundred_thousand_deep_runs(make: Callable[[Var, int], Expr]) -> None:
    x = Var("x", INT)
    assert Interpreter().evaluate(Function((x,), make(x, DEEP)), 2) == DEEP + 2


@pytest.mark.long
def test_recursion_is_a_million_calls_deep() -> None:
    mod = relay.parse("def @f(%n: int32) -> int32 { if (%n == 0) { 0 } else { 1 + @f(%n - 1) } }")
    assert Interpreter(mod).evaluate("f", 1_000_000) == 1_000_000


def test_chain_of_closures_is_called_and_freed() -> None:
    mod = relay.parse("""
    def @grow(%n: int32, %f: fn(int32) -> int32) -> fn(int32) -> int32 {
      if (%n == 0) { %f } else { @grow(%n - 1, fn(%x: int32) -> int32 { 1 + %f(%x) }) }
    }
    def @main(%n: int32) -> int32 { @grow(%n, fn(%x: int32) -> int32 { %x })(0) }""")
    assert Interpreter(mod).evaluate("main", DEEP) == DEEP


def test_values_that_share_are_compared_by_their_cells() -> None:
    mod = relay.parse("""type T { L, N(T, T), }
    def @double(%n: int32, %t: T) -> T { if (%n == 0) { %t } else { @double(%n - 1, N(%t, %t)) } }
    def @full(%n: int32) { @double(%n, L) }""")
    machine = Interpreter(mod)
    start = time.perf_counter()
    assert values_equal(machine.evaluate("full", 60), machine.evaluate("full", 60))
    assert machine.evaluate("double", 0, machine.evaluate("full", 60)).fields
    assert len(show(machine.evaluate("full", 60))) < 20_000
    assert time.perf_counter() - start < 5


def test_instance_built_in_python_is_as_good_as_one_of_the_program() -> None:
    mod = relay.parse(BUILD)
    _, nil, cons = mod.get_type("List")
    cells = ConstructorValue(nil)
    for i in (3, 2, 1):
        cells = ConstructorValue(cons, (np.int32(i), cells))
    assert mod.evaluate("long", 3) == cells
    assert mod.evaluate("sum", cells) == 6
