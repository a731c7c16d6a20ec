"""`torch.compile` with Relay's backend beside inductor's and eager mode, on models with random weights.

Each way has a process of its own, and they take turns; in every round each calls the model for a while, in
inference mode or, with `--train`, with the derivative of the mean square of what the model gives.  What is
shown is the time of a peer divided by Relay's in the same round: the median, with a 95% bootstrap interval.
Results are compared first.  Compile time is that of the first call, with empty caches.  Inductor needs a C++
compiler.

    pip install 'relay-ir[torch,bench]' torchvision transformers
    python benchmarks/torch_compile.py [--models resnet18,BERT] [--threads 2] [--rounds 20] [--train]
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

from peer_systems import environment
from peers import JSON, busy, calls_of_a_turn, interval, pin, settle

TESTS = Path(__file__).parent.parent / "tests"
WAYS = ("Relay", "Relay, frozen", "inductor", "eager")
BINDING = ("OMP_PROC_BIND", "OMP_PLACES")
"""What binds the threads of OpenMP, and with the first of them the process."""
OURS, PEERS = WAYS[:2], WAYS[2:]
TOLERANCE = 2e-4
"""How far results may be apart, of the greatest value."""


def caller(
    model: Any, inputs: dict[str, Any], result: Callable[[Any], Any], trains: bool
) -> Callable[[], Any]:
    """A call of a model, or one with its derivative."""
    import torch

    def infers() -> Any:
        with torch.inference_mode():
            return result(model(**inputs))

    def learns() -> Any:
        model.zero_grad()
        y = result(model(**inputs))
        (y * y).mean().backward()
        return y.detach()

    return learns if trains else infers


def work(pipe: Connection, way: str, threads: int, trains: bool, is_small: bool) -> None:
    """Prepare the models whose names come, and take the turns."""
    sys.path.insert(0, str(TESTS))
    import torch

    from frontend.torch_compile_models import made

    torch.set_num_threads(threads)
    cpus = sorted(os.sched_getaffinity(0))[:threads]
    run: Callable[[], Any] = float
    number = 0
    while message := pipe.recv():
        if message == "turn":
            run()
            start = time.perf_counter()
            for _ in range(number):
                run()
            pipe.send((time.perf_counter() - start) / number)
            continue
        os.sched_setaffinity(0, cpus)
        model, inputs, result = made(message, is_small)
        torch._dynamo.reset()
        if way != "eager":
            options = {"freeze": True} if "frozen" in way else None
            model = torch.compile(model, backend=way.lower().partition(",")[0], options=options)
        run = caller(model, inputs, result, trains)
        start = time.perf_counter()
        found = run()
        seconds = time.perf_counter() - start
        before = busy()
        number = calls_of_a_turn(run)
        if way in OURS:  # OpenMP, which the others use, binds its threads itself
            pin(before, cpus)
        pipe.send((found.float().numpy(), seconds, graphs_of(way)))


def graphs_of(way: str) -> tuple[int, int]:
    """How many graphs Relay was given and compiled."""
    from relay.frontend.torch_compile import forget_graphs, graphs

    records = graphs().records
    forget_graphs()
    return sum(r.is_compiled for r in records), len(records)


def measured(name: str, processes: dict[str, tuple[Any, Any]], rounds: int) -> dict[str, Any]:
    """The figures of a model."""
    answers: dict[str, Any] = {}
    for way, (pipe, _) in processes.items():  # one after another: compiling takes all processors
        pipe.send(name)
        answers[way] = pipe.recv()
    wanted = answers["eager"][0]
    for way in WAYS[:-1]:
        gap = abs(answers[way][0] - wanted).max() / abs(wanted).max()
        assert gap < TOLERANCE, f"{name}: {way} is {gap:.1e} apart"
    times: dict[str, list[float]] = {way: [] for way in processes}
    for i in range(rounds):
        for way in list(processes)[:: 1 if i % 2 else -1]:
            pipe, process = processes[way]
            pipe.send("turn")
            times[way].append(pipe.recv())
            settle(process.pid)
    found: dict[str, Any] = {"model": name, "rounds": rounds, "graphs": answers["Relay"][2]}
    for way in processes:
        found[way] = {"median": median(times[way]), "least": min(times[way]), "compile": answers[way][1]}
    for ours in OURS:
        for peer in PEERS:
            pairs = zip(times[peer], times[ours], strict=True)
            found[ours][peer] = interval([b / a for b, a in pairs])
    return found


def line(entry: dict[str, Any]) -> str:
    """The figures in a line."""
    cells = [f"{entry['model']:20} {entry['graphs'][0]}/{entry['graphs'][1]} graphs"]
    cells += [f"{way} {1e3 * entry[way]['median']:.2f} ms" for way in WAYS]
    for ours in OURS:
        for peer in PEERS:
            found = entry[ours][peer]
            cells.append(f"{peer}/{ours} {found['ratio']:.2f} ({found['low']:.2f}-{found['high']:.2f})")
    cells += [f"compile {way} {entry[way]['compile']:.1f} s" for way in WAYS[:-1]]
    return "; ".join(cells)


def saved(path: Path, entry: dict[str, Any]) -> None:
    """Put an entry into the file, in the place of an older one of the same model, threads and purpose."""
    whole = json.loads(path.read_text())
    key = ("model", "threads", "trains")
    others = [e for e in whole.get("torch_compile", []) if [e[k] for k in key] != [entry[k] for k in key]]
    path.write_text(json.dumps(whole | {"torch_compile": [*others, entry]}, indent=1) + "\n")


def main() -> None:
    sys.path.insert(0, str(TESTS))
    from frontend.torch_compile_models import MODELS, TRAINED

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default="", help="names, with commas between; all by default")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--train", action="store_true", help="with derivatives")
    parser.add_argument("--small", action="store_true", help="the sizes of the tests")
    parser.add_argument("--json", type=Path, default=JSON)
    given = parser.parse_args()
    names = given.models.split(",") if given.models else (TRAINED if given.train else MODELS)
    context = multiprocessing.get_context("spawn")
    processes: dict[str, tuple[Any, Any]] = {}
    with tempfile.TemporaryDirectory() as caches:
        bound = environment(given.threads) | {"TORCHINDUCTOR_CACHE_DIR": caches}
        for way in WAYS:
            pipe, theirs = context.Pipe()
            os.environ.update(bound)
            if way in OURS:  # its threads are bound by `pin`; OpenMP would bind all of them to one core
                for name in BINDING:
                    del os.environ[name]
            arguments = (theirs, way, given.threads, given.train, given.small)
            process = context.Process(target=work, args=arguments, daemon=True)
            process.start()
            processes[way] = (pipe, process)
        for name in names:
            entry = measured(name, processes, given.rounds)
            entry |= {"threads": given.threads, "trains": given.train, "small": given.small}
            print(line(entry), flush=True)
            saved(given.json, entry)
        for pipe, _ in processes.values():
            pipe.send("")


if __name__ == "__main__":
    main()
