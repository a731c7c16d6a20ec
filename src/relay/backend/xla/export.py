"""Built programs for platforms that need not be here."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relay.analysis.sharding import Sharding
from relay.backend.xla.export_platforms import load_export, named_platforms, platform_of, platforms_of
from relay.backend.xla.exporting import ExportedEntry, Exporter, Given
from relay.backend.xla.layout import Layout, OneDevice, OverMesh
from relay.diagnostic import did_you_mean, fail
from relay.interpreter.value import Closure
from relay.ir.type import Kind

if TYPE_CHECKING:
    from relay.backend.xla.built import Entry, XlaModule

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
    chosen = platforms_here(entries) if platforms is None else named_platforms(platforms)
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
    exporter = Exporter(entries[0].whole.program, chosen, Given(sizes, examples))
    return [exporter.entry(e.machine, e.whole.name, sharding_over(e.whole.layout)) for e in entries]


def platforms_here(entries: "Sequence[Entry]") -> tuple[str, ...]:
    """The platform of the device that a program is built for, or of those that JAX prefers."""
    layout = entries[0].whole.layout
    return (platform_of(layout.device),) if isinstance(layout, OneDevice) else platforms_of("xla")


def sharding_over(layout: Layout) -> Sharding | None:
    """What a definition says of devices, of one that has a mesh."""
    return layout.sharding if isinstance(layout, OverMesh) else None


def stablehlo_text(entries: Sequence[ExportedEntry]) -> str:
    """The code of entries as StableHLO, for people: without places in the source of this package."""
    lines = [line for entry in entries for line in entry.code.mlir_module().splitlines()]
    return "\n".join([PLACE.sub("", line) for line in lines if not line.startswith("#loc")])
