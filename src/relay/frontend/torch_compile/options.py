"""What `torch.compile(..., backend="relay", options={...})` takes."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from relay.backend.native.runtime.threads import thread_count
from relay.diagnostic import did_you_mean, fail
from relay.transform.passes.choose_precision import precision_named


@dataclass(frozen=True)
class Options:
    """How graphs are compiled."""

    threads: int | None = None
    """How many threads loops take; None for as many as PyTorch has when the graph is compiled."""
    precision: str | None = None
    """The `precision` of `relay.build`: "bf16" or "f16"."""
    freeze: bool = False
    """Whether parameters become constants of graphs without derivatives, which are compiled again when they
    change; a change by `tensor.data` is not seen."""
    fallback: bool = True
    """Whether PyTorch runs the graphs that cannot be compiled; else they are errors."""


def options_of(given: Mapping[str, Any] | None, mode: Any) -> Options:
    """Options as they were given (`unknown-option`, `option-value`, `thread-count`, `unknown-precision`)."""
    names = [f.name for f in fields(Options)]
    for name in given or {}:
        if name not in names:
            hint = did_you_mean(name, names) or f"its options are {', '.join(names)}"
            fail("unknown-option", f'the backend "relay" of torch.compile has no option `{name}`', hint=hint)
    if mode is not None:
        hint = "omit it; `options=` says how this backend compiles"
        fail("unknown-option", f'the backend "relay" of torch.compile has no mode {mode!r}', hint=hint)
    found = Options(**(given or {}))
    for name in ("freeze", "fallback"):
        if not isinstance(getattr(found, name), bool):
            fail("option-value", f"`{name}` is True or False, not {getattr(found, name)!r}")
    if found.threads is not None:
        thread_count(found.threads, "threads")
    if found.precision is not None:
        precision_named(found.precision)
    return found
