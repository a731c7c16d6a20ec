"""What commands about language models share: options, the model, and the table of speeds."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from relay.cli.progress import progress
from relay.diagnostic import fail

SETTINGS = (
    click.option(
        "--max-tokens", type=click.IntRange(0), default=256, help="The most tokens to write (default: 256)."
    ),
    click.option(
        "--temperature", type=float, default=0.0, help="0, the default, takes the most likely token."
    ),
    click.option("--top-k", type=int, default=0, help="Draw from so many tokens that are most likely."),
    click.option(
        "--top-p", type=float, default=1.0, help="Draw from the fewest tokens that have this probability."
    ),
    click.option(
        "--min-p", type=float, default=0.0, help="Leave out tokens below this part of the most likely."
    ),
    click.option(
        "--repetition-penalty", type=float, default=1.0, help="Above 1, tokens do not occur so often."
    ),
    click.option("--seed", type=click.IntRange(0), default=0, help="Of the random numbers."),
    click.option(
        "--stop", multiple=True, metavar="TEXT", help="End before this text; may be given several times."
    ),
    click.option(
        "--draft", metavar="MODEL", help="A smaller model that proposes tokens (speculative decoding)."
    ),
    click.option(
        "--lookup", type=int, default=0, metavar="N", help="Propose what followed the last N tokens before."
    ),
    click.option(
        "--activations",
        type=click.Choice(["float32", "int8"]),
        default="float32",
        help="int8 rounds what is multiplied with weights in blocks, as llama.cpp does: quicker.",
    ),
    click.option(
        "--cache",
        type=click.Choice(["whole", "int8", "ring", "paged"]),
        default="whole",
        help="How keys and values are kept: int8 takes a quarter of the memory, ring what windows see.",
    ),
    click.option(
        "--window", type=click.IntRange(1), help="How many tokens a ring keeps; there is no end to it then."
    ),
    click.option("--threads", type=click.IntRange(1), help="How many threads compute."),
    click.option("--stats", is_flag=True, help="Print how fast it was."),
)


LOADING = ("activations", "cache", "window")
"""The options that say how a model is loaded."""


def with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command with the options that say how tokens are chosen."""
    for option in reversed(SETTINGS):
        command = option(command)
    return command


def loaded(path: str, threads: int | None, **how: Any) -> Any:
    """The model of a folder or a file; see `relay.models.load` for how."""
    if threads is not None:
        os.environ["RELAY_NUM_THREADS"] = str(threads)
    from relay.models import load

    with progress("loading"):
        return load(path, **how)


def loaded_with_options(
    path: str, threads: int | None, given: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The model of a command, and options of `relay.decoding`."""
    found = dict(given)
    how = {name: found.pop(name) for name in LOADING}
    draft = found.pop("draft")
    if draft is not None:
        found["draft"] = loaded(draft, threads, **how)
    found["stop"] = list(found["stop"])
    return loaded(path, threads, **how), found


def text_in(path: str) -> str:
    """The text of a file (`cannot-read`)."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        fail("cannot-read", f"`{path}` cannot be read: {reason}")


def speeds(found: Any) -> str:
    """How fast a request was, in a line."""

    def speed(count: int, seconds: float) -> str:
        return f"{count} tokens, {count / seconds:.1f}/s" if seconds > 0 else f"{count} tokens"

    prompt = speed(found.read_tokens, found.prompt_seconds)
    return f"prompt: {prompt}; written: {speed(max(0, len(found.tokens) - 1), found.decode_seconds)}"
