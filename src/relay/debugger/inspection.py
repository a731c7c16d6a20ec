"""What a client asks about a stopped program."""

from typing import Any, ClassVar

from relay.debugger.calls import OpenCall, Variable
from relay.debugger.control import Debugger, Stop
from relay.debugger.handles import Handles
from relay.debugger.placing import Places
from relay.diagnostic import RelayError, fail

MOST_FRAMES = 1000
"""How many frames a client is given that asks for all."""
MOST_NAMES = 50


class Inspection:
    """The program as it is while it is stopped."""

    ANSWERS: ClassVar[dict[str, str]] = {
        "stackTrace": "stack_trace",
        "scopes": "scopes",
        "variables": "variables",
        "evaluate": "evaluate",
        "exceptionInfo": "exception_info",
        "completions": "completions",
    }
    """Requests, and what answers them."""

    def __init__(self, debugger: Debugger, stop: Stop, handles: Handles, places: Places) -> None:
        """`stop` has the open calls."""
        self.debugger, self.stop, self.handles, self.places = debugger, stop, handles, places

    def call(self, number: int | None) -> OpenCall:
        """The call of a frame's number, by default the innermost (`debug-protocol`)."""
        at = (number or 1) - 1
        if not 0 <= at < len(self.stop.calls):
            fail("debug-protocol", f"there is no frame {number}")
        return self.stop.calls[at]

    def stack_trace(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """A page of the open calls."""
        calls = self.stop.calls
        start = arguments.get("startFrame") or 0
        end = min(len(calls), start + (arguments.get("levels") or MOST_FRAMES))
        frames = [{"id": i + 1, "name": calls[i].title, **self._place(calls[i])} for i in range(start, end)]
        return {"stackFrames": frames, "totalFrames": len(calls)}

    def _place(self, call: OpenCall) -> dict[str, Any]:
        return self.places.span(call.span)

    def scopes(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The variables of a call, under one name."""
        variables = self.call(arguments["frameId"]).variables()
        number = self.handles.add(variables, "")
        found = {"name": "Variables", "presentationHint": "locals", "variablesReference": number}
        return {"scopes": [{**found, "namedVariables": len(variables), "expensive": False}]}

    def variables(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The variables of a scope, or the parts of a value."""
        number, kind = arguments["variablesReference"], arguments.get("filter") or ""
        start, count = arguments.get("start") or 0, arguments.get("count") or 0
        return {"variables": self.handles.variables(number, kind, start, count)}

    def evaluate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The value of an expression over the variables of a call."""
        number = arguments.get("frameId") or 1
        self.call(number)
        text = str(arguments["expression"]).strip()
        if arguments.get("context") == "hover" and not text.startswith(("%", "@")):
            known = {v.name for v in self.call(number).variables()}
            text = f"%{text}" if text in known else text
        value, t = self.debugger.evaluate(text, number - 1, self.stop.calls)
        variable = Variable("", t, value)
        found = self.handles.of_value("", value, variable, text if text.startswith("%") else f"({text})")
        return {"result": found.pop("value"), **{k: v for k, v in found.items() if k != "name"}}

    def exception_info(self, _: dict[str, Any]) -> dict[str, Any]:
        """The error at which the program has stopped."""
        error = self.stop.error
        if error is None:
            fail("debug-protocol", "the program has not stopped at an error")
        first = error.diagnostics[0]
        details = {"message": first.message, "typeName": first.code, "stackTrace": str(error)}
        return {
            "exceptionId": first.code,
            "description": first.message,
            "breakMode": "unhandled",
            "details": details,
        }

    def completions(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The variables and definitions whose names begin with what stands before the cursor."""
        text = str(arguments["text"])[: max(0, arguments["column"] - self.places.first_column)]
        at = max(text.rfind("%"), text.rfind("@"))
        if at < 0:
            return {"targets": []}
        typed = text[at:]
        names = [f"%{v.name}" for v in self.call(arguments.get("frameId")).variables()]
        names += [f"@{v.name_hint}" for v in self.debugger.machine.mod.functions]
        found = [n for n in names if n.startswith(typed)][:MOST_NAMES]
        return {
            "targets": [
                {"label": n, "start": at + self.places.first_column, "length": len(typed)} for n in found
            ]
        }


def fault(error: RelayError) -> str:
    """An error as the answer to a request."""
    first = error.diagnostics[0]
    hint = f"; {first.hint}" if first.hint else ""
    return f"{first.message}{hint}" if first.span is None else str(error)
