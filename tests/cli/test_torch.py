"""Exported programs of PyTorch on the command line."""

import pytest

from support import cli

torch = pytest.importorskip("torch", reason="needs the torch extra")
pytestmark = pytest.mark.torch


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen.add_(1)
        return x * 2 + self.seen


def test_a_saved_program_runs_and_is_shown(tmp_path):
    file = tmp_path / "counting.pt2"
    torch.export.save(torch.export.export(Counting(), (torch.ones(2),)), file)
    assert cli("run", str(file), "--input", "[1.0, 2.0]").output == "([3.0, 5.0], 1.0)\n"
    assert "def @main(%x: Tensor[(2,), float32], %seen: float32)" in cli("import", str(file)).output
    assert "3 of 3 nodes can be converted" in cli("import", str(file), "--report").output
    assert cli("import", str(file), "-o", str(tmp_path / "counting.relay")).status == 0
    assert (tmp_path / "counting.relay").exists()
