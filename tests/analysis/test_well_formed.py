"""What well-formedness finds, and lets pass."""

import numpy as np
import pytest

from relay.analysis import assert_well_formed, faults, well_formed
from relay.diagnostic import RelayError
from relay.ir.build import const, var
from relay.ir.expr import (
    Clause,
    Constant,
    Constructor,
    Function,
    GlobalVar,
    If,
    Let,
    LetRec,
    Match,
    TempExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule, TypeData
from relay.ir.pattern import PatternConstructor, PatternOr, PatternTuple, PatternVar, PatternWildcard
from relay.ir.type import FuncType, GlobalTypeVar, Kind, RefType, TensorType, TypeVar, scalar_type

X, Y, F, G = (Var(n) for n in "xyfg")
A = TypeVar("a")
INT = scalar_type("int32")
BOX = GlobalTypeVar("Box")
FULL = Constructor("Full", (INT,), BOX, 0)
SHARED = Tuple((X,))


class Mark(TempExpr):
    pass


@pytest.mark.parametrize(
    "e",
    [
        X,
        Tuple((X, X)),
        Let(X, const(1), Tuple((X, X))),
        Let(F, Function((), F), F),
        LetRec((F, G), (Function((), G), Function((), F)), Tuple((F, G))),
        Function((X,), If(const(True), SHARED, Tuple((SHARED,)))),
        Match(Y, (Clause(PatternTuple((PatternVar(X), PatternWildcard())), X),)),
        Function((var("x", A),), const(1), A, (A,)),
        Function((var("x", FuncType((A,), A, (A,))),), const(1), None, (A,)),
        Constant(np.int64(3) * np.ones((), np.int64)),
    ],
)
def test_well_formed(e):
    assert faults(e) == []
    assert well_formed(e)


@pytest.mark.parametrize(
    ("e", "words"),
    [
        (Tuple((Let(X, const(1), X), X)), "used where it is not bound"),
        (Let(X, X, const(1)), "used where it is not bound"),
        (Let(X, Tuple((Function((), X),)), const(1)), "used where it is not bound"),
        (If(Let(X, const(True), X), X, const(1)), "used where it is not bound"),
        (Tuple((Function((X,), SHARED), SHARED)), "used where it is not bound"),
        (Let(X, const(1), Let(X, const(2), X)), "more than once"),
        (Function((X, X), X), "more than once"),
        (Match(Y, (Clause(PatternTuple((PatternVar(X), PatternVar(X))), X),)), "more than once"),
        (Match(Y, (Clause(PatternOr((PatternVar(X), PatternWildcard())), X),)), "different variables"),
        (Tuple((Function((X,), X), Function((X,), X))), "more than once"),
        (Mark(), "left over"),
        (TupleGetItem(X, -1), "no field -1"),
        (LetRec((X,), (const(1),), X), "functions alone"),
        (Tuple((Function((), const(1), None, (A,)), var("y", A))), "type parameter `a`"),
        (var("x", RefType(TypeVar("s", Kind.Shape))), "has kind"),
        (Constant(np.ones(2), TensorType((3,), "float64")), "holds float64 of shape (2,)"),
        (Match(Y, (Clause(PatternConstructor(FULL, ()), X),)), "1 fields, the pattern 0"),
    ],
)
def test_ill_formed_with_the_reason(e, words):
    found = faults(e)
    assert not well_formed(e)
    assert len(found) == 1
    assert words in found[0].message
    with pytest.raises(RelayError, match=r"ill-formed|kind-mismatch"):
        assert_well_formed(e)


def module(main, *types):
    mod = IRModule()
    mod["main"] = main
    for t in types:
        mod[t.header] = t
    return mod


def test_a_well_formed_module():
    assert faults(module(Function((X,), X), TypeData(BOX, (), (FULL,)))) == []


@pytest.mark.parametrize(
    ("mod", "words"),
    [
        (module(Function((), X)), "nothing binds `%x`"),
        (module(Function((), GlobalVar("no"))), "no `@no`"),
        (module(Function((), FULL)), "no constructor `Full` of `Box`"),
        (module(Function((var("y", A),), const(1))), "type parameter `a`"),
        (module(const(1), TypeData(BOX, (), (Constructor("C", (A,), BOX),))), "not a parameter of Box"),
        (module(const(1), TypeData(BOX, (), (Constructor("C", (), BOX, 1),))), "does not belong"),
    ],
)
def test_ill_formed_modules(mod, words):
    assert [words in d.message for d in faults(mod)] == [True]


def test_two_definitions_may_not_bind_one_variable():
    mod = module(Function((X,), X))
    mod["other"] = Function((X,), X)
    assert "more than once" in faults(mod)[0].message
