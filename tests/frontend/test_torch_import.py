"""What imported programs of PyTorch keep: choices, loops, state, structure, names of dimensions."""

import pytest

pytest.importorskip("torch", reason="needs the torch extra")

import numpy as np
import torch
from torch.export import Dim

from relay.diagnostic import RelayError
from relay.frontend import from_pytorch

pytestmark = pytest.mark.torch


class Choice(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, (x,))


class Loop(torch.nn.Module):
    def forward(self, x):
        count = torch.zeros((), dtype=torch.int64)
        return torch.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), (count, x))


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))
        self.linear = torch.nn.Linear(2, 3)

    def forward(self, x, *, scale):
        self.seen.add_(1)
        return {"sum": (self.linear(x) * scale).sum(1), "rows": x.view(-1), "seen": self.seen * 1}


@pytest.mark.parametrize("sign", [1, -1])
def test_a_choice_takes_the_branch_that_pytorch_takes(sign):
    x = torch.tensor([1.0, 2.0]) * sign
    assert torch.equal(from_pytorch(Choice(), (x,)).interpret(x), Choice()(x))


def test_a_loop_runs_as_often():
    x = torch.tensor([1.0, 2.0])
    count, found = from_pytorch(Loop(), (x,)).interpret(x)
    assert (int(count), found.tolist()) == (3, [8.0, 16.0])


def test_state_structure_and_dimensions_are_kept():
    x, scale = torch.ones(4, 2), torch.tensor(2.0)
    module, twin = Counter(), Counter()
    twin.load_state_dict(module.state_dict())
    rows = Dim("rows")
    program = from_pytorch(
        module, (x,), {"scale": scale}, dynamic_shapes={"x": {0: rows}, "scale": None}, freeze_params=False
    )
    assert "%x: Tensor[(rows, 2), float32]" in str(program.mod)
    assert set(program.params) == {"linear.bias", "linear.weight", "seen"}
    for count in (3, 5):
        found, expected = (
            program.interpret(x[:1].repeat(count, 1), scale=scale),
            twin(x[:1].repeat(count, 1), scale=scale),
        )
        assert found.keys() == expected.keys()
        for name in found:
            torch.testing.assert_close(found[name], expected[name])
    assert module.seen == twin.seen == 2


def test_a_program_that_draws_is_refused_with_a_reason():
    class Draws(torch.nn.Module):
        def forward(self, x):
            return x + torch.rand(2)

    with pytest.raises(RelayError, match="uses PyTorch's generator"):
        from_pytorch(Draws(), (torch.ones(2),))


def test_arrays_are_taken_for_tensors():
    x = np.array([1.0, 2.0], "float32")
    program = from_pytorch(Choice(), (torch.from_numpy(x),))
    assert torch.equal(program(x), torch.tensor([2.0, 4.0]))
    assert torch.equal(program.interpret(-x), torch.tensor([-2.0, -3.0]))
    with pytest.raises(RelayError, match="takes a tensor or a NumPy array here, not str") as error:
        program("x")
    assert error.value.codes == ("argument-type",)
