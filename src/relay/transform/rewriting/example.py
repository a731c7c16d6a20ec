"""Before and after: what doctests of passes print."""

from collections.abc import Callable
from typing import Any

from relay.ir.module import IRModule
from relay.text.parser import parse_module
from relay.typecheck.infer import infer


def show(change: Callable[..., IRModule], text: str, **options: Any) -> None:
    """Print what a pass makes of a program."""
    print(str(change(infer(parse_module(text)), **options)).rstrip())
