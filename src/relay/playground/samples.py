"""The programs in the menu of the page: texts of this package, each with a title in its first line."""

import re
from functools import cache
from importlib.resources import files

from relay.text.imports import SUFFIX

INPUT = re.compile(r"^// input %?(\w+): (.*)$", re.MULTILINE)
PIPELINE = re.compile(r"^// passes: (.*)$", re.MULTILINE)


@cache
def samples() -> list[dict[str, object]]:
    """Each program with its title, what its parameters are given, and passes that are worth a look."""
    found: list[dict[str, object]] = []
    folder = files("relay.playground") / "samples"
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        if not file.name.endswith(SUFFIX):
            continue
        text = file.read_text(encoding="utf-8")
        passes = PIPELINE.search(text)
        found.append(
            {
                "name": file.name.removesuffix(SUFFIX).partition("-")[2],
                "title": text.partition("\n")[0].removeprefix("// ").rstrip("."),
                "program": text,
                "inputs": dict(INPUT.findall(text)),
                "pipeline": passes[1] if passes else "",
            }
        )
    return found
