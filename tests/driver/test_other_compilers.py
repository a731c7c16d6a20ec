"""Functions that other compilers take: their code is called by the interpreter and by machine code."""

import ctypes

import numpy as np
import pytest

import relay
from relay.backend import register_compiler
from relay.diagnostic import RelayError
from relay.interpreter.regions import generators

TEXT = """
def @scaled(%x: Tensor[(3,), float32], %s: float32, Compiler="test", Primitive=1) {
  (%x * %s, %s + 1f)
}
def @main(%x: Tensor[(3,), float32], %s: float32) {
  let %r = @scaled(exp(%x), %s);
  %r.0 + %r.1
}
"""
X, S = np.asarray([0, 1, 2], "float32"), np.float32(3)
EXPECTED = np.exp(X) * S + S + 1
FLOATS = ctypes.POINTER(ctypes.POINTER(ctypes.c_float))


@pytest.fixture(autouse=True)
def own_compilers(monkeypatch):
    """What a test registers is gone afterwards."""
    kept = dict(generators)
    yield
    generators.clear()
    generators.update(kept)


def in_interpreter(text):
    mod = relay.parse(text)
    return lambda *args: mod.evaluate("main", *args)


def in_machine_code(text):
    return relay.build(relay.parse(text))


def uncached(text):
    return relay.build(relay.parse(text), cache=False)


WAYS = [in_interpreter, in_machine_code, uncached]


def in_python(calls):
    def generate(function):
        assert [str(p.type_annotation) for p in function.params] == ["Tensor[(3,), float32]", "float32"]

        def run(x, s):
            calls.append(s)
            return x * s, s + np.float32(1)

        return run

    return generate


@ctypes.CFUNCTYPE(ctypes.c_int, FLOATS, FLOATS)
def scaled(inputs, outputs):
    if inputs[1][0] < 0:
        return 2
    for i in range(3):
        outputs[0][i] = inputs[0][i] * inputs[1][0]
    outputs[1][0] = inputs[1][0] + 1
    return 0


@pytest.mark.parametrize("way", WAYS)
def test_a_function_of_python_is_called(way):
    calls = []
    register_compiler("test", in_python(calls))
    run = way(TEXT)
    np.testing.assert_allclose(run(X, S), EXPECTED, rtol=1e-6)
    np.testing.assert_allclose(run(X, S + 1), np.exp(X) * 4 + 5, rtol=1e-6)
    assert calls == [3, 4]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "code", [scaled, ctypes.cast(scaled, ctypes.c_void_p).value], ids=["function", "address"]
)
def test_a_function_of_c_is_called(way, code):
    register_compiler("test", lambda function: code)
    run = way(TEXT)
    np.testing.assert_allclose(run(X, S), EXPECTED, rtol=1e-6)
    with pytest.raises(RelayError) as failure:
        run(X, np.float32(-1))
    assert failure.value.codes == ("region-failed",)
    np.testing.assert_allclose(run(X, S), EXPECTED, rtol=1e-6)


def test_a_program_of_functions_of_c_is_called_without_conversions():
    register_compiler("test", lambda function: scaled)
    assert type(relay.build(relay.parse(TEXT))["main"]).__name__ == "builtin_function_or_method"


@pytest.mark.parametrize("way", WAYS)
def test_derivatives_are_those_of_the_body(way):
    register_compiler("test", in_python([]))
    text = TEXT.replace("@main", "@f") + "def @main(%x: Tensor[(3,), float32]) "
    text += "{ grad(fn (%x: Tensor[(3,), float32]) { sum(@f(%x, 3f)) })(%x).1.0 }"
    np.testing.assert_allclose(way(text)(X), 3 * np.exp(X), rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_vmap_are_those_of_the_body(way):
    register_compiler("test", in_python([]))
    text = TEXT.replace("@main", "@f") + "def @main(%x: Tensor[(2, 3), float32]) "
    text += "{ vmap(fn (%x: Tensor[(3,), float32]) { @f(%x, 3f) })(%x) }"
    np.testing.assert_allclose(way(text)(np.stack([X, X])), np.stack([EXPECTED, EXPECTED]), rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_a_function_inside_is_taken_too(way):
    calls = []
    register_compiler("test", lambda function: lambda x: calls.append(x) or x + x)
    run = way('def @main(%x: float32) { fn (%y: float32, Compiler="test") { %y * 2f }(%x) + 1f }')
    assert (run(np.float32(2)), len(calls)) == (5, 1)


@pytest.mark.parametrize("way", WAYS)
def test_sizes_may_be_open_for_functions_of_python(way):
    register_compiler("test", lambda function: np.negative)
    text = 'def @main(%x: Tensor[(n, 3), float32], Compiler="test") { -%x }'
    x = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(way(text)(x), -x)
    register_compiler("test", lambda function: scaled)
    with pytest.raises(RelayError, match="tensors of known sizes"):
        way(text)(x)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("code", "message"),
    [
        (lambda x, s: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda x, s: x, "a tuple of 2 fields is wanted"),
        (lambda x, s: (x.astype("float64"), s), "its dtype is float64, not float32"),
        (lambda x, s: (x[:2], s), "its axis 0 has size 2, not 3"),
    ],
)
def test_what_is_wrong_with_a_call_is_said(way, code, message):
    register_compiler("test", lambda function: code)
    with pytest.raises(RelayError) as failure:
        way(TEXT)(X, S)
    assert failure.value.codes == ("region-failed",)
    assert message in str(failure.value)
    assert "@scaled" in str(failure.value)


@pytest.mark.parametrize("way", WAYS)
def test_a_compiler_that_is_not_registered_is_an_error(way):
    register_compiler("tset", lambda function: scaled)
    with pytest.raises(RelayError) as failure:
        way(TEXT)(X, S)
    assert failure.value.codes == ("no-code-generator",)
    assert "did you mean `tset`?" in str(failure.value)


@pytest.mark.parametrize("options", [{"precision": "bf16"}, {"opt_level": 4}, {"check_nan": True}])
def test_what_a_compiler_is_given_does_not_depend_on_options(options):
    text = """
    def @f(%x: Tensor[(8, 16), float32], Compiler="test") { nn.dense(%x * 1f, %x) }
    def @main(%x: Tensor[(8, 16), float32]) { nn.relu(@f(%x)) }
    """
    bodies = []
    register_compiler("test", lambda function: bodies.append(str(function.body)) or (lambda x: x @ x.T))
    x = np.random.default_rng(0).normal(size=(8, 16)).astype("float32")
    found = relay.build(relay.parse(text), cache=False, **options)(x)
    np.testing.assert_allclose(found, np.maximum(x @ x.T, 0), rtol=1e-5)
    assert ["nn.dense(%x * 1f, %x)" in body for body in bodies] == [True]


def test_what_is_compiled_and_saved_asks_for_the_compiler_again(tmp_path):
    register_compiler("test", lambda function: scaled)
    relay.build(relay.parse(TEXT)).export_library(tmp_path / "program.rlo")
    calls = []
    register_compiler("test", in_python(calls))
    loaded = relay.load_module(tmp_path / "program.rlo")
    np.testing.assert_allclose(loaded(X, S), EXPECTED, rtol=1e-6)
    assert calls == [3]
    del generators["test"]
    with pytest.raises(RelayError, match="not registered"):
        relay.load_module(tmp_path / "program.rlo")


def test_a_c_library_says_that_it_cannot(tmp_path):
    register_compiler("test", lambda function: scaled)
    with pytest.raises(RelayError, match="what another compiler has made"):
        relay.write_library(relay.parse(TEXT), tmp_path / "program.o")
