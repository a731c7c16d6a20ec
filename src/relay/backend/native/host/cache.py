"""What has been compiled, kept on disk.

An entry is a compiled program, named by a digest of everything that its code depends on: the definitions with
their constants and places, the version of this package, the processor, the options.  Entries are written
beside and then renamed, so that processes may share a folder; what is broken counts as not there.  When the
folder grows beyond `LIMIT`, those go first that have not been used for longest.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from relay.backend.native.host.artefact import Artefact, read, version
from relay.backend.native.llvm import jit
from relay.backend.native.runtime.cache_folder import cache_folder, package
from relay.backend.native.runtime.digests import digests
from relay.diagnostic import RelayError
from relay.ir.expr import Expr, GlobalVar, Op
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.op.base import registry
from relay.transform.rewriting.context import PassContext

if TYPE_CHECKING:
    from relay.backend.native.host.profile import Watched

LIMIT = 4 << 30
"""Bytes of all entries; one that takes more than half of it is not kept."""


def compiled(mod: IRModule, entries: Sequence[str], level: int | None = None, use: bool = True) -> Artefact:
    """A module compiled, now or before, after passes of at most a level (`no-native-code`).

    Where the context has instruments it is compiled now, so that they see the passes.
    """
    folder = cache_folder() if use and not PassContext.current().instruments else None
    name = "" if folder is None else key(mod, entries, level)
    if folder is None or not name:
        return compiled_now(mod, entries, level)
    path = folder / f"{name}.rlo"
    if path.exists():
        with suppress(RelayError):
            found = read(path)
            with suppress(OSError):
                os.utime(path)
            return found
    made = compiled_now(mod, entries, level)
    keep(made, path)
    return made


def compiled_now(mod: IRModule, entries: Sequence[str], level: int | None = None) -> Artefact:
    """A module compiled (`no-native-code`)."""
    from relay.backend.native.host.compilation import Compilation
    from relay.pipelines import optimize_for_native

    return Compilation(optimize_for_native(mod, entries, level), entries).artefact()


def compiled_with_clocks(mod: IRModule, entries: Sequence[str], level: int | None = None) -> "Watched":
    """The same program, which notes when each group of its operators begins and ends."""
    from relay.backend.native.host.compilation import Compilation
    from relay.backend.native.host.profile import Watched
    from relay.pipelines import optimize_for_native

    made = Compilation(optimize_for_native(mod, entries, level), entries, with_clocks=True)
    assert made.program.watch is not None
    return Watched(made.artefact(), made.program.watch.groups)


def key(mod: IRModule, entries: Sequence[str], level: int | None = None) -> str:
    """The name of an entry; empty where a program cannot be told from others by its text."""
    from relay.text.pickling import described

    used = needed(mod, entries)
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
        context.opt_level,
        context.required_pass,
        context.disabled_pass,
        sorted(context.config.items()),
    )
    around = version(), package(), jit.triple(), jit.processor(), jit.features(), list(entries), options
    kinds = [(str(c.value.dtype), c.value.shape) for c in said.constants]
    whole = hashlib.blake2b(repr((around, said.text, said.sources, kinds)).encode(), digest_size=20)
    whole.update(said.spans)
    for data in digests([[elements(c.value)] for c in said.constants]):
        whole.update(data)
    return whole.hexdigest()


def elements(array: Any) -> Any:
    """The elements of an array, as bytes."""
    return np.ascontiguousarray(array).reshape(-1).view("uint8")


def needed(mod: IRModule, entries: Sequence[str]) -> list[GlobalVar]:
    """The definitions that entries need, in the order of the module; none if an operator is foreign."""
    found: set[GlobalVar] = set()
    pending = [mod.get_global_var(name) for name in entries]
    while pending:
        v = pending.pop()
        if v in found or v not in mod.functions:
            continue
        found.add(v)
        for e in post_order(mod.functions[v]):
            if is_foreign(e):
                return []
            if isinstance(e, GlobalVar):
                pending.append(e)
    return [v for v in mod.functions if v in found]


def is_foreign(e: Expr) -> bool:
    """Whether a node is an operator that this package does not have."""
    return isinstance(e, Op) and not registry[e.name].__module__.startswith("relay.")


def keep(made: Artefact, path: Path) -> None:
    """Put an entry into the folder, if it can be written and is not too large."""
    if sum(map(len, made.codes)) + sum([c.nbytes for c in made.constants]) > LIMIT // 2:
        return
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".new", delete=False) as out:
            temporary = out.name
            made.write(cast("Any", out))
        os.replace(temporary, path)
        make_room(path.parent)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)


def make_room(folder: Path, limit: int = LIMIT) -> None:
    """Remove the entries that have not been used for longest, until the others fit."""
    entries = sorted(sizes(folder), reverse=True)
    total = 0
    for _, size, path in entries:
        total += size
        if total > limit:
            with suppress(OSError):
                path.unlink()


def sizes(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """When each file of the folder was last used, and its bytes."""
    for path in folder.iterdir():
        with suppress(OSError):
            about = path.stat()
            if path.suffix in (".rlo", ".new", ".o"):
                yield about.st_mtime, about.st_size, path
