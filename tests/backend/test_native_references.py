"""Operators without native code: compiled programs call their references in Python."""

import pickle
from collections.abc import Iterator

import numpy as np
import pytest

import relay
from relay.analysis.lints import lint
from relay.backend.native.host.native_program import NativeProgram
from relay.diagnostic import RelayError, fail
from relay.op.base import FLOATING, Operator, sample
from relay.op.family import Elementwise
from relay.op.kind import Derivative
from relay.op.registry import alias_of, builders, operator, registry


@pytest.fixture(autouse=True)
def operators() -> Iterator[None]:
    """Operators of a user, for as long as a test runs."""
    kept = [(table, dict(table)) for table in (registry, builders, alias_of)]

    @operator("test.cube")
    class _Cube(Elementwise):
        """`x ** 3`, of numbers that are not 7."""

        dtypes = FLOATING
        derivative = Derivative.PARTIALS
        samples = (sample("3x5 float32"),)

        def reference(self, np, x):
            if (x == 7).any():
                fail("divide-by-zero", "7 has no cube")
            return x * x * x

        def partials(self, y, x):
            return (relay.multiply(relay.const(3.0, "float32"), relay.multiply(x, x)),)

    @operator("test.halves")
    class _Halves(Operator):
        """The first and the second half of the rows."""

        signature = "(2 * n, m) t -> ((n, m) t, (n, m) t)"
        results = 2
        derivative = Derivative.ZERO
        samples = (sample("4x5 float32"),)

        def reference(self, np, x):
            half = x.shape[0] // 2
            return x[:half], x[half:]

    @operator("test.liar")
    class _Liar(Elementwise):
        """Twice as many numbers as its type says."""

        derivative = Derivative.ZERO
        samples = (sample("3x5 float32"),)

        def reference(self, np, x):
            return np.concatenate([x, x])

    @operator("test.broken")
    class _Broken(Elementwise):
        """Raises an exception that is not a diagnostic."""

        derivative = Derivative.ZERO
        samples = (sample("3x5 float32"),)

        def reference(self, np, x):
            raise KeyError("a fault of its author")

    yield
    for table, before in kept:
        table.clear()
        table.update(before)


X = np.arange(6, dtype="float32").reshape(2, 3) / 10


def test_values_are_those_of_the_reference_between_operators_of_machine_code():
    mod = relay.parse("def @main(%x: Tensor[(2, 3), float32]) { exp(test.cube(%x + 1.0)) - 1.0 }")
    np.testing.assert_allclose(relay.build(mod)(X), np.exp((X + 1) ** 3) - 1, rtol=1e-5)
    assert relay.build(relay.parse("def @main(%x: float32) { test.cube(%x) }"))(np.float32(2)) == 8


def test_shapes_may_be_open_and_results_tuples():
    mod = relay.parse("def @main(%x: Tensor[(2 * n, m), float32]) { let %p = test.halves(%x); %p.0 - %p.1 }")
    f = relay.build(mod)
    assert f(X).tolist() == (X[:1] - X[1:]).tolist()
    assert f(np.ones((4, 1), "float32")).shape == (2, 1)
    with pytest.raises(RelayError) as found:
        f(np.ones((3, 3), "float32"))
    assert found.value.codes == ("shape-check",)


def test_a_failure_of_the_reference_is_the_diagnostic_of_the_call():
    mod = relay.parse("def @main(%x: Tensor[(n,), float32]) { test.cube(%x) }", "cube.relay")
    f = relay.build(mod)
    for _ in range(3):
        with pytest.raises(RelayError) as found:
            f(np.float32([1, 7]))
        (diagnostic,) = found.value.diagnostics
        assert diagnostic.code == "divide-by-zero"
        assert diagnostic.span is not None
        assert f(np.float32([1, 2])).tolist() == [1, 8]


def test_a_result_that_is_not_of_the_inferred_type_is_refused():
    with pytest.raises(RelayError) as found:
        relay.build(relay.parse("def @main(%x: Tensor[(2, 3), float32]) { test.liar(%x) }"))(X)
    assert found.value.codes == ("argument-type",)
    assert "test.liar" in str(found.value)


def test_what_python_raises_comes_through():
    with pytest.raises(KeyError, match="a fault of its author"):
        relay.build(relay.parse("def @main(%x: Tensor[(2, 3), float32]) { test.broken(%x) }"))(X)


def test_derivatives_are_compiled():
    mod = relay.parse("""
        def @f(%x: float32) { test.cube(%x) }
        def @main(%x: float32) { grad(@f)(%x).1.0 }
    """)
    assert relay.build(mod)(np.float32(2)) == 12


def test_loops_and_branches_call_it_as_often_as_they_say():
    mod = relay.parse("""
        def @main(%x: float32, %n: int32) -> float32 {
          if (%n > 0) { @main(test.cube(%x) / 2.0, %n - 1) } else { %x }
        }
    """)
    assert relay.build(mod)(np.float32(2), np.int32(2)) == 32


def test_a_stored_program_knows_its_operators():
    from relay.backend.native.host.compiler import Compiler
    from relay.backend.native.host.signature import signature_from_json

    mod = relay.parse("def @main(%x: Tensor[(n,), float32]) { test.cube(%x) }")
    made = Compiler(mod).artefact()
    stored = pickle.loads(pickle.dumps(made.signature.to_json()))
    loaded = NativeProgram.of(
        type(made)(signature_from_json(stored), made.codes, made.constants, made.features)
    )
    assert loaded(np.float32([2, 3])).tolist() == [8, 27]


def test_an_operator_that_is_registered_again_is_the_new_one():
    text = "def @main(%x: float32) { test.broken(%x) }"
    assert [d.code for d in lint(relay.infer(relay.parse(text)))] == ["python-operator"]

    @operator("test.broken")
    class _Mended(Elementwise):
        """`x * x`."""

        derivative = Derivative.ZERO
        samples = (sample("3x5 float32"),)

        def reference(self, np, x):
            return x * x

        def native(self, b, x):
            return b.multiply(x, x)

    mod = relay.infer(relay.parse(text))
    assert lint(mod) == []
    assert relay.build(mod)(np.float32(3)) == 9


def test_a_note_says_which_operators_python_computes():
    mod = relay.infer(relay.parse("def @main(%x: float32) { test.cube(test.cube(tanh(%x))) }"))
    assert [(d.code, d.severity) for d in lint(mod)] == [("python-operator", "note")]
    assert "`test.cube`" in lint(mod)[0].message
