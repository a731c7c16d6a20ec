"""`relay lsp`: the language server, for editors."""

import sys

import click

SWITCH_S = 0.0002
"""How long the thread that checks may keep an answer waiting at a time, in seconds; Python's own is 0.005."""


@click.command()
@click.option(
    "--tcp", type=click.IntRange(0, 65535), metavar="PORT", help="Listen on this port of localhost."
)
def lsp(tcp: int | None) -> None:
    """Answer an editor, by the Language Server Protocol over standard input and output."""
    from relay.lsp.features import make_server

    sys.setswitchinterval(SWITCH_S)
    server = make_server().pygls
    if tcp is None:
        server.start_io()
    else:
        server.start_tcp("127.0.0.1", tcp)
