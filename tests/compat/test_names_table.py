"""The table in `docs/names.md` of every public name of Relay inside TVM; `--bless` writes it."""

import re
from collections import Counter
from importlib import import_module
from typing import Any

from known_tvm_differences import ABSENT, DIFFERS
from known_tvm_names import NAMES
from relay.diagnostic import RelayError
from support import ROOT

PAGE = ROOT / "docs" / "names.md"
BEGIN, END = "<!-- the table of names begins -->\n", "<!-- the table of names ends -->\n"
LEAST = 0.97
"""How much of the names is the same, or differs as the table says."""


def is_there(module: str, name: str) -> bool:
    try:
        getattr(import_module(f"relay.compat.tvm.{module}"), name)
    except (AttributeError, RelayError):
        return False
    return True


def rows() -> list[tuple[str, str, str]]:
    """For each name its module, itself, and what it is here."""
    found: list[tuple[str, str, str]] = []
    for module, names in NAMES.items():
        for name in names.split():
            path = f"{module}.{name}"
            if not is_there(module, name):
                found.append((module, name, f"no: {ABSENT[path]}"))
            else:
                found.append((module, name, f"differs: {DIFFERS[path]}" if path in DIFFERS else "same"))
    return found


def section() -> str:
    """The text of the page."""
    every = rows()
    kinds = Counter(said.partition(":")[0] for _, _, said in every)
    share = 1 - kinds["no"] / len(every)
    lines = [
        f"Of {len(every)} public names, {kinds['same']} are the same, {kinds['differs']} differ and"
        f" {kinds['no']} are not there: {share:.1%} of them are answered.",
        "",
        "| module | names | here |",
        "|---|---|---|",
    ]
    for module in NAMES:
        mine = [(name, said) for m, name, said in every if m == module]
        same = ", ".join([f"`{name}`" for name, said in mine if said == "same"])
        lines += [f"| `tvm.{module}` | {same} | same |"] if same else []
        lines += [f"| `tvm.{module}` | `{name}` | {said} |" for name, said in mine if said != "same"]
    return "\n".join([*lines, ""])


def test_the_table_is_current(tvm: Any, bless: bool) -> None:
    page = PAGE.read_text()
    head, _, rest = page.partition(BEGIN)
    shown, _, tail = rest.partition(END)
    if bless:
        PAGE.write_text(f"{head}{BEGIN}\n{section()}\n{END}{tail}")
    else:
        assert shown == f"\n{section()}\n"


def test_nearly_every_name_is_there(tvm: Any) -> None:
    every = rows()
    assert sum(not said.startswith("no") for _, _, said in every) >= LEAST * len(every)


def test_what_differs_and_what_is_absent_is_of_the_names(tvm: Any) -> None:
    known = {f"{module}.{name}" for module, names in NAMES.items() for name in names.split()}
    assert sorted({*DIFFERS, *ABSENT} - known) == []
    there = {path for path in ABSENT if is_there(*path.rpartition(".")[::2])}
    assert sorted(there) == []
    assert not any(re.search(r"[.;]$", said) for said in (*DIFFERS.values(), *ABSENT.values()))
