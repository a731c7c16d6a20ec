"""The debug adapter, driven by a client of its protocol."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from debugger.debug_client import Client, RefusedError

PROGRAM = """\
import "std/list"
type Tree { Leaf, Node(int32, Tree, Tree) }
type Layer { Layer { w: Tensor[(2,), float32], b: float32 } }
def @sum(%t: Tree) -> int32 {
  match (%t) {
    Leaf => 0,
    Node(%v, %l, %r) => {
      let %a = @sum(%l);
      let %b = @sum(%r);
      %v + %a + %b
    }
  }
}
def @loop(%i: int32, %acc: int32) -> int32 {
  if (%i == 0) { %acc } else {
    let %next = %acc + %i;
    @loop(%i - 1, %next)
  }
}
def @main(%x: Tensor[(n,), float32], %k: int32) {
  let %t = Node(1, Node(2, Leaf, Leaf), Leaf);
  let %s = @sum(%t);
  let %layer = Layer { w: [1.0, 2.0], b: 0.5 };
  let %scale = fn (%y: float32) { %y * %layer.b };
  let %m = @map(%scale, [| 1.0, 2.0 |]);
  let %total = @loop(%k, 0);
  (sum(%x), %s, %total, %m)
}
"""


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.ask("disconnect")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.relay"
    path.write_text(PROGRAM)
    return path


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "other.relay"
    path.write_text(text)
    return path


def test_breakpoints_are_verified_and_move_down_to_a_line_with_something_to_evaluate(
    client: Client, program: Path
) -> None:
    client.launch(program, "[1.0, 2.0]", "3")
    first, second, third = client.at(program, 8, 2, 900)
    assert (first["verified"], first["line"]) == (True, 8)
    assert (second["verified"], second["line"]) == (True, 5)
    assert not third["verified"]
    assert "below" in third["message"]
    found = client.ask("breakpointLocations", source={"path": str(program)}, line=4, endLine=9)
    assert [b["line"] for b in found["breakpoints"]] == [5, 6, 7, 8, 9]


def test_steps_go_over_into_and_out_of_calls(client: Client, program: Path) -> None:
    client.launch(program, "[1.0, 2.0]", "3")
    client.at(program, 22)
    client.run()
    assert client.stop() == ("breakpoint", "@main", 22)
    assert client.go("next") == ("step", "@main", 23)
    client.at(program)
    assert client.go("next") == ("step", "@main", 24)
    assert client.go("next") == ("step", "@main", 25)
    assert client.go("stepIn") == ("step", "%scale", 24)
    assert client.go("stepOut") == ("step", "@main", 26), "@map of the library is not stopped in"
    assert client.go("stepIn")[1:] == ("@loop", 15)
    assert client.go("stepOut") == ("step", "@main", 27)
    assert client.end() == 0
    assert ("stdout", "(3.0, 3, 6, [| 0.5, 1.0 |])\n") in client.output


def test_variables_are_those_that_have_a_value(client: Client, program: Path) -> None:
    client.launch(program, "[1.0, 2.0]", "3", stopOnEntry=True)
    client.run()
    assert client.stop() == ("entry", "@main", 21)
    assert client.locals() == {"%x": "[1.0, 2.0]", "%k": "3"}
    client.at(program, {"line": 9, "condition": "%v > 1"})
    assert client.go() == ("breakpoint", "@sum", 9)
    assert client.locals() == {"%t": "Node(2, Leaf, Leaf)", "%v": "2", "%l": "Leaf", "%r": "Leaf", "%a": "0"}
    frames = client.ask("stackTrace", threadId=1)["stackFrames"]
    assert [(f["name"], f["line"]) for f in frames] == [("@sum", 9), ("@sum", 8), ("@main", 22)]
    assert client.locals(2)["%t"] == "Node(1, Node(2, Leaf, Leaf), Leaf)"


def test_conditions_hits_and_log_points(client: Client, program: Path) -> None:
    client.launch(program, "[1.0, 2.0]", "10")
    (bad, *_) = client.at(
        program,
        {"line": 16, "hitCondition": "often"},
        {"line": 17, "logMessage": "i is {%i}, next {%next * 10}, {%nothing}"},
        {"line": 15, "hitCondition": "% 4"},
    )
    assert not bad["verified"]
    client.run()
    assert client.stop() == ("breakpoint", "@loop", 15)
    assert client.evaluate("%i")["result"] == "7"
    logged = [text for kind, text in client.output if kind == "console"]
    assert logged[0] == "i is 10, next 100, <`%nothing` has no value here>\n"
    assert len(logged) == 3
    assert client.go()[2] == 15
    assert client.evaluate("%i")["result"] == "3"
    assert client.end() == 0


def test_a_condition_that_fails_stops_and_says_why(client: Client, program: Path) -> None:
    client.launch(program, "[1.0, 2.0]", "3")
    client.at(program, {"line": 15, "condition": "%i + 1"})
    client.run()
    assert client.stop()[0] == "breakpoint"
    assert any("condition-type" in text for _, text in client.output)


def test_function_breakpoints(client: Client, program: Path) -> None:
    client.launch(program, "[1.0, 2.0]", "2")
    wanted = [{"name": "@loop", "condition": "%i < 2"}, {"name": "nothing"}]
    found = client.ask("setFunctionBreakpoints", breakpoints=wanted)["breakpoints"]
    assert "no definition" in found[1]["message"]
    client.run()
    assert client.stop() == ("function breakpoint", "@loop", 15)
    assert client.locals() == {"%i": "1", "%acc": "2"}
    client.ask("setFunctionBreakpoints", breakpoints=[])
    assert client.end() == 0


def test_values_are_opened_page_by_page(client: Client, program: Path) -> None:
    client.launch(program, "[1.0, 2.0]", "3")
    client.at(program, 25)
    client.run()
    client.stop()
    scope = client.ask("scopes", frameId=1)["scopes"][0]["variablesReference"]
    found = {v["name"]: v for v in client.ask("variables", variablesReference=scope)["variables"]}

    def parts(value: dict, **more: object) -> dict[str, str]:
        opened = client.ask("variables", variablesReference=value["variablesReference"], **more)["variables"]
        return {v["name"]: v["value"] for v in opened}

    tensor = parts(found["%x"], filter="named")
    assert tensor["shape"] == "(2,)"
    assert (tensor["min"], tensor["max"], tensor["mean"], tensor["std"]) == ("1", "2", "1.5", "0.5")
    assert (tensor["NaN"], tensor["infinite"], tensor["first"]) == ("0", "0", "1.0, 2.0")
    assert parts(found["%layer"]) == {"w": "[1.0, 2.0]", "b": "0.5"}
    assert parts(found["%scale"])["%layer"].startswith("Layer {")
    assert parts(found["%t"]) == {"0": "1", "1": "Node(2, Leaf, Leaf)", "2": "Leaf"}
    long = client.evaluate("arange(0, 5000, 1)")
    assert long["indexedVariables"] == 5000
    assert parts(long, filter="indexed", start=4000, count=2) == {"[4000]": "4000.0", "[4001]": "4001.0"}
    assert parts(long, filter="indexed")["…"] == "4,000 more"


def test_expressions_see_the_variables_and_the_definitions(client: Client, program: Path) -> None:
    client.launch(program, "[1.0, 2.0]", "3")
    client.at(program, 27)
    client.run()
    client.stop()
    assert client.evaluate("sum(%x) + 1.0")["result"] == "4.0"
    assert client.evaluate("@sum(%t)", context="watch")["type"] == "int32"
    assert client.evaluate("@length(%m)")["result"] == "2"
    assert client.evaluate("%scale(4.0)")["result"] == "2.0"
    assert client.evaluate("x", context="hover")["result"] == "[1.0, 2.0]"
    with pytest.raises(RefusedError, match="did you mean `total`"):
        client.evaluate("%totl")
    with pytest.raises(RefusedError, match="broadcast"):
        client.evaluate("%x + [1.0, 2.0, 3.0]")
    targets = client.ask("completions", text="sum(%to", column=8, frameId=1)["targets"]
    assert [t["label"] for t in targets] == ["%total"]


def test_an_error_stops_where_it_is(client: Client, tmp_path: Path) -> None:
    program = written(
        tmp_path, "def @div(%a: int32, %b: int32) -> int32 {\n  %a / %b\n}\ndef @main() { 1 + @div(1, 0) }\n"
    )
    client.launch(program)
    client.ask("setExceptionBreakpoints", filters=["errors"])
    client.run()
    assert client.stop() == ("exception", "@div", 2)
    assert client.locals() == {"%a": "1", "%b": "0"}
    info = client.ask("exceptionInfo", threadId=1)
    assert info["exceptionId"] == "divide-by-zero"
    assert "was called by `@main`" in info["details"]["stackTrace"]
    assert client.end() == 1
    assert any("divide-by-zero" in text for kind, text in client.output if kind == "stderr")


def test_a_hundred_thousand_frames_are_paged(client: Client, tmp_path: Path) -> None:
    program = written(
        tmp_path,
        "def @deep(%n: int32) -> int32 {\n  if (%n == 0) {\n    %n + 0\n  } else { 1 + @deep(%n - 1) }\n}\n"
        "def @main() { @deep(100000) + 0 }\n",
    )
    client.launch(program)
    client.at(program, 3)
    client.run()
    client.event("stopped")
    begin = time.monotonic()
    page = client.ask("stackTrace", threadId=1, startFrame=50_000, levels=3)
    assert page["totalFrames"] == 100_002
    assert [f["id"] for f in page["stackFrames"]] == [50_001, 50_002, 50_003]
    assert client.locals(50_001) == {"%n": "50000"}
    assert len(client.ask("stackTrace", threadId=1)["stackFrames"]) == 1000
    assert time.monotonic() - begin < 5
    assert client.end() == 0


def test_tail_calls_are_told_of(client: Client, tmp_path: Path) -> None:
    program = written(
        tmp_path,
        "def @even(%n: int32) -> bool {\n  if (%n == 0) { True } else { @odd(%n - 1) }\n}\n"
        "def @odd(%n: int32) -> bool {\n  if (%n == 0) {\n    False } else { @even(%n - 1) }\n}\n"
        "def @main() { let %r = @even(3); !%r }\n",
    )
    client.launch(program)
    client.at(program, 6)
    client.run()
    assert client.stop() == ("breakpoint", "@odd (by tail calls from @even)", 6)


def test_a_step_over_a_tail_call_waits_for_its_end(client: Client, program: Path, tmp_path: Path) -> None:
    other = written(
        tmp_path,
        "def @f(%n: int32) -> int32 {\n  %n * 2\n}\ndef @g(%n: int32) -> int32 {\n  @f(%n)\n}\n"
        "def @main() {\n  let %a = @g(3);\n  %a + 1\n}\n",
    )
    client.launch(other)
    client.at(other, 5)
    client.run()
    assert client.stop() == ("breakpoint", "@g", 5)
    assert client.go("next") == ("step", "@main", 9)


def test_frames_and_breakpoints_across_imports(client: Client, tmp_path: Path) -> None:
    library = tmp_path / "library.relay"
    library.write_text("def @double(%x: int32) -> int32 {\n  %x * 2\n}\n")
    program = written(tmp_path, 'import "library"\ndef @main() {\n  let %y = @double(4);\n  %y + 1\n}\n')
    client.launch(program)
    assert client.at(library, 2)[0]["verified"]
    client.run()
    assert client.stop() == ("breakpoint", "@double", 2)
    frames = client.ask("stackTrace", threadId=1)["stackFrames"]
    assert [f["source"]["path"] for f in frames] == [str(library), str(program)]


def test_the_standard_library_is_stepped_into_on_demand(client: Client, program: Path) -> None:
    client.launch(program, "[1.0, 2.0]", "3", justMyCode=False)
    client.at(program, 25)
    client.run()
    client.stop()
    assert client.go("stepIn")[1] == "@map"
    source = client.ask("stackTrace", threadId=1)["stackFrames"][0]["source"]
    assert source["name"] == "std/list"
    text = client.ask("source", source=source, sourceReference=source["sourceReference"])["content"]
    assert "def @map" in text


def test_an_endless_program_is_paused_and_ended(client: Client, tmp_path: Path) -> None:
    program = written(
        tmp_path, "def @main() -> int32 { @loop(0) }\ndef @loop(%i: int32) -> int32 { @loop(%i + 1) }\n"
    )
    client.launch(program, stopOnEntry=True)
    client.run()
    assert client.stop()[:2] == ("entry", "@main")
    client.ask("continue", threadId=1)
    client.ask("pause", threadId=1)
    assert client.stop()[:2] in {("pause", "@main"), ("pause", "@loop")}  # it may be at the call yet
    client.ask("continue", threadId=1)
    client.ask("terminate")
    assert client.finished() == 1


def test_a_pause_while_stopped_does_nothing(client: Client, program: Path) -> None:
    client.launch(program, "[1.0, 2.0]", "3", stopOnEntry=True)
    client.at(program, 27)
    client.run()
    assert client.stop() == ("entry", "@main", 21)
    client.ask("pause", threadId=1)
    assert client.go() == ("breakpoint", "@main", 27)
    client.ask("pause", threadId=1)
    assert client.end() == 0


def test_an_endless_expression_ends(client: Client, program: Path) -> None:
    client.launch(program, "[1.0, 2.0]", "3", stopOnEntry=True)
    assert client.adapter.debugger is not None
    client.adapter.debugger.evaluator.machine.limit_s = 0.2
    client.run()
    client.stop()
    with pytest.raises(RefusedError, match=r"more than 0\.2 s"):
        client.evaluate("@loop(-1, 0)")


def test_without_debugging_nothing_stops(client: Client, program: Path) -> None:
    client.launch(program, "[1.0, 2.0]", "3", noDebug=True)
    client.at(program, 22)
    client.run()
    assert client.finished() == 0


def test_what_a_program_traces_is_output(client: Client, tmp_path: Path) -> None:
    client.launch(written(tmp_path, 'def @main() { trace("x is", 3) }\n'))
    client.run()
    assert client.finished() == 0
    assert "x is" in "".join([text for kind, text in client.output if kind == "stderr"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "program"),
        ({"program": "missing.relay"}, "missing.relay"),
        ({"program": "PROGRAM", "args": ["1"]}, "no value for parameter"),
        ({"program": "PROGRAM", "args": "1"}, "list of inputs"),
        ({"program": "PROGRAM", "entry": "mian"}, "did you mean `main`"),
        ({"program": "BROKEN"}, "unexpected-token"),
    ],
)
def test_a_launch_that_cannot_be_is_refused_with_the_diagnostic(
    client: Client, program: Path, tmp_path: Path, arguments: dict, message: str
) -> None:
    named = {"PROGRAM": str(program), "BROKEN": str(written(tmp_path, "def @main( {\n"))}
    arguments = {k: named.get(v, v) if isinstance(v, str) else v for k, v in arguments.items()}
    client.ask("initialize", adapterID="relay")
    with pytest.raises(RefusedError, match=message):
        client.ask("launch", **arguments)


def test_requests_of_another_form_are_refused(client: Client, program: Path) -> None:
    with pytest.raises(RefusedError, match="no program was launched"):
        client.ask("configurationDone")
    with pytest.raises(RefusedError, match="there is no request"):
        client.ask("fly")
    client.launch(program, "[1.0, 2.0]", "3", stopOnEntry=True)
    with pytest.raises(RefusedError, match="not stopped"):
        client.ask("stackTrace", threadId=1)
    with pytest.raises(RefusedError, match="cannot be understood"):
        client.ask("setBreakpoints", breakpoints=[{}])
    client.run()
    client.stop()
    with pytest.raises(RefusedError, match="no frame 77"):
        client.ask("scopes", frameId=77)
    assert client.ask("variables", variablesReference=12345)["variables"] == []
    with pytest.raises(RefusedError, match="no source 9"):
        client.ask("source", sourceReference=9)
