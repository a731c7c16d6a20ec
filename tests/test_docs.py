"""Every snippet of the README and of `docs/` runs and prints what stands behind it.

- ```relay: `relay run` if a ```text block follows, else `relay check`; marked `<!-- file: NAME -->` it is
  kept under that name for later blocks of the page; a file of `examples/` has to hold it.
  `<!-- fails -->`: it ends in the diagnostic that follows, and `<!-- check -->`: `relay check` gives it.
- ```python: executed, one namespace per page; the text block is its output.
  Marked `<!-- process -->` it runs in a process of its own, and `<!-- peer: NAME -->` is a program of another
  system, which `test_coming_from.py` runs, or a cell of IPython, which `tests/notebook` runs.
- ```sh: its `relay …` lines; what `.ci/run` executes instead is marked `<!-- ci: … -->`.
"""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from relay.diagnostic import RelayError
from support import ROOT, Block, blocks, cli

EXTRAS = {
    "onnx.md": "onnx", "model-files.md": "onnx", "pytorch.md": "torch", "coming-from-jax.md": "onnx",
    "coming-from-pytorch.md": "onnx", "accelerators.md": "jax", "meshes.md": "jax", "serving.md": "uvicorn",
}  # fmt: skip
"""What the snippets of some pages need."""
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_snippet_is_true(path: Path, tmp_path: Path, bless: bool) -> None:
    extra = EXTRAS.get(path.name)
    if extra is not None:
        pytest.importorskip(extra, reason=f"needs the {extra} extra")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    namespace: dict[str, Any] = {}
    page = path.read_text()
    for block in blocks(page):
        is_peer = any(mark.startswith("peer:") for mark in block.marks)
        if block.language in ("relay", "python", "sh") and not is_peer:
            with contextlib.chdir(tmp_path):
                found = execute(block, namespace)
            if block.expected is not None:
                found = found.rstrip() + "\n"
                shown = f"```{block.language}\n{block.text}```\n\n```text\n"
                if bless and shown + block.expected in page:
                    page = page.replace(shown + block.expected, shown + found)
                else:
                    assert found == block.expected, f"{path.name}:{block.line}"
    if bless:
        path.write_text(page)


LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors(page: str) -> set[str]:
    """The names under which the headings of a page are found."""
    titles = HEADING.findall(FENCED.sub("", page))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    for target, anchor in LINK.findall(FENCED.sub("", path.read_text())):
        to = path.parent / target if target else path
        assert to.exists(), target
        assert not anchor or anchor in anchors(to.read_text()), f"{target}#{anchor}"


def execute(block: Block, namespace: dict[str, Any]) -> str:
    if block.language == "python":
        return process(block.text) if "process" in block.marks else python(block.text, namespace)
    if block.language == "sh":
        return "" if any(m.startswith("ci:") for m in block.marks) else shell(block.text)
    names = [m.removeprefix("file:").strip() for m in block.marks if m.startswith("file:")]
    name = names[0] if names else "snippet.relay"
    if name.startswith("examples/"):
        assert block.text in (ROOT / name).read_text(), f"{name} is not what line {block.line} shows"
        return ""
    Path(name).write_text(block.text)
    is_error = bool({"check", "fails"} & set(block.marks))
    if block.expected is not None and "check" not in block.marks:
        ran = cli("run", name)
        assert is_error or ran.status == 0, ran.output
        return ran.output
    ran = cli("check", "--types", name) if "types" in block.marks else cli("check", name)
    assert is_error or ran.status == 0, f"line {block.line}: {ran.output}"
    return "\n".join(line for line in ran.output.splitlines() if not line.startswith(f"{name}: "))


def python(text: str, namespace: dict[str, Any]) -> str:
    screen = io.StringIO()
    with contextlib.redirect_stdout(screen):
        try:
            exec(compile(text, "<snippet>", "exec"), namespace)
        except RelayError as error:
            print(error)
    return screen.getvalue()


def process(text: str) -> str:
    ran = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True)
    return ran.stdout


def shell(script: str) -> str:
    outputs: list[str] = []
    for line in script.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            assert words[0] == "relay", f"a document's shell block cannot say `{line}`"
            outputs.append(cli(*words[1:]).output)
    return "".join(outputs)
