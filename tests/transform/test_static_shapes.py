"""Sizes that a program says are found, through arithmetic, variables and results; the value stays."""

import numpy as np
import pytest

from relay.interpreter.machine import Interpreter
from relay.text.api import parse
from relay.transform.passes.lazy_gradients import lazy_gradient_init
from relay.transform.passes.static_shapes import dynamic_to_static
from relay.transform.passes.to_anf import to_anf
from relay.typecheck.infer import infer
from transform.cases import verified
from transform.rules import arguments, assert_same, body_of

X = "Tensor[(4, 6), float32]"
CASES = [
    ("shape_of(%x)", "[4i32, 6i32]"),
    ('ndarray_size(%x, dtype="int64")', "24i64"),
    ("zeros_like(%x)", "zeros(shape=(4, 6), dtype=float32)"),
    ("full_like(%x, 2.0)", "full(2f, shape=(4, 6))"),
    ("broadcast_to_like(1.0, %x)", "broadcast_to(1f, shape=(4, 6))"),
    ("reshape_like(%x, ones(shape=(3, 8), dtype=int32))", "reshape(%x, newshape=(3, 8))"),
    ("slice_like(%x, ones(shape=(2, 3), dtype=int32))", "strided_slice(%x, begin=(0, 0), end=(2, 3))"),
    ("cast_like(%x, 1)", "cast(%x, dtype=int32)"),
    ("dyn.strided_slice(%x, [1], [3], [1])", "strided_slice(%x, begin=(1,), end=(3,), strides=(1,))"),
    (
        'dyn.strided_slice(%x, [1, 0], [2, -1], [1, 1], slice_mode="size")',
        'strided_slice(%x, begin=(1, 0), end=(2, -1), strides=(1, 1), slice_mode="size")',
    ),
    (
        "dyn.strided_slice(%x, [1], [3], [1], axes=(1,))",
        "strided_slice(%x, begin=(1,), end=(3,), strides=(1,), axes=(1,))",
    ),
    ("let %i = 3 - 1; %x[%i, 1:%i + 1]", "%x[2, 1:3]"),
    ('dyn.topk(%x, 9, ret_type="values")', 'topk(%x, ret_type="values", k=6)'),
    (
        "dyn.random.threefry_generate(random.threefry_key(seed=1), [2, 3])",
        "random.threefry_generate(random.threefry_key(seed=1), out_shape=(2, 3))",
    ),
    ("arange(1, 10, 4, dtype=int32)", "arange(start=1, stop=10, step=4, dtype=int32)"),
    (
        "let %n = take(shape_of(%x), 1); let %r = arange(0, %n, 1, dtype=int32); %r + abs(%r)",
        None,
    ),
    ("if (ndarray_size(%x) > 3) { arange(0, 3.0, 1) } else { arange(0, 4.0, 1) }", None),
    ("let %r = ref(arange(0, 3, 1)); ref_write(%r, arange(0, 5, 1)); ref_read(%r)", None),
    ("let %a = arange(0, 3, 1, dtype=int32); let %f = fn (%k: int32) { %a + %k }; (%f(1), %f(2))", None),
    ("let %a = arange(0, 3, 1, dtype=int32); let %b = arange(0, 3, 1, dtype=int32); %a + %b", None),
]


@pytest.mark.parametrize(("body", "expected"), CASES)
def test_known_sizes(body: str, expected: str | None):
    mod = infer(parse(f"def @main(%x: {X}) {{ {body} }}"))
    given = arguments(mod)
    before = Interpreter(mod).evaluate("main", *given)
    for form in (mod, to_anf(mod)):
        out = verified(dynamic_to_static(form))
        assert dynamic_to_static(out) is out
        assert_same(before, Interpreter(out).evaluate("main", *given), exact=True)
    if expected is not None:
        assert body_of(verified(dynamic_to_static(mod))) == body_of(
            infer(parse(f"def @main(%x: {X}) {{ {expected} }}"))
        )


def test_what_is_found_out_goes_on_into_types():
    found = "let %n = take(shape_of(%x), 1, axis=0); let %r = arange(0, %n, 1, dtype=int32); abs(%r)"
    text = f"def @main(%x: {X}) {{ {found} }}"
    for form in (infer(parse(text)), to_anf(infer(parse(text)))):
        out = verified(dynamic_to_static(form))
        assert str(out["main"].ret_type) == "Tensor[(6,), int32]"


def test_a_definition_that_others_call_keeps_its_type():
    text = """
    def @f() { arange(0, 3, 1, dtype=int32) }
    def @main() { let %g = @f; %g() + @f() }
    """
    out = verified(dynamic_to_static(infer(parse(text))))
    assert str(out["f"].ret_type) == "Tensor[(?,), int32]"
    assert "start=0" in str(out)


def test_sizes_that_are_not_known_stay():
    text = (
        "def @main(%n: int32, %x: Tensor[(?,), float32]) { (arange(0, %n, 1, dtype=int32), zeros_like(%x)) }"
    )
    mod = infer(parse(text))
    assert dynamic_to_static(mod) is mod


LAZY = [
    "(zeros_like(%x), ones_like(%x) * %x)",
    "let %z = zeros_like(%x); let %r = ref(%z); ref_write(%r, ref_read(%r) + %x); ref_read(%r) + %z",
    "let %o = ones(shape=(4, 6), dtype=float32); fn () { (full_like(%x, 3.0), %o / %x) }()",
    "if (True) { full(2.0, shape=(4, 6)) } else { %x }",
]


@pytest.mark.parametrize("body", LAZY)
def test_what_gradients_begin_with_takes_no_room(body: str):
    mod = infer(parse(f"def @main(%x: {X}) {{ {body} }}"))
    given = [np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)]
    before = Interpreter(mod).evaluate("main", *given)
    for form in (mod, to_anf(mod)):
        out = verified(lazy_gradient_init(form))
        assert lazy_gradient_init(out) is out
        assert not {"zeros", "ones", "full"} & {
            w.split("(")[0].removesuffix("_like") for w in str(out).split()
        }
        assert_same(before, Interpreter(out).evaluate("main", *given), exact=True)


def test_the_constant_is_a_view_of_one_number():
    out = lazy_gradient_init(
        infer(parse("def @main(%x: Tensor[(100000, 100000), float32]) { zeros_like(%x) }"))
    )
    value = out["main"].body.value
    assert value.shape == (100000, 100000)
    assert value.strides == (0, 0)
