"""`load`: models from Hugging Face folders and from GGUF files."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from relay.diagnostic import fail
from relay.ir.dtype import to_numpy
from relay.models.blocks import numbers_of
from relay.models.caches import WHOLE, Memory
from relay.models.checkpoint import Adapter, Checkpoint, read_adapter, read_checkpoint
from relay.models.decoder import Decoder
from relay.models.gguf_config import model_type
from relay.models.gguf_layout import Layout, experts_of
from relay.models.gguf_settings import Metadata, gguf_settings
from relay.models.hugging_face import settings
from relay.models.language_model import Assembled, LanguageModel
from relay.models.mamba import Mamba
from relay.models.names import names_of, spellings_in_gguf, spellings_of
from relay.models.settings import unsupported
from relay.models.source import Source

ACTIVATIONS = ("float32", "int8")
"""What data may be when it is multiplied with weights in blocks."""


def load(
    path: str | Path,
    dtype: str | None = None,
    *,
    adapters: Mapping[str, str | Path] | None = None,
    activations: str = "float32",
    cache: str = "whole",
    window: int | None = None,
) -> LanguageModel:
    """A language model from a folder with `config.json` and `.safetensors` files, or from a GGUF file.

    Weights are mapped; with a `dtype`, `"float32"` or another of floating-point numbers, they are copied and
    converted.  Of a GGUF file in parts, give the first.  `adapters` are folders of low-rank adapters (LoRA)
    as PEFT has them, by names; `model.adapters` has weights with each.  With `activations` "int8", what is
    multiplied with weights in blocks is rounded to 8 bits, with a scale for each 32 numbers, as llama.cpp
    does: products of integers are up to twice as fast.

    `cache` says how keys and values of tokens are kept: "whole"; "int8", in a quarter of the memory; "ring",
    of layers with a sliding window only what they see, and of all layers the last `window` tokens if it is
    given; "paged", in pages that sessions share: see `relay.decoding.Pool`.

    Raises `option-value`, `cannot-read`, `model-file`, `model-unsupported`.
    """
    if activations not in ACTIVATIONS:
        fail(
            "option-value",
            f"`activations` cannot be {activations!r}",
            hint=f"it is {' or '.join(ACTIVATIONS)}",
        )
    checkpoint = read_checkpoint(Path(path))
    if dtype is not None:
        tensors = {k: numbers_of(x).astype(to_numpy(dtype)) for k, x in checkpoint.tensors.items()}
        checkpoint = replace(checkpoint, tensors=tensors)
    found = {name: read_adapter(Path(p)) for name, p in (adapters or {}).items()}
    return model_of(checkpoint, found, activations, Memory(cache, window))


def model_of(
    checkpoint: Checkpoint,
    adapters: Mapping[str, Adapter],
    activations: str = "float32",
    memory: Memory = WHOLE,
) -> LanguageModel:
    """The model of what files hold (`model-file`, `model-unsupported`)."""
    assemble = assembled_gguf if checkpoint.is_gguf else assembled
    again = partial(model_of, adapters=adapters, activations=activations, memory=memory)
    return LanguageModel(checkpoint, adapters, assemble, again, activations, memory)


def assembled(checkpoint: Checkpoint, adapter: Adapter | None = None) -> Assembled:
    """The weights of a configuration and tensors of Hugging Face (`model-file`, `model-unsupported`)."""
    kind = checkpoint.kind
    names = names_of(kind)
    if adapter is not None and adapter.in_gguf:
        unsupported("an adapter in a GGUF file beside a folder")
    source = Source(checkpoint.tensors, lambda name: spellings_of(name, names), kind == "gpt2", adapter)
    said = settings(checkpoint.text_config)
    if kind == "mamba":
        return recurrent(Mamba(said, source))
    return put_together(Decoder(said, source))


def assembled_gguf(checkpoint: Checkpoint, adapter: Adapter | None = None) -> Assembled:
    """The weights of a GGUF file (`model-file`, `model-unsupported`)."""
    tensors = {**checkpoint.tensors, **experts_of(checkpoint.tensors)}
    if "token_embd.weight" not in tensors:
        fail("model-file", "the file has no `token_embd.weight`", hint="files of language models have one")
    said = gguf_settings(checkpoint.config, tensors)
    layout = Layout(model_type(Metadata(checkpoint.config, tensors)), said)
    if adapter is not None and not adapter.in_gguf:
        adapter = layout.adapter(adapter, tensors)
    source = Source(tensors, spellings_in_gguf, adapter=adapter)
    if layout.kind == "mamba":
        decays = {k: layout.back(k, "", x) for k, x in tensors.items() if k.endswith(".ssm_a")}
        return recurrent(Mamba(said, replace(source, tensors={**tensors, **decays})))
    return put_together(Decoder(said, source))


def recurrent(mamba: Mamba) -> Assembled:
    """All weights of a Mamba, and the text that takes them."""
    return Assembled("mamba", mamba.s, mamba.sizes(), mamba.value())


def put_together(decoder: Decoder) -> Assembled:
    """All weights of a decoder, and the text that takes them."""
    made = decoder.value()
    return Assembled("llama", decoder.s, decoder.sizes(), made)
