"""Gradients of the recurrent workloads, against PyTorch's in float64."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.testing import lstm, treelstm

pytestmark = pytest.mark.torch


def drawn(params: dict[str, Any], seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=p.shape) * 0.3 for name, p in params.items()}


def leaves(torch: Any, params: dict[str, Any]) -> dict[str, Any]:
    return {name: torch.tensor(p, requires_grad=True) for name, p in params.items()}


def agree(found: Any, want: Any) -> None:
    np.testing.assert_allclose(found, want.detach().numpy(), rtol=1e-9, atol=1e-12)


def test_gradient_of_lstm() -> None:
    torch = pytest.importorskip("torch")
    mod, params = lstm.get_workload(5, 4, 2, "float64")
    params = drawn(params)
    x = np.random.default_rng(1).normal(size=(2, 4))
    t, data = leaves(torch, params), torch.tensor(x, requires_grad=True)
    h, c = torch.zeros(2, 4, dtype=torch.float64), torch.zeros(2, 4, dtype=torch.float64)
    for _ in range(5):
        gates = data @ t["i2h_weight"].T + t["i2h_bias"] + h @ t["h2h_weight"].T + t["h2h_bias"]
        i, f, g, o = gates.chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    h.sum().backward()
    run = relay.create_executor("debug", mod=mod).evaluate(relay.grad(mod.get_global_var("main")))
    value, slopes = run(x, *params.values())
    agree(value, h)
    agree(slopes[0], data.grad)
    for slope, p in zip(slopes[1:], t.values(), strict=True):
        agree(slope, p.grad)


Tree = tuple[Any, list[Any]]


def make_tree(depth: int, rng: np.random.Generator) -> Tree:
    children = [] if depth == 1 else [make_tree(depth - 1, rng) for _ in range(2)]
    return rng.normal(size=(1, 3)), children


def as_relay(mod: relay.IRModule, tree: Tree) -> relay.Expr:
    _, rose = mod.get_type("Tree")
    _, cons, nil = mod.get_type("List")
    below = nil()
    for child in reversed(tree[1]):
        below = cons(as_relay(mod, child), below)
    return rose(relay.const(tree[0]), below)


def of_values(value: Any) -> Tree:
    """A `Tree` value as Python has it."""
    x, children = value.fields
    below = []
    while children.fields:
        child, children = children.fields
        below.append(of_values(child))
    return x, below


def test_gradient_of_treelstm() -> None:
    torch = pytest.importorskip("torch")
    mod, params = treelstm.get_workload(3, 4, "float64")
    params = drawn(params)
    t = leaves(torch, params)
    tree = make_tree(4, np.random.default_rng(2))
    inputs: list[Any] = []

    def visit(node: Tree) -> Any:
        x = torch.tensor(node[0], requires_grad=True)
        inputs.append(x)
        h = c = torch.zeros(1, 4, dtype=torch.float64)
        for child in node[1]:
            hc, cc = visit(child)
            forget = x @ t["forget_weight"].T + t["forget_bias"] + hc @ t["forget_h_weight"].T
            h, c = h + hc, c + torch.sigmoid(forget) * cc
        i, o, g = (x @ t["iou_weight"].T + t["iou_bias"] + h @ t["iou_h_weight"].T).chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(g) + c
        return torch.sigmoid(o) * torch.tanh(c), c

    h, c = visit(tree)
    (h.sum() + c.sum()).backward()
    executor = relay.create_executor("debug", mod=mod)
    value = executor.evaluate(as_relay(mod, tree))
    (hidden, _), slopes = executor.evaluate(relay.grad(mod.get_global_var("main")))(value, *params.values())
    agree(hidden, h)
    for slope, p in zip(slopes[1:], t.values(), strict=True):
        agree(slope, p.grad)
    found: list[Any] = []

    def collect(node: Tree) -> None:
        found.append(node[0])
        for child in node[1]:
            collect(child)

    collect(of_values(slopes[0]))
    for slope, x in zip(found, inputs, strict=True):
        agree(slope, x.grad)
