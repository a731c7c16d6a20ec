"""Exported definitions as values that JSON has: all but their code and constants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relay.analysis.sharding import Path, Sharding, Spec
from relay.backend.stored import Site, decode_node, decode_sites, encode_node, encode_sites
from relay.backend.xla.checks import Requirement
from relay.backend.xla.data import LEAF, Known, Structure
from relay.backend.xla.exporting import ExportedEntry
from relay.backend.xla.functions import Cell
from relay.backend.xla.results import Result
from relay.ir.dtype import dtype_name
from relay.ir.expr import Constructor, Function, Tuple
from relay.ir.module import TypeData
from relay.ir.type import GlobalTypeVar

Datatypes = Mapping[GlobalTypeVar, TypeData]


@dataclass(frozen=True, slots=True)
class Signature:
    """What Python has to know of an exported definition."""

    name: str
    header: Function | None
    structure: Structure
    leaves: Sequence[tuple[str, tuple[int | str, ...]]]
    """The dtype and shape of each array of the arguments; a size is the text of a symbol where it is open."""
    result: Result
    dtypes: Sequence[str]
    """Those of the arrays of the result."""
    given_up: frozenset[int]
    """The numbers of the arrays of the arguments that callers give up."""
    sharding: Sharding | None
    """The devices that it is spread over, and how arguments are split."""


def to_json(entry: ExportedEntry) -> dict[str, Any]:
    """What is stored of a definition."""
    cells = {cell: i for i, cell in enumerate(entry.result.cells)}
    sites = [Site(r.code, r.message, r.span, r.hint) for r in entry.result.requirements]
    places, said = encode_sites(sites)
    header = [] if entry.taken.header is None else [entry.taken.header]
    return {
        "name": entry.name,
        "graph": encode_node(Tuple((*header, *places), span=None)),
        "is_function": entry.taken.header is not None,
        "structure": parts_to_json(entry.taken.structure, {}),
        "leaves": [[dtype_name(x.dtype), [sized(d) for d in x.shape]] for x in entry.taken.leaves],
        "result": parts_to_json(entry.result.structure, cells),
        "cells": len(cells),
        "sites": said,
        "dtypes": list(map(dtype_name, entry.dtypes)),
        "given_up": list(entry.given_up),
        "mesh": None if entry.sharding is None else dict(entry.sharding.mesh),
        "specs": [] if entry.sharding is None else list(entry.sharding.specs.items()),
    }


def from_json(said: Mapping[str, Any], datatypes: Datatypes) -> Signature:
    """The inverse of `to_json`."""
    fields: list[Any] = list(decode_node(said["graph"]).fields)
    header = fields.pop(0) if said["is_function"] else None
    sites = decode_sites(fields, said["sites"])
    cells = [Cell(None) for _ in range(said["cells"])]
    return Signature(
        said["name"],
        header,
        parts_from_json(said["structure"], datatypes, cells),
        [(dtype, tuple(shape)) for dtype, shape in said["leaves"]],
        Result(
            parts_from_json(said["result"], datatypes, cells),
            tuple(cells),
            tuple([Requirement(s.code, s.message, s.span, s.hint) for s in sites]),
        ),
        said["dtypes"],
        frozenset(said["given_up"]),
        None if said["mesh"] is None else Sharding(said["name"], said["mesh"], specs_of_json(said), None),
    )


def specs_of_json(said: Mapping[str, Any]) -> dict[Path, Spec]:
    """How parameters are split, by the paths to what is said of."""
    specs: list[tuple[list[str], list[str | list[str] | None]]] = said["specs"]
    return {
        tuple(path): tuple([tuple(part) if isinstance(part, list) else part for part in spec])
        for path, spec in specs
    }


def sized(d: Any) -> int | str:
    """A size as JSON has it."""
    return d if isinstance(d, int) else str(d)


def parts_to_json(structure: Structure, cells: Mapping[Any, int]) -> list[Any]:
    """The parts of a structure, in which references are numbers of `cells`."""
    found: list[Any] = []
    for part in structure.parts:
        if isinstance(part, Known):
            is_cell = isinstance(part.value, Cell)
            found.append({"cell": cells[part.value]} if is_cell else {"text": part.value})
        elif isinstance(part, Constructor):
            found.append({"of": part.belong_to.name_hint, "constructor": part.name_hint})
        else:
            found.append(part)
    return found


def parts_from_json(said: Sequence[Any], datatypes: Datatypes, cells: Sequence[Cell]) -> Structure:
    """The inverse of `parts_to_json`."""
    constructors = {
        (header.name_hint, c.name_hint): c for header, data in datatypes.items() for c in data.constructors
    }
    found: list[Any] = []
    for part in said:
        match part:
            case {"cell": number}:
                found.append(Known(cells[number]))
            case {"text": text}:
                found.append(Known(text))
            case {"of": of, "constructor": name}:
                found.append(constructors[of, name])
            case None:
                found.append(LEAF)
            case _:
                found.append(part)
    return Structure(tuple(found))
