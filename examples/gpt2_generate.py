"""Greedy decoding of a small GPT-2 as one Relay program with a cache of keys and values, as `generate`."""

import torch
import transformers
from torch import nn
from torch.nn import functional as F  # noqa: N812

from relay.frontend import from_pytorch


class Greedy(nn.Module):
    """`model.generate(prompt, max_new_tokens=count)`: each round reads one token and writes to the cache."""

    def __init__(self, model: transformers.GPT2LMHeadModel, length: int) -> None:
        super().__init__()
        self.model = model
        self.length = length
        self.heads = model.config.n_head

    def step(
        self, token: torch.Tensor, place: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The scores of the next token, and the cache `(layers, heads, length, size)` with this one in it."""
        body = self.model.transformer
        x = body.wte(token) + body.wpe(place)  # (width,)
        here = torch.arange(self.length) == place
        before = torch.arange(self.length) <= place
        new_keys, new_values = [], []
        for i, block in enumerate(body.h):
            query, key, value = block.attn.c_attn(block.ln_1(x)[None])[0].view(3, self.heads, -1).unbind(0)
            k = torch.where(here[None, :, None], key[:, None], keys[i])
            v = torch.where(here[None, :, None], value[:, None], values[i])
            mixed = F.scaled_dot_product_attention(query[:, None], k, v, attn_mask=before[None, None])
            x = x + block.attn.c_proj(mixed.reshape(1, -1))[0]
            x = x + block.mlp(block.ln_2(x)[None])[0]
            new_keys.append(k)
            new_values.append(v)
        return self.model.lm_head(body.ln_f(x)), torch.stack(new_keys), torch.stack(new_values)

    def forward(self, prompt: torch.Tensor) -> torch.Tensor:
        """All tokens: the prompt and what follows."""
        config = self.model.config
        given = prompt.shape[0]
        cache = torch.zeros(config.n_layer, self.heads, self.length, config.n_embd // self.heads)
        tokens = torch.cat([prompt, torch.zeros(self.length - given, dtype=torch.int64)])

        def going(
            i: torch.Tensor, tokens: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
        ) -> torch.Tensor:
            return i < self.length - 1

        def round_(
            i: torch.Tensor, tokens: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
        ) -> tuple[torch.Tensor, ...]:
            scores, keys, values = self.step(tokens.index_select(0, i[None])[0], i, keys, values)
            best = torch.where(i + 1 < given, tokens.index_select(0, (i + 1)[None])[0], scores.argmax())
            return i + 1, torch.where(torch.arange(self.length) == i + 1, best, tokens), keys, values

        start = (torch.zeros((), dtype=torch.int64), tokens, cache, cache.clone())
        return torch.while_loop(going, round_, start)[1]


def main() -> None:
    """Generate 12 tokens after a prompt of 4, in Relay and by `generate`."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    config.bos_token_id = config.eos_token_id = None
    model = transformers.GPT2LMHeadModel(config).eval()
    prompt = torch.tensor([5, 17, 42, 8])
    program = from_pytorch(Greedy(model, 16).eval(), (prompt,))
    found = program(prompt)
    expected = model.generate(prompt[None], max_new_tokens=12, do_sample=False, pad_token_id=0)[0]
    print(found.tolist())
    print("equal to generate:", torch.equal(found, expected))


if __name__ == "__main__":
    main()
