"""Folders as GGUF files, and GGUF files as folders."""

from dataclasses import replace

from relay.models.blocks import Blocks
from relay.models.checkpoint import Checkpoint
from relay.models.gguf_config import config_of, model_type
from relay.models.gguf_layout import Layout, experts_of
from relay.models.gguf_metadata import metadata_of
from relay.models.gguf_settings import Metadata
from relay.models.names import spellings_of
from relay.models.settings import Settings
from relay.models.source import Source
from relay.models.tokenizer import Tokenizer
from relay.models.vocabulary_files import files_of, keys_of

QUANTISATION_VERSION = 2
"""Of the blocks, in all files with any."""


def as_gguf(checkpoint: Checkpoint, s: Settings, tokenizer: Tokenizer | None) -> Checkpoint:
    """What a folder holds as a GGUF file has it (`model-unsupported`)."""
    layout = Layout(checkpoint.kind, s)
    source = Source(checkpoint.tensors, lambda name: spellings_of(name, layout.names))
    tensors = layout.to_gguf(source)
    said = metadata_of(checkpoint.text_config, s, tensors)
    if any(isinstance(x, Blocks) for x in tensors.values()):
        said["general.quantization_version"] = QUANTISATION_VERSION
    if tokenizer is not None:
        said |= keys_of(tokenizer, s.vocabulary)
    return Checkpoint(said, tensors, is_gguf=True)


def as_folder(checkpoint: Checkpoint, s: Settings, tokenizer: Tokenizer | None) -> Checkpoint:
    """What a GGUF file holds as a folder has it (`model-unsupported`)."""
    tensors = {**checkpoint.tensors, **experts_of(checkpoint.tensors)}
    layout = Layout(model_type(Metadata(checkpoint.config, tensors)), s)
    config = config_of(checkpoint.config, tensors, s)
    found = replace(checkpoint, config=config, tensors=layout.to_folder(tensors), is_gguf=False)
    return found if tokenizer is None else replace(found, files=files_of(tokenizer))
