"""Greedy decoding with a cache of keys and values: one Relay program beside `generate` of transformers.

    python benchmarks/generate.py --threads 1 --rounds 15

Both give the same tokens, which is checked.  Rounds take turns; what is shown is the median of their times,
and of the time of `generate` divided by Relay's, with its tenth and ninetieth percentiles.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent.parent / "examples"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--tokens", type=int, default=48, help="after a prompt of 16")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    return parser.parse_args()


def prepared(given: argparse.Namespace) -> tuple[Any, Any]:
    """What decodes by Relay, and by transformers."""
    import torch
    import transformers

    from relay.frontend import from_pytorch

    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=5000, n_embd=given.width, n_layer=given.layers, n_head=given.width // 32, n_positions=128,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).eval()
    prompt = torch.randint(0, 5000, (16,))
    sys.path.insert(0, str(EXAMPLES))
    from gpt2_generate import Greedy

    program = from_pytorch(Greedy(model, 16 + given.tokens).eval(), (prompt,))

    def theirs() -> Any:
        with torch.no_grad():
            return model.generate(prompt[None], max_new_tokens=given.tokens, do_sample=False, pad_token_id=0)[
                0
            ]

    return lambda: program(prompt), theirs


def timed(run: Any) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def main() -> None:
    given = arguments()
    for name in ("RELAY_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(given.threads)
    import numpy as np

    ours, theirs = prepared(given)
    assert ours().tolist() == theirs().tolist(), "both give the same tokens"
    times = np.array([(timed(ours), timed(theirs)) for _ in range(given.rounds)])
    ratios = times[:, 1] / times[:, 0]
    mine, other = np.median(times, axis=0)
    low, middle, high = np.percentile(ratios, [10, 50, 90])
    print(f"{given.tokens} tokens, {given.threads} threads: Relay {mine:.1f} ms, generate {other:.1f} ms")
    print(f"generate's time by Relay's: {middle:.2f} ({low:.2f}-{high:.2f})")


if __name__ == "__main__":
    main()
