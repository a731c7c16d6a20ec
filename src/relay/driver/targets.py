"""What programs are compiled for, and the options that go with it."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from relay.backend.native.llvm.jit import Processor
from relay.backend.native.llvm.processors import NATIVE, missing_here, names, processor_named
from relay.diagnostic import did_you_mean, fail
from relay.driver.arguments import XLA, first_word

TARGETS = ("native", "llvm", "cpu")
"""Names that all stand for this processor."""


def processors_of(target: Any) -> list[Processor]:
    """The processors that a program is compiled for, those that can do the most first; this machine's is one
    of those that can run some of it (`unknown-target`, `other-machine`).
    """
    is_one = isinstance(target, str) or not isinstance(target, Sequence)
    several: list[Any] = [target] if is_one else list(cast("Sequence[Any]", target))
    found: dict[Processor, None] = {}
    for one in several:
        word = first_word(one)
        if word == XLA:
            hint = 'it is a target by itself: `relay.build(mod, "xla")`, `relay run --backend xla`'
            fail("unknown-target", f"`{one}` is not a processor that machine code is for", hint=hint)
        known = processor_named(NATIVE if word in TARGETS else word)
        if known is None:
            from relay.backend.native.library.targets import library_hint

            hint = did_you_mean(str(one), (*TARGETS, XLA, *names())) or library_hint(word)
            hint = hint or f"omit it, or use one of {', '.join(names())}"
            fail("unknown-target", f"programs cannot be compiled for `{one}`", hint=hint)
        found[known] = None
    made = sorted(found, key=lambda processor: -len(processor.features))
    if made and not all(map(missing_here, made)):
        return made
    lacks = f": {', '.join(missing_here(made[-1])[:4])}" if made else ""
    fail("other-machine", f"none of the targets is for this processor{lacks}", hint='add `"native"` to them')


def refuse_native(options: Mapping[str, Any]) -> None:
    """Refuse options of machine code for a program of XLA (`unknown-option`)."""
    for name, value in options.items():
        if value is not None:
            hint = 'it is one of machine code: omit it, or the target "xla"'
            fail("unknown-option", f"programs for XLA have no option `{name}`", hint=hint)


def refuse_xla(options: Mapping[str, Any]) -> None:
    """Refuse options of programs for XLA for machine code (`unknown-option`)."""
    for name, value in options.items():
        if value is not None:
            hint = 'it is one of the target "xla": `relay.build(mod, "xla", ...)`'
            fail("unknown-option", f"machine code has no option `{name}`", hint=hint)
