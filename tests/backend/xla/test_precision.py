"""Precisions of products."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.xla.built import XlaModule

pytestmark = pytest.mark.extras
pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

TEXT = """
def @main(
  %x: Tensor[(64, 3, 8, 8), float32], %k: Tensor[(4, 3, 3, 3), float32], %w: Tensor[(5, 144), float32]
) {
  nn.dense(nn.batch_flatten(nn.conv2d(%x, %k)), %w)
}"""
FAST = 2e-3
"""How far results of fast products may be from others, by the greatest: GPUs keep 10 bits of the factors."""
RNG = np.random.default_rng(0)
ARGS = [RNG.standard_normal(shape, "float32") for shape in ((64, 3, 8, 8), (4, 3, 3, 3), (5, 144))]


def code_of(built: XlaModule) -> list[str]:
    """The products of a program that was called, as StableHLO."""
    whole = built.by_name["main"].whole
    (structure,) = whole.kept
    lines = whole.lowered(structure).as_text().splitlines()
    return [line for line in lines if "dot_general" in line or "stablehlo.convolution" in line]


def value_and_code(**options: Any) -> tuple[Any, list[str]]:
    built = relay.build(relay.parse(TEXT), "xla", **options)
    return built(*ARGS), code_of(built)


def test_float32_keeps_its_digits_unless_it_may_be_fast() -> None:
    wanted = relay.build(relay.parse(TEXT))(*ARGS)
    fast = {"matmul_precision": "fast"}
    for options, word, near in (({}, "HIGHEST", 1e-6), (fast, "DEFAULT", FAST)):
        found, code = value_and_code(**options)
        assert len(code) == 2
        assert all(line.count(word) == 2 for line in code)
        assert np.abs(found - wanted).max() < near * np.abs(wanted).max()


@pytest.mark.parametrize(("precision", "dtype"), [("bf16", "xbf16>"), ("f16", "xf16>")])
def test_short_floats_are_multiplied_as_they_are_and_added_up_in_float32(precision: str, dtype: str) -> None:
    found, code = value_and_code(precision=precision)
    for line in code:
        operands, _, result = line.rpartition("->")
        assert operands.count(dtype) == 2
        assert "xf32>" in result
    wanted = relay.build(relay.parse(TEXT), precision=precision)(*ARGS)
    assert np.abs(found - wanted).max() < 1e-2 * np.abs(wanted).max()


@pytest.mark.parametrize("precision", ["highest", "fast"])
def test_a_file_keeps_the_precision_of_its_program(precision: str, tmp_path: Path) -> None:
    built = relay.build(relay.parse(TEXT), "xla", matmul_precision=precision)
    built.export_library(tmp_path / "p.rlx", platforms=("cpu", "cuda", "tpu"))
    loaded = relay.load_module(tmp_path / "p.rlx")
    np.testing.assert_allclose(loaded(*ARGS), built(*ARGS), rtol=1e-5)
    code = loaded.by_name["main"].exported.mlir_module()
    assert ("HIGHEST" in code) is (precision == "highest")
