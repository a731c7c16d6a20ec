"""The server as an ASGI application: the Open Inference Protocol over HTTP, health, and metrics.

Source: the protocol's "HTTP/REST" and its extension for binary tensor data; the index of the repository is
Triton's.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from relay.serving.body import Receive
from relay.serving.inference import Infer, Scope, Send, missing
from relay.serving.library import load
from relay.serving.metrics import Metrics
from relay.serving.model import Model
from relay.serving.repository import Repository, Served
from relay.serving.response import error_body, json_bytes
from relay.serving.settings import Settings
from relay.serving.state import State
from relay.version import VERSION

EXTENSIONS = ["binary_tensor_data", "model_repository(index)"]
JSON = "application/json"
SHARED_MEMORY = "tensors are in the body of a request: the server does not share memory with clients"
FIXED_MODELS = "the models are those of the command line: start the server again to change them"
TRACES = "`--log-requests` logs each request; there are no traces"
STATISTICS = "`GET /metrics` has the counts and times of all models"
OF_OTHER_DIALECTS = {
    "/v2/models": "`POST /v2/repository/index` lists the models",
    "/v2/models/stats": STATISTICS,
    "/v2/models/{name}/config": "`GET /v2/models/NAME` has the inputs and outputs; there is no configuration",
    "/v2/models/{name}/stats": STATISTICS,
    "/v2/models/{name}/trace/setting": TRACES,
    "/v2/repository/models/{name}/load": FIXED_MODELS,
    "/v2/repository/models/{name}/unload": FIXED_MODELS,
    "/v2/systemsharedmemory/{rest:path}": SHARED_MEMORY,
    "/v2/cudasharedmemory/{rest:path}": SHARED_MEMORY,
    "/v2/trace/setting": TRACES,
    "/v2/logging": "`--log-format` and `--log-requests` choose the log when the server starts",
    "/v2/models/{name}/generate": "`relay generate` runs language models; the server has only `infer`",
    "/v2/models/{name}/generate_stream": "`relay generate` runs language models; the server has only `infer`",
    "/v1": "the server has version 2 of the protocol: `GET /v2`",
    "/v1/{rest:path}": "the server has version 2 of the protocol: `POST /v2/models/NAME/infer`",
}
"""Calls of Triton and KServe that the server does not have: their paths, and hints."""
UNSUPPORTED = OF_OTHER_DIALECTS | {
    path.replace("{name}", "{name}/versions/{version}"): hint
    for path, hint in OF_OTHER_DIALECTS.items()
    if path.startswith("/v2/models/{name}/")
}
"""Those calls, also of a version of a model."""


def make_state(models: Mapping[str, Model], settings: Settings | None = None) -> State:
    """A server of models by name, all of version 1; `add` of its repository serves more."""
    metrics, settings = Metrics(), settings or Settings()
    repository = Repository(settings, metrics)
    for name, model in models.items():
        repository.add(name, model)
    state = State(repository, settings, metrics)
    metrics.in_hand.set_function(lambda: state.in_hand)
    return state


def make_app(state: State) -> Any:
    """The ASGI application of a server (`no-server`)."""
    routing, applications = load("starlette.routing"), load("starlette.applications")
    pages, route = Pages(state, load("starlette.responses").Response), routing.Route
    infer = Infer(state)
    routes: list[Any] = []
    for model in ("/v2/models/{name}", "/v2/models/{name}/versions/{version}"):
        routes += [  # in the order of how often they are asked: each is tried before the next
            route(f"{model}/infer", infer, methods=["POST"]),
            route(f"{model}/ready", pages.model_ready),
            route(model, pages.model),
        ]
    routes += [
        route("/v2/health/live", pages.live),
        route("/v2/health/ready", pages.ready),
        route("/v2", pages.server),
        route("/v2/repository/index", pages.index, methods=["POST"]),
        route("/metrics", pages.metrics),
    ]
    methods = ["GET", "POST"]
    others = [route(path, pages.unsupported(hint), methods=methods) for path, hint in UNSUPPORTED.items()]

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncGenerator[None]:
        yield
        for served in state.repository.all():
            served.batcher.close()

    pages.calls = [f"{'GET' if 'GET' in r.methods else 'POST'} {r.path}" for r in routes]
    app = applications.Starlette(
        routes=[*routes, *others],
        middleware=[load("starlette.middleware").Middleware(WithoutTrailingSlash)],
        lifespan=lifespan,
        exception_handlers={load("starlette.exceptions").HTTPException: pages.http_error},
    )
    app.router.redirect_slashes = False
    return app


class WithoutTrailingSlash:
    """An application that answers a path with a slash at its end as the one without."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/"):
            scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        await self.app(scope, receive, send)


class Pages:
    """What is answered at once."""

    def __init__(self, state: State, response: Any) -> None:
        self.state = state
        self.response = response
        self.calls: list[str] = []
        """The methods and paths that the server has."""

    def json(self, value: Any, status: int = 200) -> Any:
        """An answer in JSON."""
        return self.response(json_bytes(value), status, media_type=JSON)

    def error(self, status: int, code: str, text: str) -> Any:
        """An error."""
        return self.response(error_body(text, code), status, media_type=JSON)

    async def http_error(self, request: Any, error: Any) -> Any:
        """Answer a path or method that the server does not have, with those that it has."""
        path = request.url.path
        headers: Mapping[str, str] = error.headers or {}
        if error.status_code == 405:
            code, text = "method", f"{path} takes {headers['Allow']}, not {request.method}"
        else:
            calls = [f"`{c.replace('{name}', 'NAME')}`" for c in self.calls if "{version}" not in c]
            code = "missing"
            text = f"there is no path {path:.80}: the server has {', '.join(calls[:-1])} and {calls[-1]}"
        response = self.error(error.status_code, code, text)
        response.headers.update(headers)
        return response

    def unsupported(self, hint: str) -> Any:
        """Return the endpoint of a call of another dialect of the protocol."""

        async def answer(request: Any) -> Any:
            return self.error(501, "unsupported", f"{request.url.path} is not supported: {hint}")

        return answer

    async def live(self, request: Any) -> Any:
        """Whether the server runs."""
        return self.json({"live": True})

    async def ready(self, request: Any) -> Any:
        """Whether it takes requests: not while it shuts down."""
        is_ready = not self.state.is_draining
        return self.json({"ready": is_ready}, 200 if is_ready else 503)

    async def server(self, request: Any) -> Any:
        """What server it is."""
        return self.json({"name": "relay", "version": VERSION, "extensions": EXTENSIONS})

    async def index(self, request: Any) -> Any:
        """The models that there are."""
        state = "UNAVAILABLE" if self.state.is_draining else "READY"
        models = self.state.repository.all()
        return self.json(
            [{"name": m.name, "version": m.version, "state": state, "reason": ""} for m in models]
        )

    async def metrics(self, request: Any) -> Any:
        """The metrics."""
        metrics = self.state.metrics
        return self.response(metrics.page(), media_type=metrics.content_type)

    def found(self, request: Any) -> Served | None:
        """The model of a path."""
        return self.state.repository.find(request.path_params["name"], request.path_params.get("version"))

    async def model(self, request: Any) -> Any:
        """The inputs and outputs of a model."""
        served = self.found(request)
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        if served is None and (hint := OF_OTHER_DIALECTS.get(path)):  # no model has that name
            return await self.unsupported(hint)(request)
        if served is None:
            return self.error(404, "missing", missing(request.path_params))
        model = served.model
        return self.json(
            {
                "name": served.name,
                "versions": list(self.state.repository.versions[served.name]),
                "platform": model.platform,
                "inputs": [spec.metadata() for spec in model.inputs],
                "outputs": [spec.metadata() for spec in model.outputs],
                "parameters": {"joining": model.joining.value},
            }
        )

    async def model_ready(self, request: Any) -> Any:
        """Whether a model takes requests."""
        served = self.found(request)
        if served is None:
            return self.error(404, "missing", missing(request.path_params))
        is_ready = not self.state.is_draining
        return self.json({"name": served.name, "ready": is_ready}, 200 if is_ready else 503)
