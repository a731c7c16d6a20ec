"""Saved states come back bit for bit, and survive whatever happens while they are written."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import relay
from relay.training import restore_state, save_state, saved_steps
from relay.training.store import ARRAYS, STRUCTURE


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray | np.generic):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return repr(a) == repr(b)


STATE = {
    "weights": (np.arange(6, dtype="float32").reshape(2, 3), [np.float64(-0.0), np.zeros((0, 3), "int8")]),
    "transposed": np.arange(6).reshape(2, 3).T,
    "narrow": np.asarray([1.5, np.nan], ml_dtypes.bfloat16),
    "bits": np.asarray([1, 2, 3], ml_dtypes.int4),
    "eighth": np.asarray([1, 2], ml_dtypes.float8_e4m3fn),
    "scalar": np.asarray(3.0, "float16"),
    "flags": np.asarray([True, False]),
    "key": np.asarray([2**64 - 1] * 10, "uint64"),
    "numbers": (1, 2**200, 0.1, float("nan"), float("-inf"), -0.0, True, None, "text \N{SNOWMAN}\n"),
    "empty": ((), [], {}),
}


def test_a_state_comes_back_bit_for_bit(tmp_path: Path) -> None:
    save_state(tmp_path / "run", STATE, step=5)
    state, step = restore_state(tmp_path / "run")
    assert step == 5
    assert same(state, STATE)
    state["weights"][0][0, 0] = 7  # arrays can be written to


def test_a_state_may_be_one_array_and_bytes_in_another_order_are_put_right(tmp_path: Path) -> None:
    save_state(tmp_path, np.arange(3, dtype=">i4"), step=0)
    state, _ = restore_state(tmp_path)
    assert same(state, np.arange(3, dtype="int32"))


def test_deep_states_are_no_trouble(tmp_path: Path) -> None:
    deep: Any = ()
    for _ in range(100_000):
        deep = (deep,)
    save_state(tmp_path, deep, step=0)
    found, depth = restore_state(tmp_path)[0], 0
    while found:
        (found,), depth = found, depth + 1
    assert depth == 100_000


def test_the_last_saves_are_kept_in_the_order_of_saving(tmp_path: Path) -> None:
    for step in (10, 20, 30, 15):
        save_state(tmp_path, step, step=step, keep=2)
    assert saved_steps(tmp_path) == [30, 15]
    assert restore_state(tmp_path) == (15, 15)
    assert restore_state(tmp_path, step=30) == (30, 30)
    assert len(list(tmp_path.iterdir())) == 2


def test_one_step_may_be_saved_again(tmp_path: Path) -> None:
    save_state(tmp_path, "first", step=1)
    save_state(tmp_path, "second", step=1)
    assert restore_state(tmp_path, step=1) == ("second", 1)


def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path: Path) -> None:
    save_state(tmp_path, 1, step=1)
    for left in (".saving", ".removing"):
        shutil.copytree(next(tmp_path.glob("*-step-1")), tmp_path / left)
    assert saved_steps(tmp_path) == [1]
    save_state(tmp_path, 2, step=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["000001-step-1", "000002-step-2"]


@pytest.mark.parametrize("name", [STRUCTURE, ARRAYS])
@pytest.mark.parametrize("harm", ["missing", "empty", "shorter", "changed"])
def test_each_damage_is_one_diagnostic(tmp_path: Path, name: str, harm: str) -> None:
    save_state(tmp_path, STATE, step=1)
    made = save_state(tmp_path, STATE, step=2)
    file = made / name
    data = bytearray(file.read_bytes())
    if harm == "missing":
        file.unlink()
    elif harm == "changed":
        data[-20] ^= 1
        file.write_bytes(data)
    else:
        file.write_bytes(data[: len(data) // 2] if harm == "shorter" else b"")
    with pytest.raises(relay.RelayError, match="bad-state") as caught:
        restore_state(tmp_path)
    assert len(caught.value.diagnostics) == 1
    assert "`step=`: 1" in str(caught.value)
    assert same(restore_state(tmp_path, step=1)[0], STATE)


def test_any_changed_byte_is_found(tmp_path: Path) -> None:
    made = save_state(tmp_path, {"w": np.arange(5, dtype="float32"), "n": 3}, step=2)
    rng = random.Random(0)
    for name in (STRUCTURE, ARRAYS):
        whole = (made / name).read_bytes()
        for _ in range(200):
            data = bytearray(whole)
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            (made / name).write_bytes(data)
            try:
                found, _ = restore_state(tmp_path)
            except relay.RelayError as error:
                assert error.diagnostics[0].code == "bad-state"  # noqa: PT017  (a change may be harmless)
            else:
                assert same(found, {"w": np.arange(5, dtype="float32"), "n": 3})
        (made / name).write_bytes(whole)


def test_a_newer_format_is_named(tmp_path: Path) -> None:
    made = save_state(tmp_path, 1, step=1)
    said = json.loads((made / STRUCTURE).read_text())
    (made / STRUCTURE).write_text(json.dumps({**said, "format": 2}))
    with pytest.raises(relay.RelayError, match="reads format 1"):
        restore_state(tmp_path)


@dataclass
class Layer:
    w: Any
    b: Any
    name: str = field(default="dense", metadata={"static": True})


class Pair(NamedTuple):
    first: Any
    second: Any


def test_dataclasses_and_named_tuples_come_back_in_the_structure_of_another_state(tmp_path: Path) -> None:
    state = {"layers": [Layer(np.ones(2), None, "last")], "pair": Pair(1, (2.5, {"z": 1, "a": "x"}))}
    save_state(tmp_path, state, step=1)
    plain, _ = restore_state(tmp_path)
    assert plain["pair"] == {"first": 1, "second": (2.5, {"z": 1, "a": "x"})}
    assert sorted(plain["layers"][0]) == ["b", "w"]
    like = {"layers": [Layer(0, 0, "last")], "pair": Pair(0, (0, {"a": 0, "z": 0}))}
    found, step = restore_state(tmp_path, like=like)
    assert step == 1
    assert found["pair"] == state["pair"]
    assert isinstance(found["pair"], Pair)
    assert (found["layers"][0].name, found["layers"][0].w.tolist()) == ("last", [1, 1])
    for wrong in ({"layers": [], "pair": Pair(0, 0)}, {"layers": [Layer(0, 0)]}, [0, 0], Layer(0, 0)):
        with pytest.raises(relay.RelayError, match="another structure than `like` at `state"):
            restore_state(tmp_path, like=wrong)
    save_state(tmp_path, {"n": 3}, step=2)
    with pytest.raises(relay.RelayError, match=r"at `state\['n'\]`"):
        restore_state(tmp_path, like={"n": (1, 2)})


def test_nothing_saved_is_a_diagnostic_that_lists_the_steps(tmp_path: Path) -> None:
    assert saved_steps(tmp_path / "none") == []
    with pytest.raises(relay.RelayError, match="bad-state"):
        restore_state(tmp_path / "none")
    save_state(tmp_path, 1, step=4)
    with pytest.raises(relay.RelayError, match="those of steps 4"):
        restore_state(tmp_path, step=5)


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, np.asarray(["a"]), np.asarray([1j]), {3}, relay.var("x")]
)
def test_what_cannot_be_saved_is_refused_and_nothing_is_changed(tmp_path: Path, value: Any) -> None:
    save_state(tmp_path, "kept", step=1)
    with pytest.raises(relay.RelayError, match="state-value"):
        save_state(tmp_path, ("a", value), step=2)
    assert restore_state(tmp_path) == ("kept", 1)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_step_below_0_or_no_save_to_keep_is_refused(tmp_path: Path) -> None:
    for wrong in ({"step": -1}, {"step": 1, "keep": 0}):
        with pytest.raises(relay.RelayError, match="state-value"):
            save_state(tmp_path, 1, **wrong)


def test_a_file_in_the_way_is_a_diagnostic(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(relay.RelayError, match="cannot-write"):
        save_state(tmp_path / "run", 1, step=1)
    with pytest.raises(relay.RelayError, match="cannot-read"):
        restore_state(tmp_path / "run")


SAVER = """
import sys
import numpy as np
from relay.training import save_state
step = int(sys.argv[2])
while True:
    step += 1
    state = {"step": step, "weights": tuple(np.full((64, 1024), step + i, "int64") for i in range(4))}
    save_state(sys.argv[1], state, step=step, keep=2)
    print(step, flush=True)
"""


def kill_savers(path: Path, times: int) -> None:
    """Kill a process that saves, at random moments, and look each time at what is there."""
    rng = random.Random(times)
    known = 0
    for _ in range(times):
        saver = subprocess.Popen(
            [sys.executable, "-c", SAVER, str(path), str(known)], stdout=subprocess.PIPE, text=True
        )
        assert saver.stdout is not None
        assert saver.stdout.readline()  # the first save is done
        time.sleep(rng.uniform(0, 0.05))
        os.kill(saver.pid, signal.SIGKILL)
        told = saver.stdout.read().split()
        saver.wait()
        for step in saved_steps(path):
            state, _ = restore_state(path, step=step)
            assert state["step"] == step
            for i, w in enumerate(state["weights"]):
                assert (w == step + i).all()
        _, last = restore_state(path)
        assert last >= max([known + 1, *map(int, told)]), "what was told to be saved is there"
        known = last


def test_no_kill_in_the_middle_of_a_save_loses_anything(tmp_path: Path) -> None:
    kill_savers(tmp_path, 6)


@pytest.mark.long
def test_no_kill_of_100_in_the_middle_of_a_save_loses_anything(tmp_path: Path) -> None:
    kill_savers(tmp_path, 100)


def test_a_save_may_go_on_while_the_state_changes(tmp_path: Path) -> None:
    weights = np.ones(1000)
    for step in range(4):
        weights += step
        made = save_state(tmp_path, {"w": weights}, step=step, wait=False)
        weights *= 2
        assert made.name == f"{step + 1:06d}-step-{step}"
    relay.training.finish_saves()
    assert made.is_dir()
    assert saved_steps(tmp_path) == [1, 2, 3]
    state, step = restore_state(tmp_path, step=1)
    assert (state["w"][0], step) == (3.0, 1)
    assert restore_state(tmp_path)[0]["w"][0] == 19.0


def test_what_such_a_save_fails_with_is_raised_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("relay.training.store._write", full)
    for finish in (relay.training.finish_saves, lambda: saved_steps(tmp_path)):
        save_state(tmp_path, {"w": np.ones(3)}, step=1, wait=False)
        with pytest.raises(relay.RelayError, match="No space left on device") as error:
            finish()
        assert error.value.codes == ("cannot-write",)
    relay.training.finish_saves()
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(relay.RelayError) as error:
        save_state(file / "run", {"w": np.ones(3)}, step=1, wait=False)
    assert error.value.codes == ("cannot-write",)


def test_a_process_ends_when_its_saves_have(tmp_path: Path) -> None:
    program = """
import sys, numpy, relay
relay.training.save_state(sys.argv[1], numpy.ones(10**6), step=1, wait=False)"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert restore_state(tmp_path)[0].sum() == 10**6
