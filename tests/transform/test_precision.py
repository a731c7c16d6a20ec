"""Precision as a choice, of a program or a definition: what it changes, what it keeps, what it reports."""

from pathlib import Path

import numpy as np
import pytest

import relay
from relay.cli.main import main
from relay.diagnostic import RelayError
from relay.interpreter.machine import Interpreter
from relay.pipelines import in_precision
from relay.transform.passes.choose_precision import with_precision
from transform.cases import program, verified

LAYERS = """
def @encoder(%x: Tensor[(16, 32), f32], %w: Tensor[(64, 32), f32]) { nn.gelu(nn.dense(%x, %w)) }
def @main(%x: Tensor[(16, 32), f32], %w: Tensor[(64, 32), f32], %v: Tensor[(10, 64), f32]) {
  nn.softmax(nn.dense(nn.relu(@encoder(%x, %w) + 1f), %v))
}
"""
UNIT = {"bf16": 2**-8, "f16": 2**-11}
"""Twice the relative error of rounding."""


def numbers(*shapes):
    random = np.random.default_rng(0)
    return [random.normal(size=s).astype("float32") for s in shapes]


def ops(places):
    return sorted(p.op for p in places)


@pytest.mark.parametrize("precision", ["bf16", "f16"])
@pytest.mark.parametrize("rows", [9, 40])
def test_products_are_within_the_error_of_their_operands(precision, rows):
    x, w = numbers((rows, 200), (30, 200))
    mod = program(
        f"def @main(%x: Tensor[({rows}, 200), f32], %w: Tensor[(30, 200), f32]) {{ nn.dense(%x, %w) }}"
    )
    exact = x.astype("float64") @ w.astype("float64").T
    bound = UNIT[precision] * 1.01 * (abs(x) @ abs(w).T)
    for params in ({}, {"w": w}):
        built = relay.build(mod, params=params, precision=precision)
        found = built(x) if params else built(x, w)
        assert found.dtype == np.float32
        assert (abs(found - exact) <= bound).all()
        assert abs(found - exact).max() > 0
        assert built.report().weight_bytes == ((24000, 12000) if params else (0, 0))


@pytest.mark.parametrize("precision", ["bf16", "f16"])
def test_native_code_is_what_the_interpreter_makes_of_the_program_in_that_precision(precision):
    args = numbers((16, 32), (64, 32), (10, 64))
    args = [args[0], args[1] / 6, args[2] / 8]
    mod, report = in_precision(program(LAYERS), ["main"], precision=precision)
    want = Interpreter(verified(mod)).evaluate("main", *args)
    built = relay.build(program(LAYERS), precision=precision)
    np.testing.assert_allclose(built(*args), want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(want, Interpreter(program(LAYERS)).evaluate("main", *args), atol=0.02)
    assert str(built.report()) == str(report)


def test_what_products_read_is_rounded_once_and_what_is_between_is_wide():
    mod, report = with_precision(program(LAYERS), "bf16")
    assert "cast(nn.relu(@encoder(%x, %w) + 1f), dtype=bfloat16)" in str(mod)
    assert [ops(places) for places in report.products.values()] == [["nn.dense", "nn.dense"]]
    assert sorted(map(ops, report.kept.values())) == [["add", "nn.gelu"], ["nn.softmax"]]


def test_a_definition_overrides_the_choice_for_the_program():
    kept = program(LAYERS + 'attributes @encoder { precision: "float32" }')
    built = relay.build(kept, precision="f16")
    assert ops(built.report().kept['precision is "f32"']) == ["nn.dense"]
    assert built.report().kept['precision is "f32"'][0].definition == "encoder"
    alone = relay.build(program(LAYERS + 'attributes @encoder { precision: "bfloat16" }'))
    assert [ops(places) for places in alone.report().products.values()] == [["nn.dense"]]
    args = numbers((16, 32), (64, 32), (10, 64))
    assert not np.array_equal(alone(*args), relay.build(program(LAYERS))(*args))


def test_few_rows_with_a_matrix_that_is_an_argument_stay_wide_unless_it_is_bound():
    mod = program("def @main(%x: Tensor[(2, 64), f32], %w: Tensor[(96, 64), f32]) { nn.dense(%x, %w) }")
    x, w = numbers((2, 64), (96, 64))
    given = relay.build(mod, precision="bf16")
    assert "few rows" in str(given.report())
    np.testing.assert_array_equal(given(x, w), relay.build(mod)(x, w))
    assert relay.build(mod, params={"w": w}, precision="bf16").report().products


def test_tables_are_stored_narrow_and_thresholds_stay_what_they_are():
    mod = program("""
    def @main(%i: Tensor[(9,), int32], %t: Tensor[(300, 64), f32], %w: Tensor[(5, 64), f32]) {
      minimum(nn.dense(nn.relu(take(%t, %i, axis=0)), %w), 0.1f)
    }""")
    i, (t, w) = np.arange(9, dtype="int32"), numbers((300, 64), (5, 64))
    built = relay.build(mod, params={"t": t, "w": w}, precision="bf16")
    assert built.report().weight_bytes == (4 * (t.size + w.size), 2 * (t.size + w.size))
    assert built(i).max() == np.float32(0.1)


def test_derivatives_are_computed_in_the_precision_too():
    mod = program("""
    def @loss(%w: Tensor[(64, 32), f32], %x: Tensor[(16, 32), f32]) {
      let %y = nn.softmax(nn.gelu(nn.dense(%x, %w)));
      sum(%y * %y)
    }
    def @main(%w: Tensor[(64, 32), f32], %x: Tensor[(16, 32), f32]) { grad(@loss)(%w, %x).1 }
    """)
    w, x = numbers((64, 32), (16, 32))
    want = relay.build(mod)(w / 6, x)
    for own in ("", 'attributes @loss { precision: "bf16" }'):
        built = relay.build(program(str(mod) + own), precision=None if own else "bf16")
        for one, other in zip(built(w / 6, x), want, strict=True):
            assert 0 < abs(one - other).max() < 0.02 * abs(other).max()


def test_a_program_without_products_has_nothing_to_do():
    mod = program("def @main(%x: Tensor[(3,), f32]) { exp(%x) }")
    built = relay.build(mod, precision="f16")
    assert str(built.report()).startswith("nothing to do")
    assert relay.build(mod).report().kept == {}
    integers = program("def @main(%x: Tensor[(3, 4), int8], %w: Tensor[(5, 4), int8]) { nn.dense(%x, %w) }")
    assert str(relay.build(integers, precision="bf16").report()).startswith("nothing to do")


def test_the_report_shows_three_places_of_a_reason_and_all_in_full():
    text = "%x"
    for _ in range(6):
        text = f"exp({text})"
    report = relay.build(program(f"def @main(%x: Tensor[(3,), f32]) {{ {text} }}"), precision="bf16").report()
    assert "6 exp: exponentials" in str(report)
    assert "and 3 more" in str(report)
    assert report.full().count("in `@main`") == 6


@pytest.mark.parametrize(("name", "hint"), [("bf61", "did you mean `bf16`"), ("quick", "there are `f32`")])
def test_an_unknown_precision_is_refused(name, hint, tmp_path):
    with pytest.raises(RelayError) as error:
        relay.build(program(LAYERS), precision=name)
    assert error.value.codes == ("unknown-precision",)
    assert hint in str(error.value)
    with pytest.raises(RelayError) as error:
        relay.build(program(LAYERS + f'attributes @encoder {{ precision: "{name}" }}'))
    assert error.value.codes == ("unknown-precision",)
    assert error.value.diagnostics[0].span is not None
    with pytest.raises(RelayError) as error:
        relay.build(program(LAYERS + "attributes @encoder { precision: 16 }"))
    assert error.value.codes == ("unknown-precision",)


def test_the_command_line_takes_a_precision(tmp_path, capsys):
    file, compiled = tmp_path / "layer.relay", str(tmp_path / "layer.rlo")
    head = "def @main(%x: Tensor[(9, 2), float32], %w: Tensor[(1, 2), float32])"
    file.write_text(f"{head} {{ nn.dense(%x, %w) }}")
    run = ["run", str(file), "[" + "[1.00390625, 1.0], " * 8 + "[1.0, 1.0]]", "[[1.0, 0.0]]"]
    for backend in ("native", "interpreter"):
        assert main([*run, "--precision", "bf16", "--backend", backend]) == 0
        assert capsys.readouterr().out.count("[1.0]") == 9
    assert main(["compile", str(file), "-o", compiled, "--precision", "bf16", "--report-all"]) == 0
    assert capsys.readouterr().out == "1 nn.dense on bfloat16, added up in float32\n"
    assert "a compiled file" in str(relay.load_module(compiled).report())
    assert main([*run, "--precision", "bf15"]) == 1
    assert "unknown-precision" in capsys.readouterr().err


@pytest.mark.parametrize(
    "op", ["nn.dense(%x, %w)", "nn.matmul(%x, %w, transpose_b=True)", "nn.matmul(%x, %v)"]
)
def test_int8_products_are_within_half_a_step_of_both_operands(op):
    x, w = numbers((9, 96), (40, 96))
    x[3] = 0
    head = "def @main(%x: Tensor[(9, 96), f32], %w: Tensor[(40, 96), f32], %v: Tensor[(96, 40), f32])"
    built = relay.build(program(f"{head} {{ {op} }}"), params={"w": w, "v": w.T.copy()}, precision="int8")
    row, column = abs(x).max(axis=1, keepdims=True) / 254, abs(w).max(axis=1) / 254
    exact = x.astype("float64") @ w.T
    bound = row * abs(w).sum(axis=1) + abs(x).sum(axis=1, keepdims=True) * column + 96 * row * column
    assert (abs(built(x) - exact) <= 1.001 * bound + 1e-6).all()
    assert built.report().weight_bytes == (w.nbytes, w.size + 4 * 40)


def test_int4_weights_are_within_half_a_step_of_their_group():
    x, w = numbers((9, 96), (40, 96))
    mod = program("def @main(%x: Tensor[(9, 96), f32], %w: Tensor[(40, 96), f32]) { nn.dense(%x, %w) }")
    built = relay.build(mod, params={"w": w}, precision="int4")
    step = np.repeat(abs(w).reshape(40, 3, 32).max(axis=2) / 8, 32, axis=1)
    data_step = np.repeat(abs(x).reshape(9, 3, 32).max(axis=2) / 254, 32, axis=1)
    bound = (abs(x) + data_step) @ step.T + data_step @ abs(w).T
    assert (abs(built(x) - x @ w.T) <= bound + 1e-4).all()
    assert built.report().weight_bytes[1] == w.size // 2 + 4 * w.size // 32


def test_what_has_no_integers_is_named():
    mod = program("""
    def @main(%x: Tensor[(9, 40), f32], %w: Tensor[(5, 40), f32], %y: Tensor[(9, 5), f32],
              %z: Tensor[(3, 5), f32]) {
      nn.softmax(nn.dense(nn.dense(%x, %w) + %y, %z))
    }""")
    (w,) = numbers((5, 40))
    report = relay.build(mod, params={"w": w}, precision="int4").report()
    assert "not whole groups of 32" in str(report)
    assert "only products of data with constant matrices" in str(report)
    assert str(report).startswith("nothing to do")


@pytest.mark.parametrize("precision", ["bf16", "f16", "int8"])
def test_attention_stays_one_kernel(precision):
    mod = program("""
    def @main(%x: Tensor[(2, 3, 16, 32), f32], %w: Tensor[(32, 32), f32]) {
      let %y = nn.matmul(%x, %w);
      nn.matmul(nn.softmax(nn.batch_matmul(%y[0], %y[1])), %y[0])
    }""")
    x, w = numbers((2, 3, 16, 32), (32, 32))
    built = relay.build(mod, params={"w": w / 16}, precision=precision)
    assert [ops(places) for places in built.report().products.values()] == [["nn.matmul"]]
    np.testing.assert_allclose(built(x), relay.build(mod, params={"w": w / 16})(x), atol=0.1)


@pytest.mark.parametrize("precision", ["bf16", "f16", "int8", "int4"])
def test_digits_are_read_as_well_in_every_precision(precision):
    from safetensors.numpy import load_file

    examples = Path(__file__).parents[2] / "examples"
    data, weights = np.load(examples / "digits.npz"), load_file(examples / "digits.safetensors")
    text = (examples / "digits.relay").read_text()
    images, labels = data["images"], data["labels"]
    values = [weights[name] for name in ("conv1", "bias1", "conv2", "bias2", "dense", "bias3")]
    types = [f"%w{i}: Tensor[{w.shape}, f32]" for i, w in enumerate(values)]
    fields = ", ".join(f"%w{i}" for i in range(len(values)))
    head = f"def @main(%x: Tensor[{images.shape}, f32], {', '.join(types)})"
    mod = relay.parse(f"{text.replace('@main', '@share')}\n{head} {{ @network(%x, ({fields})) }}")
    built = relay.build(mod, params={f"w{i}": w for i, w in enumerate(values)}, precision=precision)
    share = (built(images).argmax(axis=1) == labels).mean()
    exact = relay.build(mod, params={f"w{i}": w for i, w in enumerate(values)})
    assert share >= (exact(images).argmax(axis=1) == labels).mean() - 0.01
    assert built.report().products
