"""Damaged and hostile ONNX models are imported or refused: nothing else happens."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.onnx


@pytest.fixture(autouse=True)
def _needs_onnx() -> None:
    pytest.importorskip("onnx", reason="needs the onnx extra")


def test_damaged_models_are_imported_or_refused() -> None:
    from frontend.mutated_models import outcomes

    assert len(list(outcomes(range(200)))) == 200


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_many_damaged_models_run_or_are_refused(part: int) -> None:
    from frontend.mutated_models import outcomes, run

    assert len(list(outcomes(range(part * 100, part * 100 + 100), run))) == 100
    peak = next(v for v in Path("/proc/self/status").read_text().splitlines() if v.startswith("VmHWM"))
    assert int(peak.split()[1]) < 4 << 20
