"""Why programs are not computed as a whole, and what fails is the diagnostic of the interpreter."""

import sys
from typing import Any

import numpy as np
import pytest

import relay
from backend.xla.near import assert_near
from relay.interpreter.value import ConstructorValue
from relay.op.base import sample
from relay.op.family import Elementwise
from relay.op.kind import Derivative
from relay.op.registry import alias_of, builders, operator, registry

pytestmark = pytest.mark.extras
pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

LISTS = "type List { Nil, Cons(int32, List) }\n"
FIB = "def @fib(%n: int32) -> int32 { if (%n < 2) { %n } else { @fib(%n - 1) + @fib(%n - 2) } }\n"
NESTED = "".join([f"if (%x > {i}f) {{ " for i in range(40)]) + "%x" + " } else { 0f }" * 40


@pytest.mark.parametrize(
    ("text", "args", "reason"),
    [
        (
            FIB + "def @main(%n: int32) { @fib(%n) }",
            (10,),
            "`@fib` calls itself, depending on what is computed",
        ),
        ("def @main(%x: float32) { fn() { %x } }", (3.0,), "it gives functions to the outside"),
        ("def @main(%f: fn(int32) -> int32) { %f(2) }", (abs,), "it takes functions from outside"),
        (
            LISTS + "def @main(%n: int32) { if (%n > 1) { Nil } else { Cons(%n, Nil) } }",
            (3,),
            "branches on a computed value give data of different structure",
        ),
        (
            LISTS + """def @go(%n: int32, %l: List) -> List {
              if (%n == 0) { %l } else { @go(%n - 1, Cons(%n, %l)) }
            }
            def @main(%n: int32) { @go(%n, Nil) }""",
            (3,),
            "a loop changes the structure or the shapes of what it computes with",
        ),
        (
            """def @go(%n: int32, %f: fn(int32) -> int32) -> int32 {
              if (%n == 0) { %f(1) } else { @go(%n - 1, fn(%x) { %f(%x) + 1 }) }
            }
            def @main(%n: int32) { @go(%n, fn(%x) { %x }) }""",
            (3,),
            "a loop changes the structure or the shapes of what it computes with",
        ),
        (
            "def @main(%n: int32) { arange(0, %n, 1, dtype=int32) }",
            (3,),
            "`arange`: values decide the shape of the result",
        ),
        ('def @main(%x: float32) { trace("x", %x) }', (3.0,), "`trace`: it has an effect"),
        (f"def @main(%x: float32) {{ {NESTED} }}", (3.0,), "branches on computed values nest deeper than 32"),
        (
            "def @main(%n: int32) { let %r = ref(1); if (%n > 1) { (%r, ref(2)) } else { (ref(3), %r) }; 2 }",
            (3,),
            "",
        ),
    ],
)  # fmt: skip
def test_what_is_not_computed_as_a_whole_has_a_reason(text: str, args: Any, reason: str) -> None:
    mod = relay.infer(relay.parse(text))
    built = relay.build(mod, "xla")
    assert str(built.report()) == "@main: not called yet"
    found = built(*args)
    assert built.by_name["main"].not_whole == reason
    assert_near(found, relay.create_executor("debug", mod).evaluate()(*args))
    if reason:
        assert str(built.report()).startswith(f"@main: in segments, since {reason}")


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ("def @main(%x: int32, %y: int32) { %x / %y }", (6, 2), (6, 0)),
        ("def @main(%x: int32, %n: int32) { if (%n > 1) { %x / (%n - 2) } else { %x } }", (6, 0), (6, 2)),
        (
            """def @go(%n: int32, %a: int32) -> int32 {
              if (%n == -3) { %a } else { @go(%n - 1, %a + 6 / %n) }
            }
            def @main(%n: int32, %a: int32) { @go(%n, %a) }""",
            (-1, 5),
            (3, 5),
        ),
        ('def @main(%x: int32, %y: int32) { assert(%x < %y, "in order"); %x }', (1, 2), (3, 2)),
        (
            'def @main(%x: Tensor[(?,), int32], %y: int32) { take(%x, %y, mode="fast") }',
            ([1, 2], 1),
            ([1, 2], 5),
        ),
        (
            """def @main(%x: Tensor[(?,), int32], %y: Tensor[(?,), int32]) {
              let %z: Tensor[(2,), int32] = %x;
              %y + %z
            }""",
            ([1, 2], [3, 4]),
            ([1, 2, 3], [3, 4]),
        ),
        (
            "type List { Nil, Cons(int32, List) }\n"
            "def @main(%x: int32, %y: int32) { match? (Cons(%x, Nil)) { Nil => %x } }",
            None,
            (1, 2),
        ),
    ],
)  # fmt: skip
def test_what_fails_is_the_diagnostic_of_the_interpreter(text: str, good: Any, bad: Any) -> None:
    mod = relay.infer(relay.parse(text))
    built, interpreted = relay.build(mod, "xla"), relay.create_executor("debug", mod).evaluate()
    if good is not None:
        assert_near(built(*good), interpreted(*good))
        assert not built.by_name["main"].not_whole
    with pytest.raises(relay.RelayError) as wanted:
        interpreted(*bad)
    with pytest.raises(relay.RelayError) as found:
        built(*bad)
    assert str(found.value) == str(wanted.value)


def test_checks_for_nan_are_those_of_the_interpreter() -> None:
    built = relay.build(relay.parse("def @main(%x: float32) { log(%x) * 2f }"), "xla", check_nan=True)
    assert built(1.0) == 0
    assert not built.by_name["main"].not_whole
    with pytest.raises(relay.RelayError, match="`log` makes a NaN"):
        built(-1.0)


def test_a_definition_is_compiled_for_a_few_structures_of_its_arguments() -> None:
    total = "def @sum(%l: List) -> int32 { match (%l) { Nil => 0, Cons(%h, %t) => %h + @sum(%t) } }"
    text = f"{LISTS}\n{total}\ndef @main(%l: List) {{ @sum(%l) }}"
    built = relay.build(relay.parse(text), "xla")
    nil, cons = relay.parse(text).type_definitions[relay.GlobalTypeVar("List")].constructors
    value = ConstructorValue(nil)
    for n in range(20):
        assert built(value) == sum(range(n))
        value = ConstructorValue(cons, (np.int32(n), value))
    assert built.by_name["main"].not_whole == "it is compiled for 16 structures of its arguments already"


def test_a_call_near_the_end_of_pythons_stack_runs_in_segments() -> None:
    nested = "".join([f"if (%x > {i}f) {{ " for i in range(30)]) + "%x" + " } else { 0f }" * 30
    built = relay.build(relay.parse(f"def @main(%x: float32) {{ {nested} }}"), "xla")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(250)
    try:
        assert built(31.0) == 31
    finally:
        sys.setrecursionlimit(limit)
    assert built.by_name["main"].not_whole.startswith("branches on computed values nest deeper")


def test_what_is_refused_for_some_shapes_is_not_traced_for_ever_more() -> None:
    text = """def @main(%n: int32, %x: Tensor[(m,), float32]) -> Tensor[(m,), float32] {
      if (%n == 0) { %x } else { tanh(@main(%n - 1, %x)) }
    }"""
    built = relay.build(relay.parse(text), "xla")
    whole = built.by_name["main"].whole
    for size in range(1, 8):
        assert_near(built(2, np.ones(size, "float32")), np.tanh(np.tanh(np.ones(size, "float32"))))
    (by_shape,) = whole.refused.values()
    assert len(by_shape) == 4


def test_a_users_operator_for_numpy_alone_is_the_hosts() -> None:
    kept = [(table, dict(table)) for table in (registry, builders, alias_of)]

    @operator("test.copied")
    class Copied(Elementwise):
        """The operand, by a reference that NumPy alone runs."""

        derivative = Derivative.ZERO
        samples = (sample("3 float32"),)

        def reference(self, np: Any, x: Any) -> Any:
            y = x.copy()
            y[...] = x
            return y

    try:
        x = relay.var("x", shape=(100,), dtype="float32")
        built = relay.build(relay.Function([x], relay.tanh(Copied()(relay.exp(x)))), "xla")
        found = built(np.zeros(100, "float32"))
    finally:
        for table, before in kept:
            table.clear()
            table.update(before)
    np.testing.assert_allclose(found, np.full(100, np.tanh(1)), rtol=1e-5)
    assert list(built.report().host) == ["test.copied"]
