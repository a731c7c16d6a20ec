"""The cache of compiled programs: what is found in it, and where it is."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from driver.programs import ADD, ONES
from relay.backend.native.host import cache
from relay.backend.native.loops import emitter
from relay.backend.native.runtime.cache_folder import VARIABLE, cache_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_was_compiled_before_is_not_compiled_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay.build(relay.parse(ADD))
    (entry,) = folder.glob("*.rlo")
    with monkeypatch.context() as patch:
        patch.setattr(cache, "compile_uncached", None)
        assert relay.build(relay.parse(ADD))(ONES, ONES).tolist() == [2, 2, 2]
        with pytest.raises(TypeError):
            relay.build(relay.parse(ADD), cache=False)
        for other in (ADD.replace("+", "-"), ADD.replace("(3,)", "(4,)"), " " + ADD):
            with pytest.raises(TypeError):
                relay.build(relay.parse(other))
    entry.write_bytes(entry.read_bytes()[:1000])
    assert relay.build(relay.parse(ADD))(ONES, ONES).tolist() == [2, 2, 2]
    assert len(list(folder.glob("*.rlo"))) == 1
    assert entry.stat().st_size > 1000


def product(rows: int, tail: str = "") -> relay.IRModule:
    kind = f"Tensor[({rows}, 64), float32]", "Tensor[(64, 64), float32]"
    return relay.parse(f"def @main(%x: {kind[0]}, %w: {kind[1]}) {{ nn.dense(%x, %w) {tail} }}")


def test_programs_share_the_code_of_kernels(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = np.random.default_rng(0).random((2, 64, 64), "float32")
    expected = relay.build(product(64), cache=False)(x, w)
    assert not list(folder.glob("kernel-*.o"))
    relay.build(product(64))
    kernels = list(folder.glob("kernel-*.o"))
    with monkeypatch.context() as patch:
        patch.setattr(emitter, "kernel_code", None)
        np.testing.assert_array_equal(relay.build(product(64, "+ 0.0f"))(x, w), expected)
        with pytest.raises(TypeError):
            relay.build(product(64, "+ 0.0f"), cache=False)
    for path in kernels:
        path.write_bytes(path.read_bytes()[:-1])
    np.testing.assert_array_equal(relay.build(product(64, "- 0.0f"))(x, w), expected)
    assert sorted(folder.glob("kernel-*.o")) == sorted(kernels)


def test_constants_and_entries_tell_programs_apart(folder: Path) -> None:
    mod = relay.parse(ADD)
    for i in range(3):
        assert relay.build(mod, params={"w": ONES * i})(ONES).tolist() == [1 + i] * 3
    both = relay.parse("def @f() { 1 }\ndef @g() { 2 }")
    for name, value in (("f", 1), ("g", 2)):
        assert relay.build(both, entries=[name])() == value
    assert len(list(folder.glob("*.rlo"))) == 5


def test_the_cache_is_off_or_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "off")
    assert cache_folder() is None
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    if sys.platform == "linux":
        assert cache_folder() == Path("/somewhere/relay")


def test_a_folder_that_cannot_be_written_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "cache"))
    assert relay.build(relay.parse(ADD))(ONES, ONES).tolist() == [2, 2, 2]


def test_old_entries_make_room(folder: Path) -> None:
    import os

    folder.mkdir()
    for i in range(6):
        (folder / f"{i}.rlo").write_bytes(bytes(100))
        os.utime(folder / f"{i}.rlo", (i, i))
    cache.evict_entries(folder, 250)
    assert sorted(p.name for p in folder.iterdir()) == ["4.rlo", "5.rlo"]


WORK = """
import relay
for i in range(3):
    built = relay.build(relay.parse(f"def @main(%x: int32) {{ %x + {i} }}"))
    assert built(1) == 1 + i
"""


def test_processes_share_a_folder(folder: Path) -> None:
    running = [subprocess.Popen([sys.executable, "-c", WORK]) for _ in range(4)]
    assert [p.wait() for p in running] == [0] * 4
    assert len(list(folder.glob("*.rlo"))) == 3
    assert not list(folder.glob(".*"))


KEPT = """
import sys
import relay
built = relay.build(relay.parse("def @main(%x: int32) { %x + 1 }"))
assert built(1) == 2
rooms = [f"backend.native.{room}" for room in ("program", "kernels", "loops")]
compiler = tuple([f"relay.{x}" for x in (*rooms, "pipelines", "autodiff")])
print(sorted({m for m in sys.modules if m.startswith(compiler)}))
"""


def test_a_program_from_the_cache_does_not_load_the_compiler(folder: Path) -> None:
    for is_kept in (False, True):
        loaded = subprocess.run(
            [sys.executable, "-c", KEPT], capture_output=True, text=True, check=True
        ).stdout
        assert (loaded == "[]\n") == is_kept, loaded


def test_programs_with_operators_of_the_user_are_not_kept(folder: Path) -> None:
    from relay.op.family import Elementwise
    from relay.op.kind import Derivative
    from relay.op.registry import operator

    @operator("my.twice_over")
    class Twice(Elementwise):
        """`2 x`."""

        derivative = Derivative.ZERO

        def reference(self, np: Any, x: Any) -> Any:
            return x + x

        def native(self, b: Any, x: Any) -> Any:
            return b.add(x, x)

    x = relay.var("x", shape=(), dtype="float32")
    assert relay.compile(relay.Function([x], Twice()(x)))(3) == 6
    apply = "def @apply(%f: fn(float32) -> float32, %x: float32) -> float32 { %f(%x) }"
    assert relay.build(relay.parse(apply + "def @main(%x: float32) { @apply(my.twice_over, %x) }"))(3) == 6
    assert list(folder.glob("*.rlo")) == []
