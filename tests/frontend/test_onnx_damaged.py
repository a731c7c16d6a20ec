"""Damaged and hostile ONNX models are imported or refused: nothing else happens."""

import pytest

pytestmark = pytest.mark.onnx


@pytest.fixture(autouse=True)
def _needs_onnx() -> None:
    pytest.importorskip("onnx", reason="needs the onnx extra")


def test_damaged_models_are_imported_or_refused() -> None:
    from frontend.mutated_models import outcomes

    assert len(list(outcomes(range(200)))) == 200


@pytest.mark.long
def test_many_damaged_models_are_imported_or_refused() -> None:
    from frontend.mutated_models import outcomes

    assert len(list(outcomes(range(2000)))) == 2000
