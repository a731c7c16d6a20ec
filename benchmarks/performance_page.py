"""`docs/performance.md` and its picture, from what the benchmarks have found.

python benchmarks/performance_page.py [--json performance.json]
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peer_systems import SYSTEMS
from peers import JSON

DOCS = Path(__file__).parent.parent / "docs"

HEAD = """# Performance

Relay's native backend beside other systems on the same machine. The page is written by
`benchmarks/performance_page.py` from `benchmarks/performance.json`, which the benchmarks fill; all of its
figures are of one machine, and ratios are what carries over to others. A ratio meets its bar
when the lower end of its interval does.

```text
pip install 'relay-ir[bench]'
python benchmarks/peers.py          # models, beside ONNX Runtime, OpenVINO, PyTorch, inductor and JAX
python benchmarks/digits.py         # an epoch of examples/train_digits.py, beside PyTorch
python benchmarks/costs.py          # calls, compile times, memory
python benchmarks/control.py        # recursion, loops, trees and lists, beside C and CPython
python benchmarks/kernels.py        # products and convolutions by themselves, shares of the machine's peak
python benchmarks/loops.py          # loops without products
python benchmarks/performance_page.py
```
"""

MODELS = """
## Models

The same weights and inputs in each system, all at their best settings: ONNX Runtime with every
optimisation and bound inputs where that is quicker, OpenVINO for latency with float32 pinned, PyTorch in
inference mode with channels last, inductor with frozen weights, JAX by `jit`. ONNX Runtime and OpenVINO
read what `to_onnx` writes (the LSTM is ONNX's own operator). Each system has a process of its own; they
take turns, 30 rounds or more, and the ratio is that of the best peer's time to Relay's within a round:
the median, and in brackets its 95% bootstrap interval. Times are in milliseconds, the median and the least;
the ratio of the least times is what is left when others on the machine disturb neither. A dash is a system
that was not measured.

The machine had next to nothing else to do. Threads that have worked spin a while before they sleep (those of
ONNX Runtime for 60 ms), so the next system's turn begins when they sleep.
"""

KERNELS = """
## Products and convolutions by themselves

GFLOP/s with float32, beside oneDNN itself (the wheel with GNU OpenMP, version 3.2, in the layouts that it
likes best) and PyTorch in the better of its layouts. Operations are those of all taps, also where Winograd's
way needs fewer, so that these may exceed the peak: what tiles reach on operands that stay in the first cache.
Convolutions, `taps channels-filters@side/stride`, have a bias and an activation.
"""


def page(data: dict[str, Any]) -> str:
    """The page."""
    parts = [HEAD, environment(data.get("machine", {}))]
    models = data.get("models", [])
    if models:
        parts.append(MODELS)
        parts += [models_table([e for e in models if e["threads"] == n], n) for n in (2, 1)]
        parts += [failures(models), "\n![Ratios of the best peer's time to Relay's](performance.png)\n"]
    if "digits" in data:
        parts.append(digits_table(data["digits"]))
    if "calls" in data:
        parts.append(calls_table(data["calls"]))
    if "control" in data:
        parts.append(control_table(data["control"]))
    if "compile" in data:
        parts.append(compile_table(data["compile"]))
    if "memory" in data:
        parts.append(memory_table(data["memory"]))
    if "kernels" in data:
        parts.append(KERNELS)
        parts += [kernels_table([e for e in data["kernels"] if e["threads"] == n], n) for n in (2, 1)]
    return "".join(parts)


def environment(machine: dict[str, Any]) -> str:
    """What it was measured on."""
    if not machine:
        return ""
    packages = ", ".join([f"{name} {number}" for name, number in machine["packages"].items()])
    cores = f"{machine['cores']} cores, {machine['vectors']}"
    software = f"{machine['system']}, Python {machine['python']}; {packages}"
    return f"\nMachine: {machine['processor']}, {cores}; {software}.\n"


def row(cells: Sequence[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |\n"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    return row(heads) + "|---" * len(heads) + "|\n" + "".join(map(row, rows))


def models_table(entries: Sequence[Any], threads: int) -> str:
    """The models on some threads."""
    if not entries:
        return ""
    systems = [s for s in SYSTEMS if any("median" in e["systems"].get(s, {}) for e in entries)]
    heads = ["model", *systems, "best peer / Relay", "by least times", "bar", "meets it", "date"]
    rows: list[list[str]] = []
    for e in entries:
        times = [milliseconds(e["systems"].get(s, {})) for s in systems]
        gap, good, least = "-", "-", "-"
        if "ratio" in e:
            gap, good = (
                f"{e['ratio']:.2f} ({e['low']:.2f}-{e['high']:.2f})",
                "yes" if e["low"] >= e["bar"] else "no",
            )
            least = f"{least_of_peers(e) / e['systems']['Relay']['least']:.2f}"
        rows.append([e["model"], *times, gap, least, f"{e['bar']:.2f}", good, e["date"]])
    return f"\n{on_threads(threads)}\n\n{table(heads, rows)}"


def least_of_peers(e: dict[str, Any]) -> float:
    """The least seconds that any peer took in any round."""
    return min([s["least"] for name, s in e["systems"].items() if name != "Relay" and "least" in s])


def milliseconds(system: dict[str, Any]) -> str:
    """The median and the least time, or a dash."""
    if "median" not in system:
        return "-"
    return f"{1e3 * system['median']:.3g} / {1e3 * system['least']:.3g}"


def answer(good: bool) -> str:
    """Yes or no."""
    return "yes" if good else "no"


def failures(entries: Sequence[Any]) -> str:
    """What did not run, and why."""
    lines = [
        f"- {e['model']} on {e['threads']}: {system}: `{s['failed']}`\n"
        for e in entries
        for system, s in e["systems"].items()
        if "failed" in s
    ]
    return "\nWhat did not run:\n\n" + "".join(lines) if lines else ""


def digits_table(found: dict[str, Any]) -> str:
    """Training the example."""
    rows: list[list[str]] = []
    for threads, e in found.items():
        r = e["ratios"]["PyTorch"]
        times = [f"{1e3 * e['seconds'][system]:.1f}" for system in ("Relay", "PyTorch")]
        rows.append([threads, *times, f"{r['ratio']:.2f} ({r['low']:.2f}-{r['high']:.2f})", e["date"]])
    heads = ["threads", "Relay, ms", "PyTorch, ms", "PyTorch / Relay", "date"]
    return f"\n## An epoch of `examples/train_digits.py`\n\n{table(heads, rows)}"


def calls_table(calls: dict[str, Any]) -> str:
    """What calls cost."""
    rows = [
        [name, *[f"{e[s]:.0f}" for s in ("Relay", "NumPy", "PyTorch", "JAX")], str(e["bar"]),
         answer(e["Relay"] <= e["bar"])]
        for name, e in calls.items()
    ]  # fmt: skip
    heads = ["nanoseconds of a call", "Relay", "NumPy", "PyTorch", "JAX", "bar", "meets it"]
    return f"\n## Calls\n\n{table(heads, rows)}"


def kernels_table(entries: Sequence[Any], threads: int) -> str:
    """The kernels on some threads."""
    if not entries:
        return ""
    heads = [
        "kernel",
        "Relay",
        "of the peak",
        "oneDNN",
        "PyTorch",
        "oneDNN / Relay",
        "bar",
        "meets it",
        "date",
    ]
    rows: list[list[str]] = []
    for e in entries:
        speeds, r, bar = e["speeds"], e["ratios"]["oneDNN"], e["bar"]
        rows.append([
            e["name"], f"{speeds['Relay']:.0f}", f"{speeds['Relay'] / e['peak']:.2f}",
            f"{speeds['oneDNN']:.0f}",
            f"{max([v for name, v in speeds.items() if name.startswith('PyTorch')]):.0f}",
            f"{r['ratio']:.2f} ({r['low']:.2f}-{r['high']:.2f})",
            "" if bar is None else f"{bar:.2f}", "" if bar is None else answer(r["low"] >= bar), e["date"],
        ])  # fmt: skip
    return f"\n{on_threads(threads)}\n\n{table(heads, rows)}"


def on_threads(n: int) -> str:
    """The heading of a table."""
    return f"### On {n} thread{'s' if n > 1 else ''}"


CONTROL = """
## Recursion, loops and data types

On one thread, beside C (`-O3 -march=native`, sources in `benchmarks/c`), PyTorch eager, cells that JAX has
compiled, and the same functions over pairs in CPython. Microseconds of a call, and in brackets the peer's
time by Relay's: the median of the rounds and its interval. Relay's tree is grown in each call from the rows
of a matrix; C's stands in memory.
"""


def control_table(cases: dict[str, Any]) -> str:
    """Programs that are not made of tensors."""
    rows: list[list[str]] = []
    for name, case in cases.items():
        peers = [
            f"{peer} {case['seconds'][peer] * 1e6:,.4g} ({r['ratio']:.2f}, {r['low']:.2f}-{r['high']:.2f})"
            for peer, r in case["ratios"].items()
        ]
        rows.append([name, f"{case['seconds']['Relay'] * 1e6:,.4g}", "; ".join(peers)])
    return f"{CONTROL}\n{table(['program', 'Relay', 'peers'], rows)}"


COMPILE = """
## Compile time

Seconds of `relay.build` in a new process, imports included: of a program that the cache does not have
(cold), of one that it has (warm), and with an empty cache, where the runtime that all programs share is
compiled too (first). Memory is the most that the process had at once.
"""


def compile_table(times: dict[str, Any]) -> str:
    """What compiling takes."""
    rows = [
        [
            name,
            f"{e['cold']:.2f}",
            f"{e['bar']:.1f}" if e["bar"] else "",
            answer(e["cold"] <= e["bar"]) if e["bar"] else "",
            f"{e['warm']:.2f}",
            f"{e['first']:.2f}",
            f"{e['peak'] / 1e6:.0f}",
        ]
        for name, e in times.items()
    ]
    return COMPILE + "\n" + table(["seconds", "cold", "bar", "meets it", "warm", "first", "MB"], rows)


MEMORY = """
## Memory of a program

What the compiled ResNet-50 holds when it has been called: its constants, weights as kernels read them, and
the most that tensors took at once. The least is the weights, and the tensors that have to be there at the
same time: operands and results of each group of operators.
"""


def memory_table(found: dict[str, Any]) -> str:
    """What a program takes of memory."""
    kinds = ("constants", "tensors", "weights", "least")
    rows = [
        [f"ResNet-50 {name}", *[f"{e[k] / 1e6:.1f}" for k in kinds], f"{e['ratio']:.2f}", f"{e['bar']:.1f}"]
        for name, e in found.items()
    ]
    heads = ["MB", "constants", "tensors", "weights", "least of tensors", "times the least", "bar"]
    return MEMORY + "\n" + table(heads, rows)


def draw(entries: Sequence[Any], path: Path) -> None:
    """The ratios with their intervals and bars, as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    entries = [e for e in entries if "ratio" in e]
    names = list(dict.fromkeys([e["model"] for e in entries]))
    figure, axes = plt.subplots(figsize=(8, 0.6 * len(names) + 1.2))
    for shift, threads, colour in ((-0.15, 1, "tab:blue"), (0.15, 2, "tab:orange")):
        for e in entries:
            if e["threads"] == threads:
                y = names.index(e["model"]) + shift
                axes.plot([e["low"], e["high"]], [y, y], color=colour)
                axes.plot(e["ratio"], y, "o", color=colour)
                axes.plot(e["bar"], y, "|", color="black", markersize=9)
        axes.plot([], [], "o-", color=colour, label=f"{threads} thread{'s' if threads > 1 else ''}")
    axes.plot([], [], "|", color="black", label="bar")
    axes.axvline(1, color="grey", linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("time of the best peer / time of Relay")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, default=JSON)
    args = parser.parse_args()
    data = json.loads(args.json.read_text())
    (DOCS / "performance.md").write_text(page(data))
    if data.get("models"):
        draw(data["models"], DOCS / "performance.png")


if __name__ == "__main__":
    main()
