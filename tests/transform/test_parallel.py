"""Calls side by side become one, where the block evaluates them all and none depends on another."""

import numpy as np
import pytest

from relay.interpreter.machine import Interpreter
from relay.ir.module import IRModule
from relay.text.api import parse
from relay.transform.passes.parallel_batch_matmul import combine_parallel_batch_matmul
from relay.transform.passes.parallel_conv2d import combine_parallel_conv2d
from relay.transform.passes.parallel_dense import combine_parallel_dense
from relay.transform.passes.parallel_rows import combine_rows
from relay.transform.passes.to_anf import to_anf
from relay.transform.rewriting.forms import ANF
from relay.typecheck.infer import infer
from transform.cases import verified

CONV = (
    "%x: Tensor[(1, 4, 6, 6), float32], %v: Tensor[(2, 4, 3, 3), float32], %w: Tensor[(3, 4, 3, 3), float32]"
)
NHWC = (
    "%x: Tensor[(1, 6, 6, 4), float32], %v: Tensor[(3, 3, 4, 2), float32], %w: Tensor[(3, 3, 4, 3), float32]"
)
DENSE = "%x: Tensor[(5, 4), float32], %v: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]"
STACK = "%x: Tensor[(2, 5, 4), float32], %v: Tensor[(2, 2, 4), float32], %w: Tensor[(2, 3, 4), float32]"
TO_NCHW = 'data_layout="NHWC", kernel_layout="HWIO", out_layout="NCHW"'
AS_NHWC = 'data_layout="NHWC", kernel_layout="HWIO"'


def conv(mod: IRModule) -> IRModule:
    return combine_parallel_conv2d(mod, min_num_branches=2)


def dense(mod: IRModule) -> IRModule:
    return combine_parallel_dense(mod, min_num_branches=2, to_batch=False)


def stacked(mod: IRModule) -> IRModule:
    return combine_parallel_dense(mod, min_num_branches=2)


def products(mod: IRModule) -> IRModule:
    return combine_parallel_batch_matmul(mod, min_num_branches=2)


PAIR = "(nn.conv2d(%y, %v), nn.conv2d(%y, %w))"
JOINED = [
    (conv, CONV, "(nn.conv2d(%x, %v), nn.conv2d(%x, %w))", "nn.conv2d(", 1),
    (
        conv,
        CONV,
        "(nn.conv2d(%x, %v), nn.conv2d(%x, %w, channels=3), nn.conv2d(%x, %w, strides=2))",
        "nn.conv2d(",
        2,
    ),
    (conv, NHWC, f"(nn.conv2d(%x, %v, {AS_NHWC}), nn.conv2d(%x, %w, {AS_NHWC}))", "nn.conv2d(", 1),
    (conv, NHWC, f"(nn.conv2d(%x, %v, {TO_NCHW}), nn.conv2d(%x, %w, {TO_NCHW}))", "nn.conv2d(", 1),
    (
        conv,
        CONV,
        "let %a = nn.conv2d(%x, %v); let %u = tanh(%w); let %b = nn.conv2d(%x, %u); (nn.relu(%a), %b)",
        "nn.conv2d(",
        1,
    ),
    (conv, CONV, f"let %y = nn.relu(%x); if (any(%x > 0.0)) {{ {PAIR} }} else {{ {PAIR} }}", "nn.conv2d(", 2),
    (conv, CONV, f"fn (%y: Tensor[(1, 4, 6, 6), float32]) {{ {PAIR} }}(%x)", "nn.conv2d(", 1),
    (dense, DENSE, "(nn.dense(%x, %v), nn.dense(%x, %w), nn.dense(%x, %v + 1.0))", "nn.dense(", 1),
    (stacked, DENSE, "(nn.dense(%x, %v), nn.dense(%x, %w), nn.dense(%x, %v + 1.0))", "nn.dense(", 1),
    (stacked, DENSE, "(nn.dense(%x, %v, units=2), nn.dense(%x, tanh(%v)))", "nn.dense(", 0),
    (products, STACK, "(nn.batch_matmul(%x, %v), nn.batch_matmul(%x, %w))", "nn.batch_matmul(", 1),
    (
        products,
        STACK,
        "(nn.batch_matmul(%x, transpose(%v, axes=(0, 2, 1)), transpose_b=False), "
        "nn.batch_matmul(%x, transpose(%w, axes=(0, 2, 1)), transpose_b=False))",
        "nn.batch_matmul(",
        1,
    ),
    (
        dense,
        DENSE,
        "let %a = nn.dense(%x, %v); let %b = nn.dense(%x, %w); let %p = nn.relu(%a); "
        "(nn.dense(%p, ones(shape=(3, 2), dtype=f32)), nn.dense(%p, zeros(shape=(1, 2), dtype=f32)), %b)",
        "nn.dense(",
        2,
    ),
]
ALONE = [
    (conv, CONV, "(nn.conv2d(%x, %v), nn.conv2d(nn.relu(%x), %w))"),
    (conv, CONV, "(nn.conv2d(%x, %v), nn.conv2d(%x, %w, padding=(1, 1)))"),
    (conv, CONV, "if (any(%x > 0.0)) { nn.conv2d(%x, %v) } else { nn.conv2d(%x, -%v) }"),
    (conv, CONV, "(nn.conv2d(%x, %v), fn () { nn.conv2d(%x, %w) }())"),
    (stacked, DENSE, "(nn.dense(%x, %v), nn.dense(%x, %w))"),
    (dense, DENSE, "let %a = nn.dense(%x, %v); let %u = transpose(%a); nn.dense(%x, slice_like(%u, %v))"),
    (dense, DENSE, "%0 = nn.dense(%x, %v); nn.dense(%x, slice_like(transpose(%0), %v))"),
]


def arguments(mod: IRModule) -> list:
    rng = np.random.default_rng(1)
    return [rng.normal(size=p.type_annotation.shape).astype(np.float32) for p in mod["main"].params]


@pytest.mark.parametrize(("change", "params", "body", "name", "count"), JOINED)
def test_calls_are_joined(change, params: str, body: str, name: str, count: int):
    mod = infer(parse(f"def @main({params}) {{ {body} }}"))
    given = arguments(mod)
    before = Interpreter(mod).evaluate("main", *given)
    for form in (mod, to_anf(mod)):
        out = verified(change(form))
        assert str(out).count(name) == count
        assert change(out) is out
        assert form is mod or ANF.holds(out["main"])
        for a, b in zip(before, Interpreter(out).evaluate("main", *given), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("change", "params", "body"), ALONE)
def test_calls_that_have_not_all_in_common_stay(change, params: str, body: str):
    mod = infer(parse(f"def @main({params}) {{ {body} }}"))
    assert change(mod) is mod
    anf = to_anf(mod)
    assert change(anf) is anf


def test_three_branches_unless_it_is_said():
    two = infer(parse(f"def @main({DENSE}) {{ (nn.dense(%x, %v), nn.dense(%x, -%v)) }}"))
    assert combine_parallel_dense(two) is two


def test_a_deep_program_is_joined_in_linear_time():
    body = "".join(f"let %y{i + 1} = nn.dense(%y{i}, %w) + nn.dense(%y{i}, %v); " for i in range(1500))
    square = "Tensor[(2, 2), float32]"
    mod = infer(parse(f"def @main(%y0: {square}, %v: {square}, %w: {square}) {{ {body} %y1500 }}"))
    assert str(verified(dense(mod))).count("nn.dense(") == 1500


# --- rows ---------------------------------------------------------------------------------------------------

STEPS = "%x: Tensor[(3, 1, 4), float32], %w: Tensor[(4, 4), float32], %u: Tensor[(4, 4), float32]"


@pytest.mark.parametrize("is_normal", [False, True])
def test_the_inputs_of_a_recurrent_network_meet_their_weight_together(is_normal: bool) -> None:
    mod = infer(
        parse(f"""def @main({STEPS}) {{
          let %a = tanh(nn.dense(take(%x, 0, axis=0), %w));
          let %b = tanh(nn.dense(take(%x, 1, axis=0), %w) + nn.dense(%a, %u));
          let %c = tanh(nn.dense(take(%x, 2, axis=0), %w) + nn.dense(%b, %u));
          %c
        }}""")
    )
    mod = to_anf(mod) if is_normal else mod
    made = combine_rows(mod)
    verified(made)
    assert str(made).count("nn.dense(") == 3
    assert ANF.is_known(made) == is_normal
    x, w = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 1, 4), np.eye(4, dtype="float32")
    expected = np.tanh(x[0])
    for row in x[1:]:
        expected = np.tanh(row + 2 * expected)
    found = Interpreter(made).evaluate("main", x, w, 2 * w)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "body",
    [
        "nn.dense(nn.dense(%v, %w), %w)",
        "(nn.dense(%v, %w), nn.dense(%v, %u))",
        "if (sum(%v) > 0f) { nn.dense(%v, %w) } else { nn.dense(%v * 2f, %w) }",
        "let %r = ref(nn.dense(%v, %w)); ref_write(%r, %v); nn.dense(ref_read(%r), %w)",
    ],
)
def test_rows_that_depend_on_each_other_or_stand_in_other_blocks_stay(body: str) -> None:
    weights = "%w: Tensor[(4, 4), float32], %u: Tensor[(4, 4), float32]"
    mod = infer(parse(f"def @main(%v: Tensor[(1, 4), float32], {weights}) {{ {body} }}"))
    assert combine_rows(mod) is mod


def test_the_same_rows_are_one_part_of_the_product() -> None:
    layers = "(nn.dense(%x, %w), nn.dense(%x, %w), nn.dense(%y, %w))"
    params = "%x: Tensor[(1, 4), float32], %y: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]"
    made = combine_rows(infer(parse(f"def @main({params}) {{ {layers} }}")))
    assert "concatenate((%x, %y))" in str(made)
    verified(made)
    alone = infer(parse(f"def @main({params}) {{ (nn.dense(%x, %w), nn.dense(%x, %w)) }}"))
    assert combine_rows(alone) is alone


def test_many_rows_stay() -> None:
    mod = infer(
        parse("""
        def @main(%x: Tensor[(9, 4), float32], %y: Tensor[(9, 4), float32], %w: Tensor[(2, 4), float32]) {
          (nn.dense(%x, %w), nn.dense(%y, %w))
        }""")
    )
    assert combine_rows(mod) is mod
    assert str(combine_rows(mod, max_rows=9)).count("nn.dense(") == 1
