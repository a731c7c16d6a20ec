"""How the tensors of a family lie in GGUF files, and how in folders of Hugging Face: names, rows, signs.

Sources: llama.cpp's converters, and the models of transformers.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from relay.models.blocks import Blocks, part_of
from relay.models.checkpoint import Adapter
from relay.models.names import names_of, spellings
from relay.models.settings import Settings, unsupported
from relay.models.source import Source

Array = np.ndarray[Any, Any]
ENDS = (".weight", ".bias", "")
NEIGHBOURS = ("llama", "mistral", "mixtral", "smollm3")
"""Families whose heads of queries and keys have pairs that are turned beside each other in GGUF files."""
WOVEN = ("gpt_neox", "bloom")
"""Families whose queries, keys and values are head by head in folders, one after another in GGUF files."""
GEMMAS = ("gemma", "gemma2", "gemma3_text")
"""Families of whose norms GGUF files have 1 added to the weights."""
COLUMNS = ("attn_qkv", "attn_output", "ffn_up", "ffn_down")
"""Matrices that GPT-2 stores by columns in folders, where they are not in blocks."""


class Layout:
    """The tensors of one model, in both layouts."""

    def __init__(self, kind: str, settings: Settings) -> None:
        """`kind` is the `model_type`."""
        self.kind, self.s = kind, settings
        self.names = names_of(kind)

    def rows(self, name: str) -> Array | None:
        """Which row of a folder's tensor each row of a GGUF file's is; None where both are in one order."""
        s, part = self.s, name.rpartition(".")[2]
        if self.kind in NEIGHBOURS and part in ("attn_q", "attn_k"):
            heads = s.heads if part == "attn_q" else s.shared_heads
            return np.arange(heads * s.head_size).reshape(heads, 2, -1).swapaxes(1, 2).reshape(-1)
        if self.kind in WOVEN and part == "attn_qkv":
            return np.arange(3 * s.heads * s.head_size).reshape(s.heads, 3, -1).swapaxes(0, 1).reshape(-1)
        return None

    def by_columns(self, part: str, x: Any) -> bool:
        """Whether a matrix is stored by columns in folders."""
        return self.kind == "gpt2" and part in COLUMNS and not isinstance(x, Blocks)

    def each(self) -> Iterator[tuple[str, str]]:
        """The names of all tensors of the model: this package's, and a folder's, without their ends."""
        for name, pattern in self.names.items():
            if "{i}" not in pattern:
                yield name, pattern
                continue
            for i in range(self.s.layers):
                at, expert = f"blk.{i}.{name}", "{e}" in pattern
                for e in range(self.s.experts) if expert else ("",):
                    yield at + f".{e}" * expert, pattern.format(i=i, e=e)

    # --- from a folder to a GGUF file ---

    def to_gguf(self, source: Source) -> dict[str, Any]:
        """The tensors of a folder as a GGUF file has them (`model-unsupported`)."""
        found: dict[str, Any] = {}
        given: set[str] = set()
        for name, pattern in self.each():
            if pattern in given:
                continue
            given.add(pattern)
            for end in ENDS:
                x = source.find(name, end)
                if x is not None:
                    found[in_gguf(name) + end] = self.moved(name, end, x)
        return in_stacks(found)

    def moved(self, name: str, end: str, x: Any) -> Any:
        """One tensor of a folder as a GGUF file has it."""
        part, rows = name.rpartition(".")[2], self.rows(name)
        if end == ".weight" and self.by_columns(part, x):
            x = np.ascontiguousarray(x.T)
        if rows is not None:
            x = part_of(x, rows)
        if self.kind == "mamba":
            if part == "ssm_a":
                x = -np.exp(np.asarray(x, "float32"))
            elif part == "ssm_conv1d" and end == ".weight":
                x = np.asarray(x, "float32").reshape(x.shape[0], -1)
        if len(x.shape) == 1 or part == "ffn_gate_inp":
            x = np.asarray(x, "float32")
        return x + np.float32(1) if self.kind in GEMMAS and "norm" in part else x

    # --- from a GGUF file to a folder ---

    def to_folder(self, tensors: Mapping[str, Any]) -> dict[str, Any]:
        """The tensors of a GGUF file, experts apart, as a folder has them."""
        found: dict[str, Any] = {}
        for name, pattern in self.each():
            for end in ENDS:
                x = tensors.get(in_gguf(name) + end)
                if x is not None:
                    found[pattern + end] = self.back(name, end, x)
        if self.kind == "phi":
            found |= self.separate(tensors)
        return found

    def back(self, name: str, end: str, x: Any) -> Any:
        """One tensor of a GGUF file as a folder has it."""
        part, rows = name.rpartition(".")[2], self.rows(name)
        if rows is not None:
            x = part_of(x, np.argsort(rows))
        if end == ".weight" and self.by_columns(part, x):
            x = np.ascontiguousarray(x.T)
        if self.kind == "mamba":
            if part == "ssm_a":
                x = np.log(-np.asarray(x, "float32"))
            elif part == "ssm_conv1d" and end == ".weight":
                x = np.asarray(x, "float32")[:, None]
        return x - np.float32(1) if self.kind in GEMMAS and "norm" in part else x

    def separate(self, tensors: Mapping[str, Any]) -> dict[str, Any]:
        """Queries, keys and values apart, where a file has them in one matrix."""
        ends = np.cumsum([0, *[n * self.s.head_size for n in (self.s.heads, *[self.s.shared_heads] * 2)]])
        found: dict[str, Any] = {}
        for i in range(self.s.layers):
            for end in ENDS[:2]:
                whole = tensors.get(f"blk.{i}.attn_qkv{end}")
                if whole is not None:
                    for k, part in enumerate(("attn_q", "attn_k", "attn_v")):
                        name = self.names[part].format(i=i) + end
                        found[name] = part_of(whole, slice(int(ends[k]), int(ends[k + 1])))
        return found

    def adapter(self, adapter: Adapter, tensors: Mapping[str, Any]) -> Adapter:
        """An adapter of a folder's tensors as one of a GGUF file's (`model-unsupported`)."""
        by_name = {spelled: name for name, pattern in self.each() for spelled in spellings(pattern)}
        terms: dict[str, Any] = {}
        for key, (a, b, scale) in adapter.terms.items():
            name = by_name.get(key)
            if name is None or in_gguf(name) + ".weight" not in tensors:
                unsupported(f"an adapter of {key!r} beside a GGUF file")
            rows = self.rows(name)
            terms[in_gguf(name)] = (a, b if rows is None else np.ascontiguousarray(b[..., rows, :]), scale)
        return adapter._replace(terms=terms, in_gguf=True)


def in_gguf(name: str) -> str:
    """The name of a tensor of this package in GGUF files, where both halves of a network are its `up`."""
    return name.replace(".ffn_gate_up", ".ffn_up")


def experts_of(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Each expert of stacks of them: `blk.0.ffn_up.expert.1.weight` of `blk.0.ffn_up_exps.weight`."""
    stacks = {k.removesuffix("_exps.weight"): x for k, x in tensors.items() if k.endswith("_exps.weight")}
    found: dict[str, Any] = {}
    for name, x in stacks.items():
        count = x.shape[0] if len(x.shape) == 3 else 0
        found |= {f"{name}.expert.{e}.weight": part_of(x, e) for e in range(count)}
    return found


def in_stacks(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors with the experts of a layer in one: `blk.0.ffn_up_exps.weight`."""
    found: dict[str, Any] = {}
    experts: dict[str, list[Any]] = {}
    for name, x in tensors.items():
        stem, is_expert, _ = name.partition(".expert.")
        if is_expert:
            experts.setdefault(f"{stem}_exps.weight", []).append(x)
        else:
            found[name] = x
    for name, xs in experts.items():
        one = xs[0]
        whole = np.stack([x.data if isinstance(x, Blocks) else x for x in xs])
        found[name] = Blocks(one.format, whole) if isinstance(one, Blocks) else whole
    return found
