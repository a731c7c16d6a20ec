"""Relay beside ONNX Runtime, OpenVINO, PyTorch, inductor and JAX: the same weights and inputs, equal threads.

Each system has a process of its own, and they take turns: in every round each makes a call that is not timed
and then calls for a while; the next turn begins when its threads sleep.  What is reported is the ratio of the
best peer's time to Relay's in the same round: its median, with a 95% bootstrap interval.  Results are
compared before anything is timed.  Peers that need twice the time of the best one after some rounds are timed
no more.

    pip install 'relay-ir[bench]'
    python benchmarks/peers.py [--models "ResNet,MLP"] [--threads 1,2] [--rounds 30] [--peers PyTorch,JAX]
                               [--json performance.json]

The file has one entry for each model and number of threads; a run replaces those that it measures, and
`benchmarks/performance_page.py` makes the page of it.
"""

import argparse
import json
import multiprocessing
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from peer_models import MODELS, model
from peer_systems import PACKAGES, SYSTEMS, Run, environment, results
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

OURS = "Relay"
TURN = 0.02
"""Seconds of calls that are timed in each turn, or one call."""
LOOK = 0.005
"""Seconds between two looks at whether the threads of the last turn sleep."""
PATIENCE = 0.5
"""Seconds after which the next turn begins although they do not: some spin for ever."""
TRIALS = 5
"""Rounds after which peers that are far behind drop out."""
BEHIND = 2.0
TURN_PLEASE = "turn"
READERS = ("ONNX Runtime", "OpenVINO")
"""Systems that run models and train none."""
JSON = Path(__file__).with_name("performance.json")


Prepare = Callable[[str, str, int], Run]
"""Prepares what is measured, by its name, for a system and a number of threads."""


def of_model(name: str, system: str, threads: int) -> Run:
    """A call of a model."""
    return SYSTEMS[system](model(name), threads)


class Worker:
    """A process with one system, for one model after another."""

    def __init__(self, system: str, threads: int, prepare: Prepare = of_model) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        before = dict(os.environ)
        os.environ.update(environment(threads))
        self.process = context.Process(target=work, args=(theirs, system, threads, prepare), daemon=True)
        self.process.start()
        os.environ.clear()
        os.environ.update(before)
        theirs.close()

    def send(self, message: str) -> None:
        """Ask for a turn, or for a model by its name."""
        with suppress(BrokenPipeError):
            self.pipe.send(message)

    def answer(self) -> Any:
        """What the process says: seconds, or results, or how it failed."""
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionResetError):
            return "the process ended"

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.join()


def work(pipe: Connection, system: str, threads: int, prepare: Prepare) -> None:
    """Prepare a model and send its results, or take a turn, as the messages say."""
    cpus = sorted(os.sched_getaffinity(0))
    run, number = None, 0
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            return
        if message == TURN_PLEASE:
            assert run is not None
            run()
            start = time.perf_counter()
            for _ in range(number):
                run()
            pipe.send((time.perf_counter() - start) / number)
            continue
        os.sched_setaffinity(0, cpus[:threads])
        try:
            run = prepare(message, system, threads)
            found = results(run())
            before = busy()
            number = calls_of_a_turn(run)
            pin(before, cpus[:threads])
            pipe.send(found)
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            pipe.send(f"{type(error).__name__}: {lines[0]}")


def settle(process: int | None) -> None:
    """Wait until a process's threads sleep: one that still spins takes a processor from the next turn."""
    end = time.perf_counter() + PATIENCE
    ran = sum(busy(process).values())
    while time.perf_counter() < end:
        time.sleep(LOOK)
        before, ran = ran, sum(busy(process).values())
        if ran - before < 0.02e9 * LOOK:
            return


def busy(process: int | str | None = "self") -> dict[int, int]:
    """Nanoseconds that each thread of a process has run, where the system says so."""
    ran: dict[int, int] = {}
    for task in Path(f"/proc/{process}/task").glob("*"):
        with suppress(OSError):
            ran[int(task.name)] = int((task / "schedstat").read_text().split()[0])
    return ran


def pin(before: dict[int, int], cpus: Sequence[int]) -> None:
    """Give each of the threads that have worked since a processor of its own.

    On a machine that others use too, two of them may end up on one, where each waits for the other's slice.
    """
    spent = {task: ran - before.get(task, 0) for task, ran in busy().items()}
    hardest = sorted(spent, key=lambda task: -spent[task])[: len(cpus)]
    for task, cpu in zip(hardest, cpus, strict=False):
        os.sched_setaffinity(task, {cpu})


def calls_of_a_turn(run: Callable[[], Any]) -> int:
    """How many calls fill a turn."""
    start = time.perf_counter()
    count = 0
    while time.perf_counter() - start < TURN:
        run()
        count += 1
    return count


def prepared(name: str, workers: dict[str, Worker], tolerance: float) -> dict[str, str]:
    """Have every system prepare a model; how those failed that did, or gave another result than the first."""
    for worker in workers.values():
        worker.send(name)
    failed: dict[str, str] = {}
    wanted: list[Any] | None = None
    for system, worker in workers.items():
        answer = worker.answer()
        if isinstance(answer, str):
            failed[system] = answer
            continue
        wanted = answer if wanted is None else wanted
        wrong = difference(answer, wanted, tolerance)
        if wrong:
            failed[system] = wrong
    return failed


def difference(values: list[Any], wanted: list[Any], tolerance: float) -> str:
    """How results differ, if they do: of the greatest absolute value, more than the tolerance."""
    for a, b in zip(values, wanted, strict=True):
        if a.size != b.size:
            return f"another shape: {a.shape}, not {b.shape}"
        gap = abs(a.reshape(b.shape) - b).max() / abs(b).max()
        if not gap <= tolerance:
            return f"another result: {gap:.1e} of the greatest value apart"
    return ""


@contextmanager
def alone() -> Iterator[None]:
    """What surrounds the rounds of a model; a machine with several users can wait here for its turn."""
    yield


def take_rounds(workers: dict[str, Worker], rounds: int, tick: Callable[[], None]) -> dict[str, list[float]]:
    """Seconds of a call of each system, by rounds; the order changes from round to round."""
    times: dict[str, list[float]] = {system: [] for system in workers}
    active = list(workers)
    for i in range(rounds):
        for system in rotated(active, i):
            workers[system].send(TURN_PLEASE)
            times[system].append(workers[system].answer())
            settle(workers[system].process.pid)
        if i + 1 == TRIALS:
            best = min([median(times[s]) for s in active if s != OURS], default=0)
            active = [s for s in active if s == OURS or median(times[s]) <= BEHIND * best]
        tick()
    return times


def rotated(items: list[str], by: int) -> list[str]:
    """The items from another one on."""
    return items[by % len(items) :] + items[: by % len(items)] if items else items


def measured(
    name: str, threads: int, workers: dict[str, Worker], rounds: int, tick: Callable[[], None]
) -> dict[str, Any]:
    """The entry of a model: times of each system, and the ratio to the best peer."""
    if model(name).trains:
        workers = {s: w for s, w in workers.items() if s not in READERS}
    failed = prepared(name, workers, model(name).tolerance)
    with alone():
        times = take_rounds({s: w for s, w in workers.items() if s not in failed}, rounds, tick)
    entry: dict[str, Any] = {
        "model": name, "threads": threads, "bar": model(name).bars[threads - 1], "rounds": rounds,
        "date": datetime.now(UTC).date().isoformat(), "systems": {},
    }  # fmt: skip
    for system in workers:
        t = times.get(system)
        entry["systems"][system] = {"median": median(t), "least": min(t)} if t else {"failed": failed[system]}
    return entry | ratio(times)


def ratio(times: dict[str, list[float]]) -> dict[str, Any]:
    """How many times as fast as the best peer Relay is: the median over rounds and its 95% interval."""
    peers = {s: t for s, t in times.items() if s != OURS}
    if OURS not in times or not peers:
        return {}
    best = min(peers, key=lambda s: median(peers[s]))
    return {"best": best} | interval([b / a for a, b in zip(times[OURS], peers[best], strict=False)])


def interval(ratios: Sequence[float]) -> dict[str, float]:
    """The median of the rounds' ratios, and its 95% bootstrap interval."""
    rng = np.random.default_rng(0)
    medians = np.median(rng.choice(ratios, (10_000, len(ratios))), axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return {"ratio": float(np.median(ratios)), "low": float(low), "high": float(high)}


def installed(package: str) -> tuple[str, str] | None:
    """A package and its version, if it is there."""
    with suppress(PackageNotFoundError):
        return package, version(package)
    return None


def machine() -> dict[str, Any]:
    """What it was measured on."""
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    vectors = [f for f in ("avx512f", "avx2", "neon") if f in flags][:1]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "vectors": vectors[0] if vectors else "",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": dict(filter(None, map(installed, sorted({"numpy", "llvmlite", *PACKAGES.values()})))),
    }


def save(path: Path, entries: Sequence[Any]) -> None:
    """Put entries into the file, in the place of older ones of the same model and threads."""
    before = json.loads(path.read_text()) if path.exists() else {"models": []}
    new = {(e["model"], e["threads"]): e for e in [*before["models"], *entries]}
    order = {name: i for i, name in enumerate(MODELS)}
    models = sorted(new.values(), key=lambda e: (order.get(e["model"], len(order)), e["threads"]))
    path.write_text(json.dumps(before | {"machine": machine(), "models": models}, indent=1) + "\n")


def show(entries: Sequence[Any]) -> None:
    """Print a table, milliseconds by system."""
    table = Table()
    for head in ("model", "threads", *SYSTEMS, "best peer / Relay", "bar"):
        table.add_column(head, justify="left" if head == "model" else "right")
    for e in entries:
        cells = [
            f"{1e3 * s['median']:.3g}" if "median" in (s := e["systems"].get(system, {})) else "-"
            for system in SYSTEMS
        ]
        gap = f"{e['ratio']:.2f} ({e['low']:.2f}-{e['high']:.2f})" if "ratio" in e else "-"
        table.add_row(e["model"], str(e["threads"]), *cells, gap, f"{e['bar']:.2f}")
    console = Console()
    console.print(table)
    for e in entries:
        for system, s in e["systems"].items():
            if "failed" in s:
                console.print(f"{e['model']}, {system}: {s['failed']}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default="", help="parts of names, with commas between")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--peers", default=",".join(SYSTEMS))
    parser.add_argument("--json", type=Path, default=JSON)
    args = parser.parse_args()
    wanted = [part.strip().lower() for part in args.models.split(",")]
    names = [name for name in MODELS if any(part in name.lower() for part in wanted)]
    systems = [OURS, *[s for s in SYSTEMS if s != OURS and s in args.peers.split(",")]]
    threads = [int(t) for t in args.threads.split(",")]
    entries: list[Any] = []
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(names) * len(threads) * args.rounds)
        for count in threads:
            workers = {system: Worker(system, count) for system in systems}
            for name in names:
                progress.update(task, description=f"{name}, threads: {count}")
                entry = measured(name, count, workers, args.rounds, lambda: progress.advance(task))
                entries.append(entry)
                save(args.json, [entry])
            for worker in workers.values():
                worker.stop()
    show(entries)


if __name__ == "__main__":
    main()
