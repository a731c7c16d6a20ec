"""A loop that generates text, with its cache of keys and values, as one program."""

import runpy
import time

import pytest

from support import ROOT

pytestmark = pytest.mark.torch


def test_a_number_in_a_module_needs_no_decomposition():
    torch = pytest.importorskip("torch")
    from relay.frontend import from_pytorch
    from relay.frontend.torch import exporting

    class Halved(torch.nn.Module):
        def forward(self, x):
            return x * torch.tensor(0.5)

    exported = torch.export.export(Halved(), (torch.ones(3),))
    assert "aten.detach_.default" in [str(fx.target) for fx in exported.graph.nodes]
    assert exporting.in_known_operators(exported) is exported
    assert from_pytorch(exported)(torch.ones(3)).tolist() == [0.5, 0.5, 0.5]


@pytest.mark.long
def test_a_loop_around_30_layers_is_imported_in_seconds():
    torch = pytest.importorskip("torch")
    from frontend.torch_decoder import Decoder, Greedy
    from relay.frontend import from_pytorch

    torch.manual_seed(0)
    model, first = Greedy(Decoder(layers=30), 8).eval(), torch.tensor([[3]])
    with torch.no_grad():
        exported = torch.export.export(model, (first,), strict=False)
        began = time.perf_counter()
        program = from_pytorch(exported)
        assert time.perf_counter() - began < 10
        assert torch.equal(program(first), model(first))


@pytest.mark.long
def test_greedy_decoding_equals_generate(capsys):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    runpy.run_path(str(ROOT / "examples" / "gpt2_generate.py"), run_name="__main__")
    assert "equal to generate: True" in capsys.readouterr().out
