"""Every rule of algebra on its own: what it makes of a program, and that the value stays."""

import pytest

from relay.interpreter.machine import Interpreter
from relay.text.api import parse
from relay.transform.passes.algebra import RULES, simplify_expr
from relay.transform.passes.dead_code import dead_code
from relay.transform.passes.to_anf import to_anf
from relay.typecheck.infer import infer
from transform.cases import outcome, verified
from transform.rules import arguments, assert_complete, assert_rule, assert_same

X = "Tensor[(2, 3), float32]"
N = "Tensor[(5,), int32]"
CASES: dict[str, list[tuple[str, str, str]]] = {
    "x + -0.0, 0 + x => x": [
        (f"%x: {X}", "%x + -0.0", "%x"),
        (f"%n: {N}", "0 + %n", "%n"),
        ("%n: int32", '%n + zeros(shape=(2,), dtype="int32")', "broadcast_to(%n, shape=(2,))"),
        (f"%x: {X}", "%x + 0.0", "%x + 0f"),
    ],
    "x + 0.0, 0.0 + x => x": [
        (f"%x: {X}", "0.0 + %x", "%x"),
        (f"%x: {X}, %y: Tensor[(1, 3), float32]", "zeros_like(%x) + %y", "broadcast_to(%y, shape=(2, 3))"),
        (
            "%x: Tensor[(?,), float32], %y: Tensor[(?,), float32]",
            "zeros_like(%x) + %y",
            "zeros_like(%x) + %y",
        ),
        ("%x: Tensor[(?,), float32]", "%x + 0.0", "%x"),
    ],
    "x - 0 => x": [
        (f"%x: {X}", "%x - 0.0", "%x"),
        (f"%n: {N}", "%n - 0", "%n"),
        (f"%x: {X}", "%x - -0.0", "%x - -0f"),
    ],
    "x * 1, 1 * x => x": [(f"%x: {X}", "1.0 * %x", "%x"), (f"%x: {X}", "%x * ones_like(%x)", "%x")],
    "x / 1 => x": [(f"%x: {X}", "%x / 1.0", "%x"), (f"%n: {N}", "%n / 1", "%n")],
    "floor_divide(n, 1), trunc_divide(n, 1) => n": [
        (f"%n: {N}", "trunc_divide(floor_divide(%n, 1), 1)", "%n"),
        (f"%x: {X}", "floor_divide(%x, 1.0)", "floor_divide(%x, 1f)"),
    ],
    "n * 0 => 0": [
        (f"%n: {N}", "%n * 0", 'zeros(shape=(5,), dtype="int32")'),
        (f"%x: {X}", "%x * 0.0", "%x * 0f"),
    ],
    "p && True, p || False => p": [
        ("%p: Tensor[(4,), bool]", "logical_or(logical_and(%p, True), False)", "%p"),
        ("%p: bool", "bitwise_or(False, %p)", "%p"),
        (f"%n: {N}", "bitwise_and(%n, 1)", "bitwise_and(%n, 1i32)"),
    ],
    "p && False => False, p || True => True": [
        ("%p: bool", "logical_and(%p, False)", "False"),
        ("%p: Tensor[(4,), bool]", "logical_or(True, %p)", 'ones(shape=(4,), dtype="bool")'),
    ],
    "f(f(x)) => x for negative": [
        (f"%x: {X}", "-(-%x)", "%x"),
        ("%p: bool", "!(!%p)", "%p"),
        (f"%n: {N}", "bitwise_not(bitwise_not(%n))", "%n"),
    ],
    "f(f(x)) => f(x) for abs": [
        (f"%x: {X}", f"{f}({f}(%x))", f"{f}(%x)")
        for f in ("abs", "sign", "floor", "ceil", "round", "trunc", "nn.relu")
    ],
    "abs(-x) => abs(x)": [(f"%x: {X}", "abs(-%x)", "abs(%x)"), (f"%n: {N}", "abs(-%n)", "abs(%n)")],
    "x + -y => x - y": [
        (f"%x: {X}, %y: {X}", "%x + (-%y)", "%x - %y"),
        (f"%x: {X}, %y: {X}", "(-%x) + %y", "%y - %x"),
        (f"%n: {N}, %k: {N}", "%n - (-%k)", "%n + %k"),
    ],
    "-x * -y => x * y": [
        (f"%x: {X}, %y: {X}", "(-%x) * (-%y)", "%x * %y"),
        (f"%x: {X}, %y: {X}", "(-%x) / (-%y)", "%x / %y"),
        (f"%n: {N}, %k: {N}", "(-%n) * (-%k)", "%n * %k"),
    ],
    "x * -1, x / -1 => -x": [(f"%x: {X}", "-1.0 * %x", "-%x"), (f"%n: {N}", "%n / -1", "-%n")],
    "-x * c, -(x * c) => x * -c": [
        (f"%x: {X}", "(-%x) * 3.0", "%x * -3f"),
        (f"%n: {N}", "-(%n * 3)", "%n * -3i32"),
    ],
    "(n + a) + b => n + (a + b)": [
        (f"%n: {N}", "(2147483647 + %n) + 7", "%n + -2147483642i32"),
        (f"%n: {N}", "3 * (%n * 65537)", "%n * 196611i32"),
        (f"%x: {X}", "%x + 1.0 + 2.0", "%x + 1f + 2f"),
    ],
    "x / c => x * (1 / c)": [(f"%x: {X}", "%x / 8.0", "%x * 0.125f"), (f"%x: {X}", "%x / 3.0", "%x / 3f")],
    "x ** 1 => x; x ** 0 => 1": [
        (f"%x: {X}", "%x ** 1.0", "%x"),
        (f"%x: {X}", "%x ** 0.0", 'ones(shape=(2, 3), dtype="float32")'),
    ],
    "n ** 2 => n * n": [(f"%n: {N}", "%n ** 2", "%n * %n"), (f"%n: {N}", "%n ** 3", "%n * %n * %n")],
    "x ** 2 => x * x": [(f"%x: {X}", "%x ** 2.0", "%x * %x"), (f"%x: {X}", "%x ** 2.5", "power(%x, 2.5f)")],
    "x ** 3 => x * x * x": [(f"%x: {X}", "%x ** 3.0", "%x * %x * %x")],
    "x ** -1 => 1 / x": [(f"%x: {X}", "%x ** -1.0", "1f / %x")],
    "1 / sqrt(x) => rsqrt(x)": [(f"%x: {X}", "1.0 / sqrt(%x)", "rsqrt(%x)")],
    "maximum(x, x), minimum(x, x)": [
        (f"%x: {X}", "maximum(%x, %x)", "%x"),
        ("%p: bool", "logical_and(%p, logical_or(%p, %p))", "%p"),
    ],
    "where(True, x, y) => x": [
        (f"%x: {X}, %y: {X}", "where(True, %x, %y)", "%x"),
        (f"%x: {X}, %y: float32", "where(False, %x, %y)", "broadcast_to(%y, shape=(2, 3))"),
    ],
    "where(c, x, x) => x": [
        (f"%p: bool, %x: {X}", "where(%p, %x, %x)", "%x"),
        ("%p: Tensor[(2, 1), bool], %x: float32", "where(%p, %x, %x)", "broadcast_to(%x, shape=(2, 1))"),
    ],
    "where(!c, x, y) => where(c, y, x)": [(f"%p: bool, %x: {X}", "where(!%p, %x, 1.0)", "where(%p, 1f, %x)")],
    "copy(x) => x": [(f"%x: {X}", "copy(%x)", "%x")],
    "x + broadcast_to(y) => x + y": [
        (f"%x: {X}, %y: float32", "%x * broadcast_to(%y, shape=(2, 3))", "%x * %y"),
        (
            "%x: Tensor[(3,), float32], %y: float32",
            "%x * broadcast_to(%y, shape=(2, 3))",
            "%x * broadcast_to(%y, shape=(2, 3))",
        ),
    ],
    "x + full(c) => x + c": [
        (f"%x: {X}", "%x + ones_like(%x)", "%x + 1f"),
        (f"%x: {X}", "where(%x > 0.0, %x, zeros_like(%x))", "where(%x > 0f, %x, 0f)"),
    ],
    "reshape(x) => x if the shape stays": [
        (f"%x: {X}", "reshape(%x, newshape=(0, -1))", "%x"),
        (f"%x: {X}", "squeeze(reshape_like(%x, %x))", "%x"),
        ("%x: Tensor[(n, 3), float32]", "reshape(%x, newshape=(-2,))", "%x"),
        (
            "%x: Tensor[(?,), float32], %y: Tensor[(?,), float32]",
            "reshape_like(%x, %y)",
            "reshape_like(%x, %y)",
        ),
    ],
    "reshape(reshape(x)) => reshape(x), or x": [
        (f"%x: {X}", "squeeze(expand_dims(%x, axis=1), axis=(1,))", "%x"),
        (f"%x: {X}", "nn.batch_flatten(expand_dims(%x, axis=1, num_newaxis=2))", "%x"),
        (
            f"%x: {X}",
            "reshape(reshape(%x, newshape=(6,)), newshape=(3, 2))",
            "reshape(%x, newshape=(3, 2), allowzero=False)",
        ),
        (
            "%x: Tensor[(0, 3), float32]",
            "reshape(expand_dims(%x, axis=0), newshape=(3, 0), allowzero=True)",
            "reshape(%x, newshape=(3, 0), allowzero=True)",
        ),
        ("%x: Tensor[(n, 3), float32]", "squeeze(expand_dims(%x, axis=0), axis=0)", "%x"),
    ],
    "transpose(transpose(x))": [
        (f"%x: {X}", "transpose(transpose(%x))", "%x"),
        (f"%x: {X}", "transpose(%x, axes=(0, 1))", "%x"),
        (
            "%x: Tensor[(2, 3, 4), float32]",
            "transpose(transpose(%x, axes=(1, 2, 0)), axes=(0, 2, 1))",
            "transpose(%x, axes=(1, 0, 2))",
        ),
        ("%x: Tensor[(?, ?), float32]", "transpose(transpose(%x))", "%x"),
    ],
    "transpose(reshape(transpose(x)))": [
        (
            "%x: Tensor[(2, 12, 5), float32]",
            "transpose(reshape(transpose(%x, axes=(0, 2, 1)), newshape=(2, 5, 3, 4)), axes=(0, 2, 3, 1))",
            "reshape(%x, newshape=(2, 3, 4, 5))",
        ),
        (
            "%x: Tensor[(2, 3, 4, 5), float32]",
            "transpose(reshape(transpose(%x, axes=(0, 3, 1, 2)), newshape=(2, 5, 12)), axes=(0, 2, 1))",
            "reshape(%x, newshape=(2, 12, 5))",
        ),
        (
            "%x: Tensor[(1, 6, 4), float32]",
            "transpose(reshape(transpose(%x, axes=(0, 2, 1)), newshape=(8, 3)))",
            "transpose(reshape(transpose(%x, axes=(0, 2, 1)), newshape=(8, 3)))",
        ),
    ],
    "layout_transform there and back": [
        (
            "%x: Tensor[(2, 8, 3, 4), float32]",
            'layout_transform(layout_transform(%x, src_layout="NCHW", dst_layout="NHWC"), '
            'src_layout="NHWC", dst_layout="NCHW")',
            "%x",
        ),
    ],
    "reverse(reverse(x)) => x": [
        (f"%x: {X}", "reverse(reverse(%x, axis=1), axis=1)", "%x"),
        (f"%x: {X}", "reverse(reverse(%x, axis=0), axis=1)", "reverse(reverse(%x, axis=0), axis=1)"),
    ],
    "strided_slice of everything": [
        (f"%x: {X}", "strided_slice(%x, begin=(0,), end=(2,))", "%x"),
        (
            f"%x: {X}",
            "strided_slice(%x, begin=(-1,), end=(-3,), strides=(-1,))",
            "strided_slice(%x, begin=(-1,), end=(-3,), strides=(-1,))",
        ),
        (
            f"%x: {X}",
            "nn.pad(tile(repeat(slice_like(%x, %x), repeats=1, axis=0), reps=(1, 1)), "
            "pad_width=((0, 0), (0, 0)))",
            "%x",
        ),
    ],
    "sum, prod, max, min and mean over axes of size 1": [
        ("%x: Tensor[(2, 1, 3), float32]", f"{f}(%x, axis=(1,))", "reshape(%x, newshape=(2, 3))")
        for f in ("sum", "prod", "max", "min", "mean")
    ],
    "max, min and mean of full(c) => full(c), sum": [
        *(
            ("", f"{f}(full(1.5, shape=(2, 3), dtype=float32), axis=(1,))", "full(1.5f, shape=(2,))")
            for f in ("max", "min", "mean")
        ),
        ("", "sum(ones(shape=(100, 3), dtype=float16))", "300f16"),
        ("", "sum(full(100i8, shape=(3, 2), dtype=int8), axis=(0,))", "full(44i8, shape=(2,))"),
    ],
    "broadcast_to, collapse_sum_to and their twins": [
        (f"%x: {X}", "collapse_sum_to(broadcast_to(%x, shape=(2, 3)), shape=(2, 3))", "%x"),
        ("%x: Tensor[(n,), float32]", "collapse_sum_like(broadcast_to_like(%x, %x), %x)", "%x"),
    ],
    "broadcast_to_like(x, y) => broadcast_to(x)": [
        (f"%x: {X}, %y: float32", "broadcast_to_like(%y, %x)", "broadcast_to(%y, shape=(2, 3))"),
        (f"%x: {X}, %y: float32", "collapse_sum_like(%x, %y)", "collapse_sum_to(%x, shape=())"),
    ],
    "broadcast_to(broadcast_to(x))": [
        (
            "%y: float32",
            "broadcast_to(broadcast_to(%y, shape=(3,)), shape=(2, 3))",
            "broadcast_to(%y, shape=(2, 3))",
        ),
    ],
    "reshape(transpose(reshape(x))) => transpose(x)": [
        (
            "%x: Tensor[(n, 12, m, 4), float32]",
            "reshape(transpose(reshape(%x, newshape=(-3, 0, 0)), axes=(0, 2, 1)), newshape=(-4, -1, 12, -2))",
            "transpose(%x, axes=(0, 1, 3, 2))",
        ),
        (
            "%x: Tensor[(2, 3, 4, 5), float32]",
            "reshape(transpose(reshape(%x, newshape=(6, 4, 5)), axes=(0, 2, 1)), newshape=(3, 2, 5, 4))",
            "reshape(transpose(reshape(%x, newshape=(6, 4, 5)), axes=(0, 2, 1)), newshape=(3, 2, 5, 4))",
        ),
    ],
    "transpose(x) * c, reshape(x) * c": [
        (f"%x: {X}", "2.0 * transpose(%x)", "transpose(2f * %x)"),
        (f"%x: {X}, %c: float32", "reshape(%x, newshape=(6,)) * %c", "reshape(%x * %c, newshape=(6,))"),
        (f"%x: {X}, %c: {X}", "transpose(%x) * transpose(%c)", "transpose(%x) * transpose(%c)"),
    ],
    "nn.matmul(x, transpose(y))": [
        (
            "%x: Tensor[(2, 3, 4), float32], %y: Tensor[(2, 5, 4), float32]",
            "nn.matmul(%x, transpose(%y, axes=(0, 2, 1)))",
            "nn.matmul(%x, %y, transpose_b=True)",
        ),
        (
            "%x: Tensor[(3, 4), float32], %y: Tensor[(4, 5), float32]",
            "nn.matmul(%x, transpose(%y), transpose_b=True)",
            "nn.matmul(%x, %y)",
        ),
        (
            "%x: Tensor[(2, 3, 4), float32], %y: Tensor[(5, 2, 4), float32]",
            "nn.matmul(%x, transpose(%y, axes=(1, 2, 0)))",
            "nn.matmul(%x, transpose(%y, axes=(1, 0, 2)), transpose_b=True)",
        ),
        (
            "%x: Tensor[(2, 3, 2), float32], %y: Tensor[(2, 2, 4), float32]",
            "nn.matmul(%x, transpose(%y, axes=(1, 0, 2)))",
            "nn.matmul(%x, transpose(%y, axes=(1, 0, 2)))",
        ),
    ],
    "sum(x * y, axis=0) => nn.matmul(x, y)": [
        (
            "%x: Tensor[(n, 3, 1), float32], %y: Tensor[(n, 1, 4), float32]",
            "sum(%x * %y, axis=0)",
            "nn.matmul(squeeze(%x, axis=(2,)), squeeze(%y, axis=(1,)), transpose_a=True)",
        ),
        (
            "%x: Tensor[(2, 1, 4), float32], %y: Tensor[(2, 3, 1), float32]",
            "sum(%x * %y, axis=0)",
            "nn.matmul(squeeze(%y, axis=(2,)), squeeze(%x, axis=(1,)), transpose_a=True)",
        ),
        (
            "%x: Tensor[(2, 3, 1), float32], %y: Tensor[(2, 1, 4), float32]",
            "sum(%x * %y, axis=1)",
            "sum(%x * %y, axis=1)",
        ),
        (
            "%x: Tensor[(2, 3, 1), int32], %y: Tensor[(2, 1, 4), int32]",
            "sum(%x * %y, axis=0)",
            "sum(%x * %y, axis=0)",
        ),
    ],
    "nn.matmul(x, y) => x * y": [
        (
            "%x: Tensor[(2, 3, 1), float32], %y: Tensor[(1, 4), float32]",
            "%x @ %y",
            "%x * %y",
        ),
        (
            "%x: Tensor[(2, 1, 3), float32], %y: Tensor[(2, 1, 4), float32]",
            "nn.matmul(%x, %y, transpose_a=True)",
            "expand_dims(squeeze(%x, axis=(1,)), axis=2) * %y",
        ),
        (
            "%x: Tensor[(n, 1, 3), float32], %y: Tensor[(n, 1, 4), float32]",
            "nn.matmul(%x, %y, transpose_a=True)",
            "expand_dims(squeeze(%x, axis=(1,)), axis=2) * %y",
        ),
        (
            "%x: Tensor[(3, 1), float32], %y: Tensor[(4, 1), float32]",
            "nn.dense(%x, %y)",
            "%x * expand_dims(squeeze(%y, axis=(1,)), axis=0)",
        ),
        (
            "%x: Tensor[(3, 1), int8], %y: Tensor[(1, 4), int8]",
            'nn.matmul(%x, %y, out_dtype="int32")',
            'nn.matmul(%x, %y, out_dtype="int32")',
        ),
    ],
    "reshape or transpose of broadcast_to(scalar)": [
        (
            "%y: float32",
            "transpose(expand_dims(broadcast_to(%y, shape=(3,)), axis=0))",
            "broadcast_to(%y, shape=(3, 1))",
        ),
    ],
    "zeros_like, ones_like, full_like": [
        (f"%x: {X}", "zeros_like(%x)", 'zeros(shape=(2, 3), dtype="float32")'),
        (f"%x: {X}", "ones_like(%x)", 'ones(shape=(2, 3), dtype="float32")'),
        (f"%x: {X}", "full_like(%x, 7.0)", "full(7f, shape=(2, 3))"),
        ("%x: Tensor[(n,), float32]", "zeros_like(%x)", "zeros_like(%x)"),
        ("%x: float32", "ones_like(%x)", "1f"),
    ],
    "broadcast_to, reshape, transpose, cast of zeros": [
        (
            "",
            'cast(reshape(ones(shape=(4,), dtype="int32"), newshape=(2, 2)), dtype="float32")',
            'ones(shape=(2, 2), dtype="float32")',
        ),
        ("", "transpose(full(3, shape=(2, 5)))", "full(3i32, shape=(5, 2))"),
    ],
    "cast_like(x, y) => cast(x)": [(f"%x: {X}, %n: {N}", "cast_like(%x, %n)", 'cast(%x, dtype="int32")')],
    "cast(x) => x if the dtype stays": [(f"%x: {X}", 'cast(%x, dtype="float32")', "%x")],
    "cast(cast(x)) => cast(x)": [
        (f"%x: {X}", 'cast(cast(%x, dtype="float64"), dtype="float16")', 'cast(%x, dtype="float16")'),
        (
            f"%x: {X}",
            'cast(cast(%x, dtype="float16"), dtype="float32")',
            'cast(cast(%x, dtype="float16"), dtype="float32")',
        ),
        (
            "%k: Tensor[(3,), int16]",
            'cast(cast(%k, dtype="float32"), dtype="int8")',
            'cast(cast(%k, dtype="float32"), dtype="int8")',
        ),
        ("%k: Tensor[(3,), int16]", 'cast(cast(%k, dtype="int64"), dtype="int8")', 'cast(%k, dtype="int8")'),
        (
            f"%n: {N}",
            'cast(cast(%n, dtype="float32"), dtype="int32")',
            'cast(cast(%n, dtype="float32"), dtype="int32")',
        ),
    ],
    "concatenate((x,)) => x": [
        (f"%x: {X}", "concatenate((%x,), axis=1)", "%x"),
        (f"%x: {X}", "stack((%x,), axis=-1)", "expand_dims(%x, axis=2)"),
    ],
    "concatenate(split(x)) => x": [
        (
            f"%x: {X}",
            "let %t = split(%x, indices_or_sections=3, axis=1); concatenate((%t.0, %t.1, %t.2), axis=1)",
            "let %t = split(%x, indices_or_sections=3, axis=1);\n%x",
        ),
        (
            f"%x: {X}",
            "let %t = split(%x, indices_or_sections=3, axis=1); concatenate((%t.1, %t.0, %t.2), axis=1)",
            "let %t = split(%x, indices_or_sections=3, axis=1);\nconcatenate((%t.1, %t.0, %t.2), axis=1)",
        ),
    ],
    "(a, b).0 => a": [
        (f"%x: {X}, %n: {N}", "(%x, %n).0", "%x"),
        (f"%x: {X}", "let %t = (%x, 1); %t.0", "let %t = (%x, 1i32);\n%x"),
    ],
    "(t.0, t.1) => t": [
        (f"%t: ({X}, {N})", "(%t.0, %t.1)", "%t"),
        (f"%t: ({X}, {N}, {N})", "(%t.0, %t.1)", "(%t.0, %t.1)"),
    ],
}


def test_every_rule_has_a_case():
    assert_complete(RULES, CASES)


@pytest.mark.parametrize("text", CASES)
def test_rule_does_what_it_says_and_keeps_the_value(text: str):
    assert_rule(RULES, text, CASES[text])


@pytest.mark.parametrize("text", CASES)
def test_all_rules_together_keep_the_value_in_every_form(text: str):
    for params, body, _ in CASES[text]:
        mod = infer(parse(f"def @main({params}) {{ {body} }}"))
        given = arguments(mod)
        before = Interpreter(mod).evaluate("main", *given)
        for form in (mod, to_anf(mod)):
            for exact in (False, True):
                out = verified(simplify_expr(form, exact=exact))
                assert simplify_expr(out, exact=exact) is out
                after = Interpreter(out).evaluate("main", *given)
                assert_same(before, after, exact=False)
                Interpreter(dead_code(out)).evaluate("main", *given)


EFFECTS = [
    "let %r = ref(%x); (zeros_like({ ref_write(%r, -%x); %x }), ref_read(%r)).1",
    "let %r = ref(%x); let %y = transpose(ref_read(%r)); ref_write(%r, -%x); transpose(%y) + ref_read(%r)",
    "let %r = ref(%x); (-ref_read(%r)) + { ref_write(%r, %x * 3.0); ref_read(%r) }",
    "let %r = ref(%x); where(True, ref_read(%r), { ref_write(%r, -%x); %x }) + ref_read(%r)",
    "let %r = ref(%x); ({ ref_write(%r, -%x); %x }, ref_read(%r)).1",
    "%0 = tanh(%x); let %f = fn () { %0 * 1.0 }; zeros_like(%0) + %f() + %f() + %f()",
    "%0 = transpose(tanh(%x)); let %f = fn () { %0 }; (%f(), %f(), transpose(%0)).2",
    "let %y = transpose(%x); let %f = fn (%c: bool) { if (%c) { transpose(%y) } else { %x } }; %f(True)",
]


@pytest.mark.parametrize("body", EFFECTS)
def test_effects_stay_in_their_order_and_nothing_runs_more_often(body: str):
    mod = infer(parse(f"def @main(%x: {X}) {{ {body} }}"))
    given = arguments(mod)
    value, work = outcome(mod, tuple(given))
    for form in (mod, to_anf(mod)):
        for out in (simplify_expr(form, exact=True), dead_code(simplify_expr(form, exact=True))):
            new_value, new_work = outcome(verified(out), tuple(given))
            assert new_value == value
            assert new_work.total() <= work.total()
