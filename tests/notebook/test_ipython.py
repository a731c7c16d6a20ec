"""`%load_ext relay` in IPython: cells that see Python's values, functions for Python, diagnostics."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from support import ROOT, blocks

pytestmark = pytest.mark.extras


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    made = interactive.InteractiveShell(colors="nocolor")
    assert made.run_cell("%load_ext relay").success
    made.user_ns["np"] = np
    capsys.readouterr()
    yield made
    made.history_manager.end_session()


def value(shell: Any, cell: str) -> Any:
    found = shell.run_cell(cell)
    assert found.success, cell
    return found.result


def fault(shell: Any, cell: str, capsys: pytest.CaptureFixture[str]) -> str:
    found = shell.run_cell(cell)
    assert not found.success
    said = capsys.readouterr()
    return re.sub(r"\x1b\[\d+m", "", said.out + said.err)


def test_cells_see_arrays_and_give_values(shell: Any) -> None:
    shell.user_ns.update(x=np.array([[1.0, 2.0], [3.0, 4.0]], "float32"), n=2, scale=0.5)
    assert value(shell, "%%relay\nsum(%x) * %scale") == 5.0
    assert value(shell, "%%relay\n%n + 1") == 3
    assert value(shell, "%%relay total\nsum(%x)") is None
    assert shell.user_ns["total"] == 10.0
    assert value(shell, "%%relay\nlet %y = %x + 1f") is None
    np.testing.assert_array_equal(shell.user_ns["y"], [[2, 3], [4, 5]])
    shell.user_ns["y"] = np.zeros(3, "float64")
    assert value(shell, "%%relay\n%y").dtype == np.float64, "what Python assigns counts"
    assert value(shell, "%%relay --backend interpreter\n%n * 2") == 4


def test_definitions_are_functions_of_python(shell: Any) -> None:
    cell = '%%relay\nimport "std/list"\n// Doubles.\n'
    cell += "def @double(%a: Tensor[(n,), float32]) { %a * 2f }\n@length([| 1 |])"
    assert value(shell, cell) == 1
    double = shell.user_ns["double"]
    np.testing.assert_array_equal(double(np.ones(2, "float32")), [2, 2])
    np.testing.assert_array_equal(double(a=np.ones(3, "float32")), [2, 2, 2])
    assert "Tensor[(n,), float32]" in repr(double)
    html = double._repr_mimebundle_()["text/html"]
    assert "<pre" in html
    assert "font-family:var(--jp-code-font-family,monospace)" in html
    assert (
        value(shell, "%%relay\ndef @double(%a: int32) { %a + %a }\ndef @four() { @double(2) }\n@four()") == 4
    )
    assert shell.user_ns["double"](4) == 8, "it can be defined again"
    np.testing.assert_array_equal(double(np.ones(1, "float32")), [2]), "the one before stays what it was"


def test_data_types_stay_between_cells(shell: Any) -> None:
    value(shell, "%%relay t\ntype Tree { Leaf, Node(int32, Tree, Tree) }\nNode(1, Leaf, Leaf)")
    assert value(shell, "%%relay\nmatch (%t) { Leaf => 0, Node(%v, _, _) => %v }") == 1


def test_types_and_faults(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["x"] = np.ones((2, 3), "float32")
    value(shell, "%relay_type nn.relu(%x)")
    assert capsys.readouterr().out == "Tensor[(2, 3), float32]\n"
    said = fault(shell, "%%relay\ndef @f() { 1 }\n%x + [1f, 2f]", capsys)
    assert said.startswith("error[broadcast-mismatch]: cannot broadcast (2, 3) with (2,)\n --> <cell>:2:1")
    assert "Traceback" not in said
    assert "error[unknown-variable]" in fault(shell, "%%relay\n%nothing + 1", capsys)
    assert "error[unknown-option]" in fault(shell, "%%relay --fast\n1", capsys)
    assert "error[unknown-option]" in fault(shell, "%%relay --backend xyz\n1", capsys)
    assert "error[" in fault(shell, "%%relay\ndef @broken(", capsys)
    assert "error[divide-by-zero]" in fault(shell, "%%relay\n1 / 0", capsys)
    assert "error[" in fault(shell, "%relay_type 1 +", capsys)
    assert value(shell, "%%relay\n   \n// nothing\n") is None


def test_it_unloads(shell: Any) -> None:
    value(shell, "%unload_ext relay")
    assert not shell.run_cell("%%relay\n1").success


def test_arrays_of_torch_are_seen(shell: Any) -> None:
    torch = pytest.importorskip("torch")
    shell.user_ns["x"] = torch.ones(3, requires_grad=True)
    assert value(shell, "%%relay\nsum(%x)") == 3


def test_the_page_is_a_notebook(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [b for b in blocks((ROOT / "docs" / "notebooks.md").read_text()) if "peer: IPython" in b.marks]
    assert len(cells) > 5
    for block in cells:
        found = shell.run_cell(block.text)
        said = capsys.readouterr()
        text = re.sub(r"\x1b\[\d+m", "", said.out + said.err)
        text = re.sub(r"(?m)^Out\[\d+\]: ?\n?", "", text)
        if block.expected is not None:
            assert text.strip() == block.expected.strip(), block.line
        else:
            assert found.success, (block.line, text)
