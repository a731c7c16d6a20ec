"""Structural equality and hashing: what counts, what does not, and at any depth."""

import numpy as np
import pytest

import relay
from generators.forms import random_module
from relay.diagnostic import RelayError
from relay.ir.equal import assert_structural_equal, first_mismatch, structural_equal, structural_hash
from relay.ir.expr import (
    Call,
    Constant,
    Function,
    If,
    Let,
    Match,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    constant,
    literal,
)
from relay.ir.pattern import PatternTuple, PatternVar, PatternWildcard
from relay.ir.type import ANY, FuncType, IncompleteType, Kind, TensorType, TupleType, TypeRelation, TypeVar

T = TensorType((2, 3), "float32")


def add(x, y):
    return Call(Op.get("add"), (x, y))


def identity(name, annotation=T):
    x = Var(name, annotation)
    return Function((x,), x)


def same(a, b, **options):
    equal = structural_equal(a, b, **options)
    assert equal is structural_equal(b, a, **options)
    if equal:
        assert structural_hash(a, **options) == structural_hash(b, **options)
    return equal


def test_names_of_bound_variables_do_not_count():
    assert same(identity("x"), identity("y"))


def test_annotations_count():
    assert not same(identity("x"), identity("x", None))
    assert not same(identity("x"), identity("x", TensorType((2, 4))))


def test_spans_do_not_count():
    assert same(constant(1), constant(1))


def test_free_variables_are_equal_to_themselves_alone():
    x, y = Var("x"), Var("x")
    assert same(add(x, x), add(x, x))
    assert not same(add(x, x), add(y, y))
    assert not same(x, y)


def test_free_variables_are_paired_on_demand():
    x, y, z = Var("x", T), Var("y", T), Var("z", T)
    assert same(add(x, y), add(y, z), map_free_vars=True)
    assert not same(add(x, x), add(y, z), map_free_vars=True)
    assert not same(add(y, z), add(x, x), map_free_vars=True)
    assert not same(add(x, y), add(y, Var("w")), map_free_vars=True)


def test_a_free_variable_is_no_bound_one():
    x, y = Var("x"), Var("y")
    assert not same(Function((x,), x), Function((y,), x))


def test_sharing_counts():
    x = Var("x")
    e = add(x, x)
    shared = Function((x,), Tuple((e, e)))
    copied = Function((x,), Tuple((add(x, x), add(x, x))))
    assert same(shared, shared)
    assert not same(shared, copied)
    assert "shared on the left" in str(first_mismatch(shared, copied))
    assert "copied on the left" in str(first_mismatch(copied, shared))


def test_leaves_may_be_shared_or_copied():
    one, unit = constant(1), Tuple(())
    assert same(Tuple((one, one)), Tuple((constant(1), constant(1))))
    assert same(Tuple((unit, unit)), Tuple((Tuple(()), Tuple(()))))


def test_let_patterns_and_branches_bind():
    def program(name):
        v, p = Var(name), Var(name)
        e = Match(v, (relay.Clause(PatternTuple((PatternVar(p), PatternWildcard())), p),))
        return Let(v, Tuple((constant(1), constant(2))), If(constant(True), e, v))

    assert same(program("a"), program("b"))


def test_indices_operators_and_attributes_count():
    x = Var("x", T)
    assert not same(TupleGetItem(x, 0), TupleGetItem(x, 1))
    assert not same(relay.nn.relu(x), relay.tanh(x))
    assert same(relay.nn.leaky_relu(x, 0.1), relay.nn.leaky_relu(x, 0.1))
    assert not same(relay.nn.leaky_relu(x, 0.1), relay.nn.leaky_relu(x, 0.2))
    assert same(relay.clip(x, float("nan"), 1.0), relay.clip(x, float("nan"), 1.0))


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (constant(1), constant(1, "int64"), False),
        (constant(0.0), constant(-0.0), False),
        (constant(float("nan")), constant(float("nan")), True),
        (constant(np.array([1.0, np.nan], "float16")), constant(np.array([1.0, np.nan], "float16")), True),
        (constant(np.zeros((2, 3))), constant(np.zeros((3, 2))), False),
        (constant(np.zeros((2, 3), "int8")), constant(np.zeros((2, 3), "uint8")), False),
        (constant("a"), constant("a"), True),
        (constant(np.array(["a", "b"])), constant(np.array(["a", "c"])), False),
        (literal(1), literal(1), True),
        (literal(1), literal(1.0), False),
        (literal(1), constant(1), False),
        (Constant(np.array(5, "uint64")), literal(5), True),
    ],
)
def test_constants_are_equal_by_type_and_bits_where_nans_are_one(a, b, equal):
    assert same(a, b) is equal


def test_a_view_equals_its_copy():
    base = np.arange(12.0, dtype="float32").reshape(3, 4)
    assert same(constant(base.T), constant(base.T.copy()))
    assert same(constant(np.broadcast_to(np.float32(1), (5, 5))), constant(np.ones((5, 5), "float32")))


def test_huge_broadcast_views_are_not_filled():
    shape = (10**6, 10**6)
    a, b, c = [constant(np.broadcast_to(np.float32(v), shape)) for v in (1, 1, 2)]
    assert same(a, b)
    assert not same(a, c)


def test_every_dtype_compares():
    for dtype in relay.ir.dtype.DTYPES:
        value = "x" if dtype == "string" else True if dtype == "bool" else 1
        other = "y" if dtype == "string" else False if dtype == "bool" else 0
        assert same(
            constant(np.array([value, other], object), dtype),
            constant(np.array([value, other], object), dtype),
        )
        assert not same(
            constant(np.array([value], object), dtype), constant(np.array([other], object), dtype)
        )


def test_type_parameters_are_equal_up_to_their_names():
    def poly(name, kind=Kind.Type):
        a = TypeVar(name, kind)
        t = a if kind is Kind.Type else TensorType((a, 2 * a + 1), "float32")
        x = Var("x", t)
        return Function((x,), x, t, (a,))

    assert same(poly("a"), poly("b"))
    assert same(poly("n", Kind.Dim), poly("m", Kind.Dim))
    assert not same(poly("n", Kind.Dim), poly("n"))


def test_the_order_of_terms_in_a_dimension_does_not_count():
    def fn(first, second):
        x = Var("x", TensorType((first, second, first + second)))
        return Function((x,), x, None, (first, second))

    n, m, k, j = [TypeVar(name, Kind.Dim) for name in "nmkj"]
    assert same(fn(n, m), fn(j, k))


def test_types_compare():
    a, b = TypeVar("a"), TypeVar("b")
    assert same(FuncType([a], a, [a]), FuncType([b], b, [b]))
    assert not same(FuncType([a], a, [a]), FuncType([b], TupleType([b]), [b]))
    assert not same(a, b)
    assert same(a, b, map_free_vars=True)
    assert not same(TupleType([a, a]), TupleType([a, b]), map_free_vars=True)
    assert same(TensorType((ANY, 3)), TensorType((ANY, 3)))
    assert same(TupleType([IncompleteType()]), TupleType([IncompleteType()]))
    assert not same(IncompleteType(Kind.Dim), IncompleteType())
    assert same(TypeRelation("R", [a, a], {"k": 1}), TypeRelation("R", [a, a], {"k": 1}))
    assert not same(TypeRelation("R", [a, a], {"k": 1}), TypeRelation("R", [a, a], {"k": 2}))


def test_modules_compare_by_name():
    one, two = relay.IRModule(), relay.IRModule()
    one["f"], one["g"] = identity("x"), identity("y", None)
    two["g"], two["f"] = identity("z", None), identity("x")
    assert same(one, two)
    two["f"] = identity("x", None)
    assert str(first_mismatch(one, two)).startswith("at @f.%x.type: types")
    del two["f"]
    assert first_mismatch(one, two).reason == "only one module defines it"
    assert not same(one, one.with_attr("key", [1, {"a": None}]))


def test_the_path_leads_to_the_first_difference():
    x = Var("x")
    a = Function((x,), Let(Var("t"), constant(1), Tuple((x, add(x, constant(1))))))
    b = Function((x,), Let(Var("t"), constant(1), Tuple((x, add(x, constant(2))))))
    found = first_mismatch(a, b)
    assert found.path == "body.body.fields[1].args[1]"
    assert (found.lhs.value, found.rhs.value) == (1, 2)
    with pytest.raises(RelayError) as error:
        assert_structural_equal(a, b)
    assert error.value.codes == ("not-equal",)
    assert "body.body.fields[1].args[1]" in str(error.value)


def test_random_modules_differ_from_one_another_and_equal_themselves_printed():
    modules = [random_module(seed, 8) for seed in range(12)]
    for i, a in enumerate(modules):
        for j, b in enumerate(modules):
            assert same(a, b) is (i == j)


def chain(n, bound=True):
    x = Var("x", T)
    e = x
    variables = [x]
    if not bound:
        for _ in range(n):
            e = add(e, x)
        return Function((x,), e)
    bindings = []
    for i in range(n):
        variables.append(Var(f"x{i}"))
        bindings.append((variables[-1], add(variables[-2], x)))
    e = variables[-1]
    for v, value in reversed(bindings):
        e = Let(v, value, e)
    return Function((x,), e)


DEPTHS = pytest.mark.parametrize("depth", [5_000, pytest.param(100_000, marks=pytest.mark.long)])


@DEPTHS
@pytest.mark.parametrize("bound", [True, False])
def test_depth_does_not_matter(bound, depth):
    a, b = chain(depth, bound), chain(depth, bound)
    assert same(a, b)
    c = Function(a.params, Tuple((a.body, constant(1))))
    d = Function(b.params, Tuple((b.body, constant(2))))
    assert first_mismatch(c, d).path == "body.fields[1]"


@DEPTHS
def test_deep_types_compare(depth):
    def deep(leaf):
        t = leaf
        for _ in range(depth):
            t = TupleType([t])
        return t

    a, b = TypeVar("a"), TypeVar("b")
    assert same(deep(a), deep(b), map_free_vars=True)
    assert not same(deep(a), deep(b))


def test_floats_of_attributes_may_differ_by_a_tolerance():
    x = Var("x")
    a, b = relay.nn.leaky_relu(x, alpha=0.1), relay.nn.leaky_relu(x, alpha=0.1 + 1e-12)
    assert not relay.ir.structural_equal(a, b)
    assert structural_equal(a, b, tolerance=1e-9)
    assert not structural_equal(a, relay.nn.leaky_relu(x, alpha=0.1001), tolerance=1e-9)
