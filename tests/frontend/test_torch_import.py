"""What imported programs of PyTorch keep: choices, loops, state, structure, names of dimensions."""

import pytest

pytest.importorskip("torch", reason="needs the torch extra")

import numpy as np
import torch
from torch.export import Dim

import relay
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


class Norms(torch.nn.Module):
    def forward(self, x):
        norms = [torch.linalg.vector_norm(x, p, 1).sum() for p in (-1, 0.5, 1.5)]
        return torch.stack(norms)


def test_norms_have_the_derivatives_of_pytorch_at_zeros():
    x = torch.tensor([[3.0, -4.0, 0.0], [0.0, 0.0, 0.0], [3.0, 2.0, 1.0]], requires_grad=True)
    weights = torch.tensor([1.0, 2.0, -1.0])
    (Norms()(x) * weights).sum().backward()
    mod = from_pytorch(Norms(), (x.detach(),)).mod
    text = "def @loss(%x: Tensor[(3, 3), float32], %w: Tensor[(3,), float32]) { sum(@main(%x) * %w) }"
    more = relay.parse(text, init_module=mod)
    slope = relay.create_executor(mod=more).evaluate(relay.grad(more.get_global_var("loss")))
    _, (by_x, _) = slope(x.detach().numpy(), weights.numpy())
    np.testing.assert_allclose(by_x, x.grad, 1e-5)


class Spectrum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("filter", torch.tensor([1.0, 1 - 1j, 0.5j]))

    def forward(self, x):
        return {"there": torch.fft.fft(x) * self.filter, "size": x.abs()}


@pytest.mark.parametrize("freeze", [True, False])
def test_complex_inputs_weights_and_results(freeze):
    x = torch.tensor([1 + 1j, 2.0, -3j])
    program = from_pytorch(Spectrum(), (x,), freeze_params=freeze)
    wanted = Spectrum()(x)
    for found in (
        program(x),
        program(x.numpy()),
        program.interpret(x),
        program(x.conj().clone().conj()),
    ):
        for name in wanted:
            torch.testing.assert_close(found[name], wanted[name])
    assert str(program.mod["main"].params[0].type_annotation) == "Tensor[(3, 2), float32]"


def test_complex_numbers_of_symbolic_shapes():
    class Filter(torch.nn.Module):
        def forward(self, x):
            return torch.fft.fft(torch.fft.fft(x) * 2j).real

    program = from_pytorch(Filter(), (torch.ones(4, 5),), dynamic_shapes=({0: Dim("n"), 1: Dim("m")},))
    x = torch.randn(3, 7)
    torch.testing.assert_close(program(x), Filter()(x), rtol=1e-4, atol=1e-4)


def test_a_scan_over_a_symbolic_number_of_rows():
    from torch._higher_order_ops.scan import scan

    class Sums(torch.nn.Module):
        def forward(self, x, w):
            return scan(lambda c, y: (c + y @ w, c * y), torch.zeros(2), x)

    w = torch.randn(2, 2)
    program = from_pytorch(Sums(), (torch.ones(4, 2), w), dynamic_shapes=({0: Dim("n", min=2)}, None))
    for n in (2, 3, 20):
        x = torch.randn(n, 2)
        for found in (program(x, w), program.interpret(x, w)):
            for a, b in zip(found, Sums()(x, w), strict=True):
                torch.testing.assert_close(a, b)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: torch.func.jacrev(lambda y: (y * y).sum(-1))(x), "does not trace `torch.func`"),
        (
            lambda x: torch.fft.fft(x).sqrt().real,
            "`aten.sqrt.default`: it is not converted for complex",
        ),
        (lambda x: torch.fft.fft(x).cumprod(0).real, "complex numbers"),
        (lambda x: (torch.fft.fft(x) ** 0.5).real, "complex numbers"),
    ],
)
def test_what_is_not_converted_is_one_diagnostic(function, message):
    from frontend.torch_operands import Calling

    with pytest.raises(RelayError, match=message) as found:
        from_pytorch(Calling(function), (torch.ones(3, 4),))
    assert {d.code for d in found.value.diagnostics} == {"torch-unsupported"}
    assert len(found.value.diagnostics) == 1
