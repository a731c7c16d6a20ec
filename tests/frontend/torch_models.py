"""Models that come with random weights: architectures of `transformers` from configurations, and modules."""

from typing import Any

import torch
from torch import nn

TINY: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
}  # fmt: skip


class Wrapped(nn.Module):
    """A model, and which of its results matter."""

    def __init__(self, model, run):
        super().__init__()
        self.model = model
        self.run = run

    def forward(self, *xs):
        return self.run(self.model, *xs)


def words(*shape: int) -> torch.Tensor:
    return torch.randint(3, 98, shape)


def bert():
    import transformers as t

    model = t.BertModel(t.BertConfig(vocab_size=99, max_position_embeddings=64, **TINY))
    mask = torch.tensor([[1] * 7, [1] * 4 + [0] * 3])
    return Wrapped(model, lambda m, i, a: m(input_ids=i, attention_mask=a)[0]), (words(2, 7), mask)


def gpt2():
    import transformers as t

    model = t.GPT2LMHeadModel(t.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64))
    return Wrapped(model, lambda m, i: m(input_ids=i, use_cache=False).logits), (words(2, 7),)


def llama():
    import transformers as t

    model = t.LlamaForCausalLM(t.LlamaConfig(vocab_size=99, num_key_value_heads=2, **TINY))
    return Wrapped(model, lambda m, i: m(input_ids=i, use_cache=False).logits), (words(2, 7),)


def mistral():
    import transformers as t

    config = t.MistralConfig(vocab_size=99, num_key_value_heads=2, sliding_window=4, **TINY)
    return Wrapped(t.MistralForCausalLM(config), lambda m, i: m(input_ids=i, use_cache=False).logits), (
        words(2, 7),
    )


def t5():
    import transformers as t

    config = t.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)
    model = t.T5ForConditionalGeneration(config)
    return Wrapped(model, lambda m, i, d: m(input_ids=i, decoder_input_ids=d, use_cache=False).logits), (
        words(2, 7),
        words(2, 5),
    )


def vit():
    import transformers as t

    model = t.ViTModel(t.ViTConfig(image_size=32, patch_size=8, **TINY))
    return Wrapped(model, lambda m, x: m(pixel_values=x)[0]), (torch.randn(2, 3, 32, 32),)


def clip():
    import transformers as t

    text = {"vocab_size": 99, "max_position_embeddings": 16, "eos_token_id": 98, "bos_token_id": 0, **TINY}
    vision = {"image_size": 32, "patch_size": 8, **TINY}
    model = t.CLIPModel(t.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16))

    def run(m, ids, image):
        found = m(input_ids=ids, pixel_values=image)
        return found.logits_per_image, found.text_embeds, found.image_embeds

    return Wrapped(model, run), (words(2, 7), torch.randn(3, 3, 32, 32))


def whisper():
    import transformers as t

    config = t.WhisperConfig(
        vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, num_mel_bins=8,
        max_source_positions=20, max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=3, suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip
    model = t.WhisperForConditionalGeneration(config)
    return Wrapped(model, lambda m, x, d: m(input_features=x, decoder_input_ids=d, use_cache=False).logits), (
        torch.randn(2, 8, 40),
        words(2, 5),
    )


class Residual(nn.Module):
    def __init__(self, channels: int, out: int, stride: int):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
            nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out),
        )  # fmt: skip
        self.short = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return torch.relu(self.body(x) + self.short(x))


def resnet():
    stem = [nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    blocks = [Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 32, 2)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)]
    return nn.Sequential(*stem, *blocks, *head), (torch.randn(2, 3, 32, 32),)


class Inverted(nn.Module):
    def __init__(self, channels: int, out: int, stride: int):
        super().__init__()
        wide = channels * 4
        self.adds = stride == 1 and channels == out
        self.body = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(inplace=True),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide),
            nn.ReLU6(inplace=True), nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out),
        )  # fmt: skip

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


def mobilenet_v2():
    stem = [nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6(inplace=True)]
    blocks = [Inverted(8, 8, 1), Inverted(8, 16, 2), Inverted(16, 16, 1)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(16, 10)]
    return nn.Sequential(*stem, *blocks, *head), (torch.randn(2, 3, 32, 32),)


class ConvNextBlock(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 0.1))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.down(torch.nn.functional.gelu(self.up(y)))
        return x + y.permute(0, 3, 1, 2)


def convnext():
    return nn.Sequential(
        nn.Conv2d(3, 8, 4, 4), ConvNextBlock(8), nn.Conv2d(8, 16, 2, 2), ConvNextBlock(16),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(16), nn.Linear(16, 10),
    ), (torch.randn(2, 3, 32, 32),)  # fmt: skip


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = self.block(3, 8), self.block(8, 16)
        self.bottom = self.block(16, 32)
        self.up = nn.ConvTranspose2d(32, 16, 2, 2)
        self.third, self.last = self.block(32, 16), self.block(24, 8)
        self.out = nn.Conv2d(8, 2, 1)

    @staticmethod
    def block(channels: int, out: int):
        return nn.Sequential(nn.Conv2d(channels, out, 3, padding=1), nn.GroupNorm(4, out), nn.SiLU())

    def forward(self, x):
        resize = torch.nn.functional.interpolate
        a = self.first(x)
        b = self.second(torch.max_pool2d(a, 2))
        c = self.up(self.bottom(torch.max_pool2d(b, 2)))
        d = self.third(torch.cat([b, c], 1))
        e = resize(d, scale_factor=2.0, mode="bilinear", align_corners=False)
        return self.out(self.last(torch.cat([a, e], 1)))


def unet():
    return UNet(), (torch.randn(1, 3, 16, 16),)


def lstm():
    return nn.LSTM(6, 8, num_layers=2, batch_first=True, bidirectional=True), (torch.randn(2, 5, 6),)


def gru():
    return nn.GRU(6, 8, num_layers=2, bidirectional=True), (torch.randn(5, 2, 6),)


def transformer():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (torch.randn(2, 5, 16),)


MODELS = {
    "BERT": bert, "GPT-2": gpt2, "Llama": llama, "Mistral": mistral, "T5": t5, "ViT": vit, "CLIP": clip,
    "Whisper": whisper, "ResNet": resnet, "MobileNetV2": mobilenet_v2, "ConvNeXt": convnext, "U-Net": unet,
    "LSTM": lstm, "GRU": gru, "Transformer": transformer,
}  # fmt: skip
OF_TRANSFORMERS = ("BERT", "GPT-2", "Llama", "Mistral", "T5", "ViT", "CLIP", "Whisper")
QUICK = ("ConvNeXt", "LSTM")
"""Those that every run of the tests imports."""


def made(name: str):
    """A model with the same weights and inputs at each run."""
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    return model.eval(), inputs
