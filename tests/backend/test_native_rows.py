"""Loops along the lanes of vectors: sizes that do and do not fill them, rows that several passes share."""

import re
from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.host.native_program import NativeProgram
from relay.backend.native.llvm.codegen import Optimised
from relay.backend.native.loops.keep_rows import ROW_BYTES, ROWS_BYTES
from relay.backend.native.program.nests import text_of_nests

SIZES = [(1, 1), (3, 5), (7, 16), (2, 63), (5, 64), (33, 65), (4, 130), (64, 3), (130, 70)]
ROWS = {
    "softmax": "nn.softmax(%x, axis={axis})",
    "log_softmax": "nn.log_softmax(%x * 2f, axis={axis})",
    "variance": "variance(exp(%x), axis={axis})",
    "several results": """
        let %e = exp(%x - max(%x, axis={axis}, keepdims=True));
        let %s = sum(%e, axis={axis}, keepdims=True);
        (%e / %s, %s)""",
    "what is long to compute and read three times": """
        let %g = %x * 0.5f * (1f + erf(%x));
        let %d = %g - mean(%g, axis={axis}, keepdims=True);
        %d * rsqrt(mean(%d * %d, axis={axis}, keepdims=True) + 0.001f) + %g""",
    "truth values": "(any(%x > 1f, axis={axis}), all(%x > -1f, axis={axis}), min(%x, axis={axis}))",
    "where": "let %m = max(%x, axis={axis}, keepdims=True); where(%x < %m, %x / %m, 0f * %x)",
}
ORDERS = [
    ((5, 7), (1, 0)), ((33, 48), (1, 0)), ((3, 4, 5), (2, 0, 1)), ((2, 19, 5, 6), (0, 2, 3, 1)),
    ((2, 5, 6, 19), (0, 3, 1, 2)), ((100, 3), (1, 0)), ((3, 100), (1, 0)), ((1, 5), (1, 0)),
    ((4, 5, 6), (1, 0, 2)), ((2, 3, 4, 5, 6), (4, 2, 0, 3, 1)), ((0, 3), (1, 0)),
    ((2, 3, 16, 5), (0, 2, 3, 1)), ((2, 4, 33), (0, 2, 1)), ((2, 47), (1, 0)),
]  # fmt: skip


def compiled(params: str, body: str) -> tuple[Any, NativeProgram]:
    mod = relay.infer(relay.parse(f"def @main({params}) {{ {body} }}"))
    return mod, NativeProgram(mod)


def same(found: Any, wanted: Any) -> None:
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for x, y in pairs:
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=3e-6)


RESHAPED = {
    "without the first axis": "reshape(nn.softmax(%x, axis=2), newshape=({n}, 20))",
    "with axes of one": "expand_dims(squeeze(nn.softmax(%x, axis=2), axis=[0]), axis=1)",
    "as it is too": "let %y = nn.softmax(%x, axis=2); (%y, reshape(%y, newshape=({n}, 20)))",
    "beside the sums": """
        let %y = exp(%x);
        let %s = sum(%y, axis=2, keepdims=True);
        (squeeze(%y / %s, axis=[0]), %s)""",
    "then something": "tanh(reshape(nn.softmax(%x, axis=2), newshape=({n}, 20)) * 2f)",
}


@pytest.mark.parametrize("size", ["70", "n"])
@pytest.mark.parametrize("name", list(RESHAPED))
def test_rows_that_are_reshaped(name: str, size: str) -> None:
    body, x = RESHAPED[name].format(n=size), np.random.default_rng(0).standard_normal((1, 70, 20))
    text = f"def @main{'[n: Dim]' if size == 'n' else ''}(%x: Tensor[(1, {size}, 20), float32]) {{ {body} }}"
    mod = relay.infer(relay.parse(text))
    same(NativeProgram(mod)(x.astype("float32")), mod.evaluate("main", x.astype("float32")))


@pytest.mark.parametrize("name", list(ROWS))
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_of_any_length(name: str, axis: int) -> None:
    body = ROWS[name].format(axis=f"({axis},)" if "softmax" not in ROWS[name] else axis)
    rng = np.random.default_rng(0)
    for sizes in SIZES:
        x = rng.standard_normal(sizes).astype("float32")
        mod, program = compiled(f"%x: Tensor[{sizes}, float32]", body)
        same(program(x), mod.evaluate("main", x))


@pytest.mark.parametrize("name", list(ROWS))
def test_rows_of_a_length_that_is_known_at_run_time(name: str) -> None:
    body = ROWS[name].format(axis="(1,)" if "softmax" not in ROWS[name] else 1)
    mod, program = compiled("%x: Tensor[(n, m), float32]", body)
    rng = np.random.default_rng(0)
    for sizes in SIZES:
        x = rng.standard_normal(sizes).astype("float32")
        same(program(x), mod.evaluate("main", x))


@pytest.mark.parametrize("axes", ["(0, 2)", "(1, 2)", "(0, 1)", "(0, 1, 2)", "(0,)", "(1,)"])
def test_reductions_along_several_axes(axes: str) -> None:
    body = f"let %d = %x - mean(%x, axis={axes}, keepdims=True); (%d * %d, sum(%d * %d, axis={axes}))"
    mod, program = compiled("%x: Tensor[(3, 18, 21), float32]", body)
    x = np.random.default_rng(0).standard_normal((3, 18, 21)).astype("float32")
    same(program(x), mod.evaluate("main", x))


def test_a_row_of_a_square_is_not_taken_for_a_column() -> None:
    mod, program = compiled("%x: Tensor[(6, 6), float32]", "exp(%x) - sum(exp(%x), axis=1)")
    x = np.random.default_rng(0).standard_normal((6, 6)).astype("float32")
    same(program(x), mod.evaluate("main", x))


def test_a_normalisation_reads_and_writes_once() -> None:
    params = "%x: Tensor[(4, 64), float32], %g: Tensor[(64,), float32]"
    mod = relay.parse(f"def @main({params}) {{ nn.softmax(nn.layer_norm(tanh(%x), %g, %g)) }}")
    text = "\n".join([p.text for p in Compiler(mod).program.pieces])
    assert text.count("@relay.allocate_bytes") == 1


@pytest.mark.parametrize("axis", [0, 1])
def test_a_row_that_is_not_chosen_is_not_reduced(axis: int) -> None:
    how = f"axis={axis}, keepdims=True"
    body = f"""let %a = max(%x, {how}); let %b = sum(%x * %x, {how});
               %x * where(%a > 2f, %a, %b + sum((%x - %b) * (%x - %b), {how}))"""
    mod, program = compiled("%x: Tensor[(70, 75), float32]", body)
    x = np.random.default_rng(0).standard_normal((70, 75)).astype("float32")
    x[3:60, 3:60] /= 4
    same(program(x), mod.evaluate("main", x))
    loops = text_of_nests(Compiler(mod).program.nests, True)
    chosen, _, other = loops[loops.find("if t > 2.0") : loops.find("for i4")].partition("else")
    assert [part.count("// sum\n") for part in (loops, chosen, other)] == [2, 0, 2]


def test_what_is_kept_of_rows_fits_on_the_stack_of_a_thread() -> None:
    terms = [f"let %e{i} = exp(%x * {i + 2}f); let %y{i} = %e{i} / sum(%e{i}, axis=1, keepdims=True);"
             for i in range(6)]  # fmt: skip
    body = " ".join(terms) + " + ".join([f"%y{i}" for i in range(6)])
    mod = relay.parse(f"def @main(%x: Tensor[(64, 65536), float32]) {{ {body} }}")
    pieces = Compiler(mod).program.pieces
    kept = max([sum(map(int, re.findall(r"alloca \[(\d+) x i8\]", piece.text))) for piece in pieces])
    assert ROW_BYTES < kept <= ROWS_BYTES


@pytest.mark.parametrize(("sizes", "axes"), ORDERS)
@pytest.mark.parametrize(
    "dtype", ["float32", "bool", *[pytest.param(t, marks=pytest.mark.long) for t in ("float64", "int8")]]
)
def test_axes_change_places(sizes: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    x = (np.random.default_rng(0).standard_normal(sizes) * 100).astype(dtype)
    names = ", ".join([f"n{i}" for i in range(len(sizes))])
    for shape in (str(sizes), f"({names})"):
        _, program = compiled(f"%x: Tensor[{shape}, {dtype}]", f"transpose(%x, axes={list(axes)})")
        np.testing.assert_array_equal(program(x), x.transpose(axes))


def test_code_that_calls_what_is_nowhere_is_refused() -> None:
    text = "declare void @nowhere()\ndefine void @f() {\n call void @nowhere()\n ret void\n}"
    with pytest.raises(AssertionError, match="nowhere"):
        Optimised(text)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_division_by_one_number_rounds_as_division_does(dtype: str) -> None:
    _, program = compiled(f"%x: Tensor[(3, 500), {dtype}], %y: Tensor[(3, 1), {dtype}]", "%x / %y")
    rng = np.random.default_rng(0)
    ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e38, -1e-30, 3.0], dtype)
    for k in range(8):
        x = np.exp(rng.uniform(-40, 40, (3, 500))).astype(dtype)
        x[:, :8] = ends
        y = np.array([[ends[k]], [rng.standard_normal()], [np.exp(rng.uniform(-30, 30))]], dtype)
        with np.errstate(all="ignore"):
            wanted = x / y
        found = program(x, y)
        np.testing.assert_array_equal(found, wanted)
        some = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[some]), np.signbit(wanted[some]))


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, -1, -2])
def test_every_so_many_elements(step: int) -> None:
    for n in (5, 64, 129, 300):
        begin, end = (1, n) if step > 0 else (n - 1, -n - 1)
        places = f"begin=(0, {begin}), end=(3, {end}), strides=(1, {step})"
        mod, program = compiled(f"%x: Tensor[(3, {n}), float32]", f"strided_slice(%x, {places}) + 1f")
        x = np.random.default_rng(0).standard_normal((3, n)).astype("float32")
        same(program(x), mod.evaluate("main", x))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", ["(4, 5, 66)", "(a, b, c)"])
def test_tensors_are_joined_along_an_axis(axis: int, shape: str) -> None:
    other = [4, 5, 66]
    other[axis] = 3
    names = shape.strip("()").split(", ")
    names[axis] = "3" if "a" not in shape else "d"
    params = f"%x: Tensor[{shape}, float32], %y: Tensor[({', '.join(names)}), float32]"
    mod, program = compiled(params, f"concatenate((%x, exp(%y), %y, %x * 2f), axis={axis})")
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(s).astype("float32") for s in ((4, 5, 66), other))
    same(program(x, y), mod.evaluate("main", x, y))


def test_windows_at_the_edges() -> None:
    body = """(nn.max_pool2d(%x, pool_size=(3, 3), strides=(2, 2), padding=(1, 1)),
              nn.avg_pool2d(%x, pool_size=(3, 2), strides=(1, 2), padding=(1, 0)),
              nn.pad(%x * 2f, pad_width=((0, 0), (1, 0), (2, 1), (3, 2))))"""
    mod, program = compiled("%x: Tensor[(2, 3, 9, 70), float32]", body)
    x = np.random.default_rng(0).standard_normal((2, 3, 9, 70)).astype("float32")
    same(program(x), mod.evaluate("main", x))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "float16"])
@pytest.mark.parametrize("is_last", ["False", "True"])
def test_the_first_of_equals_is_found(name: str, dtype: str, is_last: str) -> None:
    rng = np.random.default_rng(0)
    for n in (1, 3, 64, 65, 300):
        body = f"{name}(%x, axis=1, select_last_index={is_last})"
        mod, program = compiled(f"%x: Tensor[(6, {n}), {dtype}]", body)
        x = rng.integers(-3, 3, (6, n)).astype(dtype)
        if dtype != "int8":
            x[1, n // 2 :] = x[2, : n // 2 + 1] = np.nan
            x[3], x[4] = np.inf, -np.inf
        np.testing.assert_array_equal(program(x), mod.evaluate("main", x))


def test_what_no_lane_wants_is_not_read() -> None:
    body = "nn.pad(%x, 5f, pad_width=((900000, 3), (2, 2)))"
    _, program = compiled("%x: Tensor[(2, 1), float32]", body)
    x = np.array([[1], [2]], "float32")
    wanted = np.pad(x, ((900000, 3), (2, 2)), constant_values=5)
    np.testing.assert_array_equal(program(x), wanted)
