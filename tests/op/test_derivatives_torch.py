"""At kinks, ties and zeros derivatives are PyTorch's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from op.derivative_cases import Case, derivatives_of, random_like
from relay.op.registry import instance

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

POINTS: list[tuple[str, dict[str, Any], list[Any], Callable[..., Any]]] = [
    ("abs", {}, [[-1.0, 0.0, 2.0]], lambda x: torch.abs(x)),
    ("sqrt", {}, [[0.0, 4.0]], lambda x: torch.sqrt(x)),
    ("rsqrt", {}, [[0.0, 4.0]], lambda x: torch.rsqrt(x)),
    ("log", {}, [[0.0, 2.0]], lambda x: torch.log(x)),
    ("asin", {}, [[1.0, 0.5]], lambda x: torch.asin(x)),
    ("maximum", {}, [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], lambda x, y: torch.maximum(x, y)),
    ("minimum", {}, [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], lambda x, y: torch.minimum(x, y)),
    ("clip", {"a_min": 0.0, "a_max": 1.0}, [[-1.0, 0.0, 0.5, 1.0, 2.0]], lambda x: torch.clamp(x, 0.0, 1.0)),
    ("power", {}, [[0.0, 0.0, 0.0, 0.0, 2.0], [0.0, 1.0, 2.0, 0.5, 0.0]], lambda x, y: torch.pow(x, y)),
    ("atan2", {}, [[0.0, 1.0, -1.0, 0.0], [1.0, 0.0, 0.0, 0.0]], lambda x, y: torch.atan2(x, y)),
    ("divide", {}, [[1.0, 0.0], [0.0, 2.0]], lambda x, y: torch.div(x, y)),
    ("max", {"axis": 1}, [[[3.0, 1.0, 3.0], [2.0, 2.0, 2.0]]], lambda x: torch.amax(x, 1)),
    ("min", {"axis": (0, 1), "keepdims": True}, [[[1.0, 1.0], [1.0, 2.0]]],
     lambda x: torch.amin(x, (0, 1), keepdim=True)),
    ("max", {}, [[[3.0, 1.0, 3.0], [2.0, 2.0, 2.0]]], lambda x: torch.max(x)),
    ("prod", {"axis": 1}, [[[2.0, 0.0, 3.0], [0.0, 0.0, 5.0], [1.0, 2.0, 3.0]]], lambda x: torch.prod(x, 1)),
    ("prod", {}, [[[2.0, 0.0], [3.0, 4.0]]], lambda x: torch.prod(x)),
    ("cumprod", {"axis": 0}, [[2.0, 0.0, 3.0, 0.0, 5.0]], lambda x: torch.cumprod(x, 0)),
    ("std", {"axis": 1, "unbiased": True}, [[[1.0, 1.0, 1.0], [1.0, 2.0, 4.0]]], lambda x: torch.std(x, 1)),
    ("logsumexp", {"axis": 1}, [[[0.0, -np.inf, 1.0], [800.0, 800.0, 0.0]]], lambda x: torch.logsumexp(x, 1)),
    ("sort", {"axis": 0}, [[2.0, 1.0, 2.0, 1.0]], lambda x: torch.sort(x, dim=0, stable=True)[0]),
    ("scatter_elements", {"reduction": "max"}, [[1.0, 5.0, 2.0], np.array([0, 0, 2]), [1.0, 1.0, 7.0]],
     lambda x, i, u: x.scatter_reduce(0, i, u, "amax")),
    ("scatter_elements", {"reduction": "mul"}, [[2.0, 5.0], np.array([0, 0, 1]), [0.0, 3.0, 0.0]],
     lambda x, i, u: x.scatter_reduce(0, i, u, "prod")),
    ("scatter_elements", {"reduction": "mul"}, [[2.0, 5.0], np.array([0, 0, 0]), [0.0, 3.0, 0.0]],
     lambda x, i, u: x.scatter_reduce(0, i, u, "prod")),
    ("power", {}, [[-2.0, 0.0, 3.0], 2.0], lambda x, y: torch.pow(x, y)),
    ("mod", {}, [[5.0, -5.0], [3.0, 3.0]], lambda x, y: torch.fmod(x, y)),
    ("floor_mod", {}, [[5.0, -5.0], [3.0, 3.0]], lambda x, y: torch.remainder(x, y)),
    ("topk", {"k": 2, "ret_type": "values"}, [[2.0, 3.0, 0.5, 1.0]], lambda x: torch.topk(x, 2)[0]),
    ("where", {}, [np.array([True, False]), [1.0, np.nan], [np.inf, 2.0]],
     lambda c, x, y: torch.where(c, x, y)),
    ("sum", {}, [[1.0, 2.0]], lambda x: torch.sum(x)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "attrs", "operands", "reference"), POINTS, ids=[f"{i}-{p[0]}" for i, p in enumerate(POINTS)]
)
def test_the_vjp_is_that_of_pytorch(
    name: str, attrs: dict[str, Any], operands: list[Any], reference: Callable[..., Any]
) -> None:
    op = instance(name, attrs)
    xs = [np.asarray(x)[()] for x in operands]
    rng = np.random.default_rng(0)
    weight = random_like(op.evaluate(*xs), rng)
    d = derivatives_of(Case(op, xs, [random_like(x, rng) for x in xs], [weight]))
    found = d.run(tuple(d.cotangents()))
    tensors = [torch.tensor(x, requires_grad=x.dtype == np.float64) for x in xs]
    varying = [t for t in tensors if t.requires_grad]
    expected = torch.autograd.grad(reference(*tensors), varying, torch.tensor(weight))
    for f, e in zip([f for f in found if f is not None], expected, strict=True):
        np.testing.assert_allclose(f, e.numpy(), rtol=1e-12, atol=1e-12)
