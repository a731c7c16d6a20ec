"""`relay fmt`: the same program, the same comments, and nothing to do the second time."""

from pathlib import Path

import pytest

from relay.cli.comments import scan
from relay.cli.fmt import formatted
from relay.ir.equal import structural_equal
from relay.text.parser import parse_module
from support import ROOT, cli

PROGRAMS = sorted([*(ROOT / "examples").glob("*.relay"), *(ROOT / "src" / "relay" / "std").glob("*.relay")])


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_formatting_keeps_program_and_comments_and_is_done_in_one_go(path: Path) -> None:
    old = path.read_text()
    new = formatted(old, str(path))
    assert sorted(c.text for c in scan(new)[1]) == sorted(c.text for c in scan(old)[1])
    assert structural_equal(parse_module(new, path=path), parse_module(old, path=path))
    assert formatted(new, str(path)) == new


def test_a_file_is_rewritten_once_and_left_alone_then(tmp_path: Path) -> None:
    path = tmp_path / "a.relay"
    path.write_text("def @f(%x:int32){%x} // f\n")
    path.chmod(0o640)
    assert cli("fmt", str(path)).output == f"{path}: formatted\n"
    assert path.read_text() == "def @f(%x: int32) {\n  %x\n}  // f\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert cli("fmt", str(path)).output == ""
    assert cli("fmt", "--check", str(path)).status == 0


def test_a_file_with_an_error_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.relay"
    path.write_text("def @f( {")
    assert cli("fmt", str(path)).status == 1
    assert path.read_text() == "def @f( {"


def test_other_files_are_formatted_when_one_has_an_error(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.relay", tmp_path / "good.relay"
    bad.write_text("def @f( {")
    good.write_text("def @f(){1}")
    assert cli("fmt", str(bad), str(good)).status == 1
    assert good.read_text() == "def @f() {\n  1\n}\n"


def test_a_type_error_does_not_keep_a_file_from_being_formatted() -> None:
    assert cli("fmt", "-", stdin=b"def @f() -> float32 { True }").status == 0


def test_large_literals_stay_in_place() -> None:
    numbers = ", ".join(f"{i}f" for i in range(100))
    new = formatted(f"def @f() {{ [{numbers}] }}", "-")
    assert "99f" in new
    assert "meta" not in new


def test_constants_beside_a_program_stay_beside_it(tmp_path: Path) -> None:
    import numpy as np

    import relay
    from relay.text.weights import load, save

    path = tmp_path / "model.relay"
    weight = relay.const(np.arange(200, dtype=np.float32).reshape(10, 20))
    x = relay.var("x", shape=(3, 20), dtype="float32")
    save(relay.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, weight))), path)
    before = load(path)
    path.write_text("// a model\n" + path.read_text().replace("  ", "      "))
    assert cli("fmt", str(path)).status == 0
    text = path.read_text()
    assert "meta[relay.Constant][0]" in text
    assert "metadata" not in text
    assert structural_equal(load(path), before)


@pytest.mark.parametrize(
    "head",
    [
        "(%x: Tensor[(n,), float32])",
        "<n: Dim>(%x: Tensor[(n,), float32])",
        "<m: Dim>(%x: Tensor[(n, m), float32], %y: Tensor[(k,), float32])",
        "[A](%x: A, %y: Tensor[(n,), float32])",
    ],
)
def test_dimensions_are_declared_as_the_author_did(head: str) -> None:
    text = f"def @main{head} {{\n  %x\n}}\n"
    assert formatted(text, "-") == text


def test_dimensions_in_an_order_that_changes_are_declared() -> None:
    text = "def @main(%x: Tensor[(n + m, n), float32]) { %x }"
    new = formatted(text, "-")
    assert structural_equal(parse_module(new), parse_module(text))
    assert formatted(new, "-") == new
