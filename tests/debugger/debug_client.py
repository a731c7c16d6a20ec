"""A client of the Debug Adapter Protocol, to drive the adapter as an editor does."""

import json
import os
import queue
import threading
from pathlib import Path
from typing import Any

from relay.cli.debug import launched
from relay.debugger.adapter import Adapter
from relay.debugger.protocol import Connection

TIMEOUT_S = 20


class RefusedError(Exception):
    """A request that failed."""


class Client:
    def __init__(self) -> None:
        there, out = os.pipe()
        back, answer = os.pipe()
        self.out = os.fdopen(out, "wb")
        self.reader = Connection(os.fdopen(back, "rb"), self.out)
        adapter = Adapter(Connection(os.fdopen(there, "rb"), os.fdopen(answer, "wb")), launched)
        self.adapter = adapter
        threading.Thread(target=adapter.serve, daemon=True).start()
        self.answers: dict[int, dict[str, Any]] = {}
        self.events: queue.Queue[dict[str, Any]] = queue.Queue()
        self.arrived = threading.Condition()
        self.sent = 0
        self.output: list[tuple[str, str]] = []
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        while (message := self.reader.receive()) is not None:
            if message["type"] == "event":
                if message["event"] == "output":
                    self.output.append((message["body"]["category"], message["body"]["output"]))
                self.events.put(message)
                continue
            with self.arrived:
                self.answers[message["request_seq"]] = message
                self.arrived.notify_all()

    def ask(self, command: str, **arguments: Any) -> Any:
        self.sent += 1
        number = self.sent
        request = {"seq": number, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(request).encode()
        self.out.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.out.flush()
        with self.arrived:
            assert self.arrived.wait_for(lambda: number in self.answers, TIMEOUT_S), f"no answer to {command}"
        answer = self.answers.pop(number)
        if not answer["success"]:
            raise RefusedError(answer["message"])
        return answer.get("body")

    def event(self, name: str) -> dict[str, Any]:
        """The next event of that name; those before it are dropped."""
        while True:
            found = self.events.get(timeout=TIMEOUT_S)
            if found["event"] == name:
                return found["body"]
            assert found["event"] not in ("stopped", "terminated"), found

    def launch(self, program: Path, *args: str, **more: Any) -> None:
        self.ask("initialize", adapterID="relay", linesStartAt1=True, columnsStartAt1=True)
        self.ask("launch", program=str(program), args=list(args), **more)
        self.event("initialized")

    def at(self, program: Path, *lines: int | dict[str, Any]) -> list[dict[str, Any]]:
        """Set breakpoints at lines of a file."""
        wanted = [{"line": x} if isinstance(x, int) else x for x in lines]
        return self.ask("setBreakpoints", source={"path": str(program)}, breakpoints=wanted)["breakpoints"]

    def run(self) -> None:
        self.ask("configurationDone")

    def stop(self) -> tuple[str, str, int]:
        """Wait for a stop: why, in which function, at which line."""
        why = self.event("stopped")["reason"]
        frame = self.ask("stackTrace", threadId=1, startFrame=0, levels=1)["stackFrames"][0]
        return why, frame["name"], frame["line"]

    def go(self, how: str = "continue") -> tuple[str, str, int]:
        self.ask(how, threadId=1)
        return self.stop()

    def locals(self, frame: int = 1) -> dict[str, str]:
        scope = self.ask("scopes", frameId=frame)["scopes"][0]
        found = self.ask("variables", variablesReference=scope["variablesReference"])["variables"]
        return {v["name"]: v["value"] for v in found}

    def evaluate(self, text: str, **more: Any) -> dict[str, Any]:
        return self.ask("evaluate", expression=text, frameId=1, **more)

    def end(self) -> int:
        """Continue to the end; the exit status."""
        self.ask("continue", threadId=1)
        return self.finished()

    def finished(self) -> int:
        status = self.event("exited")["exitCode"]
        self.event("terminated")
        return status
