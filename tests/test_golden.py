"""Golden files: a command, its input, and its exact output.  `pytest --bless` rewrites the outputs.

// run: relay check -
<the input, on standard input>
// ==> expect 1
<both streams; the number is the exit status, 0 if there is none>
"""

import re
import shlex
from pathlib import Path

import pytest

from support import ROOT, cli

FOLDERS = [ROOT / "tests" / "golden", ROOT / "tests" / "seeds"]
EXPECT = re.compile(r"^// ==> expect(?: (\d+))?\n", re.MULTILINE)


@pytest.mark.parametrize(
    "path",
    sorted(p for folder in FOLDERS for p in folder.rglob("*.relay")),
    ids=lambda p: str(p.relative_to(ROOT / "tests")),
)
def test_golden(path: Path, bless: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    text = path.read_text()
    first, _, rest = text.partition("\n")
    assert first.startswith("// run: relay "), f"{path} begins with `// run: relay …`"
    expect = EXPECT.search(rest)
    given = rest[: expect.start()] if expect else rest
    ran = cli(*shlex.split(first.removeprefix("// run: relay ")), stdin=given.encode())
    status = f" {ran.status}" if ran.status else ""
    found = f"{first}\n{given}// ==> expect{status}\n{ran.output.rstrip()}\n"
    if bless:
        path.write_text(found)
    else:
        assert found == text
