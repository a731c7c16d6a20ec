"""Visitor, mutator and functor classes, as people write them."""

import pytest

from relay.ir.build import const, grad
from relay.ir.expr import (
    Call,
    Clause,
    Constructor,
    Function,
    GlobalVar,
    If,
    Let,
    LetRec,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.functor import ExprFunctor, ExprMutator, ExprVisitor
from relay.ir.pattern import PatternConstructor, PatternVar, pattern_vars
from relay.ir.type import FuncType, GlobalTypeVar, RefType, TensorType, TupleType, TypeCall, TypeVar
from relay.ir.type_functor import TypeMutator, TypeVisitor

F = GlobalVar("f")
DEEP = 100_000


def everything():
    """An expression with every kind of node, and its parts by name."""
    x, y, z, g, h = (Var(n) for n in "xyzgh")
    cons = Constructor("C", (TensorType(()),), GlobalTypeVar("T"))
    match = Match(Call(cons, (x,)), (Clause(PatternConstructor(cons, (PatternVar(z),)), z),))
    loop = LetRec((g, h), (Function((), Call(h, ())), Function((), Call(g, ()))), Call(g, ()))
    cell = RefCreate(const(1))
    body = Tuple((match, loop, RefRead(cell), RefWrite(cell, const(2)), TupleGetItem(Tuple((x, y)), 1)))
    chosen = If(const(True), body, Call(grad(F), (Call(Op.get("add"), (x, y)),)))
    return Let(y, const(3), Function((x,), chosen))


def test_a_visitor_sees_every_kind_of_node():
    seen = set()

    class See(ExprVisitor):
        def visit(self, expr):
            seen.add(type(expr).__name__)
            super().visit(expr)

    See().visit(everything())
    assert seen == {
        "Constant", "Var", "GlobalVar", "Op", "Constructor", "Tuple", "TupleGetItem", "Call", "Function",
        "Let",
        "LetRec", "If", "Match", "RefCreate", "RefRead", "RefWrite", "Grad",
    }  # fmt: skip


def test_a_visitor_visits_binders_and_each_node_once():
    names = []

    class Names(ExprVisitor):
        def visit_var(self, var):
            names.append(var.name_hint)

    Names().visit(everything())
    assert sorted(names) == ["g", "h", "x", "y", "z"]


def test_a_method_that_does_not_go_on_prunes():
    class Calls(ExprVisitor):
        count = 0

        def visit_call(self, call):
            self.count += 1
            super().visit_call(call)

        def visit_function(self, fn):
            pass

    v = Calls()
    v.visit(Tuple((Function((), Call(F, ())), Call(F, (Call(F, ()),)))))
    assert v.count == 2


def test_code_before_and_after_the_children_runs_in_that_order():
    x, y = Var("x"), Var("y")
    trace = []

    class Scoped(ExprVisitor):
        def visit_let(self, let):
            trace.append(f"open {let.var.name_hint}")
            super().visit_let(let)
            trace.append(f"close {let.var.name_hint}")

    Scoped().visit(Let(x, Let(y, const(1), y), x))
    assert trace == ["open x", "open y", "close y", "close x"]


def test_a_mutator_that_changes_nothing_returns_the_program_itself():
    e = everything()
    assert ExprMutator().visit(e) is e


def test_a_mutator_keeps_sharing():
    shared = Tuple((const(1),))

    class Two(ExprMutator):
        def visit_constant(self, const_):
            return const(2)

    new = Two().visit(Tuple((shared, shared)))
    assert new.fields[0] is new.fields[1]


def test_renaming_variables_renames_their_binders_too():
    class Rename(ExprMutator):
        def visit_var(self, var):
            return Var(var.name_hint + "2")

    new = Rename().visit(everything())
    assert new.var.name_hint == "y2"
    fn = new.body
    match, loop = fn.body.true_branch.fields[:2]
    assert fn.params[0] is match.data.args[0]
    assert pattern_vars(match.clauses[0].lhs) == [match.clauses[0].rhs]
    assert loop.vars[0] is loop.body.op


def test_a_functor_without_a_method_says_which_is_missing():
    class Count(ExprFunctor[int]):
        def visit_tuple(self, tup):
            return sum(self.visit(f) for f in tup.fields)

        def visit_constant(self, const):
            return int(const.value)

    assert Count().visit(Tuple((const(2), const(3)))) == 5
    with pytest.raises(NotImplementedError, match="visit_call"):
        Count().visit(Tuple((Call(F, ()),)))


def test_what_is_not_an_expression_is_refused():
    with pytest.raises(TypeError, match="not an expression"):
        ExprVisitor().visit(3)


def test_an_error_from_the_depth_arrives():
    class Picky(ExprVisitor):
        def visit_constant(self, const):
            raise KeyError("deep down")

    with pytest.raises(KeyError, match="deep down"):
        Picky().visit(calls(5_000, const(1)))


def calls(n, e):
    span = F.span
    for _ in range(n):
        e = Call(F, (e,), span=span)
    return e


def test_overridden_methods_that_call_super_work_at_any_depth():
    class Count(ExprVisitor):
        count = 0

        def visit_call(self, call):
            super().visit_call(call)
            self.count += 1

    v = Count()
    v.visit(calls(DEEP, const(1)))
    assert v.count == DEEP


def test_overridden_methods_that_visit_children_in_a_generator_work_at_any_depth():
    class Swap(ExprMutator):
        def visit_call(self, call):
            return Call(self.visit(call.op), tuple(self.visit(a) for a in call.args), span=call.span)

        def visit_constant(self, const_):
            return const(7)

    e = Swap().visit(calls(DEEP, const(1)))
    while isinstance(e, Call):
        e = e.args[0]
    assert e.value == 7


def test_let_chains_of_any_depth_are_mutated():
    body = Var("end")
    for _ in range(DEEP):
        body = Let(Var("x", span=body.span), F, body, span=body.span)
    assert ExprMutator().visit(body) is body


def test_a_type_visitor_and_mutator_reach_every_part():
    a, n = TypeVar("a"), TypeVar("n", TypeVar("k").kind.Dim)
    data = GlobalTypeVar("T")
    params = (TupleType((a, TensorType((n + 1, 2)))), RefType(TypeCall(data, (a, n))))
    t = FuncType(params, TypeCall(data, (a, 3)), (a,))
    seen = []

    class See(TypeVisitor):
        def visit_type_var(self, tv):
            seen.append(tv)

    See().visit(t)
    assert set(seen) == {a, n}

    class Four(TypeMutator):
        def visit_type_var(self, tv):
            return 4 if tv is n else tv

    new = Four().visit(t)
    assert new.arg_types[0].fields[1] is TensorType((5, 2))
    assert new.arg_types[1].value.args == (a, 4)
    assert TypeMutator().visit(t) is t


def test_types_of_any_depth_are_visited():
    t = TensorType(())
    for _ in range(DEEP):
        t = RefType(t)

    class Count(TypeVisitor):
        count = 0

        def visit_ref_type(self, rt):
            self.count += 1
            self.visit(rt.value)

    v = Count()
    v.visit(t)
    assert v.count == DEEP
    assert TypeMutator().visit(t) is t
