"""Groups of a program that are alike are compiled once."""

import numpy as np
import pytest

import relay
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.host.native_program import NativeProgram
from relay.interpreter.machine import Interpreter


def layers(count: int) -> relay.IRModule:
    """Dense layers of one shape, each with weights of its own."""
    rng = np.random.default_rng(0)
    first = relay.var("x", shape=(2, 8), dtype="float32")
    body = first
    for _ in range(count):
        w, b = rng.standard_normal((8, 8)).astype("float32"), rng.standard_normal(8).astype("float32")
        body = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(body, relay.const(w)), relay.const(b)))
    return relay.IRModule.from_expr(relay.Function([first], body))


def test_layers_of_one_shape_share_their_code() -> None:
    made = Compiler(layers(5)).program
    assert len(made.groups) == 2  # the last layer may write to an array of the caller's
    assert len(made.constants) == 10


def test_operators_that_recur_share_their_code() -> None:
    lines = [f"let %x{i + 1} = sort(%x{i}, axis={i % 2});" for i in range(6)]
    mod = relay.parse(f"def @main(%x0: Tensor[(3, 64), float32]) {{ {' '.join(lines)} %x6 }}")
    assert len(Compiler(mod).program.groups) == 3  # the last one may write to an array of the caller's
    x = np.random.default_rng(2).standard_normal((3, 64)).astype("float32")
    np.testing.assert_allclose(NativeProgram(mod)(x), Interpreter(mod).evaluate("main", x), rtol=1e-6)


@pytest.mark.parametrize("count", [100, 400])
def test_groups_that_differ_in_numbers_share_their_code(count: int) -> None:
    lines = ", ".join([f"tanh(%x * {i + 1}f)" for i in range(count)])
    mod = relay.parse(f"def @main(%x: Tensor[(4, 8), float32]) {{ concatenate(({lines}), axis=0) }}")
    # tanh, a product and tanh, 64 parts joined, the rest of the parts joined, and the parts of these.
    assert len(Compiler(mod).program.groups) <= 5
    x = np.random.default_rng(3).standard_normal((4, 8)).astype("float32")
    wanted = np.concatenate([np.tanh(x * np.float32(i + 1)) for i in range(count)])
    np.testing.assert_allclose(NativeProgram(mod)(x), wanted, rtol=1e-6)


def test_each_layer_has_weights_of_its_own() -> None:
    mod, x = layers(5), np.random.default_rng(1).standard_normal((2, 8)).astype("float32")
    wanted = Interpreter(mod).evaluate("main", x)
    np.testing.assert_allclose(NativeProgram(mod)(x), wanted, rtol=1e-5, atol=1e-5)


def test_groups_that_compute_different_things_do_not_share() -> None:
    text = "def @main(%x: Tensor[(3,), float32]) {{ (atan2(%x, {0}), atan2(nn.softmax(%x), {1})) }}"
    x = np.zeros(3, "float32")
    for a, b in (("0f", "-0f"), ("1f", "2f")):
        found = NativeProgram(relay.parse(text.format(a, b)))(x)
        wanted = (
            np.arctan2(x, np.float32(a[:-1])),
            np.arctan2(np.full(3, 1 / 3, "float32"), np.float32(b[:-1])),
        )
        for y, z in zip(found, wanted, strict=True):
            np.testing.assert_allclose(y, z, rtol=1e-6)


def test_groups_that_may_fail_say_where() -> None:
    text = """def @main(%x: Tensor[(4,), int32], %i: Tensor[(4,), int32], %k: Tensor[(4,), int32]) {
  let %y = cumsum(floor_divide(%x, %i));
  let %z = cumsum(floor_divide(%x, %k));
  (%y, %z)
}"""
    f = NativeProgram(relay.parse(text))
    good, bad = np.asarray([1, 2, 3, 4], "int32"), np.asarray([1, 0, 3, 4], "int32")
    lines: list[int] = []
    for i, k in ((bad, good), (good, bad)):
        with pytest.raises(relay.RelayError) as raised:
            f(good, i, k)
        span = raised.value.diagnostics[0].span
        assert span is not None
        lines.append(span.line)
    assert lines == [2, 3]


def test_long_definitions_are_cut() -> None:
    x, y = relay.var("x", shape=(2, 3), dtype="float32"), relay.var("y", shape=(3, 2), dtype="float32")
    body: relay.Expr = x
    halves: list[relay.Expr] = []
    for i in range(600):
        body = relay.nn.matmul(relay.nn.matmul(body, y) * relay.const(0.25), x)
        if i % 100 == 0:
            halves.append(body)
    mod = relay.IRModule.from_expr(relay.Function([x, y], relay.Tuple([*halves, body])))
    made = Compiler(mod).program.mod
    assert sum("part" in v.name_hint for v in made.functions) > 4
    a, b = np.eye(2, 3, dtype="float32"), np.full((3, 2), 0.5, "float32")
    for found, wanted in zip(NativeProgram(mod)(a, b), Interpreter(mod).evaluate("main", a, b), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_pieces_of_long_definitions_find_constants() -> None:
    mod = layers(500)
    x = np.ones((2, 8), "float32")
    np.testing.assert_allclose(NativeProgram(mod)(x), Interpreter(mod).evaluate("main", x), rtol=1e-3)


def test_a_long_definition_of_numbers_and_references_keeps_its_order() -> None:
    lines = [
        f"  ref_write(%r, ref_read(%r) * 3i64 + {i % 7}i64);\n  let %v{i} = ref_read(%r);" for i in range(500)
    ]
    whole = "\n".join(["  let %r = ref(%n);", *lines, "  (ref_read(%r), %v3, %v499)"])
    text = f"def @main(%n: int64) {{\n{whole}\n}}"
    mod = relay.parse(text)
    assert any("part" in v.name_hint for v in Compiler(mod).program.mod.functions)
    assert NativeProgram(mod)(1) == tuple(Interpreter(mod).evaluate("main", 1))
