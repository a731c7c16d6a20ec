"""Where and how often a shared graph node is evaluated, watched through a reference that counts."""

import numpy as np
import pytest

import relay
from relay.interpreter.machine import Interpreter
from relay.ir.expr import (
    Call,
    Clause,
    Expr,
    Function,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    Var,
    constant,
)
from relay.ir.pattern import PatternTuple, PatternVar, PatternWildcard
from relay.ir.type import TensorType

INT = TensorType((), "int32")


class Counter:
    """`tick(n)` is a node that appends the digit `n` to a number in a reference."""

    def __init__(self) -> None:
        self.cell = Var("log", relay.RefType(INT))

    def tick(self, digit: int, result: Expr | None = None) -> Expr:
        """A new node that writes `digit` and gives `result` (or the digit)."""
        grown = relay.add(relay.multiply(RefRead(self.cell), constant(10)), constant(digit))
        return Let(Var("_"), RefWrite(self.cell, grown), constant(digit) if result is None else result)

    def run(self, body: Expr, *args: Var) -> tuple[object, int]:
        """The value of `body` and the digits in the order they were written."""
        out = Var("out")
        program = Let(self.cell, RefCreate(constant(0)), Let(out, body, Tuple((out, RefRead(self.cell)))))
        found, log = Interpreter().evaluate(program)
        return found, int(log)


def test_shared_node_is_evaluated_once() -> None:
    c = Counter()
    e = c.tick(1)
    assert c.run(relay.add(e, e)) == (2, 1)


def test_equal_but_separate_nodes_are_evaluated_each() -> None:
    c = Counter()
    assert c.run(relay.add(c.tick(1), c.tick(1))) == (2, 11)


def test_evaluation_goes_from_left_to_right() -> None:
    c = Counter()
    assert c.run(Tuple((c.tick(1), Tuple((c.tick(2), c.tick(3)))))) == ((1, (2, 3)), 123)


def test_callee_comes_before_arguments() -> None:
    c = Counter()
    x = Var("x", INT)
    assert c.run(Call(c.tick(1, Function((x,), x)), (c.tick(2),))) == (2, 12)


def test_node_shared_by_both_branches_is_evaluated_after_the_condition() -> None:
    c = Counter()
    shared = c.tick(2)
    yes = relay.add(shared, c.tick(3))
    no = relay.add(shared, c.tick(4))
    assert c.run(If(relay.less(c.tick(1), constant(5)), yes, no)) == (5, 123)


def test_node_of_one_branch_is_evaluated_only_there() -> None:
    c = Counter()
    e = c.tick(1)
    assert c.run(If(constant(True), constant(7), relay.add(e, e))) == (7, 0)


def test_node_used_first_in_a_branch_and_then_outside_is_evaluated_before_the_branch() -> None:
    c = Counter()
    shared = c.tick(2)
    branch = If(relay.less(c.tick(1), constant(0)), shared, c.tick(3))
    assert c.run(Tuple((branch, shared))) == ((3, 2), 123)


def test_node_used_first_outside_is_evaluated_there() -> None:
    c = Counter()
    shared = c.tick(1)
    branch = If(relay.less(c.tick(2), constant(0)), shared, c.tick(3))
    assert c.run(Tuple((shared, branch))) == ((1, 3), 123)


def test_node_shared_by_clauses_is_evaluated_after_the_scrutinee() -> None:
    c = Counter()
    shared = c.tick(2)
    x = Var("x", INT)
    clauses = (
        Clause(PatternTuple((PatternVar(x), PatternWildcard())), relay.add(shared, x)),
        Clause(PatternWildcard(), shared),
    )
    assert c.run(Match(Tuple((c.tick(1), constant(0))), clauses)) == (3, 12)


def test_node_shared_with_a_function_body_is_evaluated_once_where_the_function_is_made() -> None:
    c = Counter()
    shared = c.tick(1)
    f = Var("f")
    calls = relay.add(Call(f, ()), Call(f, ()))
    assert c.run(Let(f, Function((), relay.add(shared, shared)), relay.add(calls, shared))) == (5, 1)


def test_node_of_one_function_body_is_evaluated_at_each_call() -> None:
    c = Counter()
    inner = c.tick(1)
    f = Var("f")
    assert c.run(Let(f, Function((), relay.add(inner, inner)), relay.add(Call(f, ()), Call(f, ())))) == (
        4,
        11,
    )


def test_let_pins_the_moment() -> None:
    c = Counter()
    a = Var("a")
    late = c.tick(2)
    assert c.run(Let(a, c.tick(1), Tuple((late, a)))) == ((2, 1), 12)


def test_a_chain_that_shares_at_every_step_takes_time_by_its_nodes() -> None:
    x = Var("x", INT)
    e: Expr = x
    for _ in range(200):
        e = relay.add(e, e)
    assert Interpreter().evaluate(Function((x,), e), 0) == 0


@pytest.mark.parametrize("depth", [3000])
def test_nested_scopes_that_share_one_outer_node(depth: int) -> None:
    x = Var("x", INT)
    shared = relay.multiply(x, constant(2))
    e: Expr = shared
    for _ in range(depth):
        e = If(relay.less(x, constant(0)), shared, relay.add(e, constant(1)))
    assert Interpreter().evaluate(Function((x,), e), 1) == np.int32(depth + 2)
