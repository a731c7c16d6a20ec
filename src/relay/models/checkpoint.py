"""What the files of a model hold, before a program is made for it; and such files written."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from relay.diagnostic import fail
from relay.ir.dtype import dtype_name
from relay.models.blocks import Blocks, numbers_of
from relay.models.gguf_file import read_gguf
from relay.models.gguf_writer import write_gguf
from relay.models.settings import unsupported
from relay.models.tensor_files import BLOCKS_KEY, damaged, folder_tensors, mapped_tensors, read_json
from relay.op.blocks.quantize import QUANTIZERS, quantize_blocks
from relay.text.files import write_files

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
BY_COLUMNS = {"gpt2": (".c_attn.weight", ".c_proj.weight", ".c_fc.weight")}
"""By `model_type` how the names of matrices end that folders have by columns.  Blocks are of rows always."""
BLOCK = 32
"""Numbers that have one scale in the formats that weights are quantised to here."""


@dataclass(frozen=True)
class Checkpoint:
    """A configuration, or the metadata of a GGUF file, and tensors by the names that the files have."""

    config: Mapping[str, Any]
    tensors: Mapping[str, Any]
    is_gguf: bool = False
    folder: Path | None = None
    """Where other files of the model are: those of its tokenizer."""
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Other files of the model by name, if they are not in a folder."""

    @property
    def text_config(self) -> Mapping[str, Any]:
        """The configuration of a folder; of a model of several kinds of data, that of its texts."""
        found = self.config.get("text_config")
        return {**self.config, **cast("dict[str, Any]", found)} if isinstance(found, dict) else self.config

    @property
    def kind(self) -> str:
        """The `model_type` of a folder."""
        return str(self.text_config.get("model_type"))

    def quantized(self, form: str) -> "Checkpoint":
        """Its copy with matrices in blocks of a format: `"q8_0"`, `"q4_0"` or `"q4_1"` (`attribute-value`).

        Vectors, routers of experts and matrices whose rows are not multiples of 32 stay as they are.
        """
        if form not in QUANTIZERS:
            hint = f"formats that weights are quantised to are {', '.join(QUANTIZERS)}"
            fail("attribute-value", f"there is no quantiser for {form!r}", hint=hint)
        by_columns = () if self.is_gguf else BY_COLUMNS.get(self.kind, ())
        made = {k: quantized(k, x, form, k.endswith(by_columns)) for k, x in self.tensors.items()}
        return replace(self, tensors=made)

    def save(self, path: Path) -> None:
        """Write a GGUF file, or a folder with `config.json` and `model.safetensors` (`cannot-write`)."""
        if self.is_gguf:
            write_gguf(path, self.config, self.tensors)
            return
        path.mkdir(parents=True, exist_ok=True)
        kept = (
            []
            if self.folder is None
            else sorted(self.folder.glob("*token*")) + sorted(self.folder.glob("*.jinja"))
        )
        others = {
            p.name: p.read_bytes() for p in kept if p.is_file() and p.suffix in (".json", ".jinja", ".model")
        }
        others |= self.files
        others[CONFIG] = json.dumps(dict(self.config), indent=2).encode()
        others[WEIGHTS] = safetensors_bytes(self.tensors)
        write_files(
            [(str(path / name), lambda out, data=data: out.write(data)) for name, data in others.items()]
        )


def quantized(name: str, x: Any, form: str, by_columns: bool) -> Any:
    """A matrix, or a stack of them, in blocks; anything else as it is."""
    if isinstance(x, Blocks) or len(x.shape) < 2 or "norm" in name:
        return x
    if x.shape[0 if by_columns else -1] % BLOCK:
        return x
    is_router = name.endswith(("gate_inp.weight", "_moe.gate.weight", "mlp.gate.weight"))
    if is_router or "conv1d" in name or dtype_name(x.dtype) not in ("float32", "float16", "bfloat16"):
        return x
    return Blocks(form, quantize_blocks(np.ascontiguousarray(x.T) if by_columns else x, form))


def safetensors_bytes(tensors: Mapping[str, Any]) -> bytes:
    """A `.safetensors` file; of `Blocks` the bytes, and beside them their formats by name."""
    from safetensors.numpy import save

    formats = {k: x.format for k, x in tensors.items() if isinstance(x, Blocks)}
    arrays = {k: np.ascontiguousarray(x.data if isinstance(x, Blocks) else x) for k, x in tensors.items()}
    said = {"format": "pt"} | ({BLOCKS_KEY: json.dumps(formats)} if formats else {})
    return save(arrays, said)


def read_checkpoint(path: Path) -> Checkpoint:
    """What a folder or a GGUF file holds (`cannot-read`, `model-file`)."""
    if not path.exists():
        hint = "give a folder with `config.json` and .safetensors files, or a GGUF file"
        fail("cannot-read", f"there is no `{path}`", hint=hint)
    if not path.is_dir():
        found = read_gguf(path)
        return Checkpoint(found.metadata, found.tensors, is_gguf=True)
    return Checkpoint(read_json(path / CONFIG), folder_tensors(path), folder=path)


class Adapter(NamedTuple):
    """Low-rank terms of matrices by their names: `(r, i)`, `(o, r)`, and what the product is scaled by."""

    terms: Mapping[str, tuple[Any, Any, Any]]
    rows: Any = None
    """Where it stands for several: the number of the one of each row of a batch; see `stacked`."""
    in_gguf: bool = False
    """Whether names and rows are those of a GGUF file."""


def stacked(adapters: Sequence[Adapter]) -> Adapter:
    """All adapters in one: of each matrix `(n, r, i)`, `(n, o, r)` and `(n,)`; the first of the `n` adds 0.

    `rows` is empty: the program's value has numbers from 0 to `n - 1` in its place.
    """
    if len({a.in_gguf for a in adapters}) > 1:
        unsupported("adapters of GGUF files and of folders in one batch")
    found: dict[str, tuple[Any, Any, Any]] = {}
    for name in {name for a in adapters for name in a.terms}:
        terms = [a.terms.get(name) for a in adapters]
        rank = max([t[0].shape[0] for t in terms if t is not None])
        (_, i), (o, _) = next((t[0].shape, t[1].shape) for t in terms if t is not None)
        n = len(terms) + 1
        a, b, scales = (np.zeros(s, "float32") for s in ((n, rank, i), (n, o, rank), (n,)))
        for number, term in enumerate(terms, 1):
            if term is not None:
                one, other, scales[number] = term
                if one.shape[1] != i or other.shape[0] != o:
                    message = f"the adapters have {name!r} in two shapes"
                    fail("model-file", message, hint="they are of one model")
                a[number, : one.shape[0]], b[number, :, : one.shape[0]] = one, other
        found[name] = (a, b, scales)
    return Adapter(found, np.zeros(0, "int32"), adapters[0].in_gguf)


def read_adapter(path: Path) -> Adapter:
    """An adapter from a folder as PEFT has it, or from a GGUF file as llama.cpp's converter writes it.

    Raises `cannot-read`, `model-file`, `model-unsupported`.
    """
    if path.suffix == ".gguf":
        return read_gguf_adapter(path)
    said = read_json(path / ADAPTER_CONFIG)
    if said.get("peft_type") != "LORA" or said.get("use_dora") or said.get("alpha_pattern"):
        unsupported("an adapter that is not a plain LoRA")
    tensors = mapped_tensors(path / ADAPTER_WEIGHTS)
    terms: dict[str, tuple[Any, Any, float]] = {}
    for name, a in tensors.items():
        of, found, _ = name.partition(".lora_A.")
        if not found:
            if ".lora_B." not in name:
                unsupported(f"an adapter with {name!r}")
            continue
        b = tensors.get(name.replace(".lora_A.", ".lora_B."))
        if b is None or a.ndim != 2 or b.ndim != 2 or a.shape[0] != b.shape[1]:
            damaged(path / ADAPTER_WEIGHTS, f"{name!r} has no other half")
        rank = a.shape[0]
        alpha = float(said.get("lora_alpha", rank))
        scale = alpha / (rank**0.5 if said.get("use_rslora") else rank)
        terms[of.removeprefix("base_model.model.")] = (
            np.asarray(a, "float32"),
            np.asarray(b, "float32"),
            scale,
        )
    return Adapter(terms)


def read_gguf_adapter(path: Path) -> Adapter:
    """An adapter from a GGUF file (`cannot-read`, `model-file`, `model-unsupported`)."""
    found = read_gguf(path)
    if found.metadata.get("adapter.type") != "lora":
        unsupported("a GGUF file beside it that is no LoRA adapter")
    alpha = float(found.metadata.get("adapter.lora.alpha", 0.0))
    terms: dict[str, tuple[Any, Any, float]] = {}
    for name, a in found.tensors.items():
        of, is_first, _ = name.partition(".weight.lora_a")
        if not is_first:
            continue
        b = found.tensors.get(f"{of}.weight.lora_b")
        if b is None or len(a.shape) != 2 or len(b.shape) != 2 or a.shape[0] != b.shape[1]:
            damaged(path, f"{name!r} has no other half")
        if of in ("token_embd", "output"):
            unsupported(f"an adapter of {of!r}")
        scale = alpha / a.shape[0] if alpha else 1.0
        terms[of] = (np.asarray(numbers_of(a), "float32"), np.asarray(numbers_of(b), "float32"), scale)
    return Adapter(terms, in_gguf=True)
