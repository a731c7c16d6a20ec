"""The Debug Adapter Protocol: what a client asks, and what it is told.

Requests are answered on one thread, the program runs on another.  Source:
https://microsoft.github.io/debug-adapter-protocol/specification
"""

import contextlib
import io
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from relay.debugger.breakpoints import Breakpoint
from relay.debugger.control import Command, Debugger, Stop, TerminatedError
from relay.debugger.handles import Handles
from relay.debugger.inspection import Inspection, fault
from relay.debugger.placing import Places
from relay.debugger.protocol import Connection
from relay.debugger.values import shown
from relay.diagnostic import RelayError, fail
from relay.ir.expr import Expr
from relay.ir.module import IRModule

THREAD = 1
CAPABILITIES = {
    f"supports{name}": True
    for name in (
        *("ConfigurationDoneRequest", "FunctionBreakpoints", "ConditionalBreakpoints", "LogPoints"),
        *("HitConditionalBreakpoints", "EvaluateForHovers", "DelayedStackTraceLoading", "CompletionsRequest"),
        *("ExceptionInfoRequest", "TerminateRequest", "BreakpointLocationsRequest", "LoadedSourcesRequest"),
    )
} | {"exceptionBreakpointFilters": [{"filter": "errors", "label": "Errors", "default": True}]}
STEPS = {"continue": Command.CONTINUE, "next": Command.NEXT, "stepIn": Command.IN, "stepOut": Command.OUT}


@dataclass(frozen=True, slots=True)
class Program:
    """What is debugged: an expression over a module, a function if it takes inputs that are not literals."""

    mod: IRModule
    what: Expr
    args: Sequence[Any] = ()


Load = Callable[[dict[str, Any]], Program]
"""Reads the program that the arguments of `launch` name."""


class Adapter:
    """One session with a client."""

    def __init__(self, connection: Connection, load: Load) -> None:
        """`load` reads programs."""
        self.connection, self.load = connection, load
        self.places = Places()
        self.debugger: Debugger | None = None
        self.program: Program | None = None
        self.inspection: Inspection | None = None
        self.asked: dict[str, list[Breakpoint]] = {}
        """Breakpoints by file; those of functions by an empty name."""
        self.commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self.runner: threading.Thread | None = None
        self.is_over = False
        self.answers: dict[str, Callable[[dict[str, Any]], dict[str, Any] | None]] = {
            "initialize": self.initialize,
            "launch": self.launch,
            "setBreakpoints": self.set_breakpoints,
            "setFunctionBreakpoints": self.set_function_breakpoints,
            "setExceptionBreakpoints": self.set_exception_breakpoints,
            "configurationDone": self.configuration_done,
            "threads": lambda _: {"threads": [{"id": THREAD, "name": "program"}]},
            "pause": self.pause,
            "terminate": self.terminate,
            "disconnect": self.disconnect,
            "breakpointLocations": self.breakpoint_locations,
            "loadedSources": self.loaded_sources,
            "source": self.source,
        }

    # --- messages

    def serve(self) -> None:
        """Answer requests until the client is gone (`debug-protocol`)."""
        try:
            while not self.is_over:
                message = self.connection.receive()
                if message is None:
                    break
                if message.get("type") == "request":
                    self.answer(message)
        finally:
            self.end()

    def answer(self, request: dict[str, Any]) -> None:
        """Answer one request; whatever is wrong with it is its answer."""
        name = str(request.get("command"))
        arguments: Any = request.get("arguments")
        response = {"type": "response", "request_seq": request.get("seq"), "command": name, "success": True}
        try:
            body = self.body_of(
                name, cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
            )
        except RelayError as error:
            wrong = {"id": 1, "format": fault(error), "showUser": name == "launch"}
            response |= {"success": False, "message": fault(error), "body": {"error": wrong}}
            body = None
        except (KeyError, TypeError, ValueError, AttributeError) as error:  # of arguments of another form
            wrong = {"id": 2, "format": f"`{name}` cannot be understood: {error}"}
            response |= {"success": False, "message": wrong["format"], "body": {"error": wrong}}
            body = None
        self.connection.send(response if body is None else {**response, "body": body})
        if response["success"]:
            self.after(name)

    def body_of(self, name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """The body of an answer."""
        if name in self.answers:
            return self.answers[name](arguments)
        if name in STEPS:
            self.stopped()
            return {"allThreadsContinued": True} if name == "continue" else None
        if name in Inspection.ANSWERS:
            return getattr(self.stopped(), Inspection.ANSWERS[name])(arguments)
        fail("debug-protocol", f"there is no request `{name}`")

    def after(self, name: str) -> None:
        """What follows an answer."""
        if name == "launch":
            self.connection.event("initialized")
        elif name == "configurationDone":
            self.start()
        elif name in STEPS:
            self.inspection = None
            self.running().resume()
            self.commands.put(STEPS[name])

    def stopped(self) -> Inspection:
        """What is known while the program is stopped."""
        if self.inspection is None:
            fail("debug-protocol", "the program is not stopped", hint="pause it, or set a breakpoint")
        return self.inspection

    def running(self) -> Debugger:
        """The program that was launched."""
        if self.debugger is None:
            fail("debug-protocol", "no program was launched", hint="the request `launch` comes first")
        return self.debugger

    # --- requests

    def initialize(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """What the adapter can do."""
        self.places = Places(arguments.get("linesStartAt1", True), arguments.get("columnsStartAt1", True))
        return CAPABILITIES

    def launch(self, arguments: dict[str, Any]) -> None:
        """Read a program."""
        self.program = self.load(arguments)
        self.debugger = Debugger(
            self.program.mod,
            self.decide,
            lambda text: self.output("console", text),
            steps_into_library=not arguments.get("justMyCode", True),
        )
        self.debugger.stops_on_entry = bool(arguments.get("stopOnEntry", False))
        self.debugger.ignores_stops = bool(arguments.get("noDebug", False))
        self.places.learn(self.program.mod)

    def set_breakpoints(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Replace the breakpoints of a file."""
        path = self.places.path(arguments["source"])
        made = [
            Breakpoint(
                path,
                self.places.line_of(b["line"]),
                condition=b.get("condition") or "",
                hits=b.get("hitCondition") or "",
                message=b.get("logMessage") or "",
            )
            for b in arguments.get("breakpoints") or ()
        ]
        return self.placed(path, made)

    def set_function_breakpoints(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Replace the breakpoints at functions."""
        made = [
            Breakpoint(
                function=b["name"], condition=b.get("condition") or "", hits=b.get("hitCondition") or ""
            )
            for b in arguments["breakpoints"]
        ]
        return self.placed("", made)

    def placed(self, path: str, made: list[Breakpoint]) -> dict[str, Any]:
        """Set breakpoints, and say where they are."""
        debugger = self.running()
        self.asked[path] = made
        debugger.set_breakpoints([b for several in self.asked.values() for b in several if not b.fault])
        names = {v.name_hint for v in debugger.machine.mod.functions}
        return {"breakpoints": [self.places.breakpoint(b, names) for b in made]}

    def set_exception_breakpoints(self, arguments: dict[str, Any]) -> None:
        """Whether errors stop the program before it ends."""
        self.running().stops_on_errors = "errors" in arguments.get("filters", ())

    def configuration_done(self, _: dict[str, Any]) -> None:
        """All breakpoints are set: the program may run."""
        self.running()

    def pause(self, _: dict[str, Any]) -> None:
        """Stop at the next line, unless the program is stopped."""
        self.running().pause()

    def terminate(self, _: dict[str, Any]) -> None:
        """End the program."""
        if self.debugger is not None:
            self.debugger.terminate()
            self.inspection = None
            self.commands.put(Command.TERMINATE)

    def disconnect(self, arguments: dict[str, Any]) -> None:
        """End the session."""
        self.terminate(arguments)
        self.is_over = True

    def breakpoint_locations(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The lines where a program can stop."""
        first = self.places.line_of(arguments["line"])
        last = self.places.line_of(arguments.get("endLine", arguments["line"]))
        lines = self.running().lines(self.places.path(arguments["source"]))
        return {"breakpoints": [{"line": self.places.line(n)} for n in lines if first <= n <= last]}

    def loaded_sources(self, _: dict[str, Any]) -> dict[str, Any]:
        """The files and modules that the program consists of."""
        return {"sources": self.places.sources()}

    def source(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The text of a module that is not a file."""
        number = arguments.get("sourceReference") or arguments.get("source", {}).get("sourceReference", 0)
        return {"content": self.places.text(number), "mimeType": "text/x-relay"}

    # --- the program

    def start(self) -> None:
        """Run the program on a thread of its own."""
        if self.runner is None:
            self.runner = threading.Thread(target=self.run, name="program", daemon=True)
            self.runner.start()

    def run(self) -> None:
        """Run the program, and tell what comes of it."""
        debugger, program = self.running(), self.program
        assert program is not None
        self.connection.event("thread", {"reason": "started", "threadId": THREAD})
        status = 0
        try:
            with contextlib.redirect_stderr(Output(lambda text: self.output("stderr", text))):
                value = debugger.run(program.what, program.args)
            self.output("stdout", shown(value) + "\n")
        except RelayError as error:
            status = 1
            self.output("stderr", f"{error}\n")
        except TerminatedError:
            status = 1
        except BaseException as error:  # memory, or a fault of an operator that is Python
            status = 1
            self.output("stderr", f"{type(error).__name__}: {error}\n")
        self.connection.event("exited", {"exitCode": status})
        self.connection.event("terminated")

    def decide(self, stop: Stop) -> Command:
        """Tell the client that the program has stopped, and wait for what it says."""
        debugger = self.running()
        self.inspection = Inspection(debugger, stop, Handles(debugger.machine.layouts), self.places)
        body: dict[str, Any] = {"reason": stop.reason, "threadId": THREAD, "allThreadsStopped": True}
        if stop.breakpoints:
            body["hitBreakpointIds"] = [b.id for b in stop.breakpoints]
        if stop.error is not None:
            body |= {"description": "error", "text": stop.error.diagnostics[0].message}
        self.connection.event("stopped", body)
        return self.commands.get()

    def output(self, category: str, text: str) -> None:
        """Have the client show a text."""
        self.connection.event("output", {"category": category, "output": text})

    def end(self) -> None:
        """The client is gone: so is the program."""
        self.terminate({})
        if self.runner is not None:
            self.runner.join(1.0)


class Output(io.TextIOBase):
    """A stream whose text goes to the client."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """`write` sends it."""
        self.send = write

    def writable(self) -> bool:
        return True

    def write(self, s: str, /) -> int:
        self.send(s)
        return len(s)
