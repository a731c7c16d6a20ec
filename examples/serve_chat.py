"""An endpoint like OpenAI's for conversations: `python examples/serve_chat.py FOLDER [PORT]`, then

    curl localhost:8000/v1/chat/completions -d '{"messages": [{"role": "user", "content": "Hello"}]}'

Requests take turns; each has its own options, and `"stream": true` sends text as it comes.  What a request
has in common with earlier ones is not read again: their caches share pages.
"""

import json
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import relay.models
from relay.decoding import Generation, Pool, Session, generate
from relay.decoding.chat import PLAIN_STOP, Conversation
from relay.diagnostic import RelayError

OPTIONS = ("max_tokens", "temperature", "top_p", "seed", "presence_penalty", "frequency_penalty", "stop")
REASONS = {"length": "length"}


class RequestError(Exception):
    """A request that cannot be answered."""

    def __init__(self, message: str, code: str = "invalid_request", status: int = 400) -> None:
        super().__init__(message)
        self.code, self.status = code, status


def options_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a request, and a JSON schema that its answer fits."""
    found = {name: asked[name] for name in OPTIONS if asked.get(name) is not None}
    if asked.get("max_completion_tokens") is not None:
        found["max_tokens"] = asked["max_completion_tokens"]
    if isinstance(found.get("stop"), str):
        found["stop"] = [found["stop"]]
    form = asked.get("response_format") or {}
    if form.get("type") == "json_schema":
        found["json_schema"] = form["json_schema"]["schema"]
    return found


def messages_of(asked: Mapping[str, Any]) -> list[dict[str, str]]:
    """The messages of a request."""
    found = asked.get("messages")
    if not isinstance(found, list) or not found:
        raise RequestError("`messages` is a list with at least one message")
    if not all(isinstance(m, dict) and isinstance(m.get("role"), str) for m in found):
        raise RequestError('a message is {"role": "user", "content": "…"}')
    return [{"role": m["role"], "content": text_of(m.get("content"))} for m in found]


def text_of(content: Any) -> str:
    """The text of a message, which may be in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(p, dict) and p.get("type") == "text" for p in content):
        return "".join([str(p.get("text", "")) for p in content])
    raise RequestError("the content of a message is a text, or a list of parts of the type `text`")


class Server(ThreadingHTTPServer):
    """A model, and the pages that requests share."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], model: Any, name: str) -> None:
        super().__init__(address, Handler)
        self.model, self.name, self.pool = model, name, Pool(model)

    def answer(self, asked: Mapping[str, Any], on_text: Callable[[str], object] | None) -> Generation:
        """What the model answers to the messages of a request."""
        talk = Conversation(self.model)
        prompt, options = talk.prompt(messages_of(asked)), options_of(asked)
        if not talk.has_template:
            options["stop"] = [*options.get("stop", ()), PLAIN_STOP]
        session = Session(self.model, pool=self.pool)
        return generate(self.model, prompt, session=session, on_text=on_text, **options)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    has_begun = False
    """Whether a stream has been begun, so that no other status can be told."""

    def do_GET(self) -> None:
        """The model that there is."""
        if self.path == "/v1/models":
            self.send(200, {"object": "list", "data": [{"id": self.server.name, "object": "model"}]})
        else:
            self.refuse(RequestError(f"there is no {self.path}", "not_found", 404))

    def do_POST(self) -> None:
        """Answer messages; a fault of the request is told with its status."""
        try:
            asked = self.asked()
            if asked.get("stream"):
                self.stream(asked)
                return
            found = self.server.answer(asked, None)
            self.send(200, self.body("chat.completion", {"message": said(found.text)}, found))
        except RelayError as error:
            first = error.diagnostics[0]
            self.refuse(RequestError(first.message, first.code))
        except RequestError as error:
            self.refuse(error)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self.refuse(RequestError(f"the request is of another form: {error!r}"))
        except ConnectionError:  # nobody reads any more
            return

    def asked(self) -> dict[str, Any]:
        """The request."""
        if self.path != "/v1/chat/completions":
            raise RequestError(f"there is no {self.path}", "not_found", 404)
        try:
            found = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        except ValueError as error:
            raise RequestError(f"the request is not JSON: {error}") from None
        if not isinstance(found, dict):
            raise RequestError("a request is an object")
        if found.get("model") not in (None, self.server.name):
            message = f"there is no model {found['model']!r}; this is {self.server.name!r}"
            raise RequestError(message, "model_not_found", 404)
        return found

    def stream(self, asked: Mapping[str, Any]) -> None:
        """Answer in pieces."""

        def give(text: str) -> bool:
            try:
                self.event(json.dumps(self.body("chat.completion.chunk", {"delta": said(text)}, None)))
            except OSError:  # nobody reads any more
                return False
            return True

        found = self.server.answer(asked, give)
        if found.reason != "closed":
            self.event(json.dumps(self.body("chat.completion.chunk", {"delta": {}}, found)))
            self.event("[DONE]")

    def event(self, data: str) -> None:
        """One event of a stream, which the first one begins."""
        if not self.has_begun:
            self.has_begun = True
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()

    def body(self, kind: str, choice: Mapping[str, Any], found: Generation | None) -> dict[str, Any]:
        """An answer, or a piece of one."""
        reason = None if found is None else REASONS.get(found.reason, "stop")
        body: dict[str, Any] = {
            "id": self.name,
            "object": kind,
            "created": int(time.time()),
            "model": self.server.name,
            "choices": [{"index": 0, "finish_reason": reason, **choice}],
        }
        if found is not None:
            used = {"prompt_tokens": found.prompt_tokens, "completion_tokens": len(found.tokens)}
            body["usage"] = used | {"total_tokens": sum(used.values())}
            body["usage"]["prompt_tokens_details"] = {
                "cached_tokens": found.prompt_tokens - found.read_tokens
            }
        return body

    def setup(self) -> None:
        """Give the answer a name."""
        super().setup()
        self.name = f"chatcmpl-{uuid.uuid4().hex}"

    def refuse(self, error: RequestError) -> None:
        """Tell why there is no answer."""
        body = {"error": {"message": str(error), "type": "invalid_request_error", "code": error.code}}
        if self.has_begun:
            self.event(json.dumps(body))
        else:
            self.send(error.status, body)

    def send(self, status: int, body: Mapping[str, Any]) -> None:
        """A whole answer."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def said(text: str) -> dict[str, str]:
    """A message of the model."""
    return {"role": "assistant", "content": text}


def main() -> None:
    """Serve until Ctrl-C."""
    path, port = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8000
    model = relay.models.load(path, cache="paged")
    with Server(("localhost", port), model, Path(path).name) as server:
        print(f"http://localhost:{server.server_port}/v1/chat/completions", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("ended")


if __name__ == "__main__":
    main()
