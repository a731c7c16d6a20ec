"""What holds for every registered operator: types and values agree, examples are true, text goes round."""

import numpy as np
import pytest

from op.concrete import fits, infer
from op.operands import operands_of, samples_of
from relay.op.base import Derivative, array_type, builders, instance, registry, unboxed

NAMES = sorted(registry)


@pytest.mark.parametrize("name", NAMES)
def test_inferred_type_is_that_of_the_computed_value(name: str) -> None:
    cls = registry[name]
    for s in samples_of(cls):
        operands = operands_of(s)
        value = instance(name, s.attrs).evaluate(*operands)
        inferred = infer(name, *[array_type(x) for x in operands], **s.attrs)
        assert fits(array_type(value), inferred), f"{s}: inferred {inferred!r}, computed {array_type(value)!r}"
        assert value is unboxed(value) or isinstance(value, tuple)


@pytest.mark.parametrize("name", NAMES)
def test_what_an_evaluator_compiles_gives_the_same_value(name: str) -> None:
    for s in registry[name].samples:
        operands = operands_of(s)
        op = instance(name, s.attrs)
        with np.errstate(all="ignore"):
            found = op.compile_reference([array_type(x) for x in operands])(*operands)
        assert same(found, op.evaluate(*operands)), s


def same(a: object, b: object) -> bool:
    """Whether two values are the same, type and bits; NaN is itself."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and array_type(a) is array_type(b) \
        and np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_has_samples_a_docstring_and_says_how_it_is_differentiated(name: str) -> None:
    cls = registry[name]
    assert cls.samples
    assert cls.__doc__
    assert "relay> " in cls.__doc__
    assert isinstance(cls.derivative, Derivative)
    assert name in builders
