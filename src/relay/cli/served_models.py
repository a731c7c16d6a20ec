"""The models that `relay serve` is given: files, folders of them, and how each is read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from relay.cli.files import COMPILED, FOR_XLA, PROGRAMS, read_module
from relay.cli.inputs import weights_of_main
from relay.cli.models import EXPORTED, SUFFIX, read_exported
from relay.diagnostic import Report, fail
from relay.ir.module import IRModule

SUFFIXES = (*PROGRAMS, ".json", COMPILED, FOR_XLA, SUFFIX, EXPORTED)
NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class Found:
    """A file that is served, under a name and a version."""

    name: str
    version: str
    file: str


@dataclass(frozen=True)
class Options:
    """How programs are compiled for the server."""

    entry: str
    weights: str | None
    join: str
    threads: int | None
    precision: str | None


def find_models(given: Sequence[str]) -> list[Found]:
    """What arguments name: `FILE`, `NAME=FILE`, or a folder (`cannot-read`, `serve-model`)."""
    found: list[Found] = []
    for text in given:
        name, is_named, path = text.partition("=")
        if not is_named or "/" in name:
            name, path = "", text
        found += in_folder(Path(path), name) if Path(path).is_dir() else [in_file(Path(path), name, "1")]
    seen: dict[tuple[str, str], str] = {}
    for one in found:
        other = seen.setdefault((one.name, one.version), one.file)
        if other != one.file or found.count(one) > 1:
            hint = "`NAME=FILE` gives one of them another name"
            fail(
                "serve-model",
                f"`{other}` and `{one.file}` would both be version {one.version} of `{one.name}`",
                hint=hint,
            )
    return found


def in_file(path: Path, name: str, version: str) -> Found:
    """A file by its own name, unless another is given (`serve-model`)."""
    name = name or path.stem
    if not NAME.fullmatch(name):
        hint = "`NAME=FILE` gives it another"
        fail("serve-model", f"`{name}` cannot be the name of a model: it is part of an address", hint=hint)
    if not str(path).endswith(SUFFIXES):
        fail(
            "serve-model",
            f"`{path}` is not a model",
            hint=f"the names of models end in {', '.join(SUFFIXES)}",
        )
    return Found(name, version, str(path))


def in_folder(folder: Path, name: str) -> list[Found]:
    """The models in a folder: files, and folders with a file for each version, `NAME/VERSION/FILE`; a folder
    of versions is one model (`serve-model`).
    """
    found: list[Found] = []
    for inside in sorted(folder.iterdir()):
        if inside.name.startswith("."):
            continue
        if inside.is_dir() and inside.name.isdigit():
            found.append(in_file(only_model(inside), name or folder.resolve().name, str(int(inside.name))))
        elif inside.is_dir():
            found += in_folder(inside, inside.name)
        elif inside.name.endswith(SUFFIXES):
            found.append(in_file(inside, name if len(models_in(folder)) == 1 else "", "1"))
    if not found:
        fail(
            "serve-model",
            f"the folder `{folder}` has no models",
            hint=f"their names end in {', '.join(SUFFIXES)}",
        )
    return found


def models_in(folder: Path) -> list[Path]:
    """The files of a folder that are models."""
    return sorted(p for p in folder.iterdir() if p.is_file() and p.name.endswith(SUFFIXES))


def only_model(folder: Path) -> Path:
    """The file of a version (`serve-model`)."""
    files = models_in(folder)
    if len(files) != 1:
        fail("serve-model", f"the folder `{folder}` of a version has {len(files)} models", hint="it has one")
    return files[0]


def load_model(file: str, options: Options) -> Any:
    """A file as a model that can be served (`serve-model`, and what is wrong with it)."""
    from relay.driver.compilation import load_module
    from relay.serving.program import compiled_model, program_model

    if file.endswith((COMPILED, FOR_XLA)):
        if options.weights or options.precision:
            given = "--weights" if options.weights else "--precision"
            raise click.UsageError(f"{given} is for programs that are compiled here")
        threads = None if file.endswith(FOR_XLA) else options.threads
        return compiled_model(load_module(file, threads=threads), options.entry, options.join)
    mod, params, names = program_of_file(file, options)
    if params:
        from relay.driver.arguments import with_params

        mod = with_params(mod, params)
    return program_model(
        mod, options.entry, names, options.join, threads=options.threads, precision=options.precision
    )


def program_of_file(file: str, options: Options) -> tuple[IRModule, dict[str, Any], list[str]]:
    """A program, values of parameters of `@main`, and the names of its outputs if the file has some."""
    names: list[str] = []
    params: dict[str, Any] = {}
    if file.endswith(SUFFIX):
        from relay.frontend.onnx.api import from_onnx
        from relay.frontend.onnx.model import read_model

        mod, _ = from_onnx(file)
        names = [output.name for output in read_model(file)[0].graph.output]
    elif file.endswith(EXPORTED):
        mod, state = read_exported(file)
        params = {name: x.array for name, x in state.items()}
    else:
        warnings = Report()
        mod = read_module(file, warnings)
        for diagnostic in warnings.diagnostics:
            click.echo(diagnostic.render() + "\n", err=True)
    if options.weights is not None:
        params |= weights_of_main(mod, options.weights)
    return mod, params, names
