"""The table of derivatives in the docs is current."""

from pathlib import Path

from relay.op.derivative_table import page

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_derivatives_is_current(bless: bool) -> None:
    file = DOCS / "derivatives.md"
    if bless:
        file.write_text(page())
    assert file.read_text() == page(), "run `pytest tests/op/test_derivative_table.py --bless`"
