"""Questions of the playground's page, answered in this process."""

import json
from typing import Any

import pytest

from relay.playground import answers
from relay.playground.answers import answer
from relay.playground.in_browser import answer_text
from relay.playground.samples import samples
from relay.playground.units import Units

BROKEN = "mistake"


def asked(ask: str, program: str = "", **more: Any) -> dict[str, Any]:
    log: list[str] = []
    found = answer({"ask": ask, "program": program, **more}, log.append)
    return {**found, "log": "".join(log)}


def codes(found: dict[str, Any]) -> list[str]:
    return [d["code"] for d in found["diagnostics"]]


def test_diagnostics_have_places_in_units_of_utf_16() -> None:
    text = '// 😀😀\ndef @main() { "😀" + flor(2.0) }'
    (found,) = asked("check", text)["diagnostics"]
    data = text.encode("utf-16-le")
    assert data[2 * found["from"] : 2 * found["to"]].decode("utf-16-le") == "flor"
    (fix,) = found["fixes"]
    assert (fix["insert"], fix["from"], fix["to"]) == ("floor", found["from"], found["to"])
    assert "did you mean `floor`?" in found["hint"]
    assert found["rendered"].startswith("error[unknown-name]")


def test_units_and_characters_correspond() -> None:
    text = "a😀b😀"
    units = Units(text)
    assert [units.of(i) for i in range(6)] == [0, 1, 3, 4, 6, 6]
    assert [units.characters(units.of(i)) for i in range(5)] == [0, 1, 2, 3, 4]
    assert units.characters(100) == 4


def test_types_that_are_not_written_and_entries() -> None:
    found = asked("check", "def @f(%x: Tensor[(n,), float32]) { let %y = %x + 1.0; %y }")
    assert found["diagnostics"] == []
    assert [i["text"] for i in found["inlays"]] == [" -> Tensor[(n,), float32]", ": Tensor[(n,), float32]"]
    (entry,) = found["entries"]
    assert entry == {"name": "f", "parameters": [{"name": "x", "type": "Tensor[(n,), float32]"}]}


def test_a_hover_has_the_type_and_its_place() -> None:
    text = "let %x = [1.0, 2.0];\n%x"
    found = asked("hover", text, at=text.rindex("%x"))
    assert "Tensor[(2,), float32]" in found["text"]
    assert text[found["from"] : found["to"]] == "%x"
    assert asked("hover", text, at=8)["text"] == ""


def test_a_program_runs_on_inputs_and_what_it_traces_is_kept() -> None:
    text = 'def @main(%x: Tensor[(n,), float32], %k: float32) { trace("x is {}", %x) * %k }'
    for backend in ("interpreter", "native"):
        found = asked("run", text, inputs={"x": "[1.0, 2.0]", "k": "3"}, backend=backend)
        assert (found["text"], found["log"]) == ("[3.0, 6.0]", "x is [1.0, 2.0]\n")
        assert found["seconds"] > 0


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("/etc/passwd.npy", "input-from-file"),
        ("weights.safetensors", "input-from-file"),
        ("data.json", "input-from-file"),
        ("", "missing-input"),
        ("[1.0", "unexpected-token"),
        ("%y", "unknown-variable"),
        ("True", "rank-mismatch"),
    ],
)
def test_inputs_that_are_wrong(text: str, code: str) -> None:
    found = asked("run", "def @main(%x: Tensor[(n,), float32]) { %x }", inputs={"x": text})
    assert codes(found) == [code]


def test_other_definitions_run_by_name() -> None:
    text = "def @one() { 1 }\ndef @two() { 2 }"
    assert asked("run", text, entry="two")["text"] == "2"
    assert codes(asked("run", text, entry="three")) == ["unknown-global"]


@pytest.mark.parametrize("module", ["./other", "/etc/passwd", "../../secret"])
def test_files_are_never_imported(module: str) -> None:
    for ask in ("check", "run", "types", "format", "passes"):
        assert "import-not-found" in codes(asked(ask, f'import "{module}"\n1'))


def test_passes_are_compared() -> None:
    text = "def @main(%x: float32) { let %unused = exp(%x); %x }"
    found = asked("passes", text, pipeline="dead_code")
    assert "exp" in found["before"]
    assert "exp" not in found["after"]
    wide = "def @main(%a: Tensor[(n, d), float32], %b: Tensor[(n, d), float32]) { %a + %b }"
    assert max(map(len, asked("passes", wide, width=50)["after"].splitlines())) <= 50
    assert codes(asked("passes", text, pipeline="dead_cod")) == ["unknown-pass"]
    assert codes(asked("passes", "foo(1)")) == ["unknown-name"]


def test_a_program_is_formatted_and_typed() -> None:
    assert asked("format", "def @main() {1+2} // two")["text"] == "def @main() {\n  1 + 2\n}  // two\n"
    assert "float32" in asked("types", "def @main() { 1.5 }")["text"]
    assert codes(asked("types", "def @main() { 1.5 + foo }")) == ["unknown-name"]


@pytest.mark.parametrize(
    "request_", [{}, {"ask": "nothing"}, {"ask": "run"}, {"ask": "run", "program": 3}, {"ask": ["run"]}]
)
def test_what_is_no_question_is_refused(request_: dict[str, Any]) -> None:
    assert codes(answer(request_, print)) == ["playground-request"]


@pytest.mark.parametrize(
    "more",
    [
        {"at": "three"},
        {"at": None},
        {"at": 1e400},
        {"inputs": 3},
        {"inputs": []},
        {"width": {}},
        {"width": float("nan")},
    ],
)
def test_fields_of_other_kinds_are_refused(more: dict[str, Any]) -> None:
    asking = {"at": "hover", "width": "passes", "inputs": "run"}[next(iter(more))]
    assert codes(asked(asking, "def @main(%x: int32) { %x }", **more)) == ["playground-request"]


def test_long_answers_and_logs_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_TEXT_CHARS", 10)
    monkeypatch.setattr(answers, "MAX_LOG_CHARS", 20)
    text = 'let %a = trace("a rather long line"); let %b = trace("another line"); "a long string of text"'
    found = asked("run", text)
    assert (found["text"], found["cut"]) == ('"a long st', ["text"])
    assert found["log"] == "a rather long line\na\n… (what follows 20 characters is left out)\n"


@pytest.mark.parametrize("sample", samples(), ids=lambda s: s["name"])
def test_samples_give_the_values_that_they_state(sample: dict[str, Any]) -> None:
    found = asked("run", **{k: sample[k] for k in ("program", "inputs")})
    stated = [
        line.removeprefix("// value: ") for line in sample["program"].splitlines() if "// value: " in line
    ]
    if sample["name"] == BROKEN:
        assert codes(found) == ["broadcast-mismatch"]
        return
    assert found["text"] == "\n".join(stated)
    assert asked("check", sample["program"])["diagnostics"] == []
    assert "after" in asked("passes", sample["program"], pipeline=sample["pipeline"] or "optimize")
    assert asked("format", sample["program"])["text"]


def test_the_browser_is_answered_in_json() -> None:
    log: list[str] = []
    found = answer_text(json.dumps({"ask": "run", "program": 'trace("hello"); 1 + 2'}), log.append)
    assert json.loads(found)["text"] == "3"
    assert "".join(log) == "hello\n"


def test_what_the_page_shows_first() -> None:
    found = asked("about")
    assert {"dead_code", "fuse_ops"} <= {p["name"] for p in found["passes"]}
    assert all(s["title"] for s in found["samples"])


def test_an_unknown_backend_is_refused() -> None:
    program = "def @main() { 1 + 1 }"
    assert asked("run", program, backend="interpreter")["text"] == "2"
    for backend in ("nativ", "", 1, None):
        assert codes(asked("run", program, backend=backend)) == ["playground-request"]
