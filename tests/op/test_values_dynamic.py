"""Operators whose shapes are operands, against NumPy."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.diagnostic import RelayError


def value(text: str, *arrays: Any) -> Any:
    mod = relay.infer(relay.parse(f"def @main(%x, %s: Tensor[({len(arrays[1])},), int64]) {{ {text} }}"))
    return relay.create_executor("debug", mod=mod).evaluate()(*arrays)


X = np.arange(12, dtype="float32").reshape(3, 4)


@pytest.mark.parametrize("shape", [(12,), (2, -1), (0, 2, 2), (6, 2, 1), (-1, 0)])
def test_reshape(shape: tuple[int, ...]) -> None:
    copied = [X.shape[i] if d == 0 else d for i, d in enumerate(shape)]
    np.testing.assert_array_equal(value("dyn.reshape(%x, %s)", X, np.array(shape)), X.reshape(copied))


@pytest.mark.parametrize("shape", [(5,), (-1, -1), (5, -1), (-2, 6), (0, 0, 0)])
def test_a_shape_of_other_size_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(RelayError) as error:
        value("dyn.reshape(%x, %s)", X, np.array(shape))
    assert error.value.codes == ("reshape-size",)


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (0, 3, 4), (5, 1, 3, 4)])
def test_broadcast_to(shape: tuple[int, ...]) -> None:
    found = value("dyn.broadcast_to(%x, %s)", X, np.array(shape))
    np.testing.assert_array_equal(found, np.broadcast_to(X, shape))


@pytest.mark.parametrize("shape", [(1, 4), (3, 5), (-1, 3, 4)])
def test_a_shape_that_it_does_not_stretch_to_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(RelayError) as error:
        value("dyn.broadcast_to(%x, %s)", X, np.array(shape))
    assert error.value.codes == ("broadcast-mismatch",)


def test_known_shapes_become_attributes() -> None:
    from relay.transform.passes.static_shapes import dynamic_to_static

    mod = relay.parse("""
def @main(%x: Tensor[(3, 4), float32]) {
  (dyn.reshape(%x, [2, -1]), dyn.broadcast_to(%x, [2, 3, 4]))
}""")
    text = str(dynamic_to_static(relay.infer(mod)))
    assert "reshape(%x, newshape=(2, -1))" in text
    assert "broadcast_to(%x, shape=(2, 3, 4))" in text
    assert "dyn." not in text


@pytest.mark.parametrize("scale", [0.5, 1.5, 2.5])
def test_scales_that_are_operands_give_the_sizes_of_attributes(scale: float) -> None:
    """Halves are rounded up: 5 elements are 3, 8 and 13."""
    x = np.arange(5, dtype="float32").reshape(1, 1, 1, 5)
    fixed = relay.Function([a := relay.var("a", shape=x.shape)], relay.nn.upsampling(a, 1.0, scale))
    s = relay.var("s", shape=())
    free = relay.Function([a, s], relay.dyn.nn.upsampling(a, relay.const(1.0), s))
    run = relay.create_executor("debug")
    wanted, found = run.evaluate(fixed)(x), run.evaluate(free)(x, np.float32(scale))
    assert wanted.shape[3] == int(5 * scale + 0.5)
    np.testing.assert_array_equal(found, wanted)
