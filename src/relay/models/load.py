"""`load`: models from Hugging Face folders."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from relay.diagnostic import fail
from relay.ir.dtype import to_numpy
from relay.models.decoder import Decoder
from relay.models.hugging_face import settings
from relay.models.language_model import LanguageModel
from relay.models.names import LLAMA, NAMES, spellings
from relay.models.source import Source
from relay.models.tensor_files import folder_tensors, read_json

CONFIG = "config.json"


def load(path: str | Path, dtype: str | None = None) -> LanguageModel:
    """A language model from a folder with `config.json` and `.safetensors` files, which are mapped.

    With a `dtype`, `"float32"` or another of floating-point numbers, the weights are copied and converted.

    Raises `cannot-read`, `model-file`, `model-unsupported`.
    """
    path = Path(path)
    if not path.exists():
        fail(
            "cannot-read",
            f"there is no `{path}`",
            hint="give a folder with `config.json` and .safetensors files",
        )
    if not path.is_dir():
        fail("model-file", f"`{path}` is no folder of a model", hint="give the folder that has `config.json`")
    config = read_json(path / CONFIG)
    tensors = folder_tensors(path)
    if dtype is not None:
        tensors = {k: x.astype(to_numpy(dtype)) for k, x in tensors.items()}
    return from_tensors(config, tensors)


def from_tensors(config: Mapping[str, Any], tensors: Mapping[str, Any]) -> LanguageModel:
    """A model of a configuration and tensors as Hugging Face has them (`model-file`, `model-unsupported`)."""
    said = config.get("text_config")
    if isinstance(said, Mapping):
        config = {**config, **said}
    kind = str(config.get("model_type"))
    names = NAMES.get(kind, LLAMA)

    def spelled(name: str) -> Sequence[str]:
        return spellings_of(name, names)

    decoder = Decoder(settings(config), Source(tensors, spelled, columns=kind == "gpt2"))
    made = decoder.value()
    return LanguageModel("llama", decoder.s, decoder.sizes(), made, config)


def spellings_of(name: str, names: Mapping[str, str]) -> Sequence[str]:
    """The names of a tensor of this package in a checkpoint: `blk.3.ffn_up.expert.1` of layer 3, expert 1."""
    layer = expert = ""
    if name.startswith("blk."):
        _, layer, name = name.split(".", 2)
    if ".expert." in name:
        name, expert = name.removesuffix(".").rsplit(".", 1)
    pattern = names.get(name)
    return spellings(pattern.format(i=layer, e=expert)) if pattern is not None else ()
