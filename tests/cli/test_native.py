"""`relay run --backend native`, `relay compile` and `relay bench`."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from support import cli

AFFINE = "def @main(%x: Tensor[(n,), float32], %k: float32) { %x * %k }\ndef @half(%i: int32) { 12 / %i }\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("affine.relay").write_text(AFFINE)
    return tmp_path


def test_both_backends_print_the_same() -> None:
    for arguments in (["affine.relay", "[1.0, 2.0]", "3.0"], ["affine.relay", "--entry", "half", "5"]):
        wanted = cli("run", *arguments)
        assert wanted.status == 0
        assert cli("run", "--backend", "native", *arguments) == wanted
    Path("data.relay").write_text(
        'import "std/list"\ndef @main(%l: List[int32]) { (@rev(%l), @c) }\ndef @c = 4'
    )
    wanted = cli("run", "data.relay", "Cons(1, Cons(2, Nil))")
    assert cli("run", "data.relay", "Cons(1, Cons(2, Nil))", "--backend", "native") == wanted
    assert cli("run", "--entry", "c", "--backend", "native", "data.relay").output == "4\n"


def test_faults_show_the_same_place() -> None:
    found = [cli("run", "affine.relay", "--entry", "half", "0", "--backend", b) for b in ("debug", "native")]
    assert found[0].status == found[1].status == 1
    assert "affine.relay:2:24" in found[1].output
    assert found[0].output.splitlines()[:5] == found[1].output.splitlines()[:5]


def test_a_profile_is_a_table_and_a_trace() -> None:
    ran = cli("run", "--profile", "affine.relay", "[1.0, 2.0]", "3.0", "--trace", "trace.json")
    assert ran.status == 0
    assert "multiply" in ran.output
    events = json.loads(Path("trace.json").read_text())["traceEvents"]
    assert [e["name"] for e in events] == ["@fused multiply"]


def test_what_has_no_native_code_is_named() -> None:
    Path("any.relay").write_text("def @main[A](%x: A) { %x }")
    ran = cli("compile", "any.relay")
    assert ran.status == 1
    assert ran.output.startswith("error[no-native-code]")
    assert "hint: " in ran.output


def test_a_program_is_compiled_and_run_from_its_file() -> None:
    assert cli("compile", "affine.relay", "--entry", "main", "--entry", "half").output == ""
    os.unlink("affine.relay")
    np.save("x.npy", np.asarray([1, 2], "float32"))
    for x in ("x.npy", "[1.0, 2.0]", "x=x.npy"):
        assert cli("run", "affine.rlo", x, "k=3.0").output == "[3.0, 6.0]\n"
    assert cli("run", "affine.rlo", "--entry", "half", "5").output == "2\n"
    assert cli("run", "affine.rlo", "--backend", "interpreter", "[1.0]", "2.0").status == 2
    for wrong in (["[1, 2]"], ["[1.0]", "2.0", "3.0"], ["[[1.0]]", "2.0"], ["--entry", "double"]):
        ran = cli("run", "affine.rlo", *wrong)
        assert ran.status == 1
        assert ran.output.startswith("error[")


@pytest.mark.parametrize("command", ["compile", "export"])
def test_weights_that_no_parameter_is_called_like_are_not_passed_over(command: str) -> None:
    np.savez("weights.npz", kk=np.float32(3))
    ran = cli(command, "affine.relay", "--weights", "weights.npz")
    assert (ran.status, "error[unknown-input]" in ran.output) == (1, True)


def test_weights_become_constants() -> None:
    np.savez("weights.npz", k=np.float32(3), unused=np.ones(3))
    assert cli("compile", "affine.relay", "--weights", "weights.npz", "-o", "out.rlo").output == ""
    assert cli("run", "out.rlo", "[1.0, 2.0]").output == "[3.0, 6.0]\n"


def test_code_can_be_read() -> None:
    llvm = cli("compile", "affine.relay", "--emit", "llvm").output
    assert "define" in llvm
    assert "@relay_enter(" in llvm
    assert "relay_enter" in cli("compile", "affine.relay", "--emit", "asm").output
    assert "def @main<n: Dim>(" in cli("compile", "affine.relay", "--emit", "plan").output
    assert not Path("affine.rlo").exists()


def test_wrong_usage_is_named() -> None:
    assert cli("compile", "-", stdin=AFFINE.encode()).status == 2
    assert cli("compile", "affine.relay", "--entry", "nain").status == 1
    assert cli("run", "--backend", "fast", "affine.relay").status == 2
    assert cli("bench", "affine.relay", "--backend", "fast").status == 2
    assert cli("bench", "affine.relay", "[1.0, 2.0]", "3.0", "--rounds", "0").status == 2
    assert "error[missing-input]" in cli("bench", "affine.relay").output


def test_backends_are_timed_side_by_side() -> None:
    ran = cli("bench", "affine.relay", "[1.0, 2.0]", "3.0", "--rounds", "2")
    assert ran.status == 0
    assert "native" in ran.output
    assert "interpreter" in ran.output
    Path("plus.relay").write_text(
        "def @main(%x: Tensor[(4,), float32], %i: Tensor[(2,), int32]) { (%x, %i) }"
    )
    ran = cli("bench", "plus.relay", "--backend", "interpreter", "--rounds", "1")
    assert ran.status == 0
    assert "native" not in ran.output


def test_a_program_is_compiled_once_for_all_inputs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAY_CACHE", str(folder / "cache"))
    for x, wanted in (("[1.0, 2.0]", "[2.0, 4.0]\n"), ("[3.0]", "[6.0]\n")):
        assert cli("run", "--backend", "native", "affine.relay", x, "2.0").output == wanted
    assert len(list((folder / "cache").iterdir())) == 1


def test_inputs_may_be_functions_and_use_the_program() -> None:
    text = "def @main(%f: fn(int32) -> int32, %x: int32) { %f(%x) }\ndef @twice(%i: int32) { 2 * %i }"
    Path("apply.relay").write_text(text)
    inc = "fn (%i: int32) { %i + 1 }"
    for arguments in (["@twice", "4"], [inc, "4"], [inc, f"@main({inc}, @twice(3))"]):
        wanted = cli("run", "apply.relay", *arguments)
        assert wanted.status == 0
        assert cli("run", "--backend", "native", "apply.relay", *arguments) == wanted
    for wrong in (["[[1.0]]", "2.0"], ["[1.0]", "[2.0]"]):
        ran = [cli("run", "affine.relay", "--backend", b, *wrong) for b in ("debug", "native")]
        assert ran[0].status == 1
        assert ran[0] == ran[1]


def test_machine_code_is_not_written_under_another_formats_name(folder: Path) -> None:
    ran = cli("compile", "affine.relay", "-o", "affine.onnx")
    assert ran.status == 2
    assert "the name must end in .rlo; `relay export` writes ONNX models" in ran.output
    assert not (folder / "affine.onnx").exists()
