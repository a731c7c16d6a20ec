"""Several processes that run one program, on this machine."""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest

import relay
from backend.xla.process import STEPS
from backend.xla.test_mesh import MLP, mlp_arguments
from backend.xla.training_steps import training_step
from support import free_port

pytestmark = pytest.mark.extras
pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

PROGRAM = Path(__file__).with_name("process.py")
PATHS = [str(Path(relay.__file__).parents[1]), str(PROGRAM.parents[2])]
ENVIRONMENT = {
    **os.environ,
    "JAX_PLATFORMS": "cpu",
    "PYTHONPATH": os.pathsep.join(PATHS),
    "XLA_FLAGS": "",
}


def run(
    what: str, processes: int, ranks: Sequence[int], port: int | None = None
) -> list[tuple[int, str, str]]:
    """The status, the output and the diagnostics of processes that ran together."""
    port = free_port() if port is None else port
    started = [
        subprocess.Popen(
            [sys.executable, PROGRAM, str(rank), str(processes), str(port), what],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        for rank in ranks
    ]
    try:
        said = [p.communicate(timeout=400) for p in started]
    finally:
        for p in started:
            p.kill()
    return [
        (p.returncode, "".join([line for line in out.splitlines(True) if "[Gloo]" not in line]), wrong)
        for p, (out, wrong) in zip(started, said, strict=True)
    ]


def test_four_processes_train_as_one_device_does() -> None:
    found = run("networks", 4, range(4))
    for status, said, wrong in found:
        assert status == 0, wrong
        assert said == found[0][1]
    by_name = {line.split()[0]: list(map(float, line.split()[1:])) for line in found[0][1].splitlines()}
    for name in ("mlp", "transformer", "resnet"):
        mod, weights, args = training_step(name)
        step = relay.build(mod, "xla cpu", entries="step")
        for _ in range(STEPS):
            loss, new = step(args)
            args.update(zip(weights, new, strict=True))
        wanted = [float(loss), float(sum(np.abs(w).sum() for w in new))]
        np.testing.assert_allclose(by_name[name], wanted, rtol=1e-9)
    step = relay.build(relay.parse(MLP), entries="step")
    *weights, x, y = mlp_arguments()
    for _ in range(STEPS + 1):
        loss, *weights = step(*weights, x, y)
    np.testing.assert_allclose(by_name["layers"], [loss, sum([np.abs(w).sum() for w in weights])], rtol=1e-6)


def test_what_fails_in_several_processes_has_its_diagnostic() -> None:
    assert [said for _, said, _ in run("divides", 2, range(2))] == ["divide-by-zero\n"] * 2


def test_a_state_saved_by_four_processes_goes_on_over_another_mesh(tmp_path: Path) -> None:
    assert [said for _, said, _ in run(f"save={tmp_path}", 4, range(4))] == ["[10]\n"] * 4
    state, first = relay.training.restore_state(tmp_path)
    assert first == 10
    step = relay.build(relay.parse(MLP), "xla cpu", entries="step")
    native = relay.build(relay.parse(MLP), entries="step")
    *weights, x, y = mlp_arguments()
    there = step.put(**dict(zip(("w1", "b1", "w2"), state["weights"], strict=True)))
    for i in range(20):
        _, *weights = native(*[w.copy() for w in weights], x, y)
        if i >= first:
            _, *there = step(*there, x, y, on_device=True)
    for a, b in zip(there, weights, strict=True):
        assert len(a.addressable_shards) == 8
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    relay.training.save_state(tmp_path, {"weights": tuple(there)}, step=20, wait=False)
    step(*there, x, y)  # which gives these arrays up
    np.testing.assert_allclose(relay.training.restore_state(tmp_path)[0]["weights"][1], weights[1], rtol=1e-5)


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("is-killed", "process 1 has ended"),
        ("fails", "process 1 has failed: its own output says why"),
        ("stops", "process 1 has not answered for 5 seconds"),
    ],
)
def test_a_process_that_is_gone_ends_all_others(what: str, why: str) -> None:
    start = monotonic()
    port = free_port()
    if what == "stops":  # process 1 stays, stopped: the others end without it
        found = stopped(port)
    else:
        found = [one for rank, one in enumerate(run(what, 4, range(4), port)) if rank != 1]
    for status, _, wrong in found:
        assert status == 1, wrong
        assert f"error[cluster-lost]: {why}" in wrong
        assert "Traceback" not in wrong
    assert monotonic() - start < 60


def stopped(port: int) -> list[tuple[int, str, str]]:
    """What the others say of a process that is stopped, which is killed then."""
    command: list[Any] = [sys.executable, PROGRAM, "1", "4", str(port), "stops"]
    one = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    try:
        return run("stops", 4, (0, 2, 3), port)
    finally:
        one.kill()
        one.wait()


def test_a_process_that_is_missing_is_named_by_the_others() -> None:
    start = monotonic()
    for status, _, wrong in run("waits", 4, (0, 1, 3)):
        assert status == 1
        assert "error[cluster-incomplete]: process 2 of 4 did not come within 3 seconds" in wrong
    ((status, _, wrong),) = run("waits", 4, (2,))
    assert status == 1
    assert "error[cluster-incomplete]: process 0 did not answer at 127.0.0.1:" in wrong
    assert monotonic() - start < 60


def test_a_port_may_be_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ((status, _, wrong),) = run("waits", 2, (0,), port)
        assert status == 1
        assert f"error[cluster-incomplete]: port {port} of `127.0.0.1` is in use" in wrong
        ((status, _, wrong),) = run("waits", 2, (0,), port - 1)
        assert f"port {port} of `127.0.0.1` is in use" in wrong


def test_two_processes_may_have_one_rank() -> None:
    found = run("waits", 3, (0, 1, 1))
    assert [status for status, _, _ in found] == [1, 1, 1]
    assert all("error[cluster-incomplete]: two processes have the rank 1" in wrong for _, _, wrong in found)
