"""The example that trains over meshes gives one result on all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import relay
from support import ROOT, free_port

pytestmark = pytest.mark.extras
pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

STEPS = ("--steps", "100")


def started(*options: str, devices: int = 1) -> subprocess.Popen[str]:
    """The example, on so many devices that are made of the CPU."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(Path(relay.__file__).parents[1])}
    environment["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    return subprocess.Popen(
        [sys.executable, ROOT / "examples" / "train_mesh.py", *options],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def said(run: subprocess.Popen[str]) -> str:
    """What it prints of the loss."""
    out, wrong = run.communicate(timeout=300)
    assert run.returncode == 0, wrong
    return "\n".join([line for line in out.splitlines() if "[Gloo]" not in line])


def test_the_example_trains_alike_over_every_mesh() -> None:
    one = said(started(*STEPS))
    assert one.startswith("loss 0.0")
    eight = [
        ("--data", "4", "--model", "2", "--zero"),
        ("--accumulate", "4"),
    ]
    for options in eight:
        assert said(started(*STEPS, *options, devices=8)) == one
    loss, accuracy = [float(word) for word in one.replace(",", "").split() if word[0] == "0"]
    words = said(started(*STEPS, "--precision", "bf16", devices=8)).replace(",", "").split()
    short_loss, short_accuracy = [float(word) for word in words if word[0] == "0"]
    assert abs(short_loss - loss) < 0.05 * loss
    assert abs(short_accuracy - accuracy) < 0.02


def test_the_example_goes_on_from_its_state_on_another_mesh(tmp_path: Path) -> None:
    state = ("--state", str(tmp_path / "run"))
    port = free_port()
    cluster = ("--coordinator", f"127.0.0.1:{port}", "--processes", "4", "--zero")
    runs = [started(*STEPS, *state, *cluster, "--rank", str(rank)) for rank in range(4)]
    assert [said(run)[:5] for run in runs] == ["loss ", "", "", ""]
    assert relay.training.saved_steps(tmp_path / "run") == [100]
    whole = said(started("--steps", "200"))
    assert said(started("--steps", "200", *state, "--data", "2", "--model", "4", devices=8)) == whole


def test_wrong_meshes_end_with_a_diagnostic() -> None:
    for options, code in ((("--data", "16"), "bad-mesh"), (("--data", "3"), "bad-sharding")):
        run = started(*options, devices=8)
        _, wrong = run.communicate(timeout=300)
        assert run.returncode == 1
        assert f"error[{code}]" in wrong
        assert "Traceback" not in wrong
