"""Instruments that print modules around passes, by the names and options that they are known by."""

from collections.abc import Sequence
from typing import Any

from relay.transform.rewriting.context import PassInstrument, canonical

__all__ = ["PassPrintingInstrument", "PrintAfterAll", "PrintBeforeAll"]


class PassPrintingInstrument(PassInstrument):
    """Prints modules before and after passes that are named."""

    def __init__(
        self, print_before_pass_names: Sequence[str] = (), print_after_pass_names: Sequence[str] = ()
    ) -> None:
        """Passes by either of their names: `FoldConstant`, `fold_constants`."""
        self.before = {canonical(name) for name in print_before_pass_names}
        self.after = {canonical(name) for name in print_after_pass_names}

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """Print what a pass gets."""
        if canonical(info.name) in self.before:
            show("before", mod, info)

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """Print what a pass makes."""
        if canonical(info.name) in self.after:
            show("after", mod, info)


class PrintBeforeAll(PassInstrument):
    """Prints what each pass gets."""

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """Print it."""
        show("before", mod, info)


class PrintAfterAll(PassInstrument):
    """Prints what each pass makes."""

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """Print it."""
        show("after", mod, info)


def show(when: str, mod: Any, info: Any) -> None:
    """A module below a line that names the pass."""
    print(f"// {when} {info.name}\n{mod}")
