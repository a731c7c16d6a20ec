"""Walks: order, sharing, depth."""

from typing import Any

import pytest

from relay.ir.build import const
from relay.ir.expr import Call, Constant, Constructor, Function, GlobalVar, Let, Tuple, TupleGetItem, Var
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, PatternWildcard, pattern_vars
from relay.ir.type import GlobalTypeVar, RefType, TensorType, TupleType, TypeVar
from relay.ir.walk import fold, post_order, rewrite, rewrite_pattern, run, type_post_order

F = GlobalVar("f")


def test_post_order_yields_each_node_once_children_first():
    one, two = const(1), const(2)
    shared = Tuple((one, two))
    root = Tuple((shared, TupleGetItem(shared, 0)))
    assert list(post_order(root)) == [one, two, shared, root.fields[1], root]


def test_a_program_that_no_rule_changes_comes_back_as_itself():
    root = Tuple((const(1), Call(F, (const(2),))))
    assert rewrite(root, lambda e: None) is root


def test_a_shared_node_is_rewritten_once_and_stays_shared():
    shared = Tuple((const(1),))
    root = Tuple((shared, shared))
    seen: list[Constant] = []

    def rule(e):
        if isinstance(e, Constant):
            seen.append(e)
            return const(5)
        return None

    new = rewrite(root, rule)
    assert len(seen) == 1
    assert new.fields[0] is new.fields[1]
    assert new.fields[0].fields[0].value == 5
    assert new.span is root.span


def depth(e):
    below = 0
    for child in e.children:
        below = max(below, (yield child))
    return below + 1


def test_fold_measures_depth():
    assert fold(Tuple((const(1), Tuple((const(1),)))), depth) == 3


def test_fold_visits_a_shared_node_once():
    visits = []

    def visit(e):
        visits.append(e)
        yield from e.children

    shared = Tuple((const(1),))
    fold(Tuple((shared, shared)), visit)
    assert len(visits) == 3


def test_fold_uses_what_it_is_given_as_known():
    leaf = const(1)
    assert fold(Tuple((leaf,)), depth, {leaf: 10}) == 11


def test_patterns_are_rewritten_from_the_inside():
    x, y = Var("x"), Var("y")
    cons = Constructor("Cons", (), GlobalTypeVar("L"))
    pattern = PatternTuple((PatternVar(x), PatternConstructor(cons, (PatternVar(y), PatternWildcard()))))
    fresh = Var("fresh")

    def rule(p):
        return PatternVar(fresh) if isinstance(p, PatternVar) and p.var is y else None

    new = rewrite_pattern(pattern, rule)
    assert pattern_vars(new) == [x, fresh]
    assert new.patterns[0] is pattern.patterns[0]
    assert rewrite_pattern(pattern, lambda p: None) is pattern


def test_types_are_walked_parts_first_and_each_once():
    a = TypeVar("a")
    t = TupleType((RefType(a), RefType(a), TensorType((2,), "float32")))
    assert list(type_post_order(t)) == [a, RefType(a), TensorType((2,), "float32"), t]


@pytest.mark.parametrize("levels", [20_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_walks_do_not_recurse(levels: int):
    e = Var("x")
    for _ in range(levels):
        e = Let(Var("y"), e, Function((), Call(F, (e,))))
    assert sum(1 for _ in post_order(e)) == 3 * levels + 2
    assert rewrite(e, lambda _: None) is e
    assert fold(e, depth) == 3 * levels + 1


def test_an_exception_is_raised_where_the_waiting_generator_yields() -> None:
    def innermost(depth: int) -> Any:
        if depth == 0:
            raise KeyError("found")
        yield innermost(depth - 1)

    def catches() -> Any:
        try:
            yield innermost(100_000)
        except KeyError as error:
            return str(error)

    def outer() -> Any:
        return (yield catches())

    assert run(outer()) == "'found'"
    with pytest.raises(KeyError) as raised:
        run(innermost(100_000))
    assert len(raised.traceback) < 10
    assert raised.traceback[-1].name == "innermost"
