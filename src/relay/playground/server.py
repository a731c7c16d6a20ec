"""The local server: the page, the package for the browser's engine, and answers by worker processes."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from relay.playground.archive import package_archive
from relay.playground.guard import Guard
from relay.playground.pool import Limits, Pool
from relay.serving.library import load

EXTRA = "playground"
STATIC = Path(__file__).parent / "static"
GONE = 499
"""The status of what nobody waits for any more; it is sent to nobody."""


def make_app(limits: Limits, host: str = "127.0.0.1", on_start: Callable[[], None] = lambda: None) -> Any:
    """The ASGI application (`no-server`); `on_start` is called when it answers."""
    load("uvicorn", EXTRA)  # without which the application is of no use
    responses, routing = load("starlette.responses", EXTRA), load("starlette.routing", EXTRA)
    static = load("starlette.staticfiles", EXTRA).StaticFiles(directory=STATIC)
    pool = Pool(limits)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncGenerator[None]:
        warming = asyncio.ensure_future(pool.warm_up())
        on_start()
        yield
        warming.cancel()
        await pool.close()

    async def page(_: Any) -> Any:
        return responses.FileResponse(STATIC / "index.html")

    async def package(_: Any) -> Any:
        data = await asyncio.to_thread(package_archive)
        return responses.Response(data, media_type="application/zip")

    async def ask(request: Any) -> Any:
        try:
            question: Any = json.loads(await request.body())
        except (ValueError, RecursionError):
            question = None
        if not isinstance(question, dict):
            return responses.PlainTextResponse("a question is an object of JSON\n", 400)
        found = await unless_gone(request, pool.ask(cast("dict[str, Any]", question)))
        return responses.Response(status_code=GONE) if found is None else responses.JSONResponse(found)

    routes = [
        routing.Route("/", page),
        routing.Route("/relay.zip", package),
        routing.Route("/ask", ask, methods=["POST"]),
        routing.Mount("/static", static),
    ]
    app = load("starlette.applications", EXTRA).Starlette(routes=routes, lifespan=lifespan)
    return Guard(app, host)


async def unless_gone(request: Any, work: Any) -> Any:
    """What `work` gives; None where the browser closes the connection first, which cancels it."""
    answering = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(left(request))
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return answering.result() if answering.done() else None
    finally:
        for task in (answering, leaving):
            task.cancel()
        await asyncio.gather(answering, leaving, return_exceptions=True)


async def left(request: Any) -> None:
    """Return when the browser has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
