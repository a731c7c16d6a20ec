"""Optimisers against PyTorch's, and training steps."""

from typing import Any

import numpy as np
import pytest

import relay

TREE = relay.parse_type("(Tensor[(3,), float64], (Tensor[(2, 2), float64],))")


def quadratic(params: Any, target: Any) -> tuple[float, Any]:
    """Half the squared distance, and its gradient."""
    return 0.0, tuple(
        [quadratic(p, t)[1] if isinstance(p, tuple) else p - t for p, t in zip(params, target, strict=True)]
    )


def flat(tree: Any) -> np.ndarray[Any, Any]:
    return np.concatenate([flat(x) if isinstance(x, tuple) else np.asarray(x).ravel() for x in tree])


@pytest.mark.torch
@pytest.mark.parametrize(
    ("rule", "peer"),
    [
        (relay.optim.sgd(0.1), lambda t, p: t.optim.SGD(p, lr=0.1)),
        (
            relay.optim.sgd(0.1, 0.9, weight_decay=0.01),
            lambda t, p: t.optim.SGD(p, 0.1, 0.9, weight_decay=0.01),
        ),
        (relay.optim.sgd(0.1, 0.9, nesterov=True), lambda t, p: t.optim.SGD(p, 0.1, 0.9, nesterov=True)),
        (relay.optim.adam(0.05), lambda t, p: t.optim.Adam(p, 0.05)),
        (relay.optim.adam(0.05, weight_decay=0.1), lambda t, p: t.optim.AdamW(p, 0.05, weight_decay=0.1)),
    ],
)
def test_steps_are_those_of_pytorch(rule: Any, peer: Any) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    params = (rng.normal(size=3), (rng.normal(size=(2, 2)),))
    target = (rng.normal(size=3), (rng.normal(size=(2, 2)),))
    theirs = [torch.tensor(params[0], requires_grad=True), torch.tensor(params[1][0], requires_grad=True)]
    optimizer = peer(torch, theirs)
    run = relay.create_executor()
    state = run.evaluate(rule.init(TREE))(params)
    update = run.evaluate(rule.update(TREE))
    for _ in range(5):
        params, state = update(params, quadratic(params, target)[1], state)
        for p, t in zip(theirs, (target[0], target[1][0]), strict=True):
            p.grad = p.detach() - torch.tensor(t)
        optimizer.step()
    want = np.concatenate([p.detach().numpy().ravel() for p in theirs])
    np.testing.assert_allclose(flat(params), want, rtol=1e-6)


def test_training_steps_lower_the_loss() -> None:
    loss = relay.parse_expr(
        "fn(%p: (Tensor[(1, 3), float32], float32), "
        "%x: Tensor[(n, 3), float32], %y: Tensor[(n, 1), float32]) "
        "{ let %e = nn.dense(%x, %p.0) + %p.1 - %y; mean(%e * %e) }"
    )
    rng = np.random.default_rng(0)
    x = rng.normal(size=(16, 3)).astype("float32")
    y = x @ np.array([[1.0], [-2.0], [0.5]], "float32") + 0.3
    rule = relay.optim.adam(0.1)
    tree = relay.parse_type("(Tensor[(1, 3), float32], float32)")
    run = relay.create_executor()
    params: Any = (np.zeros((1, 3), "float32"), np.float32(0))
    state = run.evaluate(rule.init(tree))(params)
    step = run.evaluate(relay.optim.train_step(loss, rule))
    losses = []
    for _ in range(150):
        value, params, state = step(params, state, x, y)
        losses.append(float(value))
    assert losses[-1] < 1e-3 < losses[0]
    np.testing.assert_allclose(params[0], [[1.0, -2.0, 0.5]], atol=0.05)


def test_what_is_no_parameter_is_refused() -> None:
    with pytest.raises(relay.RelayError, match="optimizer-parameter"):
        relay.optim.adam().init(relay.parse_type("(float32, int32)"))
