"""Shared libraries where no C compiler is installed: the package `ziglang` links them."""

import ctypes
import importlib.util
from pathlib import Path

import pytest

import relay
from relay.backend.native.library.targets import known_targets

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs the package ziglang"),
]
PROGRAM = "def @main(%x: Tensor[(n, 4), float32]) { nn.softmax(%x, axis=1) }"


@pytest.fixture(autouse=True)
def _no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def test_another_processor_is_linked_for(tmp_path: Path) -> None:
    path = tmp_path / "libmodel.so"
    relay.write_library(relay.parse(PROGRAM), str(path), target="aarch64-linux-gnu")
    head = path.read_bytes()[:20]
    assert head[:4] == b"\x7fELF"
    assert int.from_bytes(head[18:20], "little") == 183  # EM_AARCH64


@pytest.mark.skipif("native" not in known_targets(), reason="needs Linux")
def test_a_library_of_this_processor_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "libmodel.so"
    relay.write_library(relay.parse(PROGRAM), str(path))
    library, handle = ctypes.CDLL(str(path)), ctypes.c_void_p()
    assert library.model_create(1, ctypes.byref(handle)) == 0
    assert library.model_entry_count() == 1
    library.model_destroy(handle)
