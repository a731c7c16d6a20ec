"""What a request has to have, which a page may have got wrong."""

from collections.abc import Mapping
from typing import Any, NoReturn

from relay.diagnostic import fail

Request = Mapping[str, Any]
MIN_COLUMNS, MAX_COLUMNS = 30, 100


def refuse(message: str) -> NoReturn:
    """End with what is wrong with a request (`playground-request`)."""
    fail("playground-request", message, hint="reload the page: it may be of another version")


def text_of(request: Request, name: str, default: str | None = None) -> str:
    """A text."""
    value = request.get(name, default)
    if not isinstance(value, str):
        refuse(f"`{name}` of a request is a text")
    return value


def number_of(request: Request, name: str, default: int | None = None) -> int:
    """A whole number."""
    value = request.get(name, default)
    if not isinstance(value, int):
        refuse(f"`{name}` of a request is a whole number")
    return value


def texts_of(request: Request, name: str) -> dict[str, str]:
    """Texts by name."""
    value: Any = request.get(name, {})
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        refuse(f"`{name}` of a request is an object of texts")
    return value  # pyright: ignore[reportUnknownVariableType]


def width_of(request: Request) -> int:
    """How many columns the page has for a program."""
    return min(max(number_of(request, "width", MAX_COLUMNS), MIN_COLUMNS), MAX_COLUMNS)
