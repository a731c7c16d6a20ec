"""A decoder of text of the shape of Llama with random weights, and a loop around its step."""

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention, silu


class Norm(nn.Module):
    """Data divided by the root of their mean square."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Layer(nn.Module):
    """Attention over a cache, two heads to one of its keys, and a gated network."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.before, self.between = Norm(width), Norm(width)
        self.queries, self.out = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.keys, self.values = (nn.Linear(width, width // 2, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x, turns, place, mask, keys, values):
        rows = self.before(x)
        q, k, v = (
            f(rows).view(1, 1, -1, self.size).transpose(1, 2) for f in (self.queries, self.keys, self.values)
        )
        q, k = (self.turned(t, *turns) for t in (q, k))
        keys, values = keys.index_copy(2, place, k), values.index_copy(2, place, v)
        both = [t.repeat_interleave(2, 1) for t in (keys, values)]
        y = scaled_dot_product_attention(q, *both, attn_mask=mask)
        x = x + self.out(y.transpose(1, 2).reshape(1, 1, -1))
        rows = self.between(x)
        return x + self.down(silu(self.gate(rows)) * self.up(rows)), keys, values

    @staticmethod
    def turned(x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin


class Decoder(nn.Module):
    """One token and its place, and the keys and values of each layer before; the scores of what follows."""

    def __init__(self, layers, width=32, heads=4, words=99, length=32):
        super().__init__()
        self.layers = nn.ModuleList([Layer(width, heads) for _ in range(layers)])
        self.words, self.head = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
        self.norm = Norm(width)
        self.cache = (layers, 1, heads // 2, length, width // heads)
        angles = torch.outer(torch.arange(length).float(), 1e4 ** -torch.linspace(0, 1, width // heads // 2))
        self.register_buffer("cos", torch.cat([angles, angles], -1).cos())
        self.register_buffer("sin", torch.cat([angles, angles], -1).sin())
        self.register_buffer("places", torch.arange(length))

    def forward(self, token, place, keys, values):
        x, mask = self.words(token), (self.places <= place)[None, None, None]
        turns, made = (self.cos[place], self.sin[place]), []
        for k, layer in enumerate(self.layers):
            x, *cache = layer(x, turns, place, mask, keys[k], values[k])
            made.append(cache)
        return self.head(self.norm(x)), *[torch.stack(column) for column in zip(*made, strict=True)]


class Greedy(nn.Module):
    """The best token after each other, so many times."""

    def __init__(self, step, count):
        super().__init__()
        self.step, self.count = step, count

    def forward(self, token):
        def going(i, token, found, keys, values):
            return i < self.count

        def once(i, token, found, keys, values):
            scores, keys, values = self.step(token, i.reshape(1), keys, values)
            best = scores[:, -1].argmax(-1, keepdim=True)
            return i + 1, best, found.index_copy(1, i.reshape(1), best), keys, values

        found, cache = torch.zeros(1, self.count, dtype=torch.int64), torch.zeros(self.step.cache)
        start = (torch.zeros((), dtype=torch.int64), token.clone(), found, cache, cache.clone())
        return torch.while_loop(going, once, start)[2]
