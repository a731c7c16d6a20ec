"""Substitution of variables."""

import numpy as np
import pytest

from relay.diagnostic import RelayError
from relay.ir.bind import bind, bind_params_by_name, substitute
from relay.ir.build import const, var
from relay.ir.expr import Call, Clause, Constructor, Function, GlobalVar, Let, LetRec, Match, Tuple, Var
from relay.ir.pattern import PatternConstructor, PatternVar, pattern_vars
from relay.ir.type import GlobalTypeVar, TensorType
from relay.ir.vars import free_vars

F = GlobalVar("f")
X, Y, Z = Var("x"), Var("y"), Var("z")


def test_a_free_variable_is_replaced_everywhere_and_shared_nodes_stay_shared():
    shared = Call(F, (X,))
    one = const(1)
    new = substitute(Tuple((shared, shared, Y)), {X: one})
    assert new.fields[0] is new.fields[1]
    assert new.fields[0].args[0] is one
    assert new.fields[2] is Y
    assert new.fields[0].span is shared.span


def test_nothing_to_replace_returns_the_expression_itself():
    e = Tuple((Call(F, (X,)), Y))
    assert substitute(e, {Z: const(1)}) is e


def test_a_bound_variable_is_not_replaced():
    e = Let(X, const(1), X)
    assert substitute(e, {X: const(2)}) is e


def test_what_is_inserted_is_not_substituted_again():
    assert substitute(Tuple((X, Y)), {X: Y, Y: X}).fields == (Y, X)


@pytest.mark.parametrize(
    "binder",
    [
        lambda inner: Function((Y,), inner),
        lambda inner: Let(Y, const(1), inner),
        lambda inner: LetRec((Y,), (Function((), Tuple((inner,))),), inner),
    ],
)
def test_a_binder_that_would_capture_gets_a_new_variable(binder):
    e = binder(Tuple((X, Y)))
    new = substitute(e, {X: Y})
    assert Y in free_vars(new)
    inside = new.body
    assert inside.fields[0] is Y
    assert inside.fields[1] is not Y
    assert inside.fields[1].name_hint == "y"


def test_a_pattern_that_would_capture_gets_a_new_variable():
    wrap = Constructor("W", (TensorType(()),), GlobalTypeVar("W"))
    e = Match(Z, (Clause(PatternConstructor(wrap, (PatternVar(Y),)), Tuple((X, Y))),))
    clause = substitute(e, {X: Y}).clauses[0]
    (bound,) = pattern_vars(clause.lhs)
    assert bound is not Y
    assert clause.rhs.fields == (Y, bound)


def test_bind_drops_bound_parameters_and_adds_what_is_free_then():
    fn = Function((X, Y), Tuple((X, Y)))
    new = bind(fn, {X: Call(F, (Z,))})
    assert new.params == (Y, Z)
    assert bind(fn, {Z: const(1)}) is fn


def test_parameters_are_bound_by_name():
    a, w = var("a", shape=(2,)), var("w", shape=(2,))
    params = {"w": np.ones(2, np.float32), "other": np.ones(1)}
    new = bind_params_by_name(Function((a, w), Tuple((a, w))), params)
    assert new.params == (a,)
    assert new.body.fields[1].type is TensorType((2,), "float32")


def test_two_parameters_of_one_name_cannot_be_bound_by_name():
    fn = Function((Var("w"), Var("w")), const(1))
    with pytest.raises(RelayError) as error:
        bind_params_by_name(fn, {"w": np.ones(1)})
    assert error.value.codes == ("duplicate-parameter",)


def test_substitution_does_not_recurse():
    e = X
    for i in range(100_000):
        call = Call(F, (e,), span=X.span)
        e = Let(Var("v", span=X.span), e, call, span=X.span) if i % 2 else call
    assert substitute(e, {X: Y}) is not e
