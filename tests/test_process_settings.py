"""No setting of the process is changed for a local purpose: other threads would see it."""

import ast
import gc
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import relay
from relay.ir.collector import paused, seldom
from relay.text.files import write_atomically

ROOT = Path(relay.__file__).parent

SETTINGS = {
    "os": "umask chdir fchdir putenv unsetenv nice dup2 setuid setgid setlocale register_at_fork",
    "signal": "signal set_wakeup_fd setitimer alarm pthread_sigmask siginterrupt",
    "locale": "setlocale",
    "warnings": "catch_warnings simplefilter filterwarnings resetwarnings",
    "gc": "enable disable freeze unfreeze set_threshold set_debug",
    "sys": "setrecursionlimit setswitchinterval settrace setprofile set_int_max_str_digits setdlopenflags",
    "threading": "stack_size settrace setprofile settrace_all_threads setprofile_all_threads",
    "resource": "setrlimit prlimit",
    "socket": "setdefaulttimeout",
    "random": "seed",
    "decimal": "setcontext",
    "np": "seterr seterrcall setbufsize set_printoptions",
    "np.random": "seed",
    "numpy": "seterr seterrcall setbufsize set_printoptions",
    "torch": "manual_seed set_num_threads set_grad_enabled set_default_dtype set_default_device",
    "jax.config": "update",
    "logging": "basicConfig disable captureWarnings",
    "faulthandler": "enable disable register",
    "tracemalloc": "start stop",
}
"""Functions that change a setting of the process, by module."""
ASSIGNED = {"sys.stdout", "sys.stderr", "sys.stdin", "sys.argv", "sys.path", "os.environ", "sys.excepthook"}
"""Attributes that are such settings."""
LAST_NAMES = {n for listed in SETTINGS.values() for n in listed.split()} | {n.split(".")[1] for n in ASSIGNED}
CHANGING = re.compile(rf"\b({'|'.join(sorted(LAST_NAMES))})\b")
"""Text that every file has which changes one."""

ALLOWED = {
    ("backend/native/runtime/runtime_library.py", "os.register_at_fork"): "threads of the runtime in a child",
    ("ir/collector.py", "os.register_at_fork"): "the collector in a child, as it was",
    ("ir/collector.py", "gc.disable"): "counted for all threads, and taken back only if it is still ours",
    ("ir/collector.py", "gc.enable"): "counted for all threads, and taken back only if it is still ours",
    ("ir/collector.py", "gc.set_threshold"): "counted for all threads, and taken back only if still ours",
    ("lsp/server.py", "gc.freeze"): "the process is the language server",
    ("lsp/server.py", "gc.unfreeze"): "the process is the language server",
    ("cli/lsp.py", "sys.setswitchinterval"): "the process is the language server",
    ("serving/server.py", "signal.signal"): "the process is the server: SIGTERM drains it",
    ("serving/server.py", "gc.freeze"): "the process is the server",
    ("serving/server.py", "gc.unfreeze"): "the process is the server",
    ("serving/server.py", "sys.setswitchinterval"): "the process is the server",
    ("playground/worker.py", "resource.setrlimit"): "a process of its own, whose limits these are",
    ("playground/memory.py", "resource.setrlimit"): "a process of its own, whose limits these are",
    ("playground/worker.py", "os.dup2"): "a process of its own, whose prints are no replies",
    ("cli/main.py", "os.dup2"): "the process ends: its output is closed",
    ("cli/debug.py", "sys.stdout"): "the process is the debug adapter, whose output is the protocol",
    ("cli/language_models.py", "os.environ"): "the process runs one command, with so many threads",
    ("compat/tvm/__main__.py", "sys.argv"): "the process runs a script, as Python does",
    ("compat/tvm/__main__.py", "sys.path"): "the process runs a script, as Python does",
    ("backend/xla/processes.py", "jax.config.update"): "the process joins a cluster, once",
}
"""The places that change one, and why they may."""


def dotted(e: ast.expr) -> str:
    """Return `a.b.c` for the expression `a.b.c`; empty for others."""
    parts: list[str] = []
    while isinstance(e, ast.Attribute):
        parts.append(e.attr)
        e = e.value
    return ".".join([e.id, *reversed(parts)]) if isinstance(e, ast.Name) else ""


def changes(tree: ast.AST) -> Iterator[str]:
    """Yield the settings that a module changes."""
    names = {f"{module}.{name}" for module, listed in SETTINGS.items() for name in listed.split()}
    imported: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            imported |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
        elif isinstance(node, ast.Import):
            imported |= {a.asname: a.name for a in node.names if a.asname and a.name != "numpy"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            first, _, rest = name.partition(".")
            full = ".".join([imported.get(first, first), rest]).rstrip(".")
            if full in names:
                yield full
            elif full.rpartition(".")[0] == "os.environ" and full.rpartition(".")[2] not in ("get", "copy"):
                yield "os.environ"
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign | ast.Delete):
            targets = node.targets
        elif isinstance(node, ast.AugAssign):
            targets = [node.target]
        for target in targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                name = dotted(part.value if isinstance(part, ast.Subscript) else part)
                if name in ASSIGNED:
                    yield name


def test_only_these_places_change_settings_of_the_process() -> None:
    places = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in ROOT.rglob("*.py")
        if CHANGING.search(text := path.read_text(encoding="utf-8"))
        for name in changes(ast.parse(text))
    }
    assert places - set(ALLOWED) == set(), "a setting of the process is changed"
    assert set(ALLOWED) - places == set(), "places that change nothing any more"


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.umask(0)",
        "from os import umask\numask(0)",
        "import os\nos.environ['A'] = 'b'",
        "import os\nos.environ.setdefault('A', 'b')",
        "import sys\nprinted, sys.stdout = sys.stdout, None",
        "import numpy as np\nnp.seterr(all='ignore')",
        "import warnings as w\nwith w.catch_warnings(): pass",
    ],
)
def test_the_walk_sees_changes(text: str) -> None:
    assert len(list(changes(ast.parse(text)))) == 1


MODES = """
import os, sys
from relay.text.files import write_atomically
os.umask(int(sys.argv[2], 8))
os.umask = None
write_atomically(sys.argv[1], lambda out: out.write(b"text"))
"""


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
@pytest.mark.parametrize("mask", ["022", "077", "002"])
def test_a_new_file_has_the_mode_of_the_process(mask: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    subprocess.run([sys.executable, "-c", MODES, str(path), mask], check=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~int(mask, 8)
    path.chmod(0o640)
    write_atomically(str(path), lambda out: out.write(b"text"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["file"]


def test_the_collector_stays_as_others_set_it() -> None:
    thresholds = gc.get_threshold()
    assert gc.isenabled()
    try:
        with paused():
            assert not gc.isenabled()
        assert gc.isenabled()
        gc.disable()
        with paused():
            pass
        assert not gc.isenabled()
        gc.enable()
        first, second = seldom(), seldom()  # of two threads, the first ends first
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        second.__exit__(None, None, None)
        assert gc.get_threshold() == thresholds
        with seldom():
            gc.set_threshold(123, 4, 5)
        assert gc.get_threshold() == (123, 4, 5)
    finally:
        gc.enable()
        gc.set_threshold(*thresholds)


def test_another_threads_choice_outlives_overlapping_pauses() -> None:
    entered, leave = threading.Event(), threading.Event()

    def pause() -> None:
        with paused():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=pause)
    thread.start()
    entered.wait()
    try:
        with paused():
            pass
        gc.disable()  # the choice of the program
        leave.set()
        thread.join()
        assert not gc.isenabled()
    finally:
        leave.set()
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_that_another_thread_forks_collects() -> None:
    entered, leave = threading.Event(), threading.Event()

    def pause() -> None:
        with seldom(), paused():
            entered.set()
            leave.wait()

    before = gc.get_threshold()
    thread = threading.Thread(target=pause)
    thread.start()
    entered.wait()
    try:
        assert not gc.isenabled()
        child = os.fork()
        if not child:
            os._exit(0 if gc.isenabled() and gc.get_threshold() == before else 1)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        leave.set()
        thread.join()
    assert gc.isenabled()
