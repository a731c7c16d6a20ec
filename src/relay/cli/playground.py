"""`relay playground`: programs on a web page of this machine."""

import webbrowser

import click

STOPPING_S = 1
"""Seconds that open requests have to end when the server is told to stop."""


@click.command()
@click.option(
    "--host", default="127.0.0.1", metavar="NAME", help="The address to listen at (default: 127.0.0.1)."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    metavar="N",
    help="The port (default: 8080); 0 is any that is free.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    metavar="S",
    help="Seconds after which a program is stopped (default: 10).",
)
@click.option(
    "--memory-limit",
    type=click.IntRange(min=64),
    default=2048,
    metavar="MIB",
    help="Memory that a program may take, in MiB (default: 2048).",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    default=4,
    metavar="N",
    help="Programs that run at the same time (default: 4).",
)
def playground(host: str, port: int, opens: bool, time_limit: float, memory_limit: int, workers: int) -> None:
    """Serve a page on which programs are edited, checked, transformed and run, until it is interrupted.

    Programs run in processes of their own, with limits, and read and write no files.  Only pages of this
    server are answered, so that other sites cannot use it.
    """
    from relay.playground.pool import Limits
    from relay.playground.server import make_app
    from relay.serving.server import BACKLOG_CONNECTIONS, address_of, bound_socket, serve_until_stopped

    with bound_socket(host, port) as listener:
        url = f"http://{address_of(listener)}/"

        def started() -> None:
            click.echo(f"{url}  (Ctrl-C ends it)")
            if opens:
                webbrowser.open(url)

        app = make_app(Limits(time_limit, memory_limit, workers), host, started)
        listener.listen(BACKLOG_CONNECTIONS)  # a browser that comes before uvicorn does waits
        serve_until_stopped(app, listener, drain_seconds=STOPPING_S)
