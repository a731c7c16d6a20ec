"""`vmap` of a number of rows that is given."""

import numpy as np
import pytest

import relay


@pytest.mark.parametrize("run", [lambda f: f, relay.compile], ids=["interpreted", "compiled"])
def test_no_argument_has_rows(run):
    f = relay.vmap(lambda x: (x * 2.0).sum(), in_axes=None, axis_size=3)
    np.testing.assert_array_equal(run(f)(np.ones(2, "float32")), np.full(3, 4, "float32"))
    key = relay.vmap(lambda x, y: x + y, (None, 0), axis_size=2)
    np.testing.assert_array_equal(run(key)(np.float32(1), np.array([1, 2], "float32")), [2, 3])
    inner = relay.vmap(lambda x: relay.vmap(lambda: x * x, axis_size=2)())
    np.testing.assert_array_equal(run(inner)(np.array([1, 3], "float32")), [[1, 1], [9, 9]])


def test_a_size_that_is_none_is_reported():
    for size in (True, 1.5, "3"):
        with pytest.raises(relay.RelayError, match="attribute-type"):
            relay.vmap(abs, None, axis_size=size)
    with pytest.raises(relay.RelayError, match="batch-size"):
        relay.vmap(lambda x: x, axis_size=2)(np.ones(3))
    with pytest.raises(relay.RelayError, match="at least 0"):
        relay.vmap(lambda x: x, None, axis_size=-1)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("vmap(fn (%a) { sum(%a) }, in_axes=None)<3>(%x)", [4, 4, 4]),
        ("vmap(fn (%a) { sum(%a) }, in_axes=None)<n>(%x)", [4, 4, 4, 4]),
        ("vmap(fn () { sum(%x) })<2>()", [4, 4]),
    ],
)
def test_in_text_the_call_has_the_size(body, wanted):
    mod = relay.parse(f"def @main<n: Dim>(%x: Tensor[(n,), float32]) {{ {body} }}")
    x = np.ones(4, "float32")
    for found in (relay.run(mod, "main", [x]), relay.build(mod)(x)):
        np.testing.assert_array_equal(found, wanted)
    mod = relay.parse(str(relay.infer(mod)))
    np.testing.assert_array_equal(relay.run(mod, "main", [x]), wanted)


def test_a_size_that_an_argument_has_not_is_reported():
    text = "def @main(%x: Tensor[(4,), float32]) { vmap(fn (%a) { %a })<3>(%x) }"
    with pytest.raises(relay.RelayError):
        relay.infer(relay.parse(text))
