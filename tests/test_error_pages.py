"""Every error code has a page, every page is of a code, and what a page shows is true."""

import ast
import contextlib
import io
import os
import re
import shlex
from pathlib import Path

import pytest

from relay.cli.explain import pages, summary
from relay.diagnostic import RelayError
from support import ROOT, Block, blocks, cli

SOURCE = ROOT / "src" / "relay"
PAGES = pages()
REPORTERS = {"fail", "error", "warn", "Diagnostic"}
CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+\Z")


def codes_in(tree: ast.AST) -> set[str]:
    """The first arguments of `fail(…)`, `t.fail(…)`, `report.error(…)`, `Diagnostic(…)`, and `code=…`."""
    found: set[str] = set()
    for call in ast.walk(tree):
        if isinstance(call, ast.FunctionDef):
            arguments = [*call.args.posonlyargs, *call.args.args, *call.args.kwonlyargs]
            defaults = [*call.args.defaults, *[d for d in call.args.kw_defaults if d is not None]]
            if any(a.arg == "code" for a in arguments):
                found |= {
                    d.value
                    for d in defaults
                    if isinstance(d, ast.Constant) and isinstance(d.value, str) and CODE.match(d.value)
                }
        if not isinstance(call, ast.Call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        first = call.args[:1] if name.strip("_") in REPORTERS or "fail" in name or "error" in name else []
        for value in [*first, *[k.value for k in call.keywords if k.arg == "code"]]:
            found |= {
                c.value
                for c in ast.walk(value)
                if isinstance(c, ast.Constant) and isinstance(c.value, str) and CODE.match(c.value)
            }
    return found


def used_codes() -> set[str]:
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        found |= codes_in(ast.parse(path.read_text()))
    return found


def test_every_code_has_a_page() -> None:
    assert sorted(used_codes() - set(PAGES)) == []


def test_every_page_is_of_a_code_in_use() -> None:
    text = "\n".join(p.read_text() for p in SOURCE.rglob("*.py"))
    assert [code for code in PAGES if f'"{code}"' not in text] == []


def test_there_are_at_least_forty_pages() -> None:
    assert len(PAGES) >= 40


@pytest.mark.parametrize("code", PAGES)
def test_page_is_true(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bless: bool) -> None:
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
        output = execute(block, f"{code}-mended.relay")
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
    """The output of a few lines of shell: `relay …`, `printf TEXT > FILE`, `mkdir DIR`, `python -c CODE`."""
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
            case _:
                raise AssertionError(f"a page's shell block cannot say `{line}`")
    return "".join(outputs)


def test_the_index_of_errors_is_current(bless: bool) -> None:
    path = ROOT / "docs" / "errors.md"
    head, _, _ = path.read_text().partition("| code |")
    rows = [
        f"| [`{code}`](../src/relay/errors/{code}.md) | {summary(page)} |" for code, page in PAGES.items()
    ]
    current = "\n".join([head + "| code | what it is |", "|---|---|", *rows, ""])
    if bless:
        path.write_text(current)
    assert path.read_text() == current
