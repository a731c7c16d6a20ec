"""Functions of PyTorch that say where elements go, with inputs."""

import torch
import torch.nn.functional as F

from frontend.torch_operands import b, f, i


def put_columns(x, i, value):
    y = x.clone()
    y[:, i] = value
    y[1:3, 0] = x[0, :2]
    return y


SHAPE = [
    (
        "view",
        lambda x: (x.view(6, 4), x.reshape(2, -1), x.flatten(1), x.flatten(), x.unflatten(2, (2, 2))),
        f(2, 3, 4),
    ),
    (
        "permute",
        lambda x: (x.permute(2, 0, 1), x.transpose(0, 2), x.mT, x[0].t(), x.movedim(0, 2), x.swapaxes(0, 1)),
        f(2, 3, 4),
    ),
    (
        "squeeze",
        lambda x: (x.unsqueeze(0), x.squeeze(), x.squeeze(1), x.squeeze(0), x.unsqueeze(-1)),
        f(2, 1, 4),
    ),
    (
        "expand",
        lambda x: (x.expand(2, 3, 4), x.expand(-1, 3, -1), x.expand_as(x.expand(2, 3, 4))),
        f(2, 1, 4),
    ),
    ("repeat", lambda x: (x.repeat(2, 1), x.repeat(2, 2, 1), x.tile(2), x.repeat_interleave(2, 1)), f(2, 3)),
    (
        "pixel shuffle",
        lambda x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 2)),
        f(1, 4, 4, 6),
    ),
    (
        "cat",
        lambda x, y: (torch.cat([x, y]), torch.cat([x, y], 1), torch.stack([x, y], 1), torch.hstack([x, y])),
        f(2, 3),
        f(2, 3),
    ),
    (
        "split",
        lambda x: (*x.split(2), *x.split([1, 4]), *x.chunk(2, 1), *x.unbind(1), *torch.tensor_split(x, 2)),
        f(5, 4),
    ),
    (
        "slice",
        lambda x: (x[1:], x[:, 1:3], x[::2], x[-2:], x[..., -1], x[1], x[:, None, 2], x.narrow(1, 1, 2)),
        f(5, 4),
    ),
    (
        "flip and roll",
        lambda x: (x.flip(0), x.flip(0, 1), x.roll(1, 0), x.roll((1, -2), (0, 1)), x.roll(2)),
        f(3, 4),
    ),
    ("diagonal", lambda x: (x.diagonal(), x.diagonal(1), torch.diag_embed(x), x.triu(), x.tril(-1)), f(4, 5)),
    ("unfold", lambda x: (x.unfold(1, 2, 1), x.as_strided((2, 2), (1, 2), 1)), f(3, 5)),
    ("im2col", lambda x: F.unfold(x, 3, padding=1), f(1, 2, 5, 5)),
    ("fold", lambda x: F.fold(x, (4, 4), 2), f(1, 8, 9)),
    (
        "pad",
        lambda x: (
            F.pad(x, (1, 2)),
            F.pad(x, (1, 0, 2, 1), value=3.0),
            F.pad(x, (-1, 1)),
            F.pad(x, (1, 1), "reflect"),
            F.pad(x, (1, 1), "replicate"),
            F.pad(x, (2, 1), "circular"),
        ),
        f(2, 3, 4),
    ),
    ("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="ij"), f(3), f(4)),
    (
        "scatter of a slice",
        lambda x, y: (torch.slice_scatter(x, y, 0, 1, 3), torch.select_scatter(x, y[0], 0, 1)),
        f(4, 3),
        f(2, 3),
    ),
]

INDEX = [
    ("embedding", F.embedding, i(2, 3), f(5, 4)),
    (
        "index",
        lambda x, i, j: (x[i], x[:, j], x[i, j], x[i, :, j], x[:, i, j], x[i[:, None], j]),
        f(5, 5, 6),
        i(3),
        i(3),
    ),
    ("negative", lambda x, i: (x[i], x[-1], x.index_select(0, i + 5)), f(5, 2), i(3, least=-5, below=0)),
    (
        "repeat_interleave",
        lambda x, n: (
            torch.repeat_interleave(n),
            x.repeat_interleave(n, 0),
            x.flatten().repeat_interleave(n[0]),
        ),
        f(4, 2),
        torch.tensor([2, 0, 1, 3]),
    ),
    (
        "mask",
        lambda x, m: (x[m], x[x > 0], torch.nonzero(x > 0), torch.masked_select(x, m[:, None])),
        f(5, 3),
        b(5),
    ),
    (
        "gather",
        lambda x, i: (x.gather(1, i), torch.take_along_dim(x, i, 1), torch.take(x, i)),
        f(3, 5),
        i(3, 4),
    ),
    (
        "scatter",
        lambda x, i, u: (x.scatter(1, i, u), x.scatter(1, i, 2.0), x.scatter_add(1, i, u)),
        f(3, 5),
        torch.tensor([[0, 1], [4, 2], [3, 0]]),
        f(3, 2),
    ),
    ("scatter of fewer", lambda x, i, u: x.scatter(0, i, u), f(4, 3), torch.tensor([[0, 1]]), f(2, 3)),
    (
        "scatter_reduce",
        lambda x, i, u: (
            *[x.scatter_reduce(0, i, u, r) for r in ("sum", "prod", "amax", "amin", "mean")],
            *[
                x.scatter_reduce(0, i, u, r, include_self=False)
                for r in ("sum", "prod", "amax", "amin", "mean")
            ],
        ),
        f(5),
        i(7),
        f(7),
    ),
    (
        "index_put",
        lambda x, i, u: (
            torch.index_put(x, (i,), u),
            torch.index_put(x, (i,), u, accumulate=True),
            torch.index_put(x, (i, i), torch.tensor(3.0)),
            torch.index_put(x, (x > 0,), torch.tensor(0.0)),
            put_columns(x, i, u[0, 0]),
        ),
        f(5, 4),
        torch.tensor([0, 3, 1]),
        f(3, 4),
    ),
    (
        "index_copy",
        lambda x, i, u: (x.index_copy(1, i, u), x.index_add(1, i, u, alpha=2), x.index_fill(1, i, 7.0)),
        f(2, 5),
        torch.tensor([3, 0]),
        f(2, 2),
    ),
    ("masked_scatter", lambda x, m, s: x.masked_scatter(m, s), f(3, 4), b(3, 4), f(12)),
    ("one_hot", lambda x: F.one_hot(x, 6), i(4)),
    ("where of a condition alone", torch.where, b(3, 4)),
    (
        "searchsorted with an order",
        lambda s, x: torch.searchsorted(s, x, sorter=torch.argsort(s)),
        f(6),
        f(4),
    ),
    (
        "embedding_bag with padding",
        lambda w, x, at: [
            F.embedding_bag(x, w, at, mode=mode, padding_idx=0) for mode in ("sum", "mean", "max")
        ],
        f(5, 3),
        torch.tensor([1, 0, 3, 0, 0, 4]),
        torch.tensor([0, 3, 5]),
    ),
    (
        "index_add and its like of rank 0",
        lambda x, at: (
            x.index_add(0, at, torch.tensor(2.0), alpha=3),
            x.index_fill(0, at, 3.0),
            x.index_copy(0, at, torch.tensor(4.0)),
        ),
        torch.tensor(2.0),
        torch.tensor([0]),
    ),
    (
        "searchsorted",
        lambda s, x: (torch.searchsorted(s, x), torch.bucketize(x, s, right=True)),
        f(6).sort()[0],
        f(4),
    ),
]

CREATE = [
    (
        "full",
        lambda x: (
            torch.full((2, 3), 4.0),
            torch.zeros(3),
            torch.ones(2, dtype=torch.int64),
            x.new_zeros(3),
            x.new_full((2,), 5.0),
            x.new_ones(2),
            torch.full_like(x, 3.0),
            torch.zeros_like(x),
            torch.ones_like(x),
            torch.eye(3),
            torch.tensor(2.0),
            torch.scalar_tensor(3),
        ),
        f(2, 2),
    ),
    (
        "arange",
        lambda x: (
            torch.arange(5),
            torch.arange(1, 9, 2),
            torch.arange(0.0, 1.0, 0.25),
            torch.linspace(0, 1, 5),
            torch.arange(x.shape[0]),
        ),
        f(2),
    ),
    ("tril_indices", lambda x: torch.tril_indices(3, 4), f(1)),
]
