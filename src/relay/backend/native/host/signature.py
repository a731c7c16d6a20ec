"""What Python has to know of compiled code: entries, functions that come out, places where it may fail."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from relay.backend.native.memory.datatypes import DataTypes
from relay.backend.stored import Site, decode_node, decode_sites, encode_node, encode_sites
from relay.ir.expr import Function, Tuple, Var
from relay.ir.module import IRModule, TypeData
from relay.ir.type import FuncType, GlobalTypeVar


class EntryPoint(NamedTuple):
    """A definition that Python calls."""

    header: Function
    """Its parameters and the type of its result, without a body."""
    start: str
    """The code that works on the box of a context."""
    direct: str = ""
    """The code that CPython calls, where there is some."""
    donated: tuple[int, ...] = ()
    """The numbers of the parameters that the caller gives up."""
    slots: range = range(0)
    """The slots of the context for arrays that results are written to."""


class Parts(NamedTuple):
    """What a signature consists of."""

    entries: dict[str, EntryPoint]
    functions: dict[FuncType, str]
    """Code that calls a closure of each type with what is in the box."""
    sites: list[Site]
    objects: list[str]
    """The objects of Python that the code looks up in its table, by name."""
    constants: list[int]
    """Which constant is at each place of the table of constants."""
    results: int
    slots: int
    """Leaves of results that come back through the context, and leaves in the box, at most."""
    layouts: list[tuple[int, tuple[int, ...]]]
    """Sizes and pointers of objects, by number."""
    keeps: bool
    """Whether there are values that stay from one call to the next."""
    callbacks: list[FuncType]
    """The types of functions that come in from Python."""
    references: list[Function]
    """Calls of operators that Python computes, each as a function of the operands; and functions that other
    compilers take."""
    routines: list[str]
    """The routines of LAPACK at each place of their table."""
    blocks: list[str]
    """The blocks whose calls are recorded, by the names of their operators."""


class Signature(DataTypes):
    """What Python has to know of compiled code."""

    def __init__(self, definitions: Mapping[GlobalTypeVar, TypeData], parts: Parts) -> None:
        """The layouts of objects are numbered as the code has them."""
        super().__init__(definitions)
        self.parts = parts
        self.entries, self.functions, self.sites = parts.entries, parts.functions, parts.sites
        self.layouts.numbers = {of: i for i, of in enumerate(parts.layouts)}
        self.mod = IRModule(type_definitions=dict(definitions))

    def to_json(self, arrays: list[Any] | None = None) -> dict[str, Any]:
        """As values that JSON has.  The constants of functions for other compilers are added to `arrays`:
        dtypes, shapes and bytes.
        """
        p = self.parts
        headers: list[Any] = [e.header for e in p.entries.values()]
        kinds = [
            Function((Var("f", t, span=None),), Tuple((), span=None), span=None)
            for t in (*p.functions, *p.callbacks)
        ]
        places, said = encode_sites(p.sites)
        return {
            "graph": encode_node(Tuple((*headers, *kinds, *p.references, *places), span=None), arrays),
            "types": [encode_node(d) for d in self.definitions.values()],
            "entries": [
                [name, e.start, e.direct, list(e.donated), e.slots.start, e.slots.stop]
                for name, e in p.entries.items()
            ],
            "functions": list(p.functions.values()),
            "sites": said,
            "objects": p.objects,
            "constants": p.constants,
            "results": p.results,
            "slots": p.slots,
            "layouts": [[size, list(pointers)] for size, pointers in p.layouts],
            "keeps": p.keeps,
            "callbacks": len(p.callbacks),
            "references": len(p.references),
            "routines": p.routines,
            "blocks": p.blocks,
        }


def signature_from_json(said: Mapping[str, Any], arrays: Sequence[Any] = ()) -> Signature:
    """The inverse of `Signature.to_json`."""
    fields: list[Any] = list(decode_node(said["graph"], arrays).fields)
    entries = {
        name: EntryPoint(fields.pop(0), start, direct, tuple(donated), range(*slots))
        for name, start, direct, donated, *slots in list(said["entries"])
    }
    functions = {fields.pop(0).params[0].type_annotation: start for start in said["functions"]}
    callbacks = [fields.pop(0).params[0].type_annotation for _ in range(said["callbacks"])]
    references = [fields.pop(0) for _ in range(said["references"])]
    sites = decode_sites(fields, said["sites"])
    definitions = {d.header: d for d in map(decode_node, said["types"])}
    layouts = [(size, tuple(pointers)) for size, pointers in said["layouts"]]
    counts = said["results"], said["slots"]
    parts = Parts(
        entries,
        functions,
        sites,
        said["objects"],
        said["constants"],
        *counts,
        layouts,
        said["keeps"],
        callbacks,
        references,
        said["routines"],
        said["blocks"],
    )
    return Signature(definitions, parts)
