"""Language models of random weights: prompt and decode, tokens a second, beside llama.cpp on the same file.

    python benchmarks/decode.py --size 135m --form q8_0 --threads 1 --rounds 30

Needs llama-cpp-python; without it, Relay alone is measured.  Rounds take turns: each reads a prompt of 128
tokens and writes some.  What is shown is the median, that of the ratios of a round, with its tenth and
ninetieth percentiles, and the share of the bandwidth of a loop that reads as many bytes as a token needs.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
SIZES = {
    "135m": {"layers": 30, "width": 576, "heads": 9, "shared": 3, "inner": 1536, "vocabulary": 49152},
    "0.5b": {"layers": 24, "width": 896, "heads": 14, "shared": 2, "inner": 4864, "vocabulary": 151936},
    "tiny": {"layers": 2, "width": 64, "heads": 2, "shared": 1, "inner": 96, "vocabulary": 320},
}
"""Shapes: SmolLM2's, Qwen2.5's, and one to try this file with.  Heads are of 64 or 32 numbers."""
PROMPT = 128


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=SIZES, default="135m")
    parser.add_argument("--form", choices=("f32", "bf16", "q8_0", "q4_0"), default="q8_0")
    parser.add_argument(
        "--activations", choices=("float32", "int8"), default="int8", help="llama.cpp's are int8"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--tokens", type=int, default=16, help="written in a round")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where files of models are kept")
    return parser.parse_args()


def model_file(size: str, form: str, folder: str) -> Path:
    """A GGUF file of a model of random weights, written once."""
    import ml_dtypes

    from relay.models.checkpoint import quantized
    from relay.models.gguf_writer import write_gguf

    path = Path(folder) / f"random-{size}-{form}.gguf"
    if path.exists():
        return path
    s = SIZES[size]
    head = s["width"] // s["heads"]
    random = np.random.default_rng(0)

    def matrix(name: str, *shape: int) -> Any:
        x = random.standard_normal(shape, dtype="float32") * np.float32(shape[-1] ** -0.5)
        if form == "f32":
            return x
        return x.astype(ml_dtypes.bfloat16) if form == "bf16" else quantized(name, x, form)

    def vector() -> Array:
        return np.ones(s["width"], "float32")

    tensors: dict[str, Any] = {"token_embd.weight": matrix("token_embd.weight", s["vocabulary"], s["width"])}
    for i in range(s["layers"]):
        shapes = {
            "attn_q": (s["width"], s["width"]), "attn_k": (s["shared"] * head, s["width"]),
            "attn_v": (s["shared"] * head, s["width"]), "attn_output": (s["width"], s["width"]),
            "ffn_gate": (s["inner"], s["width"]), "ffn_up": (s["inner"], s["width"]),
            "ffn_down": (s["width"], s["inner"]),
        }  # fmt: skip
        for name, shape in shapes.items():
            tensors[f"blk.{i}.{name}.weight"] = matrix(f"blk.{i}.{name}.weight", *shape)
        tensors |= {f"blk.{i}.attn_norm.weight": vector(), f"blk.{i}.ffn_norm.weight": vector()}
    tensors["output_norm.weight"] = vector()
    metadata = {
        "general.architecture": "llama", "llama.block_count": s["layers"], "llama.context_length": 2048,
        "llama.embedding_length": s["width"], "llama.feed_forward_length": s["inner"],
        "llama.attention.head_count": s["heads"], "llama.attention.head_count_kv": s["shared"],
        "llama.attention.layer_norm_rms_epsilon": float(np.float32(1e-5)), "llama.rope.dimension_count": head,
        "llama.rope.freq_base": 10000.0, "llama.vocab_size": s["vocabulary"], "tokenizer.ggml.model": "none",
    }  # fmt: skip
    write_gguf(path, metadata, tensors)
    return path


def ours(path: Path, tokens: int, activations: str) -> Callable[[], tuple[float, float]]:
    """Seconds of the prompt, and of each token after it, by Relay."""
    import relay.models
    from relay.decoding import Session

    model = relay.models.load(path, activations=activations)
    session = Session(model, length=PROMPT + tokens + 16)
    prompt = list(range(5, 5 + PROMPT))

    def run() -> tuple[float, float]:
        session.roll_back()
        found = model.generate(prompt, max_tokens=tokens + 1, session=session)
        return found.prompt_seconds, found.decode_seconds / tokens

    return run


def theirs(path: Path, tokens: int, threads: int) -> Callable[[], tuple[float, float]]:
    """The same by llama.cpp."""
    from llama_cpp import Llama

    llm = Llama(str(path), n_ctx=512, n_threads=threads, n_threads_batch=threads, verbose=False)
    prompt = list(range(5, 5 + PROMPT))

    def run() -> tuple[float, float]:
        llm.reset()
        begin = time.perf_counter()
        llm.eval(prompt)
        middle = time.perf_counter()
        for i in range(tokens):
            llm.eval([7 + i])
        return middle - begin, (time.perf_counter() - middle) / tokens

    return run


def read_seconds(count: int) -> float:
    """Seconds in which one thread adds up so many bytes as floats."""
    x = np.ones(count // 4, "float32")
    times: list[float] = []
    for _ in range(7):
        begin = time.perf_counter()
        x.sum()
        times.append(time.perf_counter() - begin)
    return min(times)


def shown(name: str, mine: Array, other: Array | None) -> str:
    """A line of tokens a second, and ratios."""
    text = f"{name:7} Relay {1 / np.median(mine):8.1f}/s"
    if other is None:
        return text
    low, middle, high = np.percentile(other / mine, [10, 50, 90])
    return f"{text}  llama.cpp {1 / np.median(other):8.1f}/s  ratio {middle:.2f} ({low:.2f}-{high:.2f})"


def main() -> None:
    given = arguments()
    for name in ("RELAY_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(given.threads)
    path = model_file(given.size, given.form, given.folder)
    runs = [ours(path, given.tokens, given.activations)]
    try:
        runs.append(theirs(path, given.tokens, given.threads))
    except ImportError:
        print("without llama-cpp-python")
    for run in runs:
        run()
    times = np.array([[run() for run in runs] for _ in range(given.rounds)])
    print(f"{given.size} {given.form}, {given.threads} threads, {given.rounds} rounds")
    for i, name in enumerate(("prompt", "decode")):
        scale = PROMPT if i == 0 else 1
        mine = times[:, 0, i] / scale
        print(shown(name, mine, times[:, 1, i] / scale if len(runs) > 1 else None))
    share = read_seconds(path.stat().st_size) / np.median(times[:, 0, 1])
    print(f"share of the bandwidth of a read loop of one thread: {share:.2f}")


if __name__ == "__main__":
    main()
