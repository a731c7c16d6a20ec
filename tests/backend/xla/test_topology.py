"""Programs compiled for TPUs that are not here, by libtpu in a process of its own.

`.ci/run-extras libtpu` runs it.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import relay
from backend.xla.training_steps import step_of_network
from driver.programs import codes
from relay.backend.xla import topology
from relay.testing import transformer
from support import cli

pytestmark = pytest.mark.extras
pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

WITH_LIBTPU = pytest.mark.skipif(
    find_spec("libtpu") is None, reason="needs libtpu, which `.ci/run-extras libtpu` installs"
)
MLP = """
attributes @main {
  mesh: {"data": 4, "model": 2},
  shard: {"w1": ("model", None), "w2": (None, "model"), "x": ("data", None), "y": ("data", None)}
}
def @loss(
  %w1: Tensor[(16, 8), float32], %w2: Tensor[(4, 16), float32], %x: Tensor[(n, 8), float32],
  %y: Tensor[(n, 4), float32]
) { mean(power(nn.dense(shard(tanh(nn.dense(%x, %w1)), spec=("data", "model")), %w2) - %y, 2f)) }
def @main(
  %w1: Tensor[(16, 8), float32], %w2: Tensor[(4, 16), float32], %x: Tensor[(n, 8), float32],
  %y: Tensor[(n, 4), float32]
) { grad(@loss)(%w1, %w2, %x, %y) }
"""
SQUARE = "def @main(%x: Tensor[(8, 8), {0}]) {{ nn.matmul(%x, %x) }}"


def transformer_step(data: int, model: int) -> Any:
    """A training step of a transformer on a mesh, built."""
    network = transformer.get_workload(4 * data, 8, 1, 64, 4, vocabulary=64, positions=8)
    mod, weights, args = step_of_network(*network)
    shard: dict[str, Any] = {name: ("data",) for name in args if name not in weights}
    shard |= {name: ("model", None) for name in weights if name.endswith(("_weight", "token_embedding"))}
    return relay.build(
        mod, "xla cpu", entries="step", mesh={"data": data, "model": model}, shard=shard, donate=weights
    )


# --- with libtpu


@pytest.mark.libtpu
@WITH_LIBTPU
@pytest.mark.parametrize(("name", "data", "model"), [("v5e:2x4", 4, 2), ("v5e:16x16", 64, 4)])
def test_a_training_step_of_a_transformer_is_compiled(name: str, data: int, model: int) -> None:
    report = transformer_step(data, model).report_for(name)
    (entry,) = report.entries
    assert entry.collectives.counts["all-reduce"] > 0
    assert entry.collectives.bytes > 0
    assert entry.flops > 0
    assert f"compiled for {name}\n@step: " in str(report)


@pytest.mark.libtpu
@WITH_LIBTPU
def test_the_collectives_of_a_perceptron_are_two_sums(tmp_path: Path) -> None:
    path = tmp_path / "mlp.relay"
    path.write_text(MLP)
    options = ["--target", "xla tpu", "--emit", "collectives", "--topology", "v5e:2x4", "--size", "n=32"]
    done = cli("compile", *options, str(path))
    assert done.status == 0
    assert "all-reduce" in done.output
    assert "all-gather" not in done.output


@pytest.mark.libtpu
@WITH_LIBTPU
def test_what_the_compiler_does_not_know_is_said() -> None:
    built = relay.build(relay.parse(SQUARE.format("int64")), "xla cpu")
    with pytest.raises(relay.RelayError, match=r"xla-unsupported.*UNIMPLEMENTED"):
        built.report_for("v5e:2x2")
    built = relay.build(relay.parse(SQUARE.format("float32")), "xla cpu")
    assert codes(lambda: built.report_for("v99:2x2")) == ("unknown-target",)
    built = relay.build(relay.parse(MLP), "xla cpu")
    assert codes(lambda: built.report_for("v5e:2x2", sizes={"n": 32})) == ("bad-mesh",)


# --- without


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topology, "library_path", lambda: "libtpu.so")


def test_libtpu_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topology, "find_spec", lambda name: None)
    built = relay.build(relay.parse(SQUARE.format("float32")), "xla cpu")
    with pytest.raises(relay.RelayError, match=rf"no-xla.*\n.*libtpu=={topology.LIBTPU}"):
        built.report_for("v5e:2x2")


@pytest.mark.usefixtures("no_library")
def test_sizes_are_numbers() -> None:
    built = relay.build(relay.parse("def @main(%x: Tensor[(n,), float32]) { tanh(%x) }"), "xla cpu")
    assert codes(lambda: built.report_for("v5e:2x2")) == ("xla-unsupported",)


@pytest.mark.usefixtures("no_library")
def test_a_compiler_that_ends_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "compiler"
    program.write_text("#!/bin/sh\necho 'F0000 Check failed: no such type' >&2\nkill -ABRT $$\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    built = relay.build(relay.parse(SQUARE.format("float32")), "xla cpu")
    with pytest.raises(relay.RelayError, match=r"xla-unsupported.*SIGABRT\n.*Check failed: no such type"):
        built.report_for("v5e:2x2")
