"""Names and sentences are the field's: what `docs/glossary.md` asks for, as far as a test can hold it."""

import re
from pathlib import Path

from support import ROOT

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
ERROR_PAGES = sorted((ROOT / "src" / "relay" / "errors").glob("*.md"))

ODD_WORDS = re.compile(r"\b(mend|mends|mended)\b", re.IGNORECASE)
"""Words that an engineer would not use."""


def lines_with(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{i}: {line}"
        for path in paths
        for i, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def test_pages_use_the_words_of_engineers() -> None:
    assert lines_with(ODD_WORDS, PAGES + ERROR_PAGES) == []
