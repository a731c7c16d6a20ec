"""The table of batching rules in the docs is current."""

from pathlib import Path

from relay.op.batching_table import batching_page

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_batching_rules_is_current(bless: bool) -> None:
    file = DOCS / "batching-rules.md"
    if bless:
        file.write_text(batching_page())
    assert file.read_text() == batching_page(), "run `pytest tests/op/test_batching_table.py --bless`"
