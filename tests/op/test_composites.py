"""Composite operators: their decompositions have the same types and values as what they say themselves."""

import numpy as np
import pytest

from op.concrete import Concrete, decomposed, infer
from op.operands import operands_of
from relay.ir.type import Kind, TensorType, Type, TypeVar
from relay.op.base import array_type, instance, registry
from relay.op.composite import Composite

COMPOSITES = sorted(name for name, cls in registry.items() if issubclass(cls, Composite))


@pytest.mark.parametrize("name", COMPOSITES)
def test_the_decomposition_has_the_value(name: str) -> None:
    for s in registry[name].samples:
        operands = operands_of(s)
        found = instance(name, s.attrs).evaluate(*operands)
        want = decomposed(name, *operands, **s.attrs)
        for a, b in zip(fields(found), fields(want), strict=True):
            assert array_type(a) is array_type(b), s
            tolerance = 5e-3 if a.dtype.itemsize == 2 else 1e-5
            np.testing.assert_allclose(
                np.asarray(a, "float64"),
                np.asarray(b, "float64"),
                rtol=tolerance,
                atol=tolerance,
                err_msg=str(s),
            )


def fields(value: object) -> tuple:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("name", COMPOSITES)
def test_the_decomposition_has_the_type_symbolic_sizes_included(name: str) -> None:
    for s in registry[name].samples:
        types = [array_type(x) for x in operands_of(s)]
        for given in (types, symbolic(types)):
            t = Concrete()
            found = t.resolve(Composite.infer(instance(name, s.attrs), t, *given))
            assert found is infer(name, *given, **s.attrs), s


def symbolic(types: list[Type]) -> list[Type]:
    """The same types with a variable for each size but 0 and 1."""
    sizes: dict[int, TypeVar] = {}

    def size(d: int) -> int | TypeVar:
        return d if d < 2 else sizes.setdefault(d, TypeVar(f"n{d}", Kind.Dim))

    return [
        TensorType([size(d) for d in t.concrete_shape], t.dtype) for t in types if isinstance(t, TensorType)
    ]
