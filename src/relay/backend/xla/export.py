"""Built programs for platforms that need not be here."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relay.backend.xla.export_platforms import load_export, named_platforms, platform_of
from relay.backend.xla.exporting import ExportedEntry, Given, export_entry
from relay.diagnostic import did_you_mean, fail
from relay.interpreter.value import Closure
from relay.ir.type import Kind

if TYPE_CHECKING:
    from relay.backend.xla.built import XlaModule

PLACE = re.compile(r' loc\((#loc\d*|unknown|"[^"]*"(\(#loc\d*\))?)\)')
"""Where a line of StableHLO says that it comes from."""


def exported_entries(
    built: "XlaModule",
    platforms: Sequence[str] | str | None,
    sizes: Mapping[str, int],
    examples: Mapping[str, Any],
) -> list[ExportedEntry]:
    """The entries of a program for platforms, by default that of its device.

    Raises `unknown-target`, `unknown-dimension`, `unknown-input`, `argument-type`, `xla-unsupported`,
    `no-xla`.
    """
    load_export()
    entries = list(built.by_name.values())
    here = (platform_of(entries[0].whole.layout.device),)
    chosen = here if platforms is None else named_platforms(platforms)
    definitions = [e.machine.value_of(e.whole.name) for e in entries]
    headers = [d.function for d in definitions if isinstance(d, Closure)]
    known = {p.name_hint: None for fn in headers for p in fn.type_params if p.kind is Kind.Dim}
    for name, n in sizes.items():
        if name not in known:
            hint = did_you_mean(name, known) or f"its sizes are {', '.join(known) or 'numbers already'}"
            fail("unknown-dimension", f"the program has no size `{name}`", hint=hint)
        if type(n) is not int or n < 0:
            fail("argument-type", f"the size `{name}` cannot be {n!r}", hint="a size is a number, 0 or more")
    params = {p.name_hint: None for fn in headers for p in fn.params}
    for name in examples:
        if name not in params:
            hint = did_you_mean(name, params) or f"its parameters are {', '.join(params) or 'none'}"
            fail("unknown-input", f"the program has no parameter `{name}`", hint=hint)
    given = Given(sizes, examples)
    return [export_entry(e.whole.program, e.machine, e.whole.name, chosen, given) for e in entries]


def stablehlo_text(entries: Sequence[ExportedEntry]) -> str:
    """The code of entries as StableHLO, for people: without places in the source of this package."""
    lines = [line for entry in entries for line in entry.code.mlir_module().splitlines()]
    return "\n".join([PLACE.sub("", line) for line in lines if not line.startswith("#loc")])
