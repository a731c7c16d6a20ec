"""Language models of random weights: prompt and decode, tokens a second, beside llama.cpp on the same file.

    python benchmarks/decode.py [--sizes 135m,0.5b] [--forms q8_0,q4_0] [--threads 1,2] [--rounds 30]
                                [--prompt 128] [--tokens 16] [--json performance.json]

Needs llama-cpp-python; without it, Relay alone is measured.  Rounds take turns: each reads a prompt and
writes some tokens.  What is shown is the median, that of the ratios of a round with its 95% bootstrap
interval, and the share of the bandwidth of a loop of one thread that reads as many bytes as a token needs.
Each measurement has a process of its own on as many cores as threads.
"""

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from peers import JSON, interval, machine

Array = np.ndarray[Any, Any]
SIZES = {
    "135m": {"layers": 30, "width": 576, "heads": 9, "shared": 3, "inner": 1536, "vocabulary": 49152},
    "0.5b": {"layers": 24, "width": 896, "heads": 14, "shared": 2, "inner": 4864, "vocabulary": 151936},
    "tiny": {"layers": 2, "width": 64, "heads": 2, "shared": 1, "inner": 96, "vocabulary": 320},
}
"""Shapes: SmolLM2's, Qwen2.5's, and one to try this file with.  Heads are of 64 or 32 numbers."""
FORMS = ("f32", "bf16", "q8_0", "q4_0")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="135m", help=f"some of {', '.join(SIZES)}")
    parser.add_argument("--forms", default=",".join(FORMS), help="how weights are kept")
    parser.add_argument(
        "--activations", choices=("float32", "int8"), default="int8", help="llama.cpp's are int8"
    )
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--prompt", type=int, default=128, help="tokens that are read in a round")
    parser.add_argument("--tokens", type=int, default=16, help="tokens that are written")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where files of models are kept")
    parser.add_argument("--json", type=Path, default=JSON)
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
        if form == "bf16":
            return x.astype(ml_dtypes.bfloat16)
        return quantized(name, x, form, by_columns=False)

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


def ours(path: Path, given: argparse.Namespace) -> Callable[[], tuple[float, float]]:
    """Seconds of the prompt, and of each token after it, by Relay."""
    import relay.models
    from relay.decoding import Session

    tokens = given.tokens
    model = relay.models.load(path, activations=given.activations)
    session = Session(model, length=given.prompt + tokens + 16)
    prompt = list(range(5, 5 + given.prompt))

    def run() -> tuple[float, float]:
        session.roll_back()
        found = model.generate(prompt, max_tokens=tokens + 1, session=session)
        return found.prompt_seconds, found.decode_seconds / tokens

    return run


def theirs(path: Path, given: argparse.Namespace, threads: int) -> Callable[[], tuple[float, float]]:
    """The same by llama.cpp."""
    from llama_cpp import Llama

    tokens = given.tokens
    llm = Llama(str(path), n_ctx=512, n_threads=threads, n_threads_batch=threads, verbose=False)
    prompt = list(range(5, 5 + given.prompt))

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


def measured(size: str, form: str, threads: int, given: argparse.Namespace) -> dict[str, Any]:
    """What is found of one model, in this process."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    path = model_file(size, form, given.folder)
    runs = {"Relay": ours(path, given)}
    try:
        runs["llama.cpp"] = theirs(path, given, threads)
    except ImportError:
        print("without llama-cpp-python")
    for run in runs.values():
        run()
    times = np.array([[run() for run in runs.values()] for _ in range(given.rounds)])
    found: dict[str, Any] = {"threads": threads, "rounds": given.rounds}
    for i, name in enumerate(("prompt", "decode")):
        count = given.prompt if i == 0 else 1
        speeds = {system: float(count / np.median(times[:, k, i])) for k, system in enumerate(runs)}
        ratio = interval(list(times[:, 1, i] / times[:, 0, i])) if len(runs) > 1 else {}
        found[name] = {"speeds": speeds, **ratio}
    found["share"] = read_seconds(path.stat().st_size) / float(np.median(times[:, 0, 1]))
    return found


def shown(name: str, e: dict[str, Any]) -> str:
    """A line of tokens a second, and their ratio."""
    speeds = "  ".join([f"{system} {x:7.1f}/s" for system, x in e["speeds"].items()])
    ratio = f"  ratio {e['ratio']:.2f} ({e['low']:.2f}-{e['high']:.2f})" if "ratio" in e else ""
    return f"{name:7} {speeds}{ratio}"


def main() -> None:
    given = arguments()
    for size in given.sizes.split(","):
        for form in given.forms.split(","):
            for threads in map(int, given.threads.split(",")):
                for name in ("RELAY_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
                    os.environ[name] = str(threads)
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    found = pool.apply(measured, (size, form, threads, given))
                name = f"{size} {form}"
                print(f"{name}, {threads} threads, {given.rounds} rounds")
                print(shown("prompt", found["prompt"]), shown("decode", found["decode"]), sep="\n")
                print(
                    f"share of the bandwidth of a read loop of one thread: {found['share']:.2f}", flush=True
                )
                keep(given.json, f"{name}, threads {threads}", found)


def keep(path: Path, name: str, found: dict[str, Any]) -> None:
    """Put what was found in the place of what was there of it."""
    of = machine()
    found["machine"] = f"{of['processor']}, {of['cores']} cores, {of['vectors']}"
    found["date"] = datetime.now(UTC).date().isoformat()
    kept = json.loads(path.read_text()) if path.exists() else {}
    kept["decode"] = {**kept.get("decode", {}), name: found}
    path.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
