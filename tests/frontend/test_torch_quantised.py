"""Programs that PyTorch's `pt2e` and torchao have quantised."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the torch extra")
pytest.importorskip("torchao", reason="needs torchao")

import torch
from torchao.quantization import (
    Int8DynamicActivationInt8WeightConfig,
    Int8DynamicActivationIntxWeightConfig,
    Int8WeightOnlyConfig,
    IntxWeightOnlyConfig,
    MappingType,
    quantize_,
)
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

import relay
from relay.driver.arguments import with_params
from relay.frontend import from_pytorch
from relay.ir.walk import post_order
from relay.transform.passes.fake_quantization import fake_quantization_to_integer

pytestmark = pytest.mark.torch


class Network(torch.nn.Module):
    """A convolution and a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 4, 3)
        self.layer = torch.nn.Linear(64, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(torch.relu(self.convolution(x)).flatten(1))


def test_pt2e_becomes_pairs_that_are_integer_kernels() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 6, 6)
    quantizer = x86.X86InductorQuantizer()
    quantizer.set_global(x86.get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(torch.export.export(Network().eval(), (x,)).module(), quantizer)
    prepared(x)
    converted = convert_pt2e(prepared)
    expected = converted(x).detach().numpy()
    program = from_pytorch(torch.export.export(converted, (x,)))
    np.testing.assert_allclose(program(x).numpy(), expected, atol=1e-4)
    bound = relay.infer(with_params(program.mod, program.params))
    left = relay.analysis.list_op_freqs(fake_quantization_to_integer(bound, use_qat=True))
    assert (left.get("qnn.conv2d"), left.get("qnn.dense")) == (1, 1)


@pytest.mark.parametrize("config", [Int8WeightOnlyConfig(), Int8DynamicActivationInt8WeightConfig()])
def test_layers_of_torchao(config) -> None:
    torch.manual_seed(0)
    layer, x = torch.nn.Sequential(torch.nn.Linear(64, 32)).eval(), torch.randn(2, 64)
    quantize_(layer, config)
    exported = torch.export.export(layer, (x,)).run_decompositions()
    np.testing.assert_allclose(from_pytorch(exported)(x).numpy(), layer(x).detach().numpy(), atol=1e-4)


@pytest.mark.parametrize("mapping", [MappingType.SYMMETRIC, MappingType.ASYMMETRIC])
@pytest.mark.parametrize(
    ("bits", "granularity", "said"),
    [(4, PerGroup(32), ""), (3, PerGroup(32), ""), (2, PerGroup(16), "bits=2, group=16"),
     (6, PerGroup(64), "bits=8, group=64"), (4, PerAxis(0), "group=64")],
)  # fmt: skip
def test_small_weights_of_torchao_stay_small(bits: int, granularity, said: str, mapping: MappingType) -> None:
    torch.manual_seed(0)
    layer, x = torch.nn.Sequential(torch.nn.Linear(64, 96)).eval(), torch.randn(2, 64)
    dtype = getattr(torch, f"int{bits}")
    quantize_(layer, IntxWeightOnlyConfig(weight_dtype=dtype, granularity=granularity, mapping_type=mapping))
    program = from_pytorch(torch.export.export(layer, (x,)))
    np.testing.assert_allclose(program(x).numpy(), layer(x).detach().numpy(), atol=1e-5)
    text = program.mod.astext()
    assert "dequantize_groups(" in text
    assert said in text
    sizes = [
        c.value.nbytes for c in constants(program.mod) if c.value.dtype == np.uint8 and c.value.ndim == 3
    ]
    assert sizes == [64 * 96 * (2 if bits == 2 else 4 if bits < 5 else 8) // 8]


def constants(mod: relay.IRModule) -> list[relay.Constant]:
    return [e for e in post_order(mod["main"]) if isinstance(e, relay.Constant)]


def test_activations_that_are_quantised_as_they_come_beside_weights_in_groups() -> None:
    torch.manual_seed(0)
    layer, x = torch.nn.Sequential(torch.nn.Linear(64, 32)).eval(), torch.randn(2, 64)
    quantize_(layer, Int8DynamicActivationIntxWeightConfig(torch.int4, PerGroup(32)))
    program = from_pytorch(torch.export.export(layer, (x,)))
    np.testing.assert_allclose(program(x).numpy(), layer(x).detach().numpy(), atol=1e-5)
    assert "dequantize_groups(" in program.mod.astext()
