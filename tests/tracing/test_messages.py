"""Diagnostics of the Python API for the habits of users of NumPy, PyTorch and JAX."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay
from relay import nn, optim, training
from relay.op.namespace import find
from relay.op.registry import builders
from relay.tracing.value import TracedValue

X = np.ones((2, 2), "float32")
METHODS = ["astype", "transpose", "flatten", "ravel", "squeeze", "sum", "prod", "mean", "std", "var", "max",
           "min", "all", "any", "argmax", "argmin", "reshape"]  # fmt: skip


def refused(f: Callable[[Any], Any]) -> str:
    """Return the diagnostic of a traced function."""
    with pytest.raises(relay.RelayError) as caught:
        relay.function(f)(X)
    return str(caught.value)


@pytest.mark.parametrize("path", sorted(builders))
def test_operators_refuse_unknown_keywords_with_a_diagnostic(path: str) -> None:
    build: Any = find(path)
    if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(build).parameters.values()):
        pytest.skip("it takes any keyword")
    with pytest.raises(relay.RelayError, match=r"has no (argument|attribute) `no_such_keyword`"):
        build(no_such_keyword=1)


@pytest.mark.parametrize("name", METHODS)
def test_methods_refuse_unknown_keywords_with_a_diagnostic(name: str) -> None:
    assert hasattr(TracedValue, name)
    assert "`x." in refused(lambda x: getattr(x, name)(no_such_keyword=1))


@pytest.mark.parametrize(
    ("f", "message", "hint"),
    [
        (lambda x: x.sum(dim=1), "`x.sum` has no argument `dim`", "here it is `axis`"),
        (lambda x: x.mean(1, keepdim=True), "no argument `keepdim`", "did you mean `keepdims`?"),
        (lambda x: relay.nn.softmax(x, dim=1), "no argument `dim`", "here it is `axis`"),
        (lambda x: x.reshape(shape=(3, 2)), "`x.reshape` takes `shape` by position", "leave `shape=` out"),
        (lambda x: x.sum(1, True, 3), "too many positional", "its arguments are axis, keepdims"),
        (lambda x: np.sum(x), "`numpy.sum` cannot", "`relay.sum(x)` is the operator"),
        (lambda x: np.add.reduce(x), "`numpy.add` cannot", "`relay.add"),
        (lambda x: np.dot(x, x), "`numpy.dot` cannot", "`relay.numpy.dot`"),
        (
            lambda x: relay.random.uniform(relay.random.threefry_key(0), 0.0, 1.0, shape=(2,)),
            "multiple values for argument 'shape'",
            "its arguments are key, shape, dtype, low, high",
        ),
    ],
)
def test_other_libraries_arguments_have_hints(f: Any, message: str, hint: str) -> None:
    text = refused(f)
    assert message in text
    assert hint in text


@pytest.mark.parametrize(
    ("module", "name", "near"),
    [
        (relay, "jit", "relay.compile"),
        (relay, "tensor", "relay.const"),
        (relay, "view", "relay.reshape"),
        (nn, "linear", "relay.nn.dense"),
        (optim, "Adam", "adam"),
        (optim, "SGD", "sgd"),
        (training, "kaiming_normal_", "kaiming_normal"),
    ],
)
def test_names_of_other_libraries_have_a_near_one(module: Any, name: str, near: str) -> None:
    with pytest.raises(AttributeError, match=rf"did you mean `{near}`\?"):
        getattr(module, name)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("def @main(%x: float32) { y = %x + 1.0; %x }", "`let %y = e;`"),
        ("def @f(%x: float32) { %x * %x }\ndef @main(%x: float32) { %x - 0.1 * grad(@f)(%x) }", "`e.1.0`"),
    ],
)
def test_texts_have_hints(text: str, hint: str) -> None:
    with pytest.raises(relay.RelayError) as caught:
        relay.infer(relay.parse(text))
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("view", "reshape"),
        ("unsqueeze", "expand_dims"),
        ("detach", "stop_gradient"),
        ("permute", "transpose"),
    ],
)
def test_methods_of_other_libraries_have_an_operator(name: str, near: str) -> None:
    with pytest.raises(AttributeError, match=rf"relay.{near}\(x\) is an operator"):
        relay.function(lambda x: getattr(x, name))(X)


def test_the_hint_for_a_number_as_a_key_leads_to_dropout() -> None:
    text = "def @main(%x: Tensor[(64,), float32]) { nn.dropout(%x, 1, rate=0.5).0 }"
    with pytest.raises(relay.RelayError) as caught:
        relay.infer(relay.parse(text))
    assert "random.threefry_key(1), rate=…" in caught.value.diagnostics[0].hint
    mod = relay.parse(text.replace("1, rate", "random.threefry_key(1), rate"))
    assert 0 < np.count_nonzero(relay.create_executor("debug", mod).evaluate()(np.ones(64, "float32"))) < 64
