"""The manual of passes in the docs is current."""

from relay.cli.passes import manual
from support import ROOT


def test_the_manual_of_passes_is_current(bless: bool) -> None:
    file = ROOT / "docs" / "passes.md"
    if bless:
        file.write_text(manual())
    assert file.read_text() == manual(), "run `pytest tests/cli/test_passes_page.py --bless`"
