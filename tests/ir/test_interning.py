"""Types: one object for equal types, whatever their depth."""

import copy
import gc
import weakref

import numpy as np
import pytest

from relay.ir.type import (
    ANY,
    Any,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeRelation,
    TypeVar,
    scalar_type,
)


def test_equal_types_are_one_object():
    assert TensorType((1, 2), "float32") is TensorType([1, np.int64(2)], np.dtype("float32"))
    assert TensorType((1,), "f16") is TensorType((1,), "float16")
    assert TupleType([scalar_type("bool")]) is TupleType((scalar_type("bool"),))
    of_list, of_tuple = [scalar_type("bool")], (scalar_type("bool"),)
    assert TypeCall(GlobalTypeVar("L"), of_list) is TypeCall(GlobalTypeVar("L"), of_tuple)
    assert Any() is ANY


def test_parameters_and_unknowns_are_themselves_alone():
    assert TypeVar("a") is not TypeVar("a")
    assert TypeVar("a") != TypeVar("a")
    assert IncompleteType() != IncompleteType()


def test_polymorphic_function_types_are_equal_up_to_names():
    a, b = TypeVar("a"), TypeVar("b")
    left, right = FuncType((a,), a, (a,)), FuncType((b,), b, (b,))
    assert left == right
    assert hash(left) == hash(right)
    assert left != FuncType((a,), b, (a,))
    assert FuncType((left,), left) != FuncType((left,), a)


def test_parameters_count_with_kind_and_order():
    a, b, n = TypeVar("a"), TypeVar("b"), TypeVar("n", Kind.Dim)
    assert FuncType((a, b), a, (a, b)) != FuncType((a, b), a, (b, a))
    assert FuncType((TensorType((n,)),), a, (n, a)) != FuncType((a,), a, (a, n))


def test_flags_say_what_is_inside():
    a = TypeVar("a")
    assert TupleType((scalar_type("bool"),)).is_closed
    assert not RefType(TupleType((a,))).is_closed
    assert not TensorType((ANY, 2)).is_closed
    assert not FuncType((), IncompleteType()).is_closed


def test_types_are_immutable_and_copy_to_themselves():
    t = TensorType((1,))
    with pytest.raises(AttributeError):
        t.shape = (2,)
    assert copy.copy(t) is t
    assert copy.deepcopy(t) is t


@pytest.mark.parametrize("shape", [(-1,), (1.5,)])
def test_a_dimension_is_a_natural_number(shape):
    with pytest.raises(ValueError, match="dimension"):
        TensorType(shape)


def test_an_unknown_dtype_is_refused():
    with pytest.raises(ValueError, match="float33"):
        TensorType((1,), "float33")


def test_concrete_shapes_are_integers():
    assert TensorType((2, 3)).concrete_shape == (2, 3)
    with pytest.raises(ValueError, match="concrete"):
        _ = TensorType((ANY,)).concrete_shape


def test_relations_with_and_without_arguments_differ():
    assert TypeRelation("R") is not TypeRelation("R", ())
    assert TypeRelation("R", (), {"b": 1, "a": 2}) is TypeRelation("R", (), {"a": 2, "b": 1})


def test_unused_types_are_forgotten():
    ref = weakref.ref(TensorType((987654321,)))
    gc.collect()
    assert ref() is None


def test_100000_nested_types_are_built_compared_and_collected():
    def nest():
        t = TensorType((5,))
        for _ in range(100_000):
            t = TupleType((RefType(t),))
        return t

    t = nest()
    assert t is nest()
    ref = weakref.ref(t)
    del t
    gc.collect()
    assert ref() is None
