"""`relay serve MODEL…`: models over HTTP, by the Open Inference Protocol."""

from collections.abc import Mapping, Sequence
from socket import socket
from typing import TYPE_CHECKING, Any

import click

from relay.cli.precision import precision_option
from relay.cli.progress import progress
from relay.cli.served_models import Found, Options, find_models, load_model

if TYPE_CHECKING:
    from relay.serving.state import State

EXAMPLES = """\b
Examples:
  relay serve model.onnx
  relay serve digits=model.relay --weights model.safetensors --port 9000
  relay serve models/ --max-batch 64 --max-delay 2 --log-format json
"""
JOIN = ("auto", "rows", "off")


@click.command("serve", epilog=EXAMPLES)
@click.option(
    "--host", default="127.0.0.1", metavar="NAME", help="The address to listen at (default: 127.0.0.1)."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    metavar="N",
    help="The port (default: 8000); 0 is any that is free.",
)
@click.option("--entry", default="main", metavar="NAME", help="The definition to serve (default: main).")
@click.option(
    "--weights", metavar="FILE", help="A .safetensors or .npz file of parameters, by name; for one model."
)
@click.option(
    "--join",
    type=click.Choice(JOIN),
    default=JOIN[0],
    help="Join requests in one call where it is shown that rows do not depend on each other (auto, the "
    "default), because you say so (rows), or never (off).",
)
@click.option(
    "--max-batch",
    type=click.IntRange(min=1),
    default=32,
    metavar="N",
    help="Rows in one call at most (default: 32).",
)
@click.option(
    "--max-delay",
    type=click.FloatRange(0, 10_000),
    default=0.0,
    metavar="MS",
    help="How long a request waits for others while the model is free, in milliseconds (default: 0).",
)
@click.option(
    "--instances",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Calls of a model at the same time (default: 1 where requests are joined, 2 where not).",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Threads in each call of machine code (default: one for each core); XLA has its own.",
)
@click.option(
    "--max-queue",
    type=click.IntRange(min=1),
    default=1000,
    metavar="N",
    help="Requests of a model that wait (default: 1000); others get 503.",
)
@click.option(
    "--max-requests",
    type=click.IntRange(min=1),
    default=2000,
    metavar="N",
    help="Requests in hand in all (default: 2000); others get 503.",
)
@click.option(
    "--max-body",
    type=click.FloatRange(0, min_open=True),
    default=64.0,
    metavar="MIB",
    help="The size of a request in MiB (default: 64); others get 413.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    metavar="S",
    help="Seconds for a request (default: 30); then it gets 504.",
)
@click.option(
    "--drain",
    type=click.FloatRange(0),
    default=30.0,
    metavar="S",
    help="Seconds that requests have to end after SIGTERM (default: 30).",
)
@click.option("--tls-certificate", metavar="FILE", help="Serve HTTPS, with this certificate (PEM).")
@click.option("--tls-key", metavar="FILE", help="The key of the certificate (PEM).")
@click.option(
    "--log-format",
    type=click.Choice(("text", "json")),
    default="text",
    help="The log, on standard error: lines or JSON.",
)
@click.option("--log-requests", is_flag=True, help="Log every request, not only those that fail.")
@precision_option
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
def serve_models(
    models: Sequence[str],
    host: str,
    port: int,
    entry: str,
    weights: str | None,
    join: str,
    max_batch: int,
    max_delay: float,
    instances: int | None,
    threads: int | None,
    max_queue: int,
    max_requests: int,
    max_body: float,
    timeout: float,
    drain: float,
    tls_certificate: str | None,
    tls_key: str | None,
    log_format: str,
    log_requests: bool,
    precision: str | None,
) -> None:
    """Serve models over HTTP, by the Open Inference Protocol (KServe v2).

    MODEL is what `relay run` takes, NAME=MODEL, or a folder with models: FILE, NAME/FILE, NAME/VERSION/FILE.
    All are compiled before the server listens.  Requests that arrive together are computed together.
    """
    from relay.serving.app import make_app, make_state
    from relay.serving.logs import logger, start_logs
    from relay.serving.server import bound_socket, check_tls
    from relay.serving.settings import MEBIBYTE, Settings

    found = find_models(models)
    if weights is not None and len(found) > 1:
        raise click.UsageError("--weights is for one model: a program has its weights in a file beside it")
    if (tls_certificate is None) != (tls_key is None):
        raise click.UsageError("--tls-certificate and --tls-key go together")
    if tls_certificate is not None and tls_key is not None:
        check_tls(tls_certificate, tls_key)
    settings = Settings(
        max_batch=max_batch,
        max_delay_seconds=max_delay / 1000,
        instances=instances,
        max_queue=max_queue,
        max_requests=max_requests,
        max_body_bytes=int(max_body * MEBIBYTE),
        timeout_seconds=timeout,
        drain_seconds=drain,
    )
    state = make_state({}, settings)
    state.logs_requests = log_requests
    app = make_app(state)
    start_logs(log_format)
    with bound_socket(host, port) as listening:
        add_models(state, found, Options(entry.removeprefix("@"), weights, join, threads, precision))
        tls = {} if tls_certificate is None else {"ssl_certfile": tls_certificate, "ssl_keyfile": tls_key}
        serve_at(app, state, listening, drain, tls)
    logger.info("stopped")


def add_models(state: "State", found: Sequence[Found], options: Options) -> None:
    """Compile models, and have them served."""
    from relay.serving.logs import logger

    for one in found:
        with progress(f"compiling {one.name}"):
            model = load_model(one.file, options)
        state.repository.add(one.name, model, one.version)
        fields = {"model": one.name, "version": one.version, "joining": model.joining.value}
        logger.info("model", extra=fields | ({"reason": model.why_alone} if model.why_alone else {}))


def serve_at(app: Any, state: "State", listening: socket, drain_s: float, tls: Mapping[str, Any]) -> None:
    """Answer requests at a socket until a signal says to stop, then those in hand for `drain_s` seconds."""
    from relay.serving.logs import logger
    from relay.serving.server import BACKLOG_CONNECTIONS, address_of, serve_until_stopped

    def stop() -> None:
        if not state.is_draining:
            logger.info("stopping", extra={"requests": state.in_hand})
        state.is_draining = True

    listening.listen(BACKLOG_CONNECTIONS)  # clients that come before uvicorn does wait
    address = {"address": f"{'https' if tls else 'http'}://{address_of(listening)}"}
    serve_until_stopped(
        app,
        listening,
        stop,
        drain_s,
        lambda: logger.info("serving", extra=address),
        lambda: not state.in_hand,
        state.settings.timeout_seconds,
        **tls,
    )
