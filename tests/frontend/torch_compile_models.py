"""Models of torchvision and transformers with random weights: small, or as large as in use."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch

Made = tuple[torch.nn.Module, dict[str, Any], Callable[[Any], Any]]
"""A model in evaluation mode, what it is called with, and the tensor of its result that is compared."""


def torchvision() -> Any:
    """The package; its models need none of the operators in its compiled part, which may be for another
    PyTorch, so that they are declared then.
    """
    try:
        return import_module("torchvision")
    except RuntimeError:
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou) -> Tensor")
        return import_module("torchvision")


def image_model(name: str, is_small: bool) -> Made:
    """A model of torchvision on one picture."""
    size = 64 if is_small else 224
    how: dict[str, Any] = {"weights": None}
    if name == "googlenet":
        how |= {"init_weights": False, "aux_logits": False}
    if name == "vit_b_16":
        how |= {"image_size": size}
    model = getattr(torchvision().models, name)(**how)
    if name == "vit_b_16":
        torch.nn.init.normal_(model.heads.head.weight, std=0.02)  # zeros, as it comes
    with torch.no_grad():  # statistics of pictures, without which the numbers of deep models vanish
        for _ in range(2):
            model(torch.randn(4, 3, size, size))
    return model, {"x": torch.randn(1, 3, size, size)}, lambda y: y


def tokens(*shape: int) -> torch.Tensor:
    return torch.randint(3, 98, shape)


def widths(is_small: bool) -> dict[str, Any]:
    """Sizes of a transformer."""
    if is_small:
        return {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    return {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 6, "intermediate_size": 1536}


def encoder(name: str, is_small: bool) -> Made:
    """BERT and its like on two texts, one of which is shorter."""
    import transformers as t

    length = 16 if is_small else 128
    w = widths(is_small)
    sizes = {"vocab_size": 999, "max_position_embeddings": 256, **w}
    if name == "DistilBert":
        sizes = {
            "vocab_size": 999, "dim": w["hidden_size"], "n_layers": w["num_hidden_layers"],
            "n_heads": w["num_attention_heads"], "hidden_dim": w["intermediate_size"],
        }  # fmt: skip
    model = getattr(t, f"{name}Model")(getattr(t, f"{name}Config")(**sizes))
    mask = torch.ones(2, length, dtype=torch.int64)
    mask[1, length // 2 :] = 0
    return model, {"input_ids": tokens(2, length), "attention_mask": mask}, lambda y: y[0]


def gpt2(is_small: bool) -> Made:
    """GPT-2 on two texts."""
    import transformers as t

    w = widths(is_small)
    config = t.GPT2Config(
        vocab_size=999, n_positions=256, n_embd=w["hidden_size"], n_layer=w["num_hidden_layers"],
        n_head=w["num_attention_heads"],
    )  # fmt: skip
    inputs = {"input_ids": tokens(2, 16 if is_small else 128), "use_cache": False}
    return t.GPT2LMHeadModel(config), inputs, lambda y: y.logits


def decoder(name: str, is_small: bool) -> Made:
    """Llama and its like on two texts."""
    import transformers as t

    sizes = {"vocab_size": 999, "max_position_embeddings": 256, "num_key_value_heads": 2, **widths(is_small)}
    model = getattr(t, f"{name}ForCausalLM")(getattr(t, f"{name}Config")(**sizes))
    inputs = {"input_ids": tokens(2, 16 if is_small else 128), "use_cache": False}
    return model, inputs, lambda y: y.logits


def t5(is_small: bool) -> Made:
    """T5 on two texts and the beginnings of their translations."""
    import transformers as t

    w = widths(is_small)
    config = t.T5Config(
        vocab_size=999, d_model=w["hidden_size"], d_kv=w["hidden_size"] // w["num_attention_heads"],
        d_ff=w["intermediate_size"], num_layers=w["num_hidden_layers"], num_heads=w["num_attention_heads"],
    )  # fmt: skip
    length = 16 if is_small else 128
    inputs = {"input_ids": tokens(2, length), "decoder_input_ids": tokens(2, length // 2), "use_cache": False}
    return t.T5ForConditionalGeneration(config), inputs, lambda y: y.logits


def vit(is_small: bool) -> Made:
    """ViT on a picture."""
    import transformers as t

    size = 64 if is_small else 224
    model = t.ViTModel(t.ViTConfig(image_size=size, patch_size=16, **widths(is_small)))
    return model, {"pixel_values": torch.randn(1, 3, size, size)}, lambda y: y[0]


def clip(is_small: bool) -> Made:
    """CLIP on texts and pictures."""
    import transformers as t

    size, length = (64, 8) if is_small else (224, 32)
    text = {"vocab_size": 999, "max_position_embeddings": 64, "eos_token_id": 998, "bos_token_id": 0}
    vision = {"image_size": size, "patch_size": 16, **widths(is_small)}
    config = t.CLIPConfig(text_config={**text, **widths(is_small)}, vision_config=vision, projection_dim=16)
    inputs = {"input_ids": tokens(2, length), "pixel_values": torch.randn(2, 3, size, size)}
    return t.CLIPModel(config), inputs, lambda y: y.logits_per_image


def whisper(is_small: bool) -> Made:
    """Whisper on the spectrum of a sound and the beginning of a text."""
    import transformers as t

    w = widths(is_small)
    frames, length = (40, 8) if is_small else (1000, 32)
    config = t.WhisperConfig(
        vocab_size=999, d_model=w["hidden_size"], encoder_layers=w["num_hidden_layers"],
        decoder_layers=w["num_hidden_layers"], encoder_attention_heads=w["num_attention_heads"],
        decoder_attention_heads=w["num_attention_heads"], encoder_ffn_dim=w["intermediate_size"],
        decoder_ffn_dim=w["intermediate_size"], num_mel_bins=80, max_source_positions=frames // 2,
        max_target_positions=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
        suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip
    sound = {"input_features": torch.randn(1, 80, frames), "decoder_input_ids": tokens(1, length)}
    inputs = {**sound, "use_cache": False}
    return t.WhisperForConditionalGeneration(config), inputs, lambda y: y.logits


OF_TORCHVISION = (
    "resnet18", "mobilenet_v2", "mobilenet_v3_small", "vgg11", "densenet121", "squeezenet1_1",
    "efficientnet_b0", "shufflenet_v2_x1_0", "regnet_y_400mf", "convnext_tiny", "vit_b_16", "swin_t",
    "googlenet",
)  # fmt: skip
OF_TRANSFORMERS: dict[str, Callable[[bool], Made]] = {
    "BERT": partial(encoder, "Bert"), "DistilBERT": partial(encoder, "DistilBert"),
    "RoBERTa": partial(encoder, "Roberta"), "GPT-2": gpt2, "Llama": partial(decoder, "Llama"),
    "Mistral": partial(decoder, "Mistral"), "T5": t5, "ViT": vit, "CLIP": clip, "Whisper": whisper,
}  # fmt: skip
MODELS = (*OF_TORCHVISION, *OF_TRANSFORMERS)

TRAINED = ("resnet18", "BERT", "GPT-2")


def made(name: str, is_small: bool = True) -> Made:
    """A model by its name, the same numbers each time."""
    if find_spec("torchvision"):
        torchvision()  # transformers imports it, where it is
    torch.manual_seed(0)
    make = OF_TRANSFORMERS.get(name) or partial(image_model, name)
    model, inputs, result = make(is_small)
    return model.eval(), inputs, result
