"""`relay lsp`: the language server, for editors."""

import click


@click.command()
@click.option(
    "--tcp", type=click.IntRange(0, 65535), metavar="PORT", help="Listen on this port of localhost."
)
def lsp(tcp: int | None) -> None:
    """Answer an editor, by the Language Server Protocol over standard input and output."""
    from relay.lsp.features import make_server

    server = make_server().pygls
    if tcp is None:
        server.start_io()
    else:
        server.start_tcp("127.0.0.1", tcp)
