"""Every error code has a page, every page is of a code, and what a page shows is true."""

import ast
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from relay.cli.explain import FORMER_CODES, page_summary, pages
from relay.diagnostic import RelayError
from relay.hints import HINTS
from support import ROOT, Block, blocks, cli

SOURCE = ROOT / "src" / "relay"
PAGES = pages()
CODE = re.compile(r"(arity|assertion|donated|[a-z][a-z0-9]*(-[a-z0-9]+)+)\Z")
NO_CODES = {
    "aarch64-linux-gnu",
    "all-gather",
    "all-reduce",
    "all-to-all",
    "amx-bf16",
    "amx-int8",
    "amx-tile",
    "apple-m1",
    "basic-block",
    "collective-broadcast",
    "collective-permute",
    "d-rr",
    "floating-point",
    "gpt-2",
    "llama-bpe",
    "neon-dot",
    "neon-i8mm",
    "neoverse-n1",
    "neoverse-v1",
    "reduce-scatter",
    "relay-constants",
    "relay-deep",
    "relay-ir",
    "same-origin",
    "utf-16",
    "utf-32",
    "utf-8",
    "utf-8-sig",
    "variable-2",
    "x86-64-v2",
    "x86-64-v3",
    "x86-64-v4",
}
"""Texts of the sources that look like codes and are not codes."""


@cache
def used_codes() -> set[str]:
    """Every text of the sources that has the form of a code."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.match(node.value):
                found.add(node.value)
    return found - NO_CODES - FORMER_CODES.keys()


def test_every_code_has_a_page() -> None:
    assert sorted(used_codes() - set(PAGES)) == []


def test_every_page_is_of_a_code_in_use() -> None:
    assert sorted(set(PAGES) - used_codes()) == []


@pytest.mark.parametrize("former", FORMER_CODES)
def test_a_former_code_is_explained_by_the_page_of_its_new_one(former: str) -> None:
    assert cli("explain", former).output.startswith(f"# {FORMER_CODES[former]}\n")


def test_every_general_hint_is_for_a_code() -> None:
    assert sorted(set(HINTS) - set(PAGES)) == []


def test_there_are_at_least_forty_pages() -> None:
    assert len(PAGES) >= 40


NEEDS = {"onnx": "onnx", "torch": "torch", "xla": "jax", "cluster": "jax", "serve": "orjson"}
"""The packages that pages need, by the first word of their codes."""


def marks_of(code: str):
    """The mark of a page that needs a package."""
    first = code.partition("-")[0]
    name = "extras" if NEEDS.get(first) in ("jax", "orjson") else first
    return [getattr(pytest.mark, name)] if first in NEEDS else []


@pytest.mark.parametrize("code", [pytest.param(c, marks=marks_of(c)) for c in PAGES])
def test_page_is_true(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bless: bool) -> None:
    if marks_of(code):
        pytest.importorskip(NEEDS[code.partition("-")[0]])
    page = PAGES[code]
    assert page.startswith(f"# {code}\n"), "a page begins with its code"
    monkeypatch.chdir(tmp_path)
    found = [b for b in blocks(page) if b.language != "text"]
    assert len(found) >= 2, "a page has a block that is wrong and one that is right"
    wrong, *right = found
    assert wrong.expected is not None, "the wrong block is followed by a ```text block with the diagnostic"
    printed = execute(wrong, f"{code}.relay").rstrip() + "\n"
    assert f"[{code}]" in printed, printed
    if bless:
        path = SOURCE / "errors" / f"{code}.md"
        path.write_text(page.replace(f"```text\n{wrong.expected}```", f"```text\n{printed}```", 1))
    else:
        assert printed == wrong.expected
    for block in right:
        output = execute(block, f"{code}-fixed.relay")
        assert "error[" not in output
        assert f"[{code}]" not in output
        if block.expected is not None:
            assert output.rstrip() == block.expected.rstrip()


def execute(block: Block, name: str) -> str:
    """What a block prints: diagnostics for a checked program, those and the value for one that is run."""
    if block.language == "relay":
        Path(name).write_text(block.text)
        command = ("run", name) if "run" in block.marks else ("check", name)
        output = cli(*command).output
        return "\n".join(line for line in output.splitlines() if not line.startswith(f"{name}: "))
    if block.language == "python":
        return python(block.text, Path(name).with_suffix(".py"))
    assert block.language == "sh", block.language
    return shell(block.text)


def python(text: str, path: Path) -> str:
    """What a program prints, run from a file so that diagnostics can show its lines."""
    path.write_text(text)
    screen = io.StringIO()
    with contextlib.redirect_stdout(screen):
        try:
            exec(compile(text, str(path), "exec"), {})
        except RelayError as error:
            print(error)
    return screen.getvalue()


def shell(script: str) -> str:
    """The output of a few lines of shell: `relay …`, `printf TEXT > FILE`, `mkdir DIR`, `python -c CODE`, and
    `python -m MODULE …` in a process of its own.
    """
    outputs: list[str] = []
    for line in script.splitlines():
        words = shlex.split(line)
        match words:
            case ["relay", *arguments]:
                outputs.append(cli(*arguments).output)
            case ["printf" | "echo", text, ">", target]:
                Path(target).write_bytes(text.encode().decode("unicode_escape").encode("latin-1"))
            case ["mkdir", target]:
                os.mkdir(target)
            case ["python", "-c", code]:
                exec(code, {})
            case ["python", "-m", *arguments]:
                ran = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True)
                outputs.append(ran.stdout + ran.stderr)
            case _:
                raise AssertionError(f"a page's shell block cannot say `{line}`")
    return "".join(outputs)


def test_the_index_of_errors_is_current(bless: bool) -> None:
    path = ROOT / "docs" / "errors.md"
    head, _, _ = path.read_text().partition("| code |")
    rows = [
        f"| [`{code}`](../src/relay/errors/{code}.md) | {page_summary(page)} |"
        for code, page in PAGES.items()
    ]
    current = "\n".join([head + "| code | what it is |", "|---|---|", *rows, ""])
    if bless:
        path.write_text(current)
    assert path.read_text() == current
