"""Where shared nodes are evaluated."""

from relay.ir.build import const
from relay.ir.expr import Call, Clause, Function, GlobalVar, If, Let, Match, Tuple, Var
from relay.ir.pattern import PatternWildcard
from relay.ir.scope import common, scopes

F = GlobalVar("f")


def test_a_node_of_one_branch_belongs_to_that_branch():
    work = Call(F, ())
    choice = If(const(True), work, const(1))
    where = scopes(choice)
    assert (where[work].owner, where[work].index) == (choice, 1)
    assert where[choice.cond] is where[choice]


def test_a_node_of_both_branches_belongs_around_them():
    work = Call(F, ())
    choice = If(const(True), Tuple((work,)), Call(F, (work,)))
    where = scopes(choice)
    assert where[work] is where[choice]


def test_a_node_used_inside_one_function_alone_belongs_to_its_body():
    work = Call(F, ())
    inner = Function((), Tuple((work, work)))
    outer = Function((), Tuple((inner, const(1))))
    where = scopes(outer)
    assert where[work].owner is inner
    assert where[inner].owner is outer


def test_a_node_used_in_and_around_a_function_belongs_around_it():
    work = Call(F, ())
    inner = Function((), work)
    root = Tuple((inner, work))
    assert scopes(root)[work] is scopes(root)[root] or scopes(root)[work].owner is None


def test_let_opens_no_scope():
    work = Call(F, ())
    root = Let(Var("x"), work, Tuple((work,)))
    where = scopes(root)
    assert where[work] is where[root]


def test_clauses_are_scopes_and_the_scrutinee_is_not():
    work = Call(F, ())
    match = Match(work, (Clause(PatternWildcard(), Tuple((work,))), Clause(PatternWildcard(), Call(F, ()))))
    where = scopes(match)
    assert where[work] is where[match]
    assert where[match.clauses[1].rhs].index == 2


def test_the_innermost_common_scope_agrees_with_walking_up():
    def chain(s):
        return [s, *chain(s.parent)] if s.parent is not None else [s]

    e = const(1)
    for i in range(60):
        e = If(const(True), e, Function((), Call(F, (e,)))) if i % 3 else Function((), Tuple((e, const(i))))
    found = list(set(scopes(e).values()))
    for a in found[::5]:
        for b in found[::7]:
            expected = next(s for s in chain(a) if s in chain(b))
            assert common(a, b) is expected


def test_scopes_of_100000_nested_functions_and_branches():
    e = const(1)
    for i in range(100_000):
        e = If(const(True), e, const(2)) if i % 2 else Function((), e)
    where = scopes(e)
    assert max(s.depth for s in where.values()) == 100_000
