"""`POST /v2/models/NAME/infer`: from a request to its answer, whatever happens on the way."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from time import perf_counter
from typing import Any

from relay.serving.batcher import BusyError, Pending
from relay.serving.body import GoneError, Receive, TooLargeError, number, read_body
from relay.serving.logs import logger
from relay.serving.repository import Served
from relay.serving.request import Request, read_request
from relay.serving.response import BROKEN, JSON_SIZE, Headers, error_body, error_of, infer_response
from relay.serving.state import State

Scope = MutableMapping[str, Any]
Send = Callable[[Any], Awaitable[None]]
WATCH_AFTER_SECONDS = 0.02
"""Who waits longer than this is watched: of a client that has gone, the request is dropped."""
GONE = 499
"""What metrics and logs call a request whose client has gone."""


class AnsweredError(Exception):
    """A request that ends without outputs."""

    def __init__(self, status: int, code: str, message: str, retry_seconds: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_seconds = retry_seconds


class Infer:
    """The endpoint, as ASGI calls it."""

    def __init__(self, state: State) -> None:
        self.state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begin = perf_counter()
        path = scope["path_params"]
        served = self.state.repository.find(path["name"], path.get("version"))
        if served is None:
            await answer(send, 404, *failure("missing", missing(path)))
            return
        try:
            headers, body = await self.outputs(served, scope, receive)
            status = 200
        except AnsweredError as error:
            status = error.status
            headers, body = failure(error.code, str(error), error.retry_seconds)
        served.metrics.answered(status, perf_counter() - begin)
        if self.state.logs_requests or status >= BROKEN:
            seconds = round(perf_counter() - begin, 6)
            extra = {"model": served.name, "version": served.version, "status": status, "seconds": seconds}
            logger.log(40 if status == BROKEN else 20, "request", extra=extra)
        if status != GONE:
            await answer(send, status, headers, body)

    async def outputs(self, served: Served, scope: Scope, receive: Receive) -> tuple[Headers, bytes]:
        """The answer of the model (`AnsweredError`)."""
        state, settings = self.state, self.state.settings
        if state.is_draining or state.in_hand >= settings.max_requests:
            why = (
                "the server is shutting down"
                if state.is_draining
                else "the server is at its limit of requests"
            )
            raise AnsweredError(503, "busy", why, settings.retry_seconds)
        state.in_hand += 1
        pending: Pending | None = None
        request: Request | None = None
        try:
            async with asyncio.timeout(settings.timeout_seconds) as time:
                headers = dict(scope["headers"])
                body = await read_body(headers, receive, settings.max_body_bytes)
                request = read_request(body, number(headers, JSON_SIZE), served.model)
                served.model.check(request.arrays)
                if request.timeout_seconds is not None and request.timeout_seconds < settings.timeout_seconds:
                    time.reschedule(asyncio.get_running_loop().time() + request.timeout_seconds)
                pending = served.batcher.submit(request.arrays)
                result = await watched(pending, receive)
            if isinstance(result, BaseException):
                raise result
            return infer_response(request, result, served.model, served.name, served.version)
        except (BusyError, TimeoutError, TooLargeError, GoneError) as error:
            raise refusal(error, request, state) from None
        except Exception as error:
            status, code, text = error_of(error)
            if code == "internal":
                logger.error("the model failed", extra={"model": served.name}, exc_info=error)
            raise AnsweredError(status, code, text) from None
        finally:
            state.in_hand -= 1
            if pending is not None:
                served.batcher.drop(pending)


def refusal(error: Exception, request: Request | None, state: State) -> AnsweredError:
    """What a limit answers."""
    settings = state.settings
    if isinstance(error, BusyError):
        text = f"{settings.max_queue} requests wait for the model"
        return AnsweredError(503, "busy", text, settings.retry_seconds)
    if isinstance(error, TooLargeError):
        return AnsweredError(413, "size", f"the body is larger than {settings.max_body_bytes} bytes")
    if isinstance(error, GoneError):
        return AnsweredError(GONE, "gone", "the client has closed the connection")
    if request is None:
        return AnsweredError(408, "timeout", f"the body did not arrive in {settings.timeout_seconds:g} s")
    return AnsweredError(504, "timeout", "the model did not answer in time")


async def watched(pending: Pending, receive: Receive) -> Any:
    """The result of a request, unless its client goes before (`GoneError`)."""
    loop = asyncio.get_running_loop()
    watch: list[asyncio.Task[None]] = []

    async def leave() -> None:
        while (await receive())["type"] != "http.disconnect":
            continue
        if not pending.future.done():
            pending.future.set_exception(GoneError())

    timer = loop.call_later(WATCH_AFTER_SECONDS, lambda: watch.append(loop.create_task(leave())))
    try:
        return await pending.future
    finally:
        timer.cancel()
        for task in watch:
            task.cancel()


def missing(path: Any) -> str:
    """What is said of a model that is not served."""
    version = path.get("version")
    return f"there is no model `{path['name']:.80}`" + (f" of version {version:.20}" if version else "")


def failure(code: str, message: str, retry_seconds: int | None = None) -> tuple[Headers, bytes]:
    """The headers and body of an error."""
    headers = [(b"content-type", b"application/json")]
    if retry_seconds is not None:
        headers.append((b"retry-after", b"%d" % retry_seconds))
    return headers, error_body(message, code)


async def answer(send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Send a whole answer."""
    headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
