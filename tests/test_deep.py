"""Depth: each kind of program, nested as deep as it gets, through everything that is done with programs.

Every cell of the table is run 2,000 levels deep, twice as deep as Python itself recurses, and by
`make check-long` 100,000 levels deep; recursion at run time is 100,000 levels deep always.
"""

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import pytest

import relay
from relay.interpreter.show import show
from relay.interpreter.value import ConstructorValue, values_equal
from relay.ir.expr import (
    Call,
    Clause,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    LetRec,
    Match,
    Op,
    RefCreate,
    RefRead,
    Tuple,
    TupleGetItem,
    Var,
    constant,
)
from relay.ir.module import IRModule
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from relay.ir.type import BOOL, FuncType, RefType, TensorType, TupleType, Type, TypeCall

SOME, DEEP = 2_000, 100_000
INT = TensorType((), "int32")
LIBRARY = "type List[A] { Nil, Cons(A, List[A]), }  type nat { Z, S(nat), }"
"""The data types of the programs here."""
LISTS = relay.parse(LIBRARY)
_, NIL, CONS = LISTS.get_type("List")
NAT, Z, S = LISTS.get_type("nat")
ONE = constant(1)


def negative(e: Expr) -> Expr:
    """`-e`, by the operator's leaf and without the look-up of a builder."""
    return Call(Op.get("negative"), (e,))


# --- one level of nesting around an expression: `x` is an integer, `b` is True ---------------------


def call(e: Expr, x: Var, b: Var) -> Expr:
    return negative(negative(e))


def let_value(e: Expr, x: Var, b: Var) -> Expr:
    v = Var("v")
    return Let(v, e, v)


def let_body(e: Expr, x: Var, b: Var) -> Expr:
    return Let(Var("v"), x, e)


def called_function(e: Expr, x: Var, b: Var) -> Expr:
    return Call(Function((), e), ())


def branch_taken(e: Expr, x: Var, b: Var) -> Expr:
    return If(b, e, x)


def branch_else(e: Expr, x: Var, b: Var) -> Expr:
    return If(Call(Op.get("logical_not"), (b,)), x, e)


def condition(e: Expr, x: Var, b: Var) -> Expr:
    return If(Call(Op.get("equal"), (e, x)), x, e)


def scrutinee(e: Expr, x: Var, b: Var) -> Expr:
    v = Var("v")
    return Match(Tuple((e,)), (Clause(PatternTuple((PatternVar(v),)), v),))


def clause(e: Expr, x: Var, b: Var) -> Expr:
    return Match(x, (Clause(PatternVar(Var("v")), e),))


def projection(e: Expr, x: Var, b: Var) -> Expr:
    return TupleGetItem(Tuple((x, e)), 1)


def reference(e: Expr, x: Var, b: Var) -> Expr:
    return RefRead(RefCreate(e))


def recursive_group(e: Expr, x: Var, b: Var) -> Expr:
    f, g = Var("f"), Var("g")
    return LetRec((f, g), (Function((), Call(g, ())), Function((), Call(f, ()))), e)


def cell(e: Expr, x: Var, b: Var) -> Expr:
    head = Var("head")
    cons = Clause(PatternConstructor(CONS, (PatternVar(head), PatternWildcard())), head)
    return Match(Call(CONS, (e, Call(NIL, ()))), (cons, Clause(PatternWildcard(), x)))


def shared(e: Expr, x: Var, b: Var) -> Expr:
    return Call(Op.get("maximum"), (e, e))


LEVELS = [
    call, let_value, let_body, called_function, branch_taken, branch_else, condition, scrutinee, clause,
    projection, reference, recursive_group, cell, shared,
]  # fmt: skip


def nested(levels: list[Callable[[Expr, Var, Var], Expr]], n: int) -> Expr:
    """A function of `x` and `b` whose body nests `n` levels, of each kind in turn, around `x`."""
    x, b = Var("x", INT), Var("b", BOOL)
    e: Expr = x
    for i in range(n):
        e = levels[i % len(levels)](e, x, b)
    return Function((x, b), e, INT)


# --- whole programs, functions of an integer and True that give the integer back -------------------


def identity(*more: Expr) -> Expr:
    """A function that binds `more` on the way to its result."""
    x, b = Var("x", INT), Var("b", BOOL)
    body: Expr = x
    for e in more:
        body = Let(Var("unused"), e, body)
    return Function((x, b), body, INT)


def uncalled_functions(n: int) -> Expr:
    e: Expr = ONE
    for _ in range(n):
        e = Function((), e)
    return identity(e)


def of_type(t: Type) -> Expr:
    y = Var("y", t)
    return Function((y,), y, t)


def types(n: int) -> Expr:
    made: list[Type] = [INT, INT, INT, INT]
    for _ in range(n):
        a, b, c, d = made
        list_of = TypeCall(NIL.belong_to, (d,))
        made = [RefType(a), TupleType((b,)), FuncType((INT,), c), list_of]
    return identity(*[of_type(t) for t in made])


def patterns(n: int) -> Expr:
    x, b, v = Var("x", INT), Var("b", BOOL), Var("v")
    value: Expr = x
    pattern = PatternVar(v)
    number: Expr = Call(Z, ())
    numeral = PatternConstructor(Z, ())
    for _ in range(n):
        value, pattern = Tuple((value,)), PatternTuple((pattern,))
        number, numeral = Call(S, (number,)), PatternConstructor(S, (numeral,))
    chosen = Match(number, (Clause(numeral, v), Clause(PatternWildcard(), ONE)))
    return Function((x, b), Match(value, (Clause(pattern, chosen),)), INT)


def tuples(n: int) -> Expr:
    x, b = Var("x", INT), Var("b", BOOL)
    e: Expr = x
    for _ in range(n):
        e = Tuple((e,))
    for _ in range(n):
        e = TupleGetItem(e, 0)
    return Function((x, b), e, INT)


def long_list(n: int) -> Expr:
    x, b = Var("x", INT), Var("b", BOOL)
    e: Expr = Call(NIL, ())
    for _ in range(n):
        e = Call(CONS, (x, e))
    head = Var("head")
    first = Clause(PatternConstructor(CONS, (PatternVar(head), PatternWildcard())), head)
    return Function((x, b), Match(e, (first, Clause(PatternWildcard(), x))), INT)


def definitions(n: int) -> IRModule:
    """`n` definitions, of which each calls the next."""
    mod = with_library(nested([], 0))
    last = Var("y", INT)
    mod[f"f{n}"] = Function((last,), last)
    for i in range(n):
        y = Var("y", INT)
        mod[f"f{i}"] = Function((y,), negative(negative(Call(GlobalVar(f"f{i + 1}"), (y,)))))
    x, b = Var("x", INT), Var("b", BOOL)
    mod["main"] = Function((x, b), Call(GlobalVar("f0"), (x,)), INT)
    return mod


def with_library(main: Expr) -> IRModule:
    return IRModule.from_expr(main, {}, LISTS.type_definitions)


KINDS: dict[str, Callable[[int], Expr | IRModule]] = {
    **{level.__name__: lambda n, level=level: nested([level], n) for level in LEVELS},
    "uncalled_functions": uncalled_functions, "types": types, "patterns": patterns, "tuples": tuples,
    "long_list": long_list, "definitions": definitions,
    "everything": lambda n: nested(LEVELS, n),
}  # fmt: skip


@dataclass
class Program:
    """One program and what is learned of it on the way through the table."""

    kind: str
    depth: int

    @cached_property
    def mod(self) -> IRModule:
        made = KINDS[self.kind](self.depth)
        return made if isinstance(made, IRModule) else with_library(made)

    @cached_property
    def text(self) -> str:
        return str(self.mod)

    @cached_property
    def parsed(self) -> IRModule:
        return relay.parse(self.text)

    @cached_property
    def annotated(self) -> IRModule:
        return relay.infer(self.mod)


program = lru_cache(maxsize=1)(Program)


# --- operations ------------------------------------------------------------------------------------


def prints(p: Program) -> None:
    assert p.text.count("\n") >= 1
    assert len(p.text) < 1000 * p.depth


def parses(p: Program) -> None:
    assert set(p.parsed) == set(p.mod)


def compares(p: Program) -> None:
    relay.assert_structural_equal(p.parsed, p.mod)
    assert not relay.structural_equal(p.mod, with_library(identity()))


def hashes(p: Program) -> None:
    assert relay.structural_hash(p.parsed) == relay.structural_hash(p.mod)


def infers(p: Program) -> None:
    assert relay.infer(p.annotated) is p.annotated
    assert p.mod.type_of(GlobalVar("main")) is FuncType((INT, BOOL), INT)


def checks(p: Program) -> None:
    relay.check(p.annotated)
    assert relay.analysis.well_formed(p.annotated)


def pickles(p: Program) -> None:
    relay.assert_structural_equal(pickle.loads(pickle.dumps(p.mod)), p.mod)
    main = p.mod["main"]
    relay.assert_structural_equal(pickle.loads(pickle.dumps(main)), main)


def copies(p: Program) -> None:
    main = p.mod["main"]
    assert copy.copy(main) is main
    assert copy.deepcopy(main) is main
    assert copy.deepcopy(p.mod)["main"] is main


def runs(p: Program) -> None:
    assert p.mod.evaluate("main", 7, True) == 7


def describes(p: Program) -> None:
    main = p.mod["main"]
    for node in (p.mod, main, main.body, *main.params, p.mod.type_of(main)):
        assert len(repr(node)) < 500


def is_collected(p: Program) -> None:
    left = [weakref.ref(mod) for mod in (p.mod, p.parsed, p.annotated)]
    program.cache_clear()
    p.__dict__.clear()
    gc.collect()
    assert [ref() for ref in left] == [None, None, None]


OPERATIONS = [
    prints, parses, compares, hashes, infers, checks, pickles, copies, runs, describes, is_collected,
]  # fmt: skip


def depths() -> list[Any]:
    long = [pytest.param(kind, DEEP, marks=pytest.mark.long) for kind in KINDS]
    return [(kind, SOME) for kind in KINDS] + long


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("kind", "depth"), depths())
def test_deep_program(kind: str, depth: int, operation: Callable[[Program], None]) -> None:
    operation(program(kind, depth))


# --- depth that arises at run time -----------------------------------------------------------------

RECURSION = relay.parse(
    LIBRARY
    + """
def @count(%n: int32) -> int32 { if (%n == 0) { 0 } else { 1 + @count(%n - 1) } }
def @even(%n: int32) -> bool { if (%n == 0) { True } else { !@odd(%n - 1) } }
def @odd(%n: int32) -> bool { if (%n == 0) { False } else { !@even(%n - 1) } }
def @list(%n: int32) -> List[int32] {
  let %go = fn (%i: int32, %l: List[int32]) -> List[int32] {
    if (%i == 0) { %l } else { %go(%i - 1, Cons(%i, %l)) }
  };
  %go(%n, Nil)
}
def @sum(%l: List[int32]) -> int64 { match (%l) { Nil => 0, Cons(%h, %t) => cast(%h, "int64") + @sum(%t) } }
def @numeral(%n: int32) -> nat { if (%n == 0) { Z } else { S(@numeral(%n - 1)) } }
def @closures(%n: int32, %f: fn(int32) -> int32) -> fn(int32) -> int32 {
  if (%n == 0) { %f } else { @closures(%n - 1, fn(%x: int32) -> int32 { 1 + %f(%x) }) }
}
def @called(%n: int32) -> int32 { @closures(%n, fn(%x: int32) -> int32 { %x })(0) }
"""
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("count", DEEP), ("even", True), ("called", DEEP)],
)
def test_calls_nest_at_run_time(name: str, expected: Any) -> None:
    assert RECURSION.evaluate(name, DEEP) == expected


@pytest.mark.parametrize(("name", "start"), [("list", "[| 1, 2, "), ("numeral", "S(S(S(S(")])
def test_values_nest_at_run_time(name: str, start: str) -> None:
    value, again = RECURSION.evaluate(name, DEEP), RECURSION.evaluate(name, DEEP)
    assert isinstance(value, ConstructorValue)
    assert values_equal(value, again)
    assert value == again
    assert show(value).startswith(start)
    assert len(repr(value)) < 20_000
    del value, again
    gc.collect()


def test_a_deep_list_is_an_argument() -> None:
    assert RECURSION.evaluate("sum", RECURSION.evaluate("list", DEEP)) == DEEP * (DEEP + 1) // 2
