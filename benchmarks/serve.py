"""`relay serve` with Relay's models, beside the same server with those of ONNX Runtime.

Each engine has a server in a process of its own; the clients are in this one, all on the loopback address.  A
client sends a request of one row as bytes, waits for the answer, and sends the next.  The servers take turns:
in every round each gets all numbers of clients for a while, and the other one waits.  What is reported is
Relay's requests a second divided by ONNX Runtime's in the same round: the median, with its 95% bootstrap
interval; and the median of the rounds' latencies, at the middle and at the 99th percentile.

    pip install 'relay-ir[bench,serve]'
    python benchmarks/serve.py [--models mlp,resnet18,resnet18-1,encoder] [--clients 1,8,64] [--rounds 7]
                               [--seconds 1] [--threads 2] [--instances 1] [--max-batch 32]
                               [--json performance.json]
"""

import argparse
import asyncio
import json
import multiprocessing
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import uvloop
from peers import interval, machine
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from serve_engines import ENGINES, HOST, SHAPES, TITLES, serve

from relay.serving.settings import Settings

WARM_SHARE = 0.3
"""The part of a turn that comes before what is measured."""
ANSWERS = 4
"""How many each client gets in a turn at least, so that calls of many requests are seen several times."""
PAUSE = 0.1
"""Seconds between turns, in which threads that spin go to sleep."""
START_SECONDS, STOP_SECONDS = 300, 30


class Client(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    def __init__(self, request: bytes, seen: list[tuple[float, float]]) -> None:
        self.request = request
        self.seen = seen
        self.received = bytearray()
        self.size = 0
        self.sent = 0.0
        self.is_stopping = False
        self.done = asyncio.get_running_loop().create_future()
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self.transport = transport
        self.send()

    def send(self) -> None:
        """Send the request."""
        self.received.clear()
        self.size = 0
        self.sent = time.perf_counter()
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        """Read an answer; when it is whole, note when it came and how long it took."""
        self.received += data
        if not self.size:
            end = self.received.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self.received[:end]).lower()
            if not head.startswith(b"http/1.1 200"):
                self.done.set_exception(RuntimeError(bytes(self.received[:400]).decode()))
                self.transport.close()
                return
            self.size = end + 4 + int(head.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0])
        if len(self.received) < self.size:
            return
        now = time.perf_counter()
        self.seen.append((now, now - self.sent))
        if self.is_stopping:
            self.transport.close()
            self.done.set_result(None)
        else:
            self.send()


async def turn(port: int, request: bytes, clients: int, seconds: float) -> dict[str, float]:
    """Requests a second, and latencies in seconds, of so many clients at once."""
    loop = asyncio.get_running_loop()
    seen: list[tuple[float, float]] = []
    begin = time.perf_counter()
    made = [Client(request, seen) for _ in range(clients)]
    for client in made:
        await loop.create_connection(lambda client=client: client, HOST, port)
    await asyncio.sleep(seconds)
    while len(seen) < ANSWERS * clients and time.perf_counter() - begin < 20 * seconds:
        await asyncio.sleep(seconds / 4)
    for client in made:
        client.is_stopping = True
    counted = list(seen)
    await asyncio.gather(*[client.done for client in made])
    warm = begin + WARM_SHARE * (counted[-1][0] - begin)
    at, took = np.array([one for one in counted if one[0] >= warm]).T
    rate = np.polyfit(at - at[0], np.arange(len(at)), 1)[0]  # a slope: answers come in bursts
    p50, p99 = np.percentile(took, [50, 99])
    return {"rate": float(rate), "p50": float(p50), "p99": float(p99)}


def request_of(name: str) -> bytes:
    """A request of one row."""
    x = np.random.default_rng(0).standard_normal(SHAPES[name]).astype("float32")
    given = {"name": "data", "datatype": "FP32", "shape": x.shape}
    given["parameters"] = {"binary_data_size": x.nbytes}
    head = json.dumps({"inputs": [given], "parameters": {"binary_data_output": True}}).encode()
    lines = (
        f"POST /v2/models/{name}/infer HTTP/1.1",
        f"Host: {HOST}",
        f"Inference-Header-Content-Length: {len(head)}",
        f"Content-Length: {len(head) + x.nbytes}",
    )
    return "\r\n".join([*lines, "", ""]).encode() + head + x.tobytes()


def measured(
    ports: dict[str, int], name: str, clients: Sequence[int], rounds: int, seconds: float, tick: Any
) -> list[dict[str, Any]]:
    """The entries of a model, one for each number of clients."""
    request = request_of(name)
    found: dict[int, dict[str, list[Any]]] = {n: {engine: [] for engine in ports} for n in clients}
    for i in range(rounds):
        for n in clients:
            for engine in list(ports) if i % 2 == 0 else reversed(ports):
                found[n][engine].append(uvloop.run(turn(ports[engine], request, n, seconds)))
                time.sleep(PAUSE)
                tick()
    entries: list[dict[str, Any]] = []
    for n, by_engine in found.items():
        ours, theirs = (by_engine[engine] for engine in ENGINES)
        ratios = [a["rate"] / b["rate"] for a, b in zip(ours, theirs, strict=True)]
        times = {
            engine: {key: median([turn[key] for turn in turns]) for key in ("rate", "p50", "p99")}
            for engine, turns in by_engine.items()
        }
        entries.append({"model": TITLES[name], "clients": n, "engines": times} | interval(ratios))
    return entries


def show(entries: Sequence[Any]) -> None:
    """Print a table."""
    table = Table()
    engines = [f"{engine}: requests/s, p50, p99 in ms" for engine in ENGINES]
    for head in ("model", "clients", *engines, "Relay / ONNX Runtime"):
        table.add_column(head)
    for e in entries:
        cells = [
            f"{t['rate']:.0f}, {1e3 * t['p50']:.2f}, {1e3 * t['p99']:.2f}" for t in e["engines"].values()
        ]
        table.add_row(
            e["model"], str(e["clients"]), *cells, f"{e['ratio']:.2f} ({e['low']:.2f}-{e['high']:.2f})"
        )
    Console().print(table)


def main() -> None:
    """Measure, print a table, and write the figures."""
    parser = argparse.ArgumentParser(description="Relay's models and ONNX Runtime's behind relay serve.")
    parser.add_argument("--models", default=",".join(SHAPES))
    parser.add_argument("--clients", default="1,8,64")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--instances", type=int, default=1)
    parser.add_argument("--max-batch", type=int, default=Settings().max_batch)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    names, clients = args.models.split(","), [int(n) for n in args.clients.split(",")]
    settings = Settings(instances=args.instances, max_batch=args.max_batch)
    context = multiprocessing.get_context("spawn")
    processes: list[Any] = []
    ports: dict[str, int] = {}
    try:
        for engine in ENGINES:
            ours, theirs = context.Pipe()
            process = context.Process(target=serve, args=(theirs, engine, names, args.threads, settings))
            process.start()
            processes.append(process)
            if not ours.poll(START_SECONDS):
                raise TimeoutError(f"the server with {engine} has not started")
            ports[engine] = ours.recv()
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        entries: list[Any] = []
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            for name in names:
                task = bar.add_task(name, total=2 * args.rounds * len(clients))
                entries += measured(
                    ports, name, clients, args.rounds, args.seconds, lambda task=task: bar.advance(task)
                )
    finally:
        for process in processes:
            process.terminate()
            process.join(STOP_SECONDS)
            process.kill()
    show(entries)
    if args.json is not None:
        save(args.json, entries, args)


def save(path: Path, entries: Sequence[Any], args: Any) -> None:
    """Put entries into the file, in the place of older ones of the same model, threads and clients."""
    about = machine()
    where = {
        "machine": f"{about['processor']}, {about['cores']} cores, {about['vectors']}",
        "date": datetime.now(UTC).date().isoformat(),
        "rounds": args.rounds,
        "threads": args.threads,
        "instances": args.instances,
        "max_batch": args.max_batch,
    }
    data = json.loads(path.read_text()) if path.exists() else {}
    found = {key_of(e): e for e in data.get("serve", [])}
    found |= {key_of(e): e for e in [e | where for e in entries]}
    data["serve"] = [found[key] for key in sorted(found)]
    path.write_text(json.dumps(data, indent=1) + "\n")


def key_of(e: dict[str, Any]) -> tuple[int, int, int]:
    """What an entry is of: the place of its model, threads, clients."""
    return list(TITLES.values()).index(e["model"]), e["threads"], e["clients"]


if __name__ == "__main__":
    main()
