"""What a request must be like to be answered: it comes from a page of this server, and is of bounded size.

A page of another site can send requests to a local server, and by DNS rebinding even under a name of its
own; `Host`, `Origin` and `Sec-Fetch-Site` tell these apart.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

MAX_BODY_BYTES = 2 << 20
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""The names that this machine has for itself."""
PYODIDE = "https://cdn.jsdelivr.net"
"""Where the browser's own engine comes from, when a page asks for it."""
POLICY = "; ".join(
    [
        "default-src 'none'",
        f"script-src 'self' 'wasm-unsafe-eval' {PYODIDE}",
        "style-src 'self' 'unsafe-inline'",  # CodeMirror makes its styles in the page
        "img-src 'self' data: blob:",
        f"connect-src 'self' {PYODIDE}",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-src 'self'",
        "frame-ancestors 'none'",
    ]
)
FRAME = "/static/frame.html"
FRAME_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'self'; sandbox allow-scripts"
)
"""The page in which pictures are: it runs what it is sent, and reaches nothing, this server neither."""
HEADERS = """
X-Content-Type-Options: nosniff
Referrer-Policy: no-referrer
Cross-Origin-Opener-Policy: same-origin
Cross-Origin-Resource-Policy: same-origin
Cache-Control: no-cache
"""
"""What every response says beside its own headers and its policy."""
ADDED = [
    (k.lower().encode(), v.encode()) for k, v in (line.split(": ", 1) for line in HEADERS.split("\n")[1:-1])
]
OWN_PAGES = ("same-origin", "none")
"""What browsers say of where a request comes from: a page of this server, or an address that was typed."""

Application = Callable[[Any, Any, Any], Awaitable[None]]


def host_of(value: str) -> str:
    """The name in a `Host` header, without the port."""
    name, _, port = value.rpartition(":")
    return (name if port.isdigit() else value).lower()


def refusal(method: str, headers: Mapping[str, str], host: str) -> tuple[int, str] | None:
    """The status and the reason why a request is refused, or None.

    `headers` are by names such as `Content-Type`, `host` is the address of the server.
    """
    names = {*LOOPBACK, host.lower(), f"[{host.lower()}]"}
    named = headers.get("Host", "")
    if host_of(named) not in names:
        return 421, "this server does not answer under that name"
    if method in ("GET", "HEAD"):
        return None
    if headers.get("Origin", f"http://{named}") != f"http://{named}":
        return 403, "a page of another site cannot ask"
    if headers.get("Sec-Fetch-Site", OWN_PAGES[0]) not in OWN_PAGES:
        return 403, "a page of another site cannot ask"
    if headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
        return 415, "a question is application/json"
    if not headers.get("Content-Length", "").isdigit():
        return 411, "a question says how long it is"
    if int(headers["Content-Length"]) > MAX_BODY_BYTES:
        return 413, f"a question has at most {MAX_BODY_BYTES:,} bytes"
    return None


class Guard:
    """An ASGI application in front of another one, which sees only requests that may be answered."""

    def __init__(self, app: Application, host: str) -> None:
        """`host` is the address that the server listens at."""
        self.app = app
        self.host = host

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Hand a request on, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                policy = FRAME_POLICY if scope.get("path") == FRAME else POLICY
                added = [*ADDED, (b"content-security-policy", policy.encode())]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        headers = {k.decode("latin1").title(): v.decode("latin1") for k, v in scope["headers"]}
        refused = refusal(scope["method"], headers, self.host)
        if refused is None:
            await self.app(scope, receive, send_guarded)
            return
        status, reason = refused
        body = reason.encode() + b"\n"
        fields = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
        await send_guarded({"type": "http.response.start", "status": status, "headers": fields})
        await send_guarded({"type": "http.response.body", "body": body})
