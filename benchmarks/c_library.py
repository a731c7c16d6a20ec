"""Libraries for C: their size, how long they take to start, and a call beside Python's of the same program.

Start-up is that of fresh processes, with the library in the system's cache of files, or dropped from it.  For
calls, a process of C and this one of Python take turns; what is reported is the time of Python's call divided
by that of C's in the same round: the median, with its 95% bootstrap interval.

    python benchmarks/c_library.py [--models "ResNet-18"] [--threads 1,2] [--processes 200] [--rounds 30]
                                   [--json performance.json]
"""

import argparse
import json
import os
import subprocess
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from peer_models import model
from peers import interval, machine
from rich.console import Console
from rich.table import Table

import relay

SOURCE = Path(__file__).parent / "c" / "library.c"
SMALL = "x + 1, four numbers"
NAMES = (SMALL, "MLP, batch 1", "ResNet-18")
TURN_SECONDS = 0.2
"""How long a turn takes at least."""
PAUSE = 0.02
"""Seconds between turns, in which threads that spin go to sleep."""
STEPS = ("load", "create", "create on the processor", "first call")


def program(name: str) -> tuple[relay.IRModule, dict[str, Any], Any]:
    """A program, its weights, and an input."""
    if name == SMALL:
        return relay.parse("def @main(%x: Tensor[(4,), float32]) { %x + 1f }"), {}, np.ones(4, "float32")
    found = model(name)
    (x,) = found.inputs.values()
    return found.mod, found.params, x


def write(mod: relay.IRModule, params: dict[str, Any], folder: Path) -> None:
    """Write the library, and the program in C that calls it."""
    relay.write_library(mod, folder / "libmodel.so", params=params)
    flags = ["-std=gnu11", "-O2", "-I", str(folder), "-o", str(folder / "library")]
    subprocess.run(["cc", *flags, str(SOURCE), "-ldl"], check=True)


def started(folder: Path, threads: int) -> subprocess.Popen[str]:
    """A process that has the library, and waits for turns."""
    command = [str(folder / "library"), str(folder / "libmodel.so"), str(threads)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def starts(folder: Path, processes: int, is_cached: bool) -> dict[str, Any]:
    """Seconds of each step of fresh processes: the median, the 99th percentile, the most."""
    seen: list[list[float]] = []
    for _ in range(processes):
        if not is_cached:
            drop_from_cache(folder / "libmodel.so")
        said, _ = started(folder, 1).communicate("")
        seen.append([float(word) for word in said.split()])
    columns = dict(zip(STEPS, zip(*seen, strict=True), strict=True))
    return {
        step: {"median": median(times), "p99": float(np.percentile(times, 99)), "most": max(times)}
        for step, times in columns.items()
    }


def drop_from_cache(path: Path) -> None:
    """Let the system forget a file that it has read."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


def calls(folder: Path, built: Any, x: Any, threads: int, rounds: int) -> dict[str, Any]:
    """Seconds of a call from C and from Python, and how many times as long Python's is."""
    process = started(folder, threads)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.readline()

    def of_c(count: int) -> float:
        print(count, file=process.stdin, flush=True)
        return float(process.stdout.readline())

    def of_python(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            built(x)
        return (time.perf_counter() - start) / count

    count = max(1, int(TURN_SECONDS / min(of_c(3), of_c(3))))
    of_python(count), of_c(count)
    times: dict[str, list[float]] = {"C": [], "Python": []}
    for i in range(rounds):
        for name, turn in (("C", of_c), ("Python", of_python))[:: 1 if i % 2 else -1]:
            time.sleep(PAUSE)
            times[name].append(turn(count))
    process.stdin.close()
    process.wait()
    ratios = [p / c for p, c in zip(times["Python"], times["C"], strict=True)]
    return {name: median(found) for name, found in times.items()} | interval(ratios)


def measured(name: str, threads: Sequence[int], processes: int, rounds: int) -> dict[str, Any]:
    """All figures of a program."""
    with TemporaryDirectory(prefix="relay-") as made:
        folder = Path(made)
        mod, params, x = program(name)
        write(mod, params, folder)
        built = {n: relay.build(mod, params=params, threads=n) for n in threads}
        return {
            "model": name,
            "bytes": (folder / "libmodel.so").stat().st_size,
            "cached": starts(folder, processes, True),
            "from disk": starts(folder, max(1, processes // 10), False),
            "calls": {str(n): calls(folder, built[n], x, n, rounds) for n in threads},
            "processes": processes,
            "rounds": rounds,
        }


def show(entries: Sequence[Any]) -> None:
    """Print a table, in milliseconds."""
    table = Table()
    heads = [f"{step}, median / 99% / most" for step in STEPS]
    for head in ("model", "library", "cache", *heads):
        table.add_column(head)
    for e in entries:
        for kind in ("cached", "from disk"):
            cells = [" / ".join([f"{1e3 * v:.3f}" for v in e[kind][step].values()]) for step in STEPS]
            table.add_row(e["model"], f"{e['bytes'] / 1e6:.2f} MB", kind, *cells)
    console = Console()
    console.print(table)
    for e in entries:
        for n, c in e["calls"].items():
            gap = f"{c['ratio']:.3f} ({c['low']:.3f}-{c['high']:.3f})"
            times = f"C {1e3 * c['C']:.5f} ms, Python {1e3 * c['Python']:.5f} ms"
            console.print(f"{e['model']}, {n} threads: {times}, Python / C {gap}")


def main() -> None:
    """Measure, print a table, and write the figures."""
    parser = argparse.ArgumentParser(
        description="Libraries for C beside Python's calls of the same programs."
    )
    parser.add_argument("--models", default="; ".join(NAMES), help="names, with `;` between them")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--processes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    threads = [int(n) for n in args.threads.split(",")]
    names = [name.strip() for name in args.models.split(";")]
    entries = [measured(name, threads, args.processes, args.rounds) for name in names]
    show(entries)
    if args.json is not None:
        save(args.json, entries)


def save(path: Path, entries: Sequence[Any]) -> None:
    """Put entries into the file, in the place of older ones of the same models."""
    about = machine()
    where = {
        "machine": f"{about['processor']}, {about['cores']} cores, {about['vectors']}",
        "date": datetime.now(UTC).date().isoformat(),
    }
    data = json.loads(path.read_text()) if path.exists() else {}
    found = {e["model"]: e for e in data.get("libraries", [])} | {e["model"]: e | where for e in entries}
    data["libraries"] = sorted(found.values(), key=lambda e: NAMES.index(e["model"]))
    path.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
