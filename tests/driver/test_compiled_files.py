"""Compiled programs in files: whole ones, damaged ones, and those for several processors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from driver.programs import ADD, ONES, SHAPES, assert_damage_is_found, codes
from relay.backend.native.host import artefact
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.llvm import jit
from relay.backend.native.llvm.codegen import emit_text
from relay.backend.native.llvm.processors import processor_named


def circle(mod: relay.IRModule, r: float) -> Any:
    constructor, _ = mod.get_type("Shape")[1:]
    return relay.ConstructorValue(constructor, (np.float32(r),))


def test_a_program_is_the_same_from_a_file(tmp_path: Path) -> None:
    mod = relay.parse(SHAPES, "shapes.relay")
    path = tmp_path / "shapes.rlo"
    relay.build(mod, entries=["main", "other"]).export_library(path)
    loaded = relay.load_module(path)
    assert loaded.entries == ("main", "other")
    assert loaded["other"](4) == 8
    box, inc = loaded["main"](ONES, circle(mod, 2.0))
    assert inc(3) == 4
    again, divide = loaded(ONES, box)
    assert again == circle(mod, 5.0)
    with pytest.raises(relay.RelayError) as error:
        divide(0)
    assert error.value.codes == ("divide-by-zero",)
    assert str(error.value.diagnostics[0].span) == "shapes.relay:7:61"
    assert "10 / %i" in str(error.value)


def test_a_file_with_weights_is_the_same_and_can_be_written_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    w = rng.standard_normal((40, 50)).astype("float32")
    x = rng.standard_normal((3, 50)).astype("float32")
    mod = relay.parse(
        "def @main(%x: Tensor[(3, 50), float32], %w: Tensor[(40, 50), float32]) { nn.dense(%x, %w) }"
    )
    built = relay.build(mod, params={"w": w})
    built.export_library(tmp_path / "a.rlo")
    first = relay.load_module(tmp_path / "a.rlo")
    first.export_library(tmp_path / "b.rlo")
    second = relay.load_module(tmp_path / "b.rlo")
    np.testing.assert_allclose(second(x), x @ w.T, rtol=1e-4, atol=1e-4)
    assert (first(x) == second(x)).all()
    assert (built(x) == second(x)).all()


def test_files_that_are_not_whole_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.rlo"
    relay.build(relay.parse(ADD), params={"w": ONES}).export_library(path)
    assert_damage_is_found(path)
    path.write_bytes(b"\x7fELF" + bytes(1000))
    assert codes(lambda: relay.load_module(path)) == ("bad-artefact",)
    assert codes(lambda: relay.load_module(tmp_path / "none.rlo")) == ("cannot-read",)


def test_files_of_other_versions_and_machines_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.rlo"
    relay.build(relay.parse(ADD)).export_library(path)
    with monkeypatch.context() as patch:
        patch.setattr(artefact, "version", lambda: "9.9")
        assert codes(lambda: relay.load_module(path)) == ("bad-artefact",)
    with monkeypatch.context() as patch:
        patch.setattr(jit, "features", lambda: ["sse2"])
        assert codes(lambda: relay.load_module(path)) == ("other-machine",)
    with monkeypatch.context() as patch:
        patch.setattr(jit, "triple", lambda: "riscv64")
        assert codes(lambda: relay.load_module(path)) == ("other-machine",)


LAYER = """
def @main(%x: Tensor[(7, 40), float32], %w: Tensor[(33, 40), float32]) {
  nn.softmax(nn.relu(nn.dense(%x, %w)))
}
"""


@pytest.mark.skipif(not jit.triple().startswith("x86_64"), reason="levels are those of x86-64")
def test_a_file_for_several_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype("float32") for s in ((7, 40), (33, 40)))
    levels = ["x86-64-v2", "native", "x86-64-v4+avx512vnni"]
    built = relay.build(relay.parse(LAYER), levels, params={"w": w})
    wanted = relay.build(relay.parse(LAYER), params={"w": w})(x)
    np.testing.assert_array_equal(built(x), wanted)
    path = tmp_path / "a.rlo"
    built.export_library(path)
    best = relay.load_module(path)
    assert set(best.artefact.features) >= set(built.artefact.features)
    np.testing.assert_array_equal(best(x), wanted)
    old = processor_named("x86-64-v2")
    assert old is not None
    monkeypatch.setattr(jit, "features", lambda: list(old.features))
    plain = relay.load_module(path)
    assert set(plain.artefact.features) == set(old.features)
    np.testing.assert_allclose(plain(x), wanted, rtol=1e-5)
    monkeypatch.setattr(jit, "features", lambda: ["sse2"])
    assert codes(lambda: relay.load_module(path)) == ("other-machine",)


@pytest.mark.skipif(not jit.triple().startswith("x86_64"), reason="levels are those of x86-64")
def test_code_for_a_processor_has_its_vectors() -> None:
    mod = relay.infer(relay.parse(LAYER))
    registers = {"x86-64-v4": "%zmm", "x86-64-v3": "%ymm", "x86-64-v2": "%xmm"}
    wider = {"x86-64-v3": "%zmm", "x86-64-v2": "%ymm"}
    for name, register in registers.items():
        with jit.compiling_for(processor_named(name)):
            text = emit_text(Compiler(mod).modules(), "asm")
        assert register in text
        assert name not in wider or wider[name] not in text


def test_targets_that_are_not_there() -> None:
    mod = relay.parse(ADD)
    assert codes(lambda: relay.build(mod, "x86-64-v9")) == ("unknown-target",)
    assert codes(lambda: relay.build(mod, ["native", "cuda"])) == ("unknown-target",)
    assert codes(lambda: relay.build(mod, "x86-64-v3+avx1024")) == ("unknown-target",)
    assert codes(lambda: relay.build(mod, [])) == ("other-machine",)
