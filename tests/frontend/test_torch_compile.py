"""`torch.compile(..., backend="relay")`: what PyTorch gives in eager mode is right."""

import logging
import warnings

import pytest

pytest.importorskip("torch", reason="needs the torch extra")

import torch
from torch import nn
from torch.nn import functional

from relay.diagnostic import RelayError
from relay.frontend import torch_compile
from relay.frontend.torch_compile import calls

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch_compile.forget_graphs()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


def relay(f, **how):
    return torch.compile(f, backend="relay", **how)


def graphs() -> list[torch_compile.GraphRecord]:
    return list(torch_compile.graphs().records)


def all_compiled() -> bool:
    return bool(graphs()) and all(r.is_compiled for r in graphs())


def same(found, expected) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def gradients(module, *xs):
    """What a module gives, and the derivatives of the sum of its squares by parameters and inputs."""
    xs = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in xs]
    module.zero_grad()
    y = module(*xs)
    (y * y).sum().backward()
    return [y, *[p.grad for p in module.parameters()], *[x.grad for x in xs if x.requires_grad]]


def test_a_function_is_compiled():
    x, y = torch.randn(3, 4), torch.randn(4)
    f = relay(lambda x, y: torch.softmax(x * 2 + y, -1).sum(0))
    same(f(x, y), torch.softmax(x * 2 + y, -1).sum(0))
    assert all_compiled()
    assert len(graphs()) == 1


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.out = nn.Linear(8, 5)

    def forward(self, x):
        y = functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        return functional.log_softmax(self.out(y.mean((2, 3))), -1)


class Attending(nn.Module):
    def __init__(self, causal=False):
        super().__init__()
        self.words = nn.Embedding(20, 16)
        self.project = nn.Linear(16, 48)
        self.norm = nn.LayerNorm(16)
        self.causal = causal

    def forward(self, ids):
        x = self.words(ids)
        q, k, v = self.project(x).unflatten(-1, (3, 4, 4)).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.norm(x + functional.gelu(y.transpose(1, 2).flatten(2)))


@pytest.mark.parametrize("train", [False, True])
def test_gradients_are_those_of_eager_mode(train):
    module, x = Small().train(train), torch.randn(2, 3, 8, 8)
    before = {n: b.clone() for n, b in module.named_buffers()}
    expected = gradients(module, x)
    after = {n: b.clone() for n, b in module.named_buffers()}
    module.load_state_dict(before, strict=False)
    same(gradients(relay(module), x), expected)
    same(dict(module.named_buffers()), after)
    assert all_compiled()
    assert [r.name.partition("/")[2] for r in graphs()] == ["forward", "backward"]


@pytest.mark.parametrize("causal", [False, True])
def test_attention_has_gradients(causal):
    module, ids = Attending(causal), torch.randint(0, 20, (2, 6))
    same(gradients(relay(module), ids), gradients(module, ids))
    assert all_compiled()


def test_attention_with_a_mask_has_gradients():
    q, k, v = (torch.randn(2, 4, 6, 8, requires_grad=True) for _ in range(3))
    mask = torch.rand(2, 1, 6, 6) > 0.3
    f = functional.scaled_dot_product_attention

    def by(run):
        return torch.autograd.grad(run(q, k, v, attn_mask=mask).square().sum(), (q, k, v))

    same(by(relay(f)), by(f))
    assert all_compiled()


def left_padded(kind):
    """A causal mask `(2, 1, 6, 6)` of a batch whose first row begins with three tokens of padding."""
    padding = torch.ones(2, 1, 1, 6, dtype=torch.bool)
    padding[0, ..., :3] = False
    keep = padding & torch.ones(6, 6, dtype=torch.bool).tril()
    return keep if kind == "bool" else torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_rows_of_attention_whose_keys_are_all_masked(kind):
    x, mask = torch.randn(2, 4, 6, 8), left_padded(kind)
    f = functional.scaled_dot_product_attention
    run = relay(f)
    y = run(x, x, x, attn_mask=mask)
    same(y, f(x, x, x, attn_mask=mask))
    assert not y[0, :, :3].any()

    def by(g):
        z = x.clone().requires_grad_()
        return torch.autograd.grad(g(z, z, z, attn_mask=mask).square().sum(), z)

    same(by(run), by(f))
    assert all_compiled()


@pytest.mark.parametrize("train", [False, True])
def test_sequences_of_an_encoder_that_are_all_padding(train):
    """In evaluation without gradients PyTorch's fused layer, which is not traced, gives NaN here."""
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True).train(train)
    x, padding = torch.randn(3, 5, 16), torch.zeros(3, 5, dtype=torch.bool)
    padding[0] = padding[1, :2] = True

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return self.layer(x, src_key_padding_mask=padding)

    expected = gradients(Encoder(), x)
    assert all(y.isfinite().all() for y in expected)
    same(gradients(relay(Encoder()), x), expected)
    assert all_compiled()


def test_heads_of_keys_serve_groups_of_queries():
    q, k, v = torch.randn(2, 4, 5, 8), torch.randn(2, 2, 5, 8), torch.randn(2, 2, 5, 8)

    def f(q, k, v):
        return functional.scaled_dot_product_attention(q, k, v, enable_gqa=True, is_causal=True)

    run = relay(f)
    same(run(q, k, v), f(q, k, v))

    def by(g):
        operands = [x.clone().requires_grad_() for x in (q, k, v)]
        return torch.autograd.grad(g(*operands).square().sum(), operands)

    same(by(run), by(f))
    assert all_compiled()


LINEAR = {
    "inv": torch.linalg.inv,
    "cholesky": torch.linalg.cholesky,
    "solve": lambda a: torch.linalg.solve(a, a[..., :2]),
    "solve a vector": lambda a: torch.linalg.solve(a, a[..., 0]),
    "matrix_power": lambda a: torch.linalg.matrix_power(a, -3),
    "cholesky_inverse": lambda a: torch.cholesky_inverse(torch.linalg.cholesky(a)),
    "several": lambda a: torch.linalg.inv(torch.linalg.inv(a) + torch.linalg.cholesky(a)),
    "inv_ex": lambda a: torch.linalg.inv_ex(a)[0],
    "eigh": lambda a: torch.linalg.eigh(a)[0],
    "slogdet": torch.linalg.slogdet,
    "det": torch.linalg.det,
    "lu": torch.linalg.lu,
    "matrix_exp": lambda a: torch.linalg.matrix_exp(a / 8),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_algebra_that_checks_for_errors(name):
    a = torch.randn(3, 4, 4)
    a = a @ a.mT + 4 * torch.eye(4)
    f = LINEAR[name]
    found, expected = relay(f)(a), f(a)
    for x, y in zip(
        *[(z,) if isinstance(z, torch.Tensor) else tuple(z) for z in (found, expected)], strict=True
    ):
        same(x, y)
    assert all_compiled()


@pytest.mark.parametrize("name", ["inv", "cholesky", "several", "solve", "det", "matrix_exp"])
def test_gradients_of_linear_algebra_that_checks_for_errors(name):
    a = torch.randn(4, 4)
    a = (a @ a.mT + 4 * torch.eye(4)).requires_grad_()
    found, expected = (
        torch.autograd.grad(f(a).square().sum(), a) for f in (relay(LINEAR[name]), LINEAR[name])
    )
    same(found, expected)
    assert all_compiled()


def test_matrices_without_an_inverse_are_an_error_unless_the_program_asks_what_failed():
    with pytest.raises(RelayError, match="singular"):
        relay(torch.linalg.inv)(torch.zeros(2, 2))
    assert all_compiled()
    assert relay(torch.linalg.inv_ex)(torch.zeros(2, 2)).info == 1
    assert all_compiled()


def test_slopes_of_rrelu_outside_of_training_are_their_mean():
    x = torch.randn(3, 4)
    same(relay(functional.rrelu)(x), functional.rrelu(x))
    assert all_compiled()


def test_a_training_step_is_that_of_eager_mode():
    results = []
    for compiles in (False, True):
        torch.manual_seed(0)
        module = Small()
        run = relay(module) if compiles else module
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
        x, labels = torch.randn(4, 3, 8, 8), torch.tensor([0, 1, 2, 3])
        for _ in range(3):
            optimizer.zero_grad()
            functional.nll_loss(run(x), labels).backward()
            optimizer.step()
        results.append([*module.parameters(), *module.buffers()])
    same(results[1], results[0])
    assert all_compiled()


def test_symbolic_sizes_are_one_program():
    f = relay(lambda x, y: (x @ y).relu().reshape(-1, 2) * x.shape[0], dynamic=True)
    for n, k in ((3, 4), (5, 4), (6, 7)):
        x, y = torch.randn(n, k), torch.randn(k, 8)
        same(f(x, y), (x @ y).relu().reshape(-1, 2) * n)
    assert all_compiled()
    assert len(graphs()) == 1


def test_a_marked_size_is_symbolic_and_trains():
    module, x = Small(), torch.randn(3, 3, 8, 8)
    torch._dynamo.mark_dynamic(x, 0)
    run = relay(module)
    module.eval()
    for n in (3, 5):
        given = torch.randn(n, 3, 8, 8)
        if n == 3:
            torch._dynamo.mark_dynamic(given, 0)
        same(run(given), module(given))
    assert all_compiled()
    assert len([r for r in graphs() if r.name.endswith("forward")]) == 1


def test_numbers_that_vary_are_arguments():
    f = relay(lambda x, n, r: x * n + r + x.shape[0], dynamic=True)
    for n, r in ((3, 0.5), (7, 1.5), (9, 2.5)):
        same(f(torch.ones(4), n, r), torch.ones(4) * n + r + 4)
    assert all_compiled()


def test_sizes_are_results():
    f = relay(lambda x: (x * 2, x.shape[0] * x.shape[1], x.shape[0] + 1), dynamic=True)
    for n in (3, 5):
        found = f(torch.ones(n, 2))
        assert found[1:] == (2 * n, n + 1)
        assert type(found[1]) is int


def test_tensors_in_the_code_are_constants():
    def f(x):
        return x * torch.tensor([1.0, 2.0]) + torch.tensor(3.0)

    same(relay(f)(torch.ones(2)), f(torch.ones(2)))
    assert all_compiled()


def test_graph_breaks_are_pytorchs():
    def f(x):
        y = x.sin() + 1
        print(end="")
        return y.cos() * 2 if y.sum() > 0 else y

    x = torch.ones(3)
    same(relay(f)(x), f(x))
    assert all_compiled()
    assert len(graphs()) > 1


def test_inputs_and_buffers_are_changed():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x):
            self.count += 1
            x.mul_(2)
            return x + self.count

    module, x = Counting(), torch.ones(2)
    run = relay(module)
    same(run(x), torch.tensor([3.0, 3.0]))
    same(run(x), torch.tensor([6.0, 6.0]))
    same(x, torch.tensor([4.0, 4.0]))
    same(module.count, torch.tensor([2.0, 2.0]))
    assert all_compiled()


def test_views_of_arguments_and_results_are_views():
    def f(x):
        y = x.t() * 2
        return x[1:], y.t(), y

    x = torch.randn(3, 4)
    part, back, whole = relay(f)(x)
    assert part.data_ptr() == x[1:].data_ptr()
    same(back, x * 2)
    assert back.data_ptr() == whole.data_ptr()
    back.zero_()
    same(whole, torch.zeros(4, 3))
    assert all_compiled()


def test_strides_are_those_of_eager_mode():
    def f(x):
        return x.transpose(0, 1) + 1

    x = torch.randn(3, 4)
    assert relay(f)(x).stride() == f(x).stride()
    first, second = relay(lambda x: (x * 2).split(1))(torch.ones(2, 3))
    assert second.data_ptr() - first.data_ptr() == 3 * 4
    images = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    with torch.no_grad():
        conv = nn.Conv2d(3, 4, 3)
        found = relay(conv)(images)
        same(found, conv(images))
        assert found.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    "x",
    [
        torch.randn(4, 6).t(), torch.randn(8, 6)[::2], torch.randn(6).expand(4, 6), torch.empty(0, 6),
        torch.randn(5)[3:].as_strided((2, 1), (1, 1)),
    ],
    ids=["transposed", "stepped", "expanded", "empty", "moved"],
)  # fmt: skip
def test_elements_may_lie_anywhere(x):
    same(relay(lambda x: x * 2 + x.sum(0))(x), x * 2 + x.sum(0))
    assert all_compiled()


DTYPES = [
    torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16, torch.int32,
    torch.int64, torch.bool, torch.complex64,
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (40, 60)], ids=str)
def test_every_dtype_goes_in_and_out(dtype, shape):
    def f(x, y):
        return x + y, x * y, x.reshape(-1).repeat(2)

    x = torch.ones(shape).to(dtype)
    found, expected = relay(f)(x, x), f(x, x)
    same(found, expected)
    assert [t.dtype for t in found] == [t.dtype for t in expected]
    assert all_compiled()


def test_autocast_computes_in_bfloat16():
    module, x = nn.Linear(8, 8), torch.randn(4, 8)
    with torch.autocast("cpu", torch.bfloat16):
        found = relay(module)(x)
        expected = module(x)
    assert found.dtype == expected.dtype == torch.bfloat16
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)
    found.float().sum().backward()
    assert module.weight.grad is not None
    assert all_compiled()


def test_random_numbers_are_those_of_eager_mode():
    def f(x):
        y = functional.dropout(x, 0.3) + torch.rand(4, 5) + torch.randn_like(x)
        return y * torch.randint(0, 9, (4, 5)) + torch.bernoulli(torch.full((4, 5), 0.5))

    x = torch.ones(4, 5)
    torch.manual_seed(7)
    expected, following = f(x), torch.rand(())
    torch.manual_seed(7)
    same(relay(f)(x), expected)
    assert torch.rand(()) == following
    assert all_compiled()


def test_numbers_of_a_computed_distribution_are_left_to_pytorch():
    def f(x):
        return torch.multinomial(x * 2, 2)

    x = torch.tensor([1.0, 2.0, 3.0])
    torch.manual_seed(0)
    expected = f(x)
    torch.manual_seed(0)
    assert torch.equal(relay(f)(x), expected)
    assert not graphs()[0].is_compiled


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True)
def test_sizes_that_depend_on_data():
    def f(x):
        return x.nonzero().t(), x.nonzero().t() + 1, x[x > 0] * x.sum().item()

    run = relay(f, fullgraph=True)
    for x in (torch.tensor([1.0, 0, 2]), torch.tensor([0.0, 0, 3])):
        same(run(x), f(x))
    assert all_compiled()
    assert len(graphs()) == 1


def test_derivatives_of_the_user_and_of_checkpoints():
    class Seven(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 7

    def f(x):
        y = torch.utils.checkpoint.checkpoint(lambda y: y.sin().exp(), x, use_reentrant=False)
        return Seven.apply(y).sum()

    x = torch.randn(3, requires_grad=True)
    same(torch.autograd.grad(relay(f)(x), x), torch.autograd.grad(f(x), x))
    assert all_compiled()


def test_control_flow_of_pytorch_is_that_of_relay():
    def f(x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    run = relay(f, fullgraph=True)
    same((run(torch.ones(2)), run(-torch.ones(2))), (torch.full((2,), 2.0), torch.full((2,), -2.0)))
    assert all_compiled()


def test_dropout_trains_as_in_eager_mode():
    module = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5), nn.Linear(6, 2))
    x = torch.randn(3, 6)
    torch.manual_seed(3)
    expected = gradients(module, x)
    torch.manual_seed(3)
    same(gradients(relay(module), x), expected)
    assert all_compiled()


def test_random_numbers_of_symbolic_sizes():
    f = relay(lambda x: x + torch.rand(x.shape[0] * 2, 3)[::2], dynamic=True)
    for n in (3, 5):
        torch.manual_seed(1)
        expected = torch.rand(n * 2, 3)[::2]
        torch.manual_seed(1)
        same(f(torch.zeros(n, 3)), expected)
    assert all_compiled()


def unsupported(x):
    return torch.special.zeta(x + 2, x + 2) * 3


def test_what_is_not_supported_is_left_to_pytorch_with_a_warning(caplog):
    x = torch.ones(3)
    with caplog.at_level(logging.INFO, "relay.torch"):
        same(relay(unsupported)(x), unsupported(x))
        same(relay(lambda x: unsupported(x) + 1)(x), unsupported(x) + 1)
        relay(lambda x: x + 1)(x)
    told = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert len(told) == 1, "once for each reason"
    assert "zeta" in told[0].getMessage()
    assert "torch_compile.graphs()" in told[0].getMessage()
    assert [r.is_compiled for r in graphs()] == [False, False, True]
    assert torch_compile.graphs().share == 1 / 3
    assert "1 of 3 graphs compiled" in str(torch_compile.graphs())


def test_without_fallback_it_is_an_error():
    f = relay(unsupported, options={"fallback": False}, fullgraph=True)
    with pytest.raises(Exception, match=r"zeta") as raised:
        f(torch.ones(3))
    assert isinstance(raised.value.inner_exception, RelayError)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"options": {"thread": 1}}, "did you mean `threads`"),
        ({"options": {"threads": 0}}, "thread"),
        ({"options": {"precision": "f8"}}, "precision"),
        ({"options": {"fallback": 1}}, "`fallback` is True or False"),
        ({"options": {"freeze": "yes"}}, "`freeze` is True or False"),
        ({"mode": "max-autotune"}, "no mode 'max-autotune'"),
    ],
    ids=str,
)
def test_wrong_options_are_diagnostics(how, says):
    with pytest.raises(Exception, match=says):
        relay(lambda x: x + 1, **how)(torch.ones(2))


def test_other_devices_are_left_to_pytorch(caplog):
    with caplog.at_level(logging.WARNING, "relay.torch"):
        found = relay(lambda x: x + 1)(torch.ones(2, device="meta"))
    assert found.device.type == "meta"
    assert "on the device meta, not the CPU" in caplog.text


def test_parameters_and_large_results_are_not_copied():
    module = nn.Linear(64, 64)
    seen = []

    def spying(self, args, call=calls.GraphCall.__call__):
        seen.append([convert(args[i]) for i, convert in self.taken])
        return call(self, args)

    with torch.no_grad(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(calls.GraphCall, "__call__", spying)
        x = torch.randn(32, 64)
        found = relay(module)(x)
    addresses = {a.ctypes.data for a in seen[0]}
    assert {t.data_ptr() for t in (module.weight, module.bias, x)} <= addresses
    same(found, module(x))


def test_frozen_parameters_are_constants_until_they_change():
    module, x = Small().eval(), torch.randn(2, 3, 8, 8)
    run = relay(module, options={"freeze": True})
    with torch.no_grad():
        same(run(x), module(x))
        same(run(x + 1), module(x + 1))
        assert len(graphs()) == 1
        module.out.bias += 1
        same(run(x), module(x))
        module.load_state_dict(Small().state_dict())
        same(run(x), module(x))
        module.conv.weight.data = torch.randn(8, 3, 3, 3)
        same(run(x), module(x))
    assert len(graphs()) == 4
    same(gradients(run, x), gradients(module, x))
    assert all_compiled()


def test_frozen_buffers_that_change_stay_arguments():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2))
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x):
            self.count += 1
            return x * self.weight + self.count

    run = relay(Counting(), options={"freeze": True})
    with torch.no_grad():
        for i in range(3):
            same(run(torch.zeros(2)), torch.full((2,), i + 1.0))
    assert len(graphs()) == 1


def test_frozen_parameters_may_be_made_in_inference_mode():
    with torch.inference_mode():
        module, x = nn.Linear(3, 3), torch.ones(2, 3)
        same(relay(module, options={"freeze": True})(x), module(x))
    assert all_compiled()


def test_frozen_parameters_that_change_often_are_told_of(caplog):
    module = nn.Linear(2, 2)
    run = relay(module, options={"freeze": True})
    with torch.no_grad(), caplog.at_level(logging.WARNING, "relay.torch"):
        for _ in range(5):
            module.weight += 1
            same(run(torch.ones(2)), module(torch.ones(2)))
    assert "omit `freeze`" in caplog.text


def test_results_live_as_long_as_they_are_used():
    f = relay(lambda x: (x + 1, x * 2))
    kept = [f(torch.full((64, 64), float(i)))[0] for i in range(50)]
    for i, t in enumerate(kept):
        assert bool((t == i + 1).all())


def test_threads_share_a_compiled_function():
    from concurrent.futures import ThreadPoolExecutor

    with torch.no_grad():
        f = relay(lambda x: (x @ x).relu() + 1)
        f(torch.ones(8, 8))
        xs = [torch.full((8, 8), float(i)) for i in range(64)]
        with ThreadPoolExecutor(8) as pool:
            for x, y in zip(xs, pool.map(f, xs), strict=True):
                same(y, (x @ x).relu() + 1)


def test_no_deprecations_are_used():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(relay(lambda x: x * 3)(torch.ones(2)), torch.full((2,), 3.0))
