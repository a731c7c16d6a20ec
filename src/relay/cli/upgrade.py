"""`relay upgrade FILE…`: programs and parameters of older formats, rewritten in those of today."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click
import numpy as np

from relay.cli.comments import carry_over
from relay.cli.files import PROGRAMS, STDIN, display_name, from_json, programs, read_bytes
from relay.cli.progress import progress
from relay.diagnostic import RelayError, Report, Source, counted, fail
from relay.ir.equal import structural_equal
from relay.ir.expr import Constant
from relay.ir.module import IRModule
from relay.op.registry import alias_of
from relay.text.files import as_text, write_atomically
from relay.text.lexer import lex
from relay.text.param_dict import load_param_dict
from relay.text.versions import VERSION, header_of
from relay.text.weights import KNOWN, SUFFIX, is_json, read_program, split, weights_path, write_program

PARAMETERS = ".params"
NOW = f"text of version {VERSION}"
PRINTED = re.compile(r"[ \t]*/\* (?:ty|span)=[^*]*\*/")
"""Comments that a printer has added: the types that inference finds, and places in files."""
LIBRARIES = (".so", ".dylib", ".dll", ".a", ".o", ".tar")
"""What the names of deployed models end in."""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A file that is to be written, and what is different in it; nothing is, where it is as it was."""

    target: Path
    changes: Sequence[str]
    write: Callable[[], object]


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file is of an older format.")
@click.option("-o", "--output", metavar="FILE", help="Where to write what one FILE becomes.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def upgrade(files: Sequence[str], check: bool, output: str | None) -> int:
    """Rewrite each FILE of an older format, and say what is different.

    Text of versions 0.0.1 to 0.0.5 is rewritten in its place, comments kept; the JSON of a program becomes
    `NAME.relay` beside it; a .params file becomes `NAME.safetensors`.  Large constants go to
    `NAME.safetensors` beside the program.  A folder stands for the programs and parameters in it.
    """
    if STDIN in files:
        raise click.UsageError("a file is rewritten: standard input is none")
    names = programs(files, (*PROGRAMS, PARAMETERS))
    if output is not None and len(names) != 1:
        raise click.UsageError(f"--output is for one file, and there are {len(names)}")
    status = 0
    with progress("upgrading"):
        for name in names:
            try:
                status |= _upgrade_file(name, None if output is None else Path(output), check)
            except RelayError as error:
                click.echo(f"{error}\n", err=True)
                status = 1
    return status


def _upgrade_file(name: str, output: Path | None, check: bool) -> int:
    found = upgraded(name, output)
    if not found.changes:
        click.echo(f"{display_name(name)}: up to date")
        return 0
    if not check:
        found.write()
    where = "" if str(found.target) == name else f" -> {found.target}"
    click.echo(f"{display_name(name)}{where}")
    for change in found.changes:
        click.echo(f"  {change}")
    return int(check)


def upgraded(name: str, output: Path | None = None) -> Upgrade:
    """What becomes of a file; nothing is written yet (what is wrong with the file)."""
    if name.endswith(LIBRARIES):
        _refuse_library(name)
    data = read_bytes(name)
    path = Path(name)
    if name.endswith(PARAMETERS):
        return _parameter_file(data, name, output or _new(path.with_suffix(SUFFIX)))
    text = as_text(data, display_name(name))
    if is_json(text) or name.endswith(".json"):
        mod = from_json(text, name)
        return _program(mod, "", output or _new(path.with_suffix(".relay")), [f"JSON, now {NOW}"])
    version = header_of(text).version
    if version == VERSION:
        return Upgrade(path, [], lambda: None)
    warnings = Report()
    mod = read_program(text, display_name(name), path, warnings)
    changes = [f"text of version {version}, now {NOW}"]
    changes += [_first_line(d.message) for d in warnings.diagnostics]
    return _program(mod, text, output or path, changes + _words(text))


def _refuse_library(name: str) -> NoReturn:
    fail(
        "compiled-graph",
        f"`{name}` is a library of machine code: the program that it was compiled from is not in it",
        hint="import the model again, or upgrade its text or JSON; parameters are in the .params file",
    )


def _new(path: Path) -> Path:
    """A name that nobody has chosen, of a file that is not there yet (`cannot-write`)."""
    if path.exists():
        fail("cannot-write", f"`{path}` is there already", hint="move it away, or name another by --output")
    return path


def _parameter_file(data: bytes, name: str, target: Path) -> Upgrade:
    arrays = load_param_dict(data, name)
    odd = sorted({a.dtype.name for a in arrays.values()} - KNOWN)
    if odd:
        fail("not-tensors", f"a .safetensors file has no tensors of {odd[0]}", hint="convert them first")

    def write() -> None:
        from safetensors.numpy import save

        found = save({name: np.ascontiguousarray(a) for name, a in arrays.items()})
        write_atomically(str(target), lambda out: out.write(found))

    total = sum(a.nbytes for a in arrays.values())
    change = f"{counted(len(arrays), 'parameter')}, {total:,} bytes, by the same names"
    return Upgrade(target, [change], write)


def _program(mod: IRModule, old: str, target: Path, changes: list[str]) -> Upgrade:
    """A program as text of today, and its large constants."""
    text, kept = split(mod)
    if old:
        text = carry_over(PRINTED.sub("", old), text.rstrip("\n") + "\n")
    if kept:
        beside = weights_path(target)
        if beside.exists() and (not old or "#[metadata]" in old):
            _new(beside)
        size = sum(np.asarray(c.value).nbytes for c in kept)
        changes = [*changes, f"{counted(len(kept), 'constant')}, {size:,} bytes, in {beside.name}"]
    _verify(mod, text, kept)
    return Upgrade(target, changes, lambda: write_program(target, text, kept))


def _verify(mod: IRModule, text: str, kept: list[Constant]) -> None:
    from relay.text.parser import parse_module

    again = parse_module(text, "<upgraded>", init_meta={"relay.Constant": list(kept)})
    assert structural_equal(again, mod), "changed the program"


def _words(text: str) -> list[str]:
    """What is called differently now."""
    tokens = lex(Source("<text>", text), Report())
    named = Counter(w for w, kind in zip(tokens.texts, tokens.kinds, strict=True) if kind == "NAME")
    found = [
        f"`{name}`, now `{alias_of[name]}` ({counted(named[name], 'call')})"
        for name in sorted(named)
        if alias_of.get(name, name) != name
    ]
    if named["free_var"]:
        found.append(f"{counted(named['free_var'], 'free variable')}, now parameters of @main")
    return found


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
