"""Programs compiled for TPUs that are not here: what their devices send each other, and what they need."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from signal import Signals
from tempfile import TemporaryDirectory
from typing import Any

from relay.backend.xla.collectives import Collectives
from relay.backend.xla.exported_file import save_exported
from relay.backend.xla.exporting import ExportedEntry
from relay.diagnostic import fail

LIBTPU = "0.0.52"
"""The version of libtpu that was tried."""


@dataclass(frozen=True, slots=True)
class CompiledEntry:
    """What became of an entry."""

    name: str
    collectives: Collectives
    """What one device sends and receives."""
    flops: float
    """How many operations on floats one device does."""
    argument_bytes: int
    """What the arguments take on one device."""
    temporary_bytes: int
    """What one device needs besides."""

    def __str__(self) -> str:
        memory = f"{self.argument_bytes:,} bytes of arguments, {self.temporary_bytes:,} of temporaries"
        sent = f" ({self.collectives.bytes:,} bytes)" if self.collectives.counts else ""
        return f"@{self.name}: {self.collectives}{sent}; on a device {self.flops:,.0f} flops, {memory}"


@dataclass(frozen=True, slots=True)
class TopologyReport:
    """What became of the entries of a program; `print` shows it."""

    topology: str
    entries: tuple[CompiledEntry, ...]

    def __str__(self) -> str:
        return "\n".join([f"compiled for {self.topology}", *map(str, self.entries)])


def compile_for_topology(entries: Sequence[ExportedEntry], topology: str) -> TopologyReport:
    """What becomes of entries that are exported for TPUs on a topology such as `v5e:2x4`.

    Raises `no-xla` without libtpu, `unknown-target`, `bad-mesh`, and `xla-unsupported` for what its compiler
    does not know, which may end the process that it is in.
    """
    library = library_path()
    for entry in entries:
        if any(not isinstance(d, int) for x in entry.taken.leaves for d in x.shape):
            message = f"`@{entry.name}` is compiled for {topology} where all of its sizes are numbers"
            hint = "give sizes as numbers: `sizes={…}`, or `--size NAME=NUMBER`"
            fail("xla-unsupported", message, hint=hint)
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "program.rlx")
        save_exported(entries, path)
        said = said_by_compiler(path, topology, library)
    return TopologyReport(topology, tuple([entry_of(e, topology, entries) for e in said["entries"]]))


def library_path() -> str:
    """Where libtpu is (`no-xla`)."""
    spec = find_spec("libtpu")
    if spec is None or spec.origin is None:
        message = "programs are compiled for TPUs that are not here by libtpu, which is not installed"
        fail("no-xla", message, hint=f"pip install --no-deps libtpu=={LIBTPU}")
    return str(Path(spec.origin).parent / "libtpu.so")


def said_by_compiler(path: str, topology: str, library: str) -> dict[str, Any]:
    """What the process prints that compiles a file (`unknown-target`, `xla-unsupported`)."""
    settings = {
        "JAX_PLATFORMS": "cpu",
        "TPU_LIBRARY_PATH": library,
        "TPU_SKIP_MDS_QUERY": "1",
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    }
    command = [sys.executable, "-m", "relay.backend.xla.ahead", path, topology]
    around = {**os.environ, **settings}
    done = subprocess.run(command, env=around, capture_output=True, text=True, check=False)
    if done.returncode:
        ended = Signals(-done.returncode).name if done.returncode < 0 else f"status {done.returncode}"
        reason = f"the compiler for {topology} does not know something in the program, and ended: {ended}"
        fail("xla-unsupported", reason, hint=last_words(done.stderr))
    said = json.loads(done.stdout.splitlines()[-1])
    if "topology" in said:
        hint = f"it is written like v5e:2x4 ({said['topology']})"
        fail("unknown-target", f"there is no topology `{topology}`", hint=hint)
    if "refused" in said:
        hint = "write the program without it"
        fail("xla-unsupported", f"the compiler for {topology} says: {said['refused']}", hint=hint)
    return said


def last_words(text: str) -> str:
    """What a process that failed said about that."""
    lines = [line for line in text.splitlines() if " F0" in f" {line}" or "Check failed" in line]
    return (lines or text.splitlines() or ["it said nothing"])[-1][:200]


def entry_of(said: Mapping[str, Any], topology: str, entries: Sequence[ExportedEntry]) -> CompiledEntry:
    """What became of an entry (`bad-mesh`)."""
    name = said["name"]
    if "there" in said:
        message = f"the mesh of `@{name}` has {said['devices']} devices, and {topology} has {said['there']}"
        sharding = next(e.sharding for e in entries if e.name == name)
        fail("bad-mesh", message, sharding and sharding.span, hint="a mesh has at most the devices there are")
    found = Collectives(said["collectives"], said["collective_bytes"])
    return CompiledEntry(name, found, said["flops"], said["argument_bytes"], said["temporary_bytes"])
