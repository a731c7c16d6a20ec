"""The saves of a training run: a directory that holds the last few, each a directory of its own.

A save is written under a temporary name, flushed to the disk, and then renamed, which is one step for the
file system: whenever the process or the machine stops, each save that has its name is whole.  A save that
is not kept is renamed before it is deleted, for the same reason.
"""

import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from relay.backend.xla.processes import is_first, is_one_of_several, wait_for_all
from relay.diagnostic import fail
from relay.ir.dtype import dtype_name
from relay.text.weights import KNOWN
from relay.training.pending import begin, finish
from relay.training.structure import Entry, flatten, in_structure, unflatten

STRUCTURE, ARRAYS = "state.json", "arrays.safetensors"
TEMPORARY, REMOVED = ".saving", ".removing"
FORMAT = 1
_SAVE = re.compile(r"(\d+)-step-(\d+)")


@dataclass(frozen=True, order=True)
class Save:
    """One save: its number in the order of saving, the step that it was made at, and its directory."""

    number: int
    step: int
    path: Path


def save_state(path: str | Path, state: Any, *, step: int, keep: int = 3, wait: bool = True) -> Path:
    """Save the state of a training run in the directory `path`, and return the directory of this save.

    `state` is made of arrays, of NumPy or on devices, numbers, texts and None, in dicts, tuples, lists,
    dataclasses and named tuples: weights, optimiser state, random keys.  The last `keep` saves stay.  A save
    is there as a whole or not at all, also when the process is killed or the power fails.

    With `wait=False` the state is copied, and written while the program goes on: the next save,
    `restore_state` and `finish_saves` wait for that, and raise what it raised.

    One process at a time saves to a directory.  Where several run one program (`relay.distributed`), all call
    this and the first one writes.  Raises `state-value` for what cannot be saved, `cannot-write`.
    """
    if keep < 1 or step < 0:
        fail("state-value", f"step={step}, keep={keep}: a step is at least 0, and at least one save is kept")
    root = Path(path)
    finish(root)
    entries, arrays = flatten(state)
    if is_one_of_several() and not is_first():
        if wait:
            wait_for_all()
        return root
    if wait:
        try:
            return _save(root, step, keep, entries, arrays)
        finally:
            if is_one_of_several():
                wait_for_all()
    try:
        root.mkdir(parents=True, exist_ok=True)
        final = _made(root, step)
    except OSError as error:
        _unwritable(root, error)
    copies = [a.copy() for a in arrays]
    begin(root, lambda: _save(root, step, keep, entries, copies))
    return final


def _made(root: Path, step: int) -> Path:
    """The directory that the next save is in."""
    before = _saves(root)
    return root / f"{before[-1].number + 1 if before else 1:06d}-step-{step}"


def _save(root: Path, step: int, keep: int, entries: list[Entry], arrays: list[np.ndarray[Any, Any]]) -> Path:
    try:
        root.mkdir(parents=True, exist_ok=True)
        for left in [*root.glob(TEMPORARY), *root.glob(REMOVED)]:
            shutil.rmtree(left)
        _remove_old(root, keep)  # those that a killed process had yet to remove
        unnamed = root / TEMPORARY
        unnamed.mkdir()
        _write(unnamed, step, entries, arrays)
        final = _made(root, step)
        unnamed.rename(final)
        _flush(root)
        _remove_old(root, keep)
    except OSError as error:
        _unwritable(root, error)
    return final


def _remove_old(root: Path, keep: int) -> None:
    """Remove all saves but the last `keep`."""
    for old in _saves(root)[:-keep]:
        old.path.rename(root / REMOVED)
        shutil.rmtree(root / REMOVED)


def _unwritable(root: Path, error: OSError) -> NoReturn:
    fail("cannot-write", f"`{root}` cannot hold a state: {error.strerror or error}")


def restore_state(path: str | Path, *, step: int | None = None, like: Any = None) -> tuple[Any, int]:
    """The state that `save_state` saved last (or last at `step`), and the step it was saved at.

    Arrays are NumPy's, bit for bit what was saved; tuples, lists, dicts and numbers are of their types.
    Dataclasses and named tuples come back as dicts of their fields, or in the containers of `like`, a state
    of the same structure.
    Raises `bad-state` where there is none, or where a file of it is missing or damaged.
    """
    root = Path(path)
    finish(root)
    found = _listed(root)
    chosen = [save for save in found if step in (None, save.step)]
    if not chosen:
        steps = ", ".join(str(save.step) for save in found)
        wanted = "no state" if step is None else f"no state of step {step}"
        there = f"there are those of steps {steps}" if found else "`save_state` saves one"
        fail("bad-state", f"`{root}` has {wanted}", hint=there)
    save = chosen[-1]
    try:
        state = _read(save)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        _damaged(save, why, [other.step for other in found if other != save])
    try:
        return (state if like is None else in_structure(state, like)), save.step
    except ValueError as error:
        fail("bad-state", f"the state in `{save.path}` {error}", hint="without `like=` it comes as dicts")


def saved_steps(path: str | Path) -> list[int]:
    """The steps of the saves in a directory, oldest save first; none where there is no such directory."""
    finish(Path(path))
    return [save.step for save in _listed(Path(path))]


def _saves(root: Path) -> list[Save]:
    named = [(_SAVE.fullmatch(p.name), p) for p in root.iterdir()]
    return sorted([Save(int(m[1]), int(m[2]), p) for m, p in named if m])


def _listed(root: Path) -> list[Save]:
    try:
        return _saves(root)
    except FileNotFoundError:
        return []
    except OSError as error:
        fail("cannot-read", f"`{root}` cannot be read: {error.strerror or error}")


def _damaged(save: Save, why: str, others: Sequence[int]) -> NoReturn:
    rest = f"restore an earlier one by `step=`: {', '.join(map(str, others))}" if others else ""
    fail("bad-state", f"the state in `{save.path}` is damaged: {why}", hint=rest)


# --- one save -----------------------------------------------------------------------------------------------


def _write(directory: Path, step: int, entries: list[Entry], arrays: list[np.ndarray[Any, Any]]) -> None:
    import safetensors.numpy

    library: Any = safetensors.numpy
    raw = [a.reshape(-1).view(np.uint8) for a in arrays]
    as_stored = [a if dtype_name(a.dtype) in KNOWN else r for a, r in zip(arrays, raw, strict=True)]
    library.save_file({str(i): a for i, a in enumerate(as_stored)}, directory / ARRAYS)
    structure = json.dumps(entries)
    said = {"format": FORMAT, "step": step, "digest": _digest(structure, raw), "structure": structure}
    (directory / STRUCTURE).write_text(json.dumps(said), encoding="utf-8")
    for flushed in (directory / ARRAYS, directory / STRUCTURE, directory):
        _flush(flushed)


def _read(save: Save) -> Any:
    import safetensors

    said = json.loads((save.path / STRUCTURE).read_text(encoding="utf-8"))
    if said.get("format") != FORMAT:
        raise ValueError(
            f"its format is {said.get('format')}, and this version of Relay reads format {FORMAT}"
        )
    library: Any = safetensors
    try:
        tensors = dict(library.deserialize((save.path / ARRAYS).read_bytes()))
    except safetensors.SafetensorError as error:
        raise ValueError(f"{ARRAYS}: {error}") from None
    data = [tensors[str(i)]["data"] for i in range(len(tensors))]
    if _digest(said["structure"], data) != said["digest"]:
        raise ValueError("its bytes are not those that were saved")
    return unflatten(json.loads(said["structure"]), data)


def _digest(structure: str, data: Sequence[Any]) -> str:
    digest = sha256(structure.encode())
    for part in data:
        digest.update(part)
    return digest.hexdigest()


def _flush(path: Path) -> None:
    """Have the disk hold a file, or the names in a directory."""
    if os.name == "nt" and path.is_dir():  # Windows opens no directory
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
