"""Modules of PyTorch and TorchScript, as scripts give them to `relay.frontend.from_pytorch`."""

from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the torch extra")

import numpy as np
import torch

from relay.diagnostic import RelayError
from relay.frontend import from_pytorch

pytestmark = pytest.mark.torch


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.head = torch.nn.Linear(4 * 4 * 4, 5)

    def forward(self, x):
        y = torch.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        return torch.softmax(self.head(torch.flatten(y, 1)), -1)


class Lookup(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(10, 4)

    def forward(self, words, scale):
        return self.table(words) * scale


class Loop(torch.nn.Module):
    def forward(self, x):
        while bool(x.sum() < 10):
            x = x * 2
        return x


def twice(x):
    return x + x


def traced(net: Any, x: Any) -> Any:
    return torch.jit.trace(net, x)


def scripted(net: Any, x: Any) -> Any:
    return torch.jit.script(net)


def frozen(net: Any, x: Any) -> Any:
    return torch.jit.freeze(torch.jit.trace(net, x))


@pytest.mark.parametrize("make", [traced, scripted, frozen])
@pytest.mark.parametrize("batch", [1, 2])
def test_torchscript_with_names_and_shapes(tvm: Any, make: Any, batch: int) -> None:
    net = Net().eval()
    x = torch.rand(batch, 3, 8, 8)
    mod, params = tvm.relay.frontend.from_pytorch(make(net, x), [("input0", (batch, 3, 8, 8))])
    first, *weights = mod["main"].params
    assert (first.name_hint, first.checked_type.shape) == ("input0", (batch, 3, 8, 8))
    assert {p.name_hint for p in weights} == set(params)
    assert make is frozen or "head.weight" in params
    module = tvm.contrib.graph_executor.GraphModule(
        tvm.relay.build(mod, target="llvm", params=params)["default"](tvm.cpu())
    )
    module.set_input("input0", tvm.nd.array(x.numpy()))
    module.run()
    np.testing.assert_allclose(module.get_output(0).numpy(), net(x).detach(), rtol=1e-4, atol=1e-6)


def test_inputs_have_dtypes(tvm: Any) -> None:
    net = Lookup().eval()
    words, scale = torch.tensor([[1, 2, 3]]), torch.tensor([2.0])
    infos = [("w", ((1, 3), "int64")), ("s", ((1,), "float32"))]
    mod, params = tvm.relay.frontend.from_pytorch(torch.jit.trace(net, (words, scale)), infos)
    assert [str(p.checked_type) for p in mod["main"].params[:2]] == [
        "Tensor[(1, 3), int64]", "Tensor[(1,), float32]",
    ]  # fmt: skip
    run = tvm.relay.create_executor("graph", mod, params=params).evaluate()
    np.testing.assert_allclose(run(words.numpy(), scale.numpy()).numpy(), net(words, scale).detach())


def test_modules_and_example_inputs_are_taken_as_well(tvm: Any) -> None:
    net, x = Net().eval(), torch.rand(1, 3, 8, 8)
    mod, params = tvm.relay.frontend.from_pytorch(net, [("data", (1, 3, 8, 8))])
    assert mod["main"].params[0].name_hint == "data"
    assert "conv.bias" in params
    mod, params = tvm.relay.frontend.from_pytorch(net, (x,))
    assert (len(mod["main"].params), params) == (1, {})


def test_relay_reads_torchscript_too() -> None:
    net, x = Net().eval(), torch.rand(2, 3, 8, 8)
    torch.testing.assert_close(from_pytorch(torch.jit.script(net), (x,))(x), net(x).detach())
    double = torch.jit.script(twice)
    torch.testing.assert_close(from_pytorch(double, (x,))(x), x + x)


def test_what_cannot_be_converted_is_a_diagnostic(tvm: Any) -> None:
    with pytest.raises(RelayError, match="torch-export") as error:
        tvm.relay.frontend.from_pytorch(torch.jit.script(Loop()), [("x", (2,))])
    assert "torch.nn.Module" in str(error.value)
    for said in ("wide", ((2,), "flot32"), ((2,), "nn")):
        with pytest.raises(RelayError, match="the input `x` cannot be"):
            tvm.relay.frontend.from_pytorch(Net(), [("x", said)])
    with pytest.raises(RelayError, match="two inputs"):
        tvm.relay.frontend.from_pytorch(Lookup(), [("x", (1, 3)), ("x", (1,))])
    with pytest.raises(RelayError, match="conversions are not given"):
        tvm.relay.frontend.from_pytorch(Net(), [("x", (1, 3, 8, 8))], {"aten::relu": abs})
