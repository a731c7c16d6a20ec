"""`relay completion SHELL`: what has a shell complete commands, options and files."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from relay.cli.main import relay
from relay.diagnostic import fail
from relay.text.files import write_atomically

VARIABLE = "_RELAY_COMPLETE"
"""The variable of the environment by which click hands over what is to be completed."""
PLACES = {
    "bash": ".local/share/bash-completion/completions/relay",
    "zsh": ".zfunc/_relay",
    "fish": ".config/fish/completions/relay.fish",
}
"""Where shells look for the completions of a command, in the home of the user."""
HINTS = {
    "zsh": "zsh needs `fpath+=~/.zfunc; autoload -Uz compinit; compinit` in ~/.zshrc, if it is not there yet"
}


@click.command()
@click.option("--install", is_flag=True, help="Write it where the shell looks for it, in your home.")
@click.argument("shell", type=click.Choice(tuple(PLACES)), required=False)
def completion(shell: str | None, install: bool) -> None:
    """Print what has SHELL (by default yours) complete commands, options and files.

    `eval "$(relay completion bash)"` has it for this session, and `--install` for all later ones.
    """
    chosen = shell or Path(os.environ.get("SHELL", "")).name
    if chosen not in PLACES:
        raise click.UsageError(f"name a shell: {', '.join(PLACES)}")
    made = get_completion_class(chosen)
    assert made is not None
    script = made(relay, {}, "relay", VARIABLE).source()
    if not install:
        click.echo(script)
        return
    place = Path.home() / PLACES[chosen]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail("cannot-write", f"`{place.parent}` cannot be made: {error.strerror or error}")
    write_atomically(str(place), lambda out: out.write(script.encode()))
    click.echo(f"{place} is written: new sessions of {chosen} complete `relay`", err=True)
    if chosen in HINTS:
        click.echo(HINTS[chosen], err=True)
