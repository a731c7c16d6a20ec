"""Programs exported to files, and these files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from backend.xla.near import assert_near
from driver.programs import assert_damage_is_found, codes
from relay.backend import stored
from relay.backend.xla import exported, exported_file
from relay.interpreter.value import ConstructorValue
from support import cli

pytestmark = pytest.mark.extras
jax = pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

PLATFORMS = ("cuda", "tpu", "rocm", "cpu")
X = np.array([[1, -2], [0.5, 0], [3, 1]], "float32")
LISTS = """
type List { Nil, Cons(float32, List) }
def @sum(%l: List) -> float32 { match (%l) { Nil => 0f, Cons(%h, %t) => %h + @sum(%t) } }
def @main(%l: List, %x: float32) { (%l, @sum(%l) * %x) }
"""
DENSE = "def @main(%x: Tensor[(n, 2), float32], %w: Tensor[(3, 2), float32]) { tanh(nn.dense(%x, %w)) }"


def through_file(text: str, path: Path, **options: Any) -> Any:
    relay.build(relay.parse(text, "p.relay"), "xla").export_library(path, PLATFORMS, **options)
    return relay.load_module(path)


@pytest.mark.parametrize(
    ("text", "args"),
    [
        (DENSE, (X, X)),
        ("def @main(%x: float32) { if (%x > 1f) { (%x, 1) } else { (exp(%x), 2) } }", (0.5,)),
        ("def @main(%x: int64, %y: float64) { (%x * 4611686018427387904i64, %y / 3f64) }", (3, 2.0)),
        ("def @main(%x: (Tensor[(3, 2), float32], int32)) { (%x.1, grad(fn(%y) { sum(%y * %y) })(%x.0)) }",
         ((X, 2),)),
        ("def @f(%i: int32, %a: float32) -> float32 { if (%i == 0) { %a } else { @f(%i - 1, %a * 2f) } }"
         " def @main(%n: int32) { @f(%n, 1f) }", (10,)),
        ("type P { P { a: float32, b: Tensor[(3, 2), float32] } }"
         " def @main(%p: P) { (%p, sum(%p.b) * %p.a) }", ({"p": {"a": 2.0, "b": X}},)),
        ('def @main(%x: float32) { let %r = ref(%x); (%r, %r, "a") }', (3.0,)),
        ("def @main(%x: Tensor[(n,), bfloat16], %y: Tensor[(n,), int4]) { (%x + %x, %y) }",
         (relay.const([1.0, 2.0], "bfloat16").data, relay.const([1, -2], "int4").data)),
        ("def @main() { 3 }", ()),
    ],
)  # fmt: skip
def test_a_file_gives_the_values_of_the_interpreter(tmp_path: Path, text: str, args: Any) -> None:
    loaded = through_file(text, tmp_path / "p.rlx")
    assert_near(loaded(*args), relay.create_executor("debug", relay.parse(text)).evaluate()(*args))
    assert loaded.platforms == PLATFORMS


def test_large_constants_are_in_the_file_once(tmp_path: Path) -> None:
    w = np.random.default_rng(0).standard_normal((200, 100)).astype("float32")
    mod = relay.parse("""
    def @weights = meta[relay.Constant][0]
    def @main(%x: Tensor[(n, 100), float32]) { nn.dense(%x, @weights) }
    def @other(%x: Tensor[(n, 100), float32]) { nn.dense(%x, @weights * 2f) }
    def @third(%x: float32) { %x }
    """, init_meta_table={"relay.Constant": [relay.const(w)]})  # fmt: skip
    built = relay.build(mod, "xla", entries=["main", "other", "third"])
    built.export_library(tmp_path / "p.rlx")
    assert w.nbytes < (tmp_path / "p.rlx").stat().st_size < 1.5 * w.nbytes
    loaded = relay.load_module(tmp_path / "p.rlx")
    x = np.ones((2, 100), "float32")
    np.testing.assert_allclose(loaded(x), x @ w.T, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(loaded["other"](x), 2 * x @ w.T, rtol=1e-4, atol=1e-4)
    assert loaded["third"](2) == 2
    assert loaded.entries == ("main", "other", "third")


def test_a_size_is_open_or_a_number(tmp_path: Path) -> None:
    loaded = through_file(DENSE, tmp_path / "p.rlx")
    for n in (1, 3, 7):
        assert loaded(np.ones((n, 2), "float32"), X).shape == (n, 3)
    assert codes(lambda: loaded(np.ones((0, 2), "float32"), X)) == ("argument-type",)
    loaded = through_file(DENSE, tmp_path / "p.rlx", sizes={"n": 4})
    assert loaded(np.ones((4, 2), "float32"), X).shape == (4, 3)
    assert codes(lambda: loaded(np.ones((3, 2), "float32"), X)) == ("argument-type",)


def test_an_example_shows_the_structure_of_data(tmp_path: Path) -> None:
    assert codes(lambda: through_file(LISTS, tmp_path / "p.rlx")) == ("xla-unsupported",)
    loaded = through_file(LISTS, tmp_path / "p.rlx", example={"l": [1.0, 2.0]})
    same, total = loaded([3.0, 4.0], 2.0)
    assert isinstance(same, ConstructorValue)
    assert (same.fields[0], total) == (3.0, 14.0)
    assert codes(lambda: loaded([3.0], 2.0)) == ("argument-type",)


def test_names_arrays_on_the_device_and_put(tmp_path: Path) -> None:
    loaded = through_file(DENSE, tmp_path / "p.rlx")
    w = loaded.put(w=X)
    found = loaded(w=w, x=X, on_device=True)
    assert isinstance(w, jax.Array)
    assert isinstance(found, jax.Array)
    np.testing.assert_allclose(found, np.tanh(X @ X.T), rtol=1e-6)
    np.testing.assert_allclose(loaded({"x": X, "w": X}), found)
    assert codes(lambda: loaded.put(v=X)) == ("unknown-input",)
    assert codes(lambda: loaded["none"]) == ("unknown-global",)
    assert codes(lambda: loaded(X)) == ("argument-count",)


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("def @main(%x: int32, %y: int32) { %x / %y }", (1, 0)),
        ('def @main(%x: float32) { assert(%x > 0f, "positive"); 1 / cast(%x, dtype="int32") }', (-1.0,)),
        ("def @main(%x: Tensor[(2, 2), float32]) { linalg.cholesky(%x) }", (-np.eye(2, dtype="float32"),)),
        ("def @f(%i: int32, %n: int32) -> int32 { if (%i == 0) { 10 / %n } else { @f(%i - 1, 12 / %n) } }"
         " def @main(%n: int32) { @f(3, %n) }", (0,)),
    ],
)  # fmt: skip
def test_what_fails_says_what_the_interpreter_says(tmp_path: Path, text: str, args: Any) -> None:
    loaded = through_file(text, tmp_path / "p.rlx")
    with pytest.raises(relay.RelayError) as found:
        loaded(*args)
    with pytest.raises(relay.RelayError) as wanted:
        relay.create_executor("debug", relay.parse(text, "p.relay")).evaluate()(*args)
    (d,), (w,) = found.value.diagnostics, wanted.value.diagnostics
    assert (d.code, d.message, str(d.span), d.hint) == (w.code, w.message, str(w.span), w.hint)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def @main(%x: Tensor[(n,), float32]) { argwhere(%x) }", "`argwhere`: values decide"),
        ("def @main(%x: Tensor[(n,), float32]) { shape_of(%x) }", 'sizes={"n": …}'),
        ("def @main(%f: fn(float32) -> float32) { %f(2f) }", "it takes functions or references"),
        ("def @main[A](%x: A) { %x }", 'example={"x": …}'),
        ("def @main(%n: int32) -> int32 { if (%n == 0) { 1 } else { 1 + @main(%n - 1) } }", "calls itself"),
    ],
)
def test_what_is_not_whole_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(relay.RelayError, match=r"xla-unsupported") as error:
        through_file(text, tmp_path / "p.rlx")
    assert said in str(error.value)
    assert not (tmp_path / "p.rlx").exists()


def test_options_that_name_nothing(tmp_path: Path) -> None:
    built = relay.build(relay.parse(DENSE), "xla")
    path = tmp_path / "p.rlx"
    assert codes(lambda: built.export_library(path, "gpu")) == ("unknown-target",)
    assert codes(lambda: built.export_library(path, ())) == ("unknown-target",)
    assert codes(lambda: built.export_library(path, sizes={"m": 1})) == ("unknown-dimension",)
    assert codes(lambda: built.export_library(path, sizes={"n": -1})) == ("argument-type",)
    assert codes(lambda: built.export_library(path, example={"v": X})) == ("unknown-input",)
    assert codes(lambda: built.export_library(path, example={"w": [1.0]})) == ("argument-type",)
    assert codes(lambda: built.export_library(tmp_path / "none" / "p.rlx")) == ("cannot-write",)


# --- bad files


def test_files_that_are_not_whole_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.rlx"
    built = relay.build(relay.parse(DENSE), "xla", params={"w": np.ones((3, 2), "float32")})
    built.export_library(path)
    assert_damage_is_found(path)
    assert codes(lambda: relay.load_module(tmp_path / "none.rlx")) == ("cannot-read",)


def changed_header(path: Path, **changes: Any) -> None:
    """Change the header of a file, and its digest too."""
    data = path.read_bytes()
    fixed = stored.FIXED_HEADER
    magic, version, size, _ = fixed.unpack(data[: fixed.size])
    header = json.loads(data[fixed.size : fixed.size + size])
    text = json.dumps({**header, **changes}).encode()
    before, after = (stored.align_up(fixed.size + n, 64) for n in (size, len(text)))
    start = fixed.pack(magic, version, len(text), stored.digest(text)) + text
    path.write_bytes(start.ljust(after, b"\0") + data[before:])


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"relay": "9.9"}, "bad-artefact"),
        ({"convention": 99}, "bad-artefact"),
        ({"platforms": ["tpu", "rocm"]}, "other-machine"),
        ({"devices": 4096}, "other-machine"),
        ({}, None),
    ],
)
def test_files_for_something_else_are_refused(tmp_path: Path, changes: Any, code: str | None) -> None:
    path = tmp_path / "p.rlx"
    relay.build(relay.parse(DENSE), "xla").export_library(path)
    changed_header(path, **changes)
    if code is None:
        assert relay.load_module(path)(X, X).shape == (3, 3)
    else:
        assert codes(lambda: relay.load_module(path)) == (code,)


def test_code_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.rlx"
    read = exported_file.read_exported
    relay.build(relay.parse(DENSE), "xla").export_library(path)

    def foreign(name: str) -> Any:
        program = read(name)
        entry = program.entries["main"]
        other = exported_file.StoredEntry(entry.signature, b"no code", entry.constants)
        return exported_file.StoredProgram(*program_fields(program), {"main": other})

    def program_fields(p: Any) -> list[Any]:
        return [p.name, p.platforms, p.devices, p.convention, p.datatypes]

    monkeypatch.setattr(exported, "read_exported", foreign)
    assert codes(lambda: relay.load_module(path)) == ("bad-artefact",)


def test_machine_code_has_options_that_these_files_do_not_have(tmp_path: Path) -> None:
    relay.build(relay.parse(DENSE), "xla").export_library(tmp_path / "p.rlx")
    assert codes(lambda: relay.load_module(tmp_path / "p.rlx", threads=2)) == ("unknown-option",)


# --- the command line


def test_a_file_is_made_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.relay").write_text(
        "type Tree { Leaf, Node(int32, Tree, Tree) }\n"
        "def @main(%x: Tensor[(n,), float32], %k: float32) { (%x * %k, Node(1, Leaf, Leaf)) }\n"
        "def @half(%i: int32) { 12 / %i }\n"
    )
    done = cli("compile", "--target", "xla", "--platform", "cuda", "--platform", "cpu", "p.relay",
               "--entry", "main", "--entry", "half")  # fmt: skip
    assert (done.status, done.output) == (0, "")
    assert cli("run", "p.rlx", "[1.0, 2.0]", "3.0").output == "([3.0, 6.0], Node(1, Leaf, Leaf))\n"
    assert cli("run", "p.rlx", "k=3.0", "x=[1.0]", "--entry", "main").output.startswith("([3.0]")
    failed = cli("run", "p.rlx", "--entry", "half", "0")
    assert failed.status == 1
    assert "p.relay:3:24" in failed.output
    assert cli("run", "p.rlx", "--profile", "1").status == 2
    assert cli("compile", "--target", "xla tpu", "p.relay", "-o", "t.rlx", "--size", "n=3").status == 0
    assert cli("run", "t.rlx", "[1.0]", "2.0").output.startswith("error[other-machine]")


def test_stablehlo_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "p.relay"
    path.write_text("def @main(%x: Tensor[(n,), float32]) { tanh(%x) }")
    done = cli("compile", "--target", "xla tpu", "--emit", "stablehlo", "--size", "n=3", str(path))
    assert done.status == 0
    assert "stablehlo.tanh %arg0 : tensor<3xf32>" in done.output
    assert "loc(" not in done.output
    assert list(tmp_path.iterdir()) == [path]


# --- meshes

STEP = """
attributes @main {
  mesh: {"data": 4, "model": 2},
  shard: {"w": ("model", None), "x": ("data", None), "y": ("data", ("model",))},
  donate: ("w",)
}
def @loss(%w: Tensor[(4, 8), float32], %x: Tensor[(n, 8), float32], %y: Tensor[(n, 4), float32]) {
  mean(power(shard(nn.dense(%x, %w), spec=("data", "model")) - %y, 2f))
}
def @main(%w: Tensor[(4, 8), float32], %x: Tensor[(n, 8), float32], %y: Tensor[(n, 4), float32]) {
  let %r = grad(@loss)(%w, %x, %y);
  (%r.0, %w - 0.1f * %r.1.0)
}
"""


@pytest.mark.usefixtures("eight_devices")
def test_a_program_over_a_mesh_is_the_same_from_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    w, x, y = [rng.standard_normal(s).astype("float32") for s in ((4, 8), (8, 8), (8, 4))]
    loaded = through_file(STEP, tmp_path / "p.rlx", sizes={"n": 8})
    wanted = relay.build(relay.parse(STEP.split("}", 3)[-1]))(w, x, y)
    there = loaded.put(w=w)
    assert len(there.sharding.device_set) == 8
    loss, new = loaded(there, x, y, on_device=True)
    np.testing.assert_allclose(loss, wanted[0], rtol=1e-6)
    np.testing.assert_allclose(new, wanted[1], rtol=1e-5)
    assert new.sharding.shard_shape(new.shape) == (2, 8)
    assert codes(lambda: loaded(there, x, y)) == ("donated",)


def test_a_mesh_of_more_devices_than_there_are_is_exported(tmp_path: Path) -> None:
    path = tmp_path / "p.rlx"
    mod = relay.parse(STEP.replace('"data": 4', '"data": 128'))
    relay.build(mod, "xla").export_library(path, "tpu", sizes={"n": 1024})
    changed_header(path, platforms=["cpu"])
    with pytest.raises(relay.RelayError, match=r"other-machine.*is for 256 devices, and JAX finds 8"):
        relay.load_module(path)
