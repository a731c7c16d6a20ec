"""`relay generate MODEL PROMPT`: what a language model writes after a prompt."""

import sys
from typing import Any

import click

from relay.cli.files import STDIN
from relay.cli.language_models import loaded_with_options, speeds, text_in, with_settings

EXAMPLES = """\b
Examples:
  relay generate models/SmolLM2-135M "The capital of France is" --max-tokens 20
  relay generate models/Qwen2.5-0.5B "Tell a joke." --temperature 0.8 --top-p 0.95 --seed 7
  relay generate models/Qwen2.5-0.5B "A person:" --json-schema person.json
  relay generate models/Qwen2.5-1.5B - --draft models/Qwen2.5-0.5B < prompt.txt
"""


@click.command(epilog=EXAMPLES)
@click.argument("model")
@click.argument("prompt")
@with_settings
@click.option("--json-schema", metavar="FILE", help="Write JSON that fits the schema in a file.")
@click.option("--regex", metavar="EXPRESSION", help="Write what a regular expression matches.")
@click.option("--grammar", metavar="FILE", help="Write what a grammar, in Lark's notation, has.")
def generate(
    model: str,
    prompt: str,
    threads: int | None,
    stats: bool,
    json_schema: str | None,
    regex: str | None,
    grammar: str | None,
    **given: Any,
) -> None:
    """Print what the language model in the folder or file MODEL writes after PROMPT, as it comes.

    `-` is standard input. Ctrl-C ends it.
    """
    text = sys.stdin.read() if prompt == STDIN else prompt
    loaded, options = loaded_with_options(model, threads, given)
    if json_schema is not None:
        options["json_schema"] = text_in(json_schema)
    if grammar is not None:
        options["grammar"] = text_in(grammar)
    found = loaded.generate(text, on_text=shown, regex=regex, **options)
    click.echo()
    if stats:
        click.echo(speeds(found), err=True)


def shown(text: str) -> None:
    """Print text at once."""
    click.echo(text, nl=False)
    sys.stdout.flush()
