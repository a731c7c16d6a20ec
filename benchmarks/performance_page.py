"""`docs/performance.md`, its picture and the README's table, from what the benchmarks have found.

python benchmarks/performance_page.py [--json performance.json]
"""

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peer_systems import SYSTEMS
from peers import JSON

ROOT = Path(__file__).parent.parent
DOCS, README = ROOT / "docs", ROOT / "README.md"
SHORT = ("MLP, batch 1", "LSTM 512, 64 steps", "ResNet-18", "ResNet-50", "MobileNetV2",
         "BERT-base, 128 tokens", "GPT-2 small, 64 tokens", "training: ResNet-18, batch 4")  # fmt: skip
"""The models of the README's table."""
TABLE = re.compile(r"(?<=<!-- speed -->\n\n).*?(?=\n\n)", re.DOTALL)
"""The table's place in the README."""

HEAD = """# Performance

Relay's native backend compared with other systems on the same machine. `benchmarks/performance_page.py`
writes the page from `benchmarks/performance.json`, which the benchmarks fill. All figures are from one
machine; only ratios carry over to others. A ratio meets its bar if the lower end of its interval does.

```text
pip install 'relay-ir[bench]'
python benchmarks/peers.py          # models, compared with ONNX Runtime, OpenVINO, PyTorch, inductor and JAX
python benchmarks/digits.py         # an epoch of examples/train_digits.py, compared with PyTorch
python benchmarks/trees.py          # programs over trees, compared with PyTorch by levels and JAX
python benchmarks/batching.py       # gradients of each example and Hessians, compared with JAX
python benchmarks/torch_compile.py  # torch.compile, compared with inductor and eager mode
python benchmarks/other_compilers.py  # ResNet-18 with regions in oneDNN and in ONNX Runtime
python benchmarks/text.py           # a step of examples/train_text.py, compared with PyTorch
python benchmarks/decode.py         # language models, compared with llama.cpp
python benchmarks/serve.py          # relay serve, its models compared with those of ONNX Runtime
python benchmarks/c_library.py      # libraries for C: start-up, size, and calls compared with Python's
python benchmarks/costs.py          # calls, compile times, memory
python benchmarks/control.py        # recursion, loops, trees and lists, compared with C and CPython
python benchmarks/kernels.py        # single products and convolutions, as fractions of the machine's peak
python benchmarks/loops.py          # loops without products
python benchmarks/performance_page.py
```
"""

MODELS = """
## Models

Each system has the same weights and inputs and its best settings: ONNX Runtime with all optimisations and
bound inputs where that is faster, OpenVINO in latency mode with float32 precision, PyTorch in inference
mode with channels last, inductor with frozen weights, JAX with `jit`. ONNX Runtime and OpenVINO run the
output of `to_onnx` (the LSTM is ONNX's operator). Each system runs in its own process; they alternate for
at least 30 rounds. The ratio is the best peer's time divided by Relay's within a round: the median, and in
brackets its 95% bootstrap interval. Times are in milliseconds, median / minimum; the ratio of the minimum
times is least affected by other load on the machine. A dash is a system that was not measured.

The machine was otherwise nearly idle. Worker threads spin for a while before they sleep (those of ONNX
Runtime for 60 ms), so the next system starts only when they sleep.
"""

TORCH_WAYS = ("Relay", "Relay, frozen", "inductor", "eager")
TORCH_COMPILE = """
## torch.compile

`torch.compile(model, backend="relay")` beside inductor and eager mode, on models of torchvision (a picture of
224 by 224) and transformers (six layers of width 384, two texts of 128 tokens), weights random, 2 threads, by
`benchmarks/torch_compile.py`: milliseconds of a call, and the time of a peer divided by Relay's in the same
round, the median of 11 rounds and its 95% interval. Parameters are arguments of the program, as inductor has
them by default; frozen is `options={"freeze": True}`. Every model is one graph, compiled as a whole, and one
forward and one backward graph with derivatives (in evaluation mode). swin_t and densenet121 were checked and
not measured. Compile time is that of the first call, with empty caches. The machine, an AMD EPYC (2 cores,
avx512), was busy; the benchmark ran with real-time priority.
"""

OTHER_COMPILERS = """
## Regions of other compilers

[Parts of a program that another compiler takes](other-compilers.md), by `benchmarks/other_compilers.py`:
ResNet-18 on a picture of 224 by 224, float32, 2 threads, with its convolutions and its dense layer in oneDNN
(`examples/onednn.py`, by `ctypes`), and with all but the softmax in ONNX Runtime
(`examples/onnx_runtime.py`). The ratio is the time of Relay alone divided by that with regions in the same
round, the median and its 95% interval; results are equal within 1e-5 of the greatest value. The machine was
busy; the benchmark ran with real-time priority.
"""

QUANTISED = """
## Quantised models

By `benchmarks/quantized.py` on an AMD EPYC (Zen 3, 2 cores, AVX2 without VNNI), weights random, batch
normalisation by measured statistics: the better peer's time divided by Relay's, the median of 12 rounds and
its interval, with how far each result is from what the model says, which is exact arithmetic.

| | 1 thread | 2 threads | better peer | Relay is off by | ONNX Runtime | OpenVINO |
|---|---|---|---|---|---|---|
| ResNet-50 | 0.84 (0.62-0.90) | 0.83 (0.81-0.85) | ONNX Runtime, OpenVINO | 0.1 | 0.2 | 0.4 |
| MobileNetV2 | 0.81 (0.73-0.93) | 0.94 (0.93-0.96) | OpenVINO, ONNX Runtime | 0.04 | 0.3 | 0.3 |
| BERT-base, 128 tokens | 0.92 (0.91-1.09) | 1.05 (1.02-1.12) | ONNX Runtime | 0.1 | 0.6 | 0.5 |
| speech, dynamic int8 | 1.01 (0.95-1.10) | 1.11 (1.09-1.12) | ONNX Runtime | 0.2 | 0.0 | 0.2 |

Without VNNI, peers add up two products in 16 bits, which saturate, so their results may differ from what the
model says. A loop in C over operands in the first cache does 95 billion products a second that way, and 79
with `vpmaddwd`, which is exact and which Relay uses: 0.83 is what layers of 1 by 1 taps could reach there.
It is not all that is missing: Relay's networks do about 65 billion. Windows of 3 by 3 taps with steps are
gathered first, depthwise windows of MobileNetV2 are computed in float32, which takes 1.5 ms of its 8, and so
are the convolutions beside residual units.
With weights from -64 to 64 (`reduce_range=True`) sums of two fit in 16 bits, and Relay adds them up so too,
exactly: such a ResNet-50 took 70.6 ms, and 83.9 with `vpmaddwd` (1.18 times as long, 1.16-1.20); ONNX
Runtime's time was 0.93 (0.92-0.97) of the former, in 30 rounds beside other work.
"""

KERNELS = """
## Single products and convolutions

GFLOP/s in float32, compared with oneDNN (the wheel with GNU OpenMP, version 3.2, in its preferred layouts)
and PyTorch in the better of its layouts. Operations are counted as for direct convolution, so Winograd's
algorithm, which needs fewer, may exceed the peak. The peak is the speed of the inner tile on operands in
the L1 cache. Convolutions, `taps channels-filters@side/stride`, have a bias and an activation.
"""


TEXT = """A transformer of two blocks of width 64, 16 rows of 64 characters a step, from the same weights on
the same batches. The losses are the mean of the last 20 of 300 steps, Relay's and the peer's.
"""


WIDE_TEXT = """The same with four blocks of width 384, 4 rows of 128 characters a step, and the mean losses
of 20 steps (`--wide --steps 20`), on an AMD EPYC (Zen 3, 2 cores, AVX2):
"""


TREES = """Relay finds what nodes have in common while it runs (`batch="dynamic"`); PyTorch and JAX get the
nodes of each level before the clock starts, JAX those of each tree padded to the most of any tree. In
brackets the peer's time divided by Relay's. Measured on an AMD EPYC, 2 cores, avx512.
"""
BATCHING = """Gradients of each example are `vmap` of a gradient, Hessians `vmap` of a tangent of one; JAX
compiles the same with `jit`. Measured on an AMD EPYC, 2 cores, avx512.
"""


DECODE = """Tokens a second of models of random weights (`135m` is SmolLM2's shape, `0.5b` Qwen2.5's), Relay
beside llama.cpp on the same GGUF file, and how many times as fast Relay is. Data is rounded to 8 bits
before it is multiplied with blocks, as llama.cpp does it. Share is the time of a loop of one thread that
reads as many bytes, divided by that of a token. The machine of this table is in its last column.
"""

SERVE = """
## Serving

[`relay serve`](serving.md) with models of Relay, and the same server with models of ONNX Runtime, by
`benchmarks/serve.py`: each in a process of its own, clients in a third one, all on one machine and on the
loopback address. A client sends one row as bytes, waits for the answer, and sends the next; requests that
wait are joined along the first axis by both, at most {max_batch} in one call, {instances} call at a time.
Requests a second, and the latency in milliseconds at the middle and at the 99th percentile; the last column
is Relay's requests a second divided by ONNX Runtime's in the same round, the median of 5 to 7 rounds and
its 95% interval. Server and clients share the cores. Measured on {machine}, {date},
with real-time priority beside other work.

Relay is ahead where its calls are. "Not joined" is ResNet-18 for one image, with requests that are not
joined: as many images a second, since machine code computes the convolutions of an open batch image by
image. The MLP with 64 clients on two threads is behind: the threads of ONNX Runtime spin while they wait,
and are awake when a call of 200 microseconds comes, while Relay's leave the cores to the clients. Without
that (`session.intra_op.allow_spinning=0`, 5 rounds), Relay answered 1.63, 1.08 and 1.05 times as many
requests of 1, 8 and 64 clients.
"""


LIBRARIES = """
## Libraries for C

[Libraries](deploying.md) of `relay compile --emit shared`, by `benchmarks/c_library.py`: milliseconds of a
fresh process of C, the median of {processes} with the library in the system's cache of files, and of {cold}
after it was dropped from there. Loading is `dlopen`. The first call reads the weights, and takes its memory.
Weights are there as kernels read them: of ResNet-18's 47 MB, those of 3 by 3 taps are larger after Winograd.

The longest `create` from disk took {longest} ms, in which the processor worked for {processor} ms at most:
the rest is time in which the code that `create` consists of was read. On a machine that others keep busy, a
process may also wait for its turn: without priority, a `create` of 6.3 ms was seen with 0.03 ms of work.
Measured on {machine}, {date}, with real-time priority beside other work.
"""
LIBRARY_CALLS = """
Microseconds of a call from C, which makes an output and frees it, and of one from Python: the medians of
{rounds} turns each. The last column is Python's time divided by C's in the same round, the median and its 95%
interval. Both run the same machine code.
"""


def page(data: dict[str, Any]) -> str:
    """The page."""
    parts = [HEAD, environment(data.get("machine", {}))]
    models = data.get("models", [])
    if models:
        parts.append(MODELS)
        parts += [models_table([e for e in models if e["threads"] == n], n) for n in (2, 1)]
        parts += [failures(models), "\n![Ratios of the best peer's time to Relay's](performance.png)\n"]
    parts.append(QUANTISED)
    if "torch_compile" in data:
        parts.append(torch_compile_section(data["torch_compile"]))
    if "other_compilers" in data:
        parts.append(other_compilers_section(data["other_compilers"]))
    if "digits" in data:
        parts.append(digits_table(data["digits"]))
    if "text" in data:
        parts.append(text_section(data["text"], data.get("wide text", {})))
    if "trees" in data:
        parts.append(trees_table(data["trees"]))
    if "batching" in data:
        parts.append(batching_table(data["batching"]))
    if "decode" in data:
        parts.append(decode_table(data["decode"]))
    if "serve" in data:
        parts.append(serve_section(data["serve"]))
    if "libraries" in data:
        parts.append(libraries_section(data["libraries"]))
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


def torch_compile_section(entries: Sequence[Any]) -> str:
    """Models by `torch.compile`: in inference, and steps of training."""
    parts = [TORCH_COMPILE]
    for trains, title in ((False, "In inference mode"), (True, "With derivatives")):
        rows: list[list[str]] = []
        for e in (e for e in entries if e["trains"] is trains):
            ways = [way for way in TORCH_WAYS if not (trains and "frozen" in way)]
            times = [f"{1e3 * e[way]['median']:.3g}" for way in ways]
            gaps = [spread(e[way][peer]) for way in ways[:-2] for peer in ("inductor", "eager")]
            seconds = [f"{e[way]['compile']:.1f}" for way in ("Relay", "inductor")]
            rows.append([e["model"], *times, *gaps, *seconds])
        if rows:
            ours = ["Relay"] if trains else ["Relay", "frozen"]
            heads = ["model", *ours, "inductor", "eager"]
            heads += [f"{peer} / {way}" for way in ours for peer in ("inductor", "eager")]
            parts.append(f"\n{title}:\n\n{table([*heads, 'compile: Relay, s', 'inductor, s'], rows)}")
    return "".join(parts)


def other_compilers_section(found: dict[str, Any]) -> str:
    """A network with regions of other compilers, and what a call of a region takes."""
    rows = [
        [e["way"], str(e["regions"]), f"{1e3 * e['seconds']:.1f}", spread(e["ratio"])]
        for e in found["networks"]
    ]
    calls = " and ".join([f"{1e6 * t:.2g} us in {name}" for name, t in found["calls"].items()])
    heads = ["ResNet-18 by", "regions", "ms", "Relay alone / it"]
    return f"{OTHER_COMPILERS}\n{table(heads, rows)}\nA call of a region that does nothing takes {calls}.\n"


def spread(found: dict[str, float]) -> str:
    """A ratio and its interval."""
    return f"{found['ratio']:.2f} ({found['low']:.2f}-{found['high']:.2f})"


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
    heads = ["model", *systems, "best peer / Relay", "by minimum times", "bar", "meets it", "date"]
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


def short_table(entries: Sequence[Any]) -> str:
    """The README's table: medians on 2 threads."""
    systems = ("Relay", "ONNX Runtime", "OpenVINO", "PyTorch")
    rows: list[list[str]] = []
    for e in entries:
        if e["threads"] == 2 and e["model"] in SHORT:
            medians = [e["systems"].get(system, {}).get("median") for system in systems]
            times = ["-" if t is None else f"{1e3 * t:.3g}" for t in medians]
            rows.append([e["model"], *times, f"{e['ratio']:.2f} ({e['low']:.2f}-{e['high']:.2f})"])
    return table(["milliseconds", *systems, "best peer / Relay"], rows).rstrip()


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
    return "\nFailures:\n\n" + "".join(lines) if lines else ""


def digits_table(found: dict[str, Any]) -> str:
    """Training the example."""
    rows: list[list[str]] = []
    for threads, e in found.items():
        r = e["ratios"]["PyTorch"]
        times = [f"{1e3 * e['seconds'][system]:.1f}" for system in ("Relay", "PyTorch")]
        rows.append([threads, *times, f"{r['ratio']:.2f} ({r['low']:.2f}-{r['high']:.2f})", e["date"]])
    heads = ["threads", "Relay, ms", "PyTorch, ms", "PyTorch / Relay", "date"]
    return f"\n## An epoch of `examples/train_digits.py`\n\n{table(heads, rows)}"


def text_section(found: dict[str, Any], wide: dict[str, Any]) -> str:
    """Training the transformer, and a wider one."""
    own = f"\n## A step of `examples/train_text.py`\n\n{TEXT}\n{text_table(found)}"
    return own + (f"\n{WIDE_TEXT}\n{text_table(wide)}" if wide else "")


def text_table(found: dict[str, Any]) -> str:
    """Steps beside the peers', by threads."""
    rows: list[list[str]] = []
    for threads, e in sorted(found.items()):
        for peer, r in e["ratios"].items():
            times = [f"{1e3 * e['seconds'][system]:.1f}" for system in ("Relay", peer)]
            losses = [f"{e['losses'][system]:.3f}" for system in ("Relay", peer)]
            ratio = f"{r['ratio']:.2f} ({r['low']:.2f}-{r['high']:.2f})"
            rows.append([threads, peer, *times, ratio, " / ".join(losses), e["date"]])
    heads = ["threads", "peer", "Relay, ms", "peer, ms", "peer / Relay", "losses", "date"]
    return table(heads, rows)


def trees_table(found: dict[str, Any]) -> str:
    """Programs over trees."""
    rows: list[list[str]] = []
    for name, e in found.items():
        peers = [f"{1e3 * e['seconds'][p]:.2f} ({r['ratio']:.2f}, {r['low']:.2f}-{r['high']:.2f})"
                 for p, r in e["ratios"].items()]  # fmt: skip
        rows.append([name.partition(", threads")[0], str(e["threads"]), f"{1e3 * e['seconds']['Relay']:.2f}",
                     *peers, e["date"]])  # fmt: skip
    peers = list(next(iter(found.values()))["ratios"])
    heads = ["milliseconds", "threads", "Relay, batched", *peers, "date"]
    return f"\n## Programs over trees\n\n{TREES}\n{table(heads, rows)}"


def batching_table(found: dict[str, Any]) -> str:
    """Gradients of each example, and Hessians."""
    rows = [
        [name.partition(", threads")[0], str(e["threads"]),
         *[f"{1e3 * e['seconds'][system]:.3f}" for system in ("Relay", "JAX")],
         f"{e['ratio']:.2f} ({e['low']:.2f}-{e['high']:.2f})", e["date"]]
        for name, e in found.items()
    ]  # fmt: skip
    heads = ["milliseconds", "threads", "Relay", "JAX", "JAX / Relay", "date"]
    return f"\n## `vmap`\n\n{BATCHING}\n{table(heads, rows)}"


def decode_table(found: dict[str, Any]) -> str:
    """Language models."""
    rows: list[list[str]] = []
    for name, e in sorted(found.items()):
        cells = [name.partition(", threads")[0], str(e["threads"])]
        for kind in ("decode", "prompt"):
            d = e[kind]
            cells += [f"{x:.1f}" for x in d["speeds"].values()]
            cells.append(f"{d['ratio']:.2f} ({d['low']:.2f}-{d['high']:.2f})")
        rows.append([*cells, f"{e['share']:.2f}", str(e["rounds"]), e["date"], e["machine"]])
    heads = ["model", "threads", "decode, Relay", "llama.cpp", "Relay / llama.cpp", "prompt, Relay",
             "llama.cpp", "Relay / llama.cpp", "share", "rounds", "date", "machine"]  # fmt: skip
    return f"\n## Language models\n\n{DECODE}\n{table(heads, rows)}"


def serve_section(entries: Sequence[Any]) -> str:
    """Models behind the server."""
    rows: list[list[str]] = []
    for e in entries:
        cells = [
            cell
            for t in e["engines"].values()
            for cell in (f"{t['rate']:.0f}", f"{three_digits(t['p50'])} / {three_digits(t['p99'])}")
        ]
        rows.append([e["model"], str(e["threads"]), str(e["clients"]), *cells, spread(e)])
    engines = [head for engine in entries[0]["engines"] for head in (f"{engine}, requests/s", "p50 / p99")]
    heads = ["model", "threads", "clients", *engines, "Relay / ONNX Runtime"]
    return f"{SERVE.format_map(entries[0])}\n{table(heads, rows)}"


def libraries_section(entries: Sequence[Any]) -> str:
    """Libraries for C: start-up, size and calls."""
    steps = ("load", "create", "first call")
    kinds = {"cached": "", "from disk": "from disk: "}
    starts: list[list[str]] = []
    calls: list[list[str]] = []
    for e in entries:
        times = [three_digits(e[kind][step]["median"]) for kind in kinds for step in steps]
        starts.append([e["model"], f"{e['bytes'] / 1e6:.3g}", *times])
        for n, c in e["calls"].items():
            calls.append([e["model"], n, *[microseconds(c[s]) for s in ("C", "Python")], spread(c)])
    heads = ["program", "library, MB", *[f"{kind}{step}" for kind in kinds.values() for step in steps]]
    cold = [e["from disk"] for e in entries]
    said = entries[0] | {
        "cold": max(1, entries[0]["processes"] // 10),
        "longest": three_digits(max(found["create"]["most"] for found in cold)),
        "processor": three_digits(max(found["create on the processor"]["most"] for found in cold)),
    }
    parts = [LIBRARIES.format_map(said), "\n", table(heads, starts), LIBRARY_CALLS.format_map(said), "\n"]
    return "".join([*parts, table(["program", "threads", "C", "Python", "Python / C"], calls)])


def three_digits(seconds: float) -> str:
    """Milliseconds."""
    return f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:.0f}"


def microseconds(seconds: float) -> str:
    """Microseconds, of which three digits count."""
    found = 1e6 * seconds
    return f"{found:.3g}" if found < 1000 else f"{found:.0f}"


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
        "fraction of peak",
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

On one thread, compared with C (`-O3 -march=native`, sources in `benchmarks/c`), PyTorch eager, cells
compiled by JAX, and the same functions over pairs in CPython. Microseconds per call, and in brackets the
peer's time divided by Relay's: the median of the rounds and its interval. Relay builds the tree in each
call from the rows of a matrix; C's is in memory.
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

Seconds of `relay.build` in a new process, including imports: of a program that is not in the cache (cold),
of one that is (warm), and with an empty cache, where the runtime that all programs share is compiled too
(first). Memory is the peak of the process.
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

The memory of the compiled ResNet-50 after a call: its constants, which are the weights as kernels read
them, and the peak of its tensors. The minimum is the weights and the tensors that must exist at the same
time: the operands and results of each fused group.
"""


def memory_table(found: dict[str, Any]) -> str:
    """What a program takes of memory."""
    kinds = ("constants", "tensors", "weights", "least")
    rows = [
        [f"ResNet-50 {name}", *[f"{e[k] / 1e6:.1f}" for k in kinds], f"{e['ratio']:.2f}", f"{e['bar']:.1f}"]
        for name, e in found.items()
    ]
    heads = ["MB", "constants", "tensors", "weights", "minimum of tensors", "times the minimum", "bar"]
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
        README.write_text(TABLE.sub(short_table(data["models"]), README.read_text()))


if __name__ == "__main__":
    main()
