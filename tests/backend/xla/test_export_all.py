"""All operators and the training steps of networks, exported for devices that are not here."""

from pathlib import Path
from typing import Any

import pytest

import relay
from backend.xla.training_steps import NETWORKS, training_step
from op.operands import operands_of, samples_of
from op.test_traced import NAMES, ON_HOST, arrays
from op.test_traced_jax import namespace, reason
from relay.op.registry import instance, registry

pytestmark = pytest.mark.extras
jax = pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")
pytest.importorskip("flatbuffers", reason="needs flatbuffers, which `.ci/run-extras jax` installs")

from relay.backend.xla.export_platforms import PLATFORMS, load_export  # noqa: E402
from relay.backend.xla.exporting import as_inside, outside  # noqa: E402


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ON_HOST])
def test_an_operator_is_exported_for_all_platforms(name: str) -> None:
    calls = [(instance(name, s.attrs), list(map(arrays, operands_of(s)))) for s in samples_of(registry[name])]
    chosen = [(op, xs) for op, xs in calls if not reason(op, xs)]
    types = [jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), xs) for _, xs in chosen]
    wider = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, outside(x.dtype)), types)

    def together(operands: list[list[Any]]) -> Any:
        found: list[Any] = []
        for (op, _), given, like in zip(chosen, operands, types, strict=True):
            module = namespace()
            xs = jax.tree.map(as_inside, given, like)
            found.append((op.traced(module, *xs), module.int32(module.checks.failed)))
        return jax.tree.map(lambda x: x.astype(outside(x.dtype)), found)

    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        code = load_export().export.export(jax.jit(together), platforms=PLATFORMS)(wider)
    assert code.serialize()
    assert code.platforms == PLATFORMS


@pytest.mark.parametrize("name", NETWORKS)
def test_a_training_step_is_exported_for_all_platforms(tmp_path: Path, name: str) -> None:
    mod, weights, args = training_step(name)
    built = relay.build(mod, "xla", entries="step", donate=weights)
    built.export_library(tmp_path / "step.rlx", PLATFORMS)
    if name in ("mlp", "gpt2"):
        loaded = relay.load_module(tmp_path / "step.rlx")
        wanted = relay.build(mod, "xla", entries="step")(args)
        assert loaded(args)[0] == pytest.approx(wanted[0], rel=1e-12)
