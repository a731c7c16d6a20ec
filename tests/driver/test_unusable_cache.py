"""A cache of compiled programs that cannot be used, or that others can write to, is no cache."""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

import relay
from driver.programs import ADD, ONES
from relay.backend import stored
from relay.backend.native.host import cache
from relay.backend.native.runtime import cache_folder, runtime_library, source
from relay.backend.native.runtime.cache_folder import VARIABLE, keep, key_of_code, read_kept
from relay.diagnostic import RelayError

as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="becomes another user")

BUILDS = """
import os, sys, warnings
import relay
relay.build(relay.parse("def @main(%x: int32) { %x }"))  # loads the modules, which the user may not read
os.setgid(65534), os.setuid(65534)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for i, folder in enumerate(sys.argv[1:] * 2):
        os.environ["RELAY_CACHE"] = folder
        assert relay.build(relay.parse(f"def @main(%x: int32) {{ %x + {i} }}"))(1) == 1 + i
print("\\n".join(str(w.message) for w in told))
"""


def warnings_of_builds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Build programs as a new process would and return the warnings."""
    monkeypatch.setenv(VARIABLE, str(folder))
    monkeypatch.setattr(cache_folder, "_warning", Lock())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            assert relay.build(relay.parse(ADD))(ONES, ONES).tolist() == [2, 2, 2]
    return [str(w.message) for w in told]


def make_file_in_the_way(root: Path) -> Path:
    (root / "file").write_text("")
    return root / "file" / "cache"


def make_file(root: Path) -> Path:
    (root / "file").write_text("")
    return root / "file"


def make_long_name(root: Path) -> Path:
    return root / ("x" * 300)


def make_link_to_itself(root: Path) -> Path:
    (root / "link").symlink_to(root / "link")
    return root / "link"


def make_folder_that_others_write_to(root: Path) -> Path:
    (root / "shared").mkdir()
    (root / "shared").chmod(0o777)
    return root / "shared"


PLACES: list[tuple[Callable[[Path], Path], str]] = [
    (make_file_in_the_way, "Not a directory"),
    (make_file, "it is not a folder"),
    (make_long_name, "File name too long"),
    (make_link_to_itself, "Too many levels of symbolic links"),
    (make_folder_that_others_write_to, "other users can write to it"),
]


@pytest.mark.parametrize(("make", "reason"), PLACES, ids=lambda x: getattr(x, "__name__", ""))
def test_a_cache_that_cannot_be_used_is_no_cache(
    make: Callable[[Path], Path], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path)
    (warning,) = warnings_of_builds(folder, monkeypatch)
    assert str(folder) in warning
    assert reason in warning
    assert not list(tmp_path.glob("*/*"))


@as_root
def test_the_folder_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    (warning,) = warnings_of_builds(folder, monkeypatch)
    assert "belongs to another user" in warning
    assert not list(folder.iterdir())


@as_root
def test_a_folder_that_cannot_be_reached_is_not_used(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    folders = closed / "cache", closed / "above" / "cache"
    command = [sys.executable, "-c", BUILDS, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/")
    assert not done.returncode, done.stderr
    (warning,) = done.stdout.strip().splitlines()
    assert f"`{folders[0]}` is not used: Permission denied" in warning


def test_a_folder_that_cannot_be_looked_at_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(cache_folder.os, "stat", refuse)
    (warning,) = warnings_of_builds(tmp_path, monkeypatch)
    assert "Permission denied" in warning


def test_a_new_folder_and_its_files_are_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "new"))
    relay.build(relay.parse(ADD))
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert {p.stat().st_mode & 0o777 for p in (tmp_path / "new").iterdir()} == {0o600}


def test_entries_that_others_can_write_to_are_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    relay.build(relay.parse(ADD))
    (entry,) = tmp_path.glob("*.rlo")
    entry.chmod(0o666)
    before = entry.stat().st_ino
    relay.build(relay.parse(ADD))
    assert entry.stat().st_ino != before
    assert entry.stat().st_mode & 0o777 == 0o600
    keep(tmp_path / "a.o", b"code")
    assert read_kept(tmp_path / "a.o") == b"code"
    (tmp_path / "a.o").chmod(0o620)
    assert read_kept(tmp_path / "a.o") is None


def test_code_under_another_name_is_not_loaded(tmp_path: Path) -> None:
    keep(tmp_path / "a.o", b"code of a")
    (tmp_path / "a.o").rename(tmp_path / "b.o")
    assert read_kept(tmp_path / "b.o") is None


CONTENTS = [b"", b"not an object", b"\x7fELF" + bytes(200), b"\xff" * 8 + b"not an object"]


@pytest.mark.parametrize("content", CONTENTS, ids=range(len(CONTENTS)))
def test_a_runtime_that_is_none_is_compiled_again(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    path = tmp_path / f"runtime-{key_of_code('runtime')}.o"
    right = runtime_library.compiled_runtime()
    monkeypatch.setattr(source, "object_code", lambda: right[1])
    for data in (content, b"01234567" + content):
        keep(path, data)
        assert runtime_library.compiled_runtime.__wrapped__() == right
        assert read_kept(path) == right[0].encode() + right[1]


@pytest.mark.parametrize("content", CONTENTS, ids=range(len(CONTENTS)))
def test_a_kernel_that_is_none_is_compiled_again(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    text = "def @main(%x: Tensor[(16, 64), float32], %w: Tensor[(64, 64), float32]) { nn.dense(%x, %w) }"
    x = ONES[:1, None].repeat(16, 0).repeat(64, 1)
    w = x.repeat(4, 0)
    assert (relay.build(relay.parse(text))(x, w) == 64).all()
    kernels = {p: p.read_bytes() for p in tmp_path.glob("kernel-*.o")}
    assert kernels
    for path in kernels:
        keep(path, content)
    for path in tmp_path.glob("*.rlo"):
        path.unlink()
    assert (relay.build(relay.parse(text))(x, w) == 64).all()
    assert {p: p.read_bytes() for p in tmp_path.glob("kernel-*.o")} == kernels


def with_new_header(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the header of a file, whose digest is right afterwards."""
    data = path.read_bytes()
    magic, version, size, _ = stored.FIXED_HEADER.unpack(data[: stored.FIXED_HEADER.size])
    at = stored.FIXED_HEADER.size
    header = json.loads(data[at : at + size])
    header = change(header) or header
    text = json.dumps(header).encode()
    old = data[stored.align_up(at + size, stored.ALIGNMENT) :]
    new = stored.FIXED_HEADER.pack(magic, version, len(text), stored.digest(text)) + text
    path.write_bytes(new.ljust(stored.align_up(len(new), stored.ALIGNMENT), b"\0") + old)


def drop(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda header: header.pop(name) and None


def put(value: Any, *keys: Any) -> Callable[[dict[str, Any]], Any]:
    def change(header: Any) -> None:
        for key in keys[:-1]:
            header = header[key]
        header[keys[-1]] = value

    return change


CHANGES = [
    *[drop(name) for name in ("relay", "places", "digests", "programs", "triple")],
    put([], "places"),
    put("x", "places"),
    put([99], "programs", 0, "codes"),
    put([], "programs", 0, "codes"),
    put({}, "programs", 0, "signature"),
    put(["x"], "programs", 0, "signature", "entries"),
    put([["main", "no.such.symbol", "", [], 0, 0]], "programs", 0, "signature", "entries"),
    put("text", "programs", 0, "signature", "graph"),
    lambda header: [header],
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=range(len(CHANGES)))
def test_an_entry_whose_digest_is_right_and_whose_content_is_not_is_compiled_again(
    change: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    relay.build(relay.parse(ADD))
    (entry,) = tmp_path.glob("*.rlo")
    right = entry.read_bytes()
    with_new_header(entry, change)
    with pytest.raises(RelayError, match="bad-artefact"):
        relay.load_module(entry)
    assert relay.build(relay.parse(ADD))(ONES, ONES).tolist() == [2, 2, 2]
    assert len(entry.read_bytes()) == len(right)


def test_an_entry_without_machine_code_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    relay.build(relay.parse(ADD))
    (entry,) = tmp_path.glob("*.rlo")
    program = cache.read_artefact(entry)
    for content in CONTENTS:
        wrong = type(program)(program.signature, [content], program.constants, program.features)
        cache.store_entry(wrong, entry)
        with pytest.raises(RelayError, match="bad-artefact"):
            relay.load_module(entry)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert relay.build(relay.parse(ADD))(ONES, ONES).tolist() == [2, 2, 2]
        assert cache.read_artefact(entry).codes == program.codes
