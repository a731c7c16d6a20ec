"""Train a small transformer on six sonnets by Shakespeare (1609), and have it go on from a beginning.

    python examples/train_text.py                       # a minute
    python examples/train_text.py --steps 2000 --begin "Shall I"

It learns which character follows the last 64, by AdamW with warm-up and cosine, clipped gradients and
dropout: plain Python functions, which Relay differentiates and compiles.
"""

import argparse
from pathlib import Path

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

import relay
from relay import nn, optim, training

TEXT = (Path(__file__).parent / "sonnets.txt").read_text(encoding="utf-8")
CHARACTERS = sorted(set(TEXT))
TOKENS = np.array([CHARACTERS.index(c) for c in TEXT])
CONTEXT, WIDTH, HEADS, BLOCKS, BATCH = 64, 64, 4, 2, 16


def initial(seed):
    """First weights: the last layer of a block begins small, as it adds to what is there."""
    keys = iter(training.split(seed, 3 + 4 * BLOCKS))

    def weight(*shape, scale=0.02):
        return training.normal(next(keys), shape, scale=scale)

    def norm():
        return {"gamma": np.ones(WIDTH, "float32"), "beta": np.zeros(WIDTH, "float32")}

    def block():
        small = 0.02 / (2 * BLOCKS) ** 0.5
        return {
            "norm1": norm(),
            "qkv": weight(3 * WIDTH, WIDTH),
            "out": weight(WIDTH, WIDTH, scale=small),
            "norm2": norm(),
            "up": weight(4 * WIDTH, WIDTH),
            "down": weight(WIDTH, 4 * WIDTH, scale=small),
        }

    return {
        "tokens": weight(len(CHARACTERS), WIDTH),
        "places": weight(CONTEXT, WIDTH),
        "blocks": [block() for _ in range(BLOCKS)],
        "norm": norm(),
        "last": weight(len(CHARACTERS), WIDTH),
    }


def normalised(x, p):
    """Each place with mean 0 and variance 1, but for what is learned."""
    return nn.layer_norm(x, p["gamma"], p["beta"])


def attention(x, p):
    """Each place mixes what the places up to it have."""
    batch, size, _ = x.shape
    heads = nn.dense(x, p["qkv"]).reshape(batch, size, 3, HEADS, -1).transpose(2, 0, 3, 1, 4)
    mixed = nn.attention(heads[0], heads[1], heads[2], causal=True)
    return nn.dense(mixed.transpose(0, 2, 1, 3).reshape(batch, size, -1), p["out"])


def feed_forward(x, p):
    """Each place by itself, through a wider layer."""
    return nn.dense(nn.gelu(nn.dense(x, p["up"])), p["down"])


def scores(params, tokens, drop=lambda x: x):
    """For each place of tokens `(batch, size)`, a score for each character to come next."""
    x = drop(nn.embedding(tokens, params["tokens"]) + params["places"][: tokens.shape[1]])
    for p in params["blocks"]:
        x = x + drop(attention(normalised(x, p["norm1"]), p))
        x = x + drop(feed_forward(normalised(x, p["norm2"]), p))
    return nn.dense(normalised(x, params["norm"]), params["last"])


def loss(params, tokens, targets, drop=lambda x: x):
    """The mean cross-entropy of the characters that follow."""
    return nn.softmax_cross_entropy(scores(params, tokens, drop), targets, axis=-1)


def rule(steps, rate=3e-3):
    """AdamW with warm-up and cosine; matrices alone decay."""
    schedule = optim.warmup(optim.cosine(rate, steps, end=rate / 10), steps // 10)
    return optim.clipped(optim.adamw(schedule, weight_decay=0.1, mask=optim.is_matrix), 1.0)


def compiled_step(rule, rate=0.0):
    """One step: parameters, state, a key and a batch to the next parameters and state, which take the place
    of those given, and the loss.
    """

    def step(params, state, key, tokens, targets):
        def dropped(params):
            rest = key

            def drop(x):
                nonlocal rest
                own, rest = relay.random.threefry_split(rest)
                return nn.dropout(x, own, rate)

            return loss(params, tokens, targets, *([drop] if rate else []))

        value, grads = relay.value_and_grad(dropped, 0)(params)
        params, state = optim.apply_rule(rule, params, grads, state)
        return params, state, value

    return relay.compile(step, donate=("params", "state"))


def batches(seed):
    """Batches of tokens and of those that follow, without end."""
    rng = np.random.default_rng(seed)
    while True:
        starts = rng.integers(0, len(TOKENS) - CONTEXT - 1, BATCH)
        rows = starts[:, None] + np.arange(CONTEXT + 1)
        yield TOKENS[rows[:, :-1]], TOKENS[rows[:, 1:]]


def train(steps, seed, dropout):
    """The weights, and the loss of each step."""
    params = initial(seed)
    chosen = rule(steps)
    state, step = optim.initial_state(chosen, params), compiled_step(chosen, dropout)
    losses = []
    description, loss_text = TextColumn("{task.description}"), TextColumn("{task.fields[loss]}")
    columns = (description, BarColumn(), loss_text, TimeRemainingColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("training", total=steps, loss="")
        for number, (tokens, targets) in zip(range(steps), batches(seed), strict=False):
            key = relay.random.threefry_key(number).value
            params, state, value = step(params, state, key, tokens, targets)
            losses.append(float(value))
            progress.update(task, advance=1, loss=f"loss {value:.4f}")
    return params, losses


def continued(params, begin, count, seed=0):
    """A beginning and the characters that follow it, drawn by their chances."""
    rng = np.random.default_rng(seed)
    tokens = [CHARACTERS.index(c) for c in begin]
    chances = relay.compile(lambda params, tokens, i: nn.softmax(scores(params, tokens)[0, i] / 0.8))
    for _ in range(count):
        last = tokens[-CONTEXT:]
        window = np.array([last + [0] * (CONTEXT - len(last))])  # what follows a place does not reach it
        p = chances(params, window, len(last) - 1).astype("float64")
        tokens.append(int(rng.choice(len(p), p=p / p.sum())))
    return "".join([CHARACTERS[t] for t in tokens])


def main():
    """Read the command line, train, and write on."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--steps", type=int, default=1000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--dropout", type=float, default=0.1)
    options.add_argument("--begin", default="\n\n" + "When I " * 4)
    options.add_argument("--length", type=int, default=300)
    given = options.parse_args()
    params, losses = train(given.steps, given.seed, given.dropout)
    print(f"loss {losses[0]:.4f} at first, {np.mean(losses[-20:]):.4f} at last")
    print(continued(params, given.begin, given.length))


if __name__ == "__main__":
    main()
