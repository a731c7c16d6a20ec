"""`relay repl`: a conversation with Relay, a line at a time.

On a terminal, prompt_toolkit edits lines, keeps those of earlier sessions, colours and completes them.  Where
it is not installed, or standard input is not a terminal, lines are read as they come.
"""

import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from relay.cli.session import CONTINUED, PROMPT, QuitError, Session, is_open
from relay.cli.terminal import is_watched
from relay.diagnostic import RelayError
from relay.version import VERSION

HISTORY = "relay/history"
"""Where lines are kept, below the folder for what programs keep of a user."""


@click.command()
@click.option(
    "--backend",
    type=click.Choice(["interpreter", "native"]),
    default="interpreter",
    help="What computes values (default: interpreter).",
)
@click.argument("file", required=False)
def repl(backend: str, file: str | None) -> None:
    """Answer expressions and definitions as they are typed, with those of FILE at hand.

    `:help` lists what else can be asked for.
    """
    session = Session(backend)
    if file is not None:
        session.load(file)
    if not is_watched(sys.stdin):
        for text in inputs(lines_of(sys.stdin.readline)):
            if not answered(session, text):
                return
        return
    click.echo(f"Relay {VERSION}; :help lists commands", err=True)
    talk(session)


def talk(session: Session) -> None:
    """Answer a person at a terminal."""
    read = reader(session)
    while True:
        try:
            text = read()
        except KeyboardInterrupt:
            continue
        except EOFError:
            click.echo(err=True)
            return
        if not answered(session, text):
            return


def answered(session: Session, text: str) -> bool:
    """Print what is answered; whether the conversation goes on."""
    try:
        said = session.answer(text)
    except QuitError:
        return False
    except RelayError as error:
        click.echo(str(error), err=True)
        return True
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        return True
    if said:
        click.echo(said)
    return True


def lines_of(read: Callable[[], str]) -> Iterator[str]:
    """The lines that are read until there are no more."""
    while line := read():
        yield line


def inputs(lines: Iterator[str]) -> Iterator[str]:
    """Lines put together where brackets are open between them."""
    text = ""
    for line in lines:
        text += line
        if not is_open(text):
            yield text
            text = ""
    if text:
        yield text


def reader(session: Session) -> Callable[[], str]:
    """What asks for an input: several lines where brackets are open."""
    try:
        toolkit: Any = import_module("prompt_toolkit")
    except ImportError:
        from relay.cli.chat import with_history

        with_history()
        return line_by_line
    from relay.text.pygments_lexer import RelayLexer

    def part(name: str) -> Any:
        return import_module(f"prompt_toolkit.{name}")

    file = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / HISTORY
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        history = part("history").FileHistory(str(file))
    except OSError:  # a home that cannot be written to keeps nothing
        history = None
    app = part("application.current").get_app
    made = toolkit.PromptSession(
        history=history,
        completer=part("completion").WordCompleter(lambda: words(session), WORD=True, match_middle=False),
        complete_while_typing=False,
        lexer=part("lexers").PygmentsLexer(RelayLexer),
        multiline=part("filters").Condition(lambda: is_open(app().current_buffer.document.text)),
        prompt_continuation=CONTINUED,
    )
    return lambda: made.prompt(PROMPT)


def line_by_line() -> str:
    """An input, where there is no prompt_toolkit."""
    text = input(PROMPT)
    while is_open(text):
        text += "\n" + input(CONTINUED)
    return text


def words(session: Session) -> list[str]:
    """All that an input may name."""
    from relay.op.registry import registry

    mod = session.mod
    constructors = [c.name_hint for data in mod.type_definitions.values() for c in data.constructors]
    return [
        *[f":{name}" for name in session.commands],
        *[f"@{v.name_hint}" for v in mod.functions],
        *[f"%{name}" for name in session.values],
        *constructors,
        *sorted(registry),
    ]
