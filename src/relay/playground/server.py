"""The local server: the page, the package for the browser's engine, and answers by worker processes."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from relay.playground.archive import package_archive
from relay.playground.guard import Guard
from relay.playground.pool import Limits, Pool
from relay.serving.library import load

EXTRA = "playground"
STATIC = Path(__file__).parent / "static"
LINES_OF_JSON = (b"content-type", b"application/x-ndjson")


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
        return Conversation(pool, cast("dict[str, Any]", question))

    routes = [
        routing.Route("/", page),
        routing.Route("/relay.zip", package),
        routing.Route("/ask", ask, methods=["POST"]),
        routing.Mount("/static", static),
    ]
    app = load("starlette.applications", EXTRA).Starlette(routes=routes, lifespan=lifespan)
    return Guard(app, host)


class Conversation:
    """The response to a question, in lines of JSON: events as they happen, and `{"answer": …}` at the end."""

    def __init__(self, pool: Pool, question: Mapping[str, Any]) -> None:
        """Hold the question, which the pool is asked when the response is sent."""
        self.pool = pool
        self.question = question
        self.events: list[Mapping[str, Any]] = []
        self.has_news = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the lines; the question is cancelled when the browser closes the connection."""
        await send({"type": "http.response.start", "status": 200, "headers": [LINES_OF_JSON]})
        answering = asyncio.ensure_future(self.pool.ask(self.question, self.report))
        leaving = asyncio.ensure_future(until_closed(receive))
        tasks = (answering, leaving)
        for task in tasks:
            task.add_done_callback(lambda _: self.has_news.set())
        try:
            while not (answering.done() or leaving.done()):
                await self.has_news.wait()
                self.has_news.clear()
                if self.events:
                    await send(self.chunk(more=True))
            if answering.done():
                self.report({"answer": answering.result()})
                await send(self.chunk(more=False))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def report(self, event: Mapping[str, Any]) -> None:
        """Keep an event for the next chunk."""
        self.events.append(event)
        self.has_news.set()

    def chunk(self, more: bool) -> dict[str, Any]:
        """Return the message that sends the events that were kept."""
        lines = "".join(json.dumps(event) + "\n" for event in self.events)
        self.events.clear()
        return {"type": "http.response.body", "body": lines.encode(), "more_body": more}


async def until_closed(receive: Any) -> None:
    """Return when the browser has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
