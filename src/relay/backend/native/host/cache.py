"""The on-disk cache of compiled programs.

The key of an entry is a digest of everything that its code depends on: the definitions with their constants
and spans, the version of this package, the processor, the options.  Entries are written to a temporary file
and renamed, so that processes may share a folder; damaged entries, and those of other users, are ignored.
When the folder grows beyond `MAX_CACHE_BYTES`, the least recently used entries are removed.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from relay.backend.native.host.artefact import Artefact, read_artefact, version, write_artefacts
from relay.backend.native.llvm import jit
from relay.backend.native.runtime.cache_folder import is_private, package_key, usable_cache, write_entry
from relay.backend.native.runtime.digests import digests
from relay.diagnostic import RelayError
from relay.ir.expr import Expr, GlobalVar, Op
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.op.registry import registry
from relay.transform.rewriting.context import PassContext

if TYPE_CHECKING:
    from relay.backend.native.host.profile import InstrumentedProgram

MAX_CACHE_BYTES = 4 << 30
"""Bytes of all entries; a program that takes more than half of it is not stored."""


def compile_cached(
    mod: IRModule,
    entries: Sequence[str],
    level: int | None = None,
    use: bool = True,
    precision: str | None = None,
) -> Artefact:
    """A module compiled, now or before, in a precision, after passes of at most a level (`no-native-code`).

    Where the context has instruments it is compiled now, so that they see the passes.
    """
    folder = usable_cache() if use and not PassContext.current().instruments else None
    name = "" if folder is None else cache_key(mod, entries, level, precision)
    if folder is None or not name:
        return compile_uncached(mod, entries, level, precision=precision)
    path = folder / f"{name}.rlo"
    if is_private(path):
        with suppress(RelayError):
            stored = read_artefact(path, jit.target_processor().features)
            with suppress(OSError):
                os.utime(path)
            return stored
    compiled = compile_uncached(mod, entries, level, folder, precision)
    store_entry(compiled, path)
    return compiled


def compile_uncached(
    mod: IRModule,
    entries: Sequence[str],
    level: int | None = None,
    folder: Path | None = None,
    precision: str | None = None,
) -> Artefact:
    """A module compiled, whatever the cache holds (`no-native-code`), with the kernels that a folder has."""
    from relay.backend.native.host.compiler import Compiler
    from relay.pipelines import optimize_for_native

    ready = optimize_for_native(mod, entries, level, precision)
    return Compiler(ready, entries, folder=folder).artefact()


def compile_instrumented(
    mod: IRModule, entries: Sequence[str], level: int | None = None, precision: str | None = None
) -> "InstrumentedProgram":
    """A module compiled with profiling instrumentation."""
    from relay.backend.native.host.compiler import Compiler
    from relay.backend.native.host.profile import InstrumentedProgram
    from relay.pipelines import optimize_for_native

    ready = optimize_for_native(mod, entries, level, precision)
    made = Compiler(ready, entries, with_clocks=True)
    assert made.program.watch is not None
    return InstrumentedProgram(made.artefact(), made.program.watch.groups)


def cache_key(
    mod: IRModule, entries: Sequence[str], level: int | None = None, precision: str | None = None
) -> str:
    """The key of a program; empty where its text does not identify it."""
    from relay.text.pickling import described

    used = reachable_definitions(mod, entries)
    if not used:
        return ""
    part = IRModule({v: mod.functions[v] for v in used}, mod.type_definitions)
    try:
        said = described(part)
    except RelayError:
        return ""
    context = PassContext.current()
    options = (
        level,
        precision,
        context.opt_level,
        context.required_pass,
        context.disabled_pass,
        sorted(context.config.items()),
    )
    around = version(), package_key(), jit.triple(), jit.target_processor(), list(entries), options
    kinds = [(str(c.value.dtype), c.value.shape) for c in said.constants]
    whole = hashlib.blake2b(repr((around, said.text, said.sources, kinds)).encode(), digest_size=20)
    whole.update(said.spans)
    for data in digests([[data_bytes(c.value)] for c in said.constants]):
        whole.update(data)
    return whole.hexdigest()


def data_bytes(array: Any) -> Any:
    """An array as bytes."""
    return np.ascontiguousarray(array).reshape(-1).view("uint8")


def reachable_definitions(mod: IRModule, entries: Sequence[str]) -> list[GlobalVar]:
    """The definitions that entries use, in the order of the module; none if one uses a user's operator."""
    found: set[GlobalVar] = set()
    pending = [mod.get_global_var(name) for name in entries]
    while pending:
        v = pending.pop()
        if v in found or v not in mod.functions:
            continue
        found.add(v)
        for e in post_order(mod.functions[v]):
            if is_user_operator(e):
                return []
            if isinstance(e, GlobalVar):
                pending.append(e)
    return [v for v in mod.functions if v in found]


def is_user_operator(e: Expr) -> bool:
    """Whether a node is an operator that is defined outside of this package."""
    return isinstance(e, Op) and not registry[e.name].__module__.startswith("relay.")


def store_entry(program: Artefact, path: Path) -> None:
    """Write an entry, if it is not too large and the folder is writable."""
    size = sum(map(len, program.codes)) + sum([c.nbytes for c in program.constants])
    if size <= MAX_CACHE_BYTES // 2 and write_entry(path, lambda out: write_artefacts([program], out)):
        evict_entries(path.parent)


def evict_entries(folder: Path, limit: int = MAX_CACHE_BYTES) -> None:
    """Remove the least recently used entries until the others fit."""
    with suppress(OSError):
        total = 0
        for _, size, path in sorted(entry_sizes(folder), reverse=True):
            total += size
            if total > limit:
                path.unlink(missing_ok=True)


def entry_sizes(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """The time of last use and the bytes of each file of the cache."""
    for path in folder.iterdir():
        with suppress(OSError):
            about = path.stat()
            if path.suffix in (".rlo", ".o"):
                yield about.st_mtime, about.st_size, path
