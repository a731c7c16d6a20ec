"""Processes that are killed while they write leave files that are whole, and nothing that piles up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")

KILLS = """
import itertools, os, random, signal, sys
from pathlib import Path
import numpy as np
import relay
from relay.backend.native.host import cache
from relay.text.files import STAGED_SUFFIX, write_atomically

job, folder, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])

def program(i):
    weights = np.full((256, 256), i, "float32")
    text = "def @main(%x: Tensor[(256,), float32], %w: Tensor[(256, 256), float32]) { %x + %w }"
    return relay.build(relay.parse(text), params={"w": weights})

def check_programs():
    for i in range(4):
        assert (program(i)(np.ones(256, "float32")) == 1 + i).all()

def state(i):
    return {"w": np.full((256, 256), i, "float32"), "step": i}

def write(first):
    for i in itertools.count(first):
        if job == "cache":
            cache.store_entry(*programs[i % 4])
        elif job == "state":
            relay.training.save_state(folder, state(i), step=i)
        else:
            write_atomically(str(folder / "file"), lambda out: [out.write(b"%9d" % i) for _ in range(5000)])

def die_after_calls(frame, event, argument):
    global calls_left
    if event in ("call", "c_call"):
        calls_left -= 1
        if not calls_left:
            os.kill(os.getpid(), signal.SIGKILL)

def last():
    steps = relay.training.saved_steps(folder)
    return steps[-1] if steps else 0

def check(before):
    if job == "cache":
        check_programs()
    elif job == "state":
        for step in relay.training.saved_steps(folder):
            saved, at = relay.training.restore_state(folder, step=step)
            assert at == saved["step"] == step and (saved["w"] == step).all()
        assert last() >= before
        names = {p.name for p in folder.iterdir()}
        assert len([n for n in names if "-step-" in n]) <= 4, names
        assert all("-step-" in n or n in (".saving", ".removing") for n in names), names
    elif (folder / "file").exists():
        data = (folder / "file").read_bytes()
        assert len(data) == 45000 and data == data[:9] * 5000
    assert len(list(folder.glob(f"*{STAGED_SUFFIX}"))) <= 1

folder.mkdir(mode=0o700, exist_ok=True)
if job != "state":
    write_atomically(str(folder / "file"), lambda out: [out.write(b"%9d" % 0) for _ in range(5000)])
if job == "cache":
    check_programs()
    programs = [(cache.read_artefact(p), p) for p in folder.glob("*.rlo")]
    assert len(programs) == 4
    cache.compile_uncached = None  # all programs come from the cache from now on
random.seed(0)
at_work = 0
for _ in range(count):
    before = last() if job == "state" else 0
    calls_left = random.randrange(1, 4000)
    child = os.fork()
    if not child:
        try:
            sys.setprofile(die_after_calls)
            write(before + 1)
        finally:
            os._exit(1)  # it ends only when it is killed
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    at_work += bool([*folder.glob(f"*{STAGED_SUFFIX}"), *folder.glob(".saving"), *folder.glob(".removing")])
    check(before)
assert at_work, "no process was killed while it wrote"
"""


def kill_writers(job: str, folder: Path, count: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLS, job, str(folder), str(count)],
        env={**os.environ, "RELAY_CACHE": str(folder) if job == "cache" else "off"},
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("job", ["cache", "state", "file"])
def test_killed_writers_damage_nothing(job: str, tmp_path: Path) -> None:
    kill_writers(job, tmp_path / job, 10)


@pytest.mark.long
@pytest.mark.parametrize("job", ["cache", "state"])
def test_two_hundred_killed_writers_damage_nothing(job: str, tmp_path: Path) -> None:
    kill_writers(job, tmp_path / job, 200)
