"""Dropout, AdamW, a cosine schedule and clipping: the steps of PyTorch, given what the key drops."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import relay
from relay import nn, optim, training

pytestmark = pytest.mark.torch
STEPS, RATE, SHARE = 12, 0.05, 0.25


def test_each_step_is_that_of_pytorch() -> None:
    pytest.importorskip("torch")
    torch: Any = import_module("torch")
    keys = training.split(0, 2)
    params: Any = [training.kaiming_normal(k, s) for k, s in zip(keys, ((16, 5), (3, 16)), strict=True)]
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(24, 5)).astype("float32"), rng.integers(0, 3, 24)
    rule = optim.clipped(optim.adamw(optim.cosine(RATE, STEPS), weight_decay=0.1), 0.5)

    def loss(params: Any, key: Any) -> Any:
        hidden = nn.dropout(nn.relu(nn.dense(x, params[0])), key, SHARE)
        return nn.softmax_cross_entropy(nn.dense(hidden, params[1]), y)

    @relay.compile
    def step(params: Any, state: Any, key: Any) -> Any:
        value, grads = relay.value_and_grad(loss, 0)(params, key)
        return value, *optim.apply_rule(rule, params, grads, state)

    kept = relay.compile(lambda key: nn.dropout(np.ones((24, 16), "float32"), key, SHARE))
    state = optim.initial_state(rule, params)
    theirs = [torch.tensor(p, requires_grad=True) for p in params]
    adamw = torch.optim.AdamW(theirs, lr=RATE, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adamw, STEPS)
    f = torch.nn.functional
    for number in range(STEPS):
        key = relay.random.threefry_key(number).value
        value, params, state = step(params, state, key)
        hidden = torch.relu(torch.tensor(x) @ theirs[0].T) * torch.tensor(kept(key))
        wanted = f.cross_entropy(hidden @ theirs[1].T, torch.tensor(y))
        adamw.zero_grad()
        wanted.backward()
        torch.nn.utils.clip_grad_norm_(theirs, 0.5)
        adamw.step()
        schedule.step()
        np.testing.assert_allclose(value, wanted.item(), rtol=2e-6)
        for ours, p in zip(params, theirs, strict=True):
            np.testing.assert_allclose(ours, p.detach(), rtol=1e-5, atol=1e-6)
