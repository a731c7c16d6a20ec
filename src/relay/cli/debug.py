"""`relay debug FILE [ARGS]`: a program that is stopped, looked at and stepped through."""

import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, cast

import click

from relay.cli.calls import command, program_of
from relay.cli.inputs import read_weights
from relay.cli.run import refuse_options
from relay.cli.terminal import is_watched
from relay.diagnostic import fail
from relay.ir.expr import Expr, Function, GlobalVar
from relay.ir.module import IRModule

EXAMPLES = """\b
Examples:
  relay debug distance.relay '[1.0, 2.0]' '[4.0, 6.0]'
  echo 'break @main' | relay debug model.relay image.npy --weights model.safetensors
  relay debug --port 5678
"""


@click.command(context_settings={"ignore_unknown_options": True}, epilog=EXAMPLES)
@click.option("--entry", default="main", metavar="NAME", help="The definition to run (default: main).")
@click.option(
    "--weights", metavar="FILE", help="A .safetensors, .npz or .params file of parameters, by name."
)
@click.option("--stdio", is_flag=True, help="Answer an editor over standard input and output.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Answer an editor on this port of localhost (0: any)."
)
@click.argument("file", required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def debug(
    file: str | None, args: Sequence[str], entry: str, weights: str | None, stdio: bool, port: int | None
) -> int:
    """Run the program in FILE on inputs, as `relay run` takes them, in the interpreter, and stop at its
    first line: `help` lists what can be said then.

    With --stdio or --port it is a server of the Debug Adapter Protocol, for editors; what they launch names
    the file and its inputs.
    """
    if stdio or port is not None:
        if file is not None or (stdio and port is not None):
            raise click.UsageError("give one of FILE, --stdio and --port")
        serve_streams() if port is None else serve_port(port)
        return 0
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.")
    refuse_options((file, *args))
    mod, what, arrays = debugged(file, entry, args, weights)
    return at_prompt(mod, what, arrays)


def debugged(
    file: str, entry: str, args: Sequence[str], weights: str | None
) -> tuple[IRModule, Expr, list[Any]]:
    """The program in a file, and the call of it on inputs."""
    name = entry.removeprefix("@")
    mod, main, inputs = program_of(file, name, args, {} if weights is None else read_weights(weights))
    call, arrays = command(mod, name, inputs) if isinstance(main, Function) else (GlobalVar(name), [])
    return mod, call, arrays


def at_prompt(mod: IRModule, what: Expr, arrays: Sequence[Any]) -> int:
    """Debug a program at a prompt; without a terminal, by the lines of standard input."""
    from relay.debugger.control import TerminatedError
    from relay.debugger.prompt import Prompt
    from relay.interpreter.show import show

    prompt = Prompt(mod, asker(), lambda text: click.echo(text, nl=False))
    try:
        click.echo(show(prompt.debugger.run(what, arrays)))
    except TerminatedError:
        return 1
    return 0


def asker() -> Callable[[], str]:
    """What asks for a line (`EOFError` at the end)."""
    from relay.debugger.prompt import PROMPT

    if is_watched(sys.stdin):
        from relay.cli.chat import with_history

        with_history()
        return lambda: input(PROMPT)

    def line() -> str:
        text = "" if sys.stdin is None else sys.stdin.readline()  # pyright: ignore[reportUnnecessaryComparison]
        if not text:
            raise EOFError
        return text

    return line


# --- editors


def launched(arguments: dict[str, Any]) -> Any:
    """The program that an editor launches: `program`, `args`, `entry` and `weights` (`debug-protocol`)."""
    from relay.debugger.adapter import Program

    file = arguments.get("program")
    args: Any = arguments.get("args") or []
    if not isinstance(file, str):
        fail("debug-protocol", "the configuration names no `program`", hint='"program": "${file}"')
    if not isinstance(args, list):
        fail("debug-protocol", "`args` is a list of inputs", hint='"args": ["[1.0, 2.0]", "image.npy"]')
    weights = arguments.get("weights")
    texts = [str(x) for x in cast("list[Any]", args)]
    entry = str(arguments.get("entry") or "main")
    return Program(*debugged(file, entry, texts, None if weights is None else str(weights)))


def serve_streams() -> None:
    """Answer an editor over standard input and output; what else is printed goes to standard error."""
    reader, writer = sys.stdin.buffer, sys.stdout.buffer
    printed, sys.stdout = sys.stdout, sys.stderr
    try:
        serve(reader, writer)
    finally:
        sys.stdout = printed


def serve_port(port: int) -> None:
    """Answer one editor on a port of this machine."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            raise click.UsageError(f"port {port} cannot be used: {error.strerror or error}") from None
        listener.listen(1)
        click.echo(f"listening on 127.0.0.1:{listener.getsockname()[1]}", err=True)
        client, _ = listener.accept()
    with client, client.makefile("rb") as reader, client.makefile("wb") as writer:
        serve(reader, writer)


def serve(reader: BinaryIO, writer: BinaryIO) -> None:
    """One session with an editor."""
    from relay.debugger.adapter import Adapter
    from relay.debugger.protocol import Connection

    Adapter(Connection(reader, writer), launched).serve()
