"""`relay chat MODEL`: a conversation with a language model."""

from typing import Any

import click

from relay.cli.generate import shown
from relay.cli.language_models import loaded_with_options, speeds, with_settings
from relay.decoding.chat import Conversation
from relay.diagnostic import RelayError

HELP = "/reset begins anew, /system TEXT says how to answer, /quit ends; Ctrl-C ends an answer"


@click.command()
@click.argument("model")
@with_settings
@click.option("--system", default="", metavar="TEXT", help="What the model is told first.")
def chat(model: str, threads: int | None, stats: bool, system: str, **given: Any) -> None:
    """Talk with the language model in the folder or file MODEL, by its own template for conversations.

    What was said before stays in its cache.
    """
    found, options = loaded_with_options(model, threads, given)
    talk = Conversation(found, system)
    with_history()
    click.echo(HELP, err=True)
    while True:
        try:
            line = input("> ").strip()
        except EOFError:
            click.echo()
            return
        command, _, rest = line.partition(" ")
        if command in ("/quit", "/exit"):
            return
        if command == "/reset":
            talk.reset()
        elif command == "/system":
            talk.reset(rest.strip())
        elif line.startswith("/"):
            click.echo(HELP, err=True)
        elif line:
            answer(talk, line, options, stats)


def answer(talk: Conversation, line: str, options: dict[str, Any], stats: bool) -> None:
    """Print what the model answers, or what is wrong with the question."""
    try:
        found = talk.say(line, on_text=shown, **options)
    except KeyboardInterrupt:
        click.echo("\n(interrupted)", err=True)
        return
    except RelayError as error:
        click.echo(error, err=True)
        return
    click.echo()
    if stats:
        click.echo(speeds(found), err=True)


def with_history() -> None:
    """Lines can be edited and called back where Python has readline."""
    try:
        import readline
    except ImportError:
        return
    readline.set_history_length(1000)
