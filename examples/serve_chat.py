"""An endpoint like OpenAI's for conversations: `python examples/serve_chat.py FOLDER`, then

    curl localhost:8000/v1/chat/completions -d '{"messages": [{"role": "user", "content": "Hello"}]}'

Requests take turns at the session that they share; each has its own options, and `"stream": true` sends text
as it comes.
"""

import json
import sys
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import relay.models
from relay.decoding import Generation, Session, generate
from relay.decoding.chat import Conversation
from relay.diagnostic import RelayError

OPTIONS = ("max_tokens", "temperature", "top_p", "seed", "presence_penalty", "frequency_penalty", "stop")
REASONS = {"length": "length"}


def options_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a request, and a JSON schema that its answer fits."""
    found = {name: asked[name] for name in OPTIONS if asked.get(name) is not None}
    form = asked.get("response_format") or {}
    if form.get("type") == "json_schema":
        found["json_schema"] = form["json_schema"]["schema"]
    return found


class Server(ThreadingHTTPServer):
    """A model, and the session that requests share."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], model: Any, name: str) -> None:
        super().__init__(address, Handler)
        self.model, self.name = model, name
        self.session = Session(model)

    def answer(self, asked: Mapping[str, Any], on_text: Callable[[str], object] | None) -> Generation:
        """What the model answers to the messages of a request."""
        prompt = Conversation(self.model).prompt(asked["messages"])
        return generate(self.model, prompt, session=self.session, on_text=on_text, **options_of(asked))


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server

    def do_POST(self) -> None:
        """Answer messages; a fault of the request is a diagnostic."""
        if self.path != "/v1/chat/completions":
            self.send_error(404)
            return
        try:
            asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            if asked.get("stream"):
                self.stream(asked)
                return
            found = self.server.answer(asked, None)
            self.send(200, self.body("chat.completion", {"message": said(found.text)}, found))
        except RelayError as error:
            self.send(400, fault(error))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self.send(400, {"error": {"message": f"not a request: {error!r}"}})

    def stream(self, asked: Mapping[str, Any]) -> None:
        """Answer in pieces."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()

        def give(text: str) -> bool:
            try:
                self.event(json.dumps(self.body("chat.completion.chunk", {"delta": said(text)}, None)))
            except OSError:  # nobody reads any more
                return False
            return True

        try:
            found = self.server.answer(asked, give)
        except RelayError as error:
            self.event(json.dumps(fault(error)))
            return
        self.event(json.dumps(self.body("chat.completion.chunk", {"delta": {}}, found)))
        self.event("[DONE]")

    def event(self, data: str) -> None:
        """One event of a stream."""
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()

    def body(self, kind: str, choice: Mapping[str, Any], found: Generation | None) -> dict[str, Any]:
        """An answer, or a piece of one."""
        reason = None if found is None else REASONS.get(found.reason, "stop")
        body: dict[str, Any] = {
            "object": kind,
            "model": self.server.name,
            "choices": [{"index": 0, "finish_reason": reason, **choice}],
        }
        if found is not None:
            used = {"prompt_tokens": found.prompt_tokens, "completion_tokens": len(found.tokens)}
            body["usage"] = used | {"total_tokens": sum(used.values())}
        return body

    def send(self, status: int, body: Mapping[str, Any]) -> None:
        """A whole answer."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def fault(error: RelayError) -> dict[str, Any]:
    """What is wrong with a request."""
    return {"error": {"message": str(error), "code": error.diagnostics[0].code}}


def said(text: str) -> dict[str, str]:
    """A message of the model."""
    return {"role": "assistant", "content": text}


def main() -> None:
    """Serve until Ctrl-C."""
    with Server(("localhost", 8000), relay.models.load(sys.argv[1]), sys.argv[1]) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
