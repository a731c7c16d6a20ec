"""What the browser's engine gets, in CPython, with no packages but those that the loader asks Pyodide for."""

import json
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from relay.playground.answers import answer
from relay.playground.archive import package_archive
from relay.playground.samples import samples

PACKAGES = ("numpy", "ml_dtypes", "click")
SCRIPT = """
import json, sys, threading
from importlib.machinery import PathFinder

folders = json.loads(sys.argv[1])

class Packages:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, [folders[name]]) if name in folders else None

def no_thread(thread):
    raise RuntimeError("can't start new thread")

sys.meta_path.append(Packages)
threading.Thread.start = no_thread  # as in WebAssembly
sys.path.insert(0, sys.argv[2])
from relay.playground.in_browser import answer_text
import relay

assert relay.__file__.startswith(sys.argv[2]), relay.__file__
for line in sys.stdin:
    log = []
    print(json.dumps([json.loads(answer_text(line, log.append)), "".join(log)]))
packages = {name for name, m in sys.modules.items() if "-packages" in (getattr(m, "__file__", None) or "")}
print(json.dumps(sorted({name.partition(".")[0] for name in packages})))
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    with zipfile.ZipFile(BytesIO(package_archive())) as archive:
        archive.extractall(folder)
    return folder


def in_the_browser(unpacked: Path, requests: list[dict[str, Any]]) -> tuple[list[Any], list[str]]:
    """Each answer with its log, and which packages were imported."""
    folders = {}
    for name in PACKAGES:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        folders[name] = str(Path(spec.origin).parents[1])
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", SCRIPT, json.dumps(folders), str(unpacked)],
        input="".join(json.dumps(r) + "\n" for r in requests),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    *answers, imported = map(json.loads, ran.stdout.splitlines())
    return answers, imported


def here(request: dict[str, Any]) -> list[Any]:
    """An answer of this process, with its log."""
    log: list[str] = []
    return json.loads(json.dumps([answer(request, log.append), "".join(log)]))


def without_time(answers: list[Any]) -> list[Any]:
    return [[{k: v for k, v in found.items() if k != "seconds"}, log] for found, log in answers]


def test_every_question_is_answered_as_on_this_machine(unpacked: Path) -> None:
    requests: list[dict[str, Any]] = [{"ask": "about"}]
    for sample in samples():
        asked = {
            "program": sample["program"],
            "inputs": sample["inputs"],
            "pipeline": sample["pipeline"] or "optimize",
        }
        requests += [{"ask": ask, **asked} for ask in ("check", "types", "format", "run", "passes", "graph")]
    hovering = "let %x = [1.0, 2.0];\nnn.relu(%x)"
    requests += [{"ask": "hover", "program": hovering, "at": at} for at in range(0, len(hovering), 5)]
    requests.append({"ask": "run", "program": 'import "std/list"\ntrace("😀"); @length(Cons(1, Nil))'})
    answers, imported = in_the_browser(unpacked, requests)
    assert set(imported) <= set(PACKAGES)
    for request, found, expected in zip(
        requests, without_time(answers), without_time([here(r) for r in requests]), strict=True
    ):
        assert found == expected, request


def test_a_browser_interprets_whatever_it_is_asked(unpacked: Path) -> None:
    answers, _ = in_the_browser(unpacked, [{"ask": "run", "program": "1 + 2", "backend": "native"}])
    assert answers[0][0]["text"] == "3"
