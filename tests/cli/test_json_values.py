"""Values of data types as JSON: inputs of `relay run`, and results in `.json` files."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from relay.cli import json_values
from relay.cli.json_values import as_json, value_of_json
from relay.diagnostic import Source, Span
from relay.interpreter.machine import evaluate
from support import cli

PROGRAM = """
import "std/prelude"
type T { Leaf, Node(float32, T, T) }
def @double(%t: T) -> T {
  match (%t) { Leaf => Leaf, Node(%v, %l, %r) => Node(%v * 2.0, @double(%l), @double(%r)) }
}
def @main(%xs: List[int32]) { (@sum(%xs), @rev(%xs)) }
def @pairs(%xs: List[(float32, Tensor[(2,), int8])]) { %xs }
def @maybe(%x: Option[string]) { %x }
def @flags(%x: Tensor[(n, m), bool], %y: Tensor[(k,), bfloat16]) { (%x, %y) }
"""
TREE = {"Node": [1.5, "Leaf", {"Node": [0.1, "Leaf", "Leaf"]}]}
SPAN = Span(Source("<json>", ""), 0, 0)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.relay").write_text(PROGRAM)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_lists_and_data_types_are_inputs(backend: str) -> None:
    ran = cli("run", "p.relay", "--backend", backend, "[1, 2, 3]")
    assert ran.output == cli("run", "p.relay", "--backend", backend, "[| 1, 2, 3 |]").output
    ran = cli("run", "p.relay", "--backend", backend, "--entry", "double", json.dumps(TREE))
    assert ran.output.strip() == "Node(3.0, Leaf, Node(0.2, Leaf, Leaf))"


def test_lists_of_numbers_are_converted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    mod = relay.infer(relay.parse('import "std/list"\ndef @main(%x: List[float32], %n: List[uint8]) { %x }'))
    floats, numbers = [p.type_annotation for p in mod["main"].params]
    one_by_one: list[Any] = []
    monkeypatch.setattr(json_values, "tensor", lambda *args: one_by_one.append(args))
    found = value_of_json([*range(100_000), 0.1, 1e60, -1], floats, mod, SPAN)
    assert not one_by_one
    monkeypatch.undo()
    for n in range(100_000):
        assert found.fields[0] == n
        found = found.fields[1]
    last = [found.fields[0], found.fields[1].fields[0]]
    assert last == [np.float32(0.1), np.inf]
    assert {type(x) for x in last} == {np.float32}
    assert type(value_of_json([255], numbers, mod, SPAN).fields[0]) is np.uint8
    assert not value_of_json([], numbers, mod, SPAN).fields
    for wrong, message in (
        ([0] * 9 + [256], "`256` is beyond"),
        ([0, True], "`true`"),
        ([1, 2.0], "`2.0`"),
        ([1, [2]], "shape"),
        ([10**30], "numbers of uint8 are needed"),
    ):
        with pytest.raises(relay.RelayError, match=re.escape(message)):
            value_of_json(wrong, numbers, mod, SPAN)


@pytest.mark.parametrize(
    ("entry", "given", "found"),
    [
        ("main", [1, 2, 3], [6, [3, 2, 1]]),
        ("main", [], [0, []]),
        ("double", TREE, {"Node": [3.0, "Leaf", {"Node": [0.2, "Leaf", "Leaf"]}]}),
        ("pairs", [[1, [2, 3]], [0.1, [-5, 6]]], [[1.0, [2, 3]], [0.1, [-5, 6]]]),
        ("maybe", {"Some": ["ä"]}, {"Some": ["ä"]}),
        ("maybe", "None", "None"),
    ],
)
def test_results_are_written_and_read_again(entry: str, given: object, found: object) -> None:
    Path("in.json").write_text(json.dumps(given))
    assert cli("run", "p.relay", "--entry", entry, "in.json", "--output", "out.json").output == ""
    assert json.loads(Path("out.json").read_text()) == found


def test_tensors_of_any_dtype() -> None:
    Path("x.json").write_text("[[true, false]]")
    Path("y.json").write_text("[1, 2.5]")
    assert cli("run", "p.relay", "--entry", "flags", "x.json", "y.json", "--output", "z.json").status == 0
    assert json.loads(Path("z.json").read_text()) == [[[True, False]], [1.0, 2.5]]


@pytest.mark.parametrize(
    ("entry", "given", "message"),
    [
        ("main", "[1, 2.5]", "numbers of int32 are needed here, not `2.5`"),
        ("main", '[1, "a"]', 'numbers of int32 are needed here, not `"a"`'),
        ("main", "[true]", "numbers of int32 are needed here, not `true`"),
        ("main", "[[1, 2]]", "a tensor of type int32 is needed here, not one of shape (2,)"),
        ("main", "[99999999999]", "`99999999999` is beyond the numbers of int32"),
        ("main", "[1,", "this is not JSON: Expecting value at column 4"),
        ("main", '{"Cons": [1]}', "`Cons` takes 2 fields, not 1"),
        ("main", '{"a": 1, "b": 2}', "a value of `List` is needed here, not an object with `a`, `b`"),
        ("double", '{"Nod": [1.5]}', 'it is written "Leaf" or {"Node": […]}'),
        ("pairs", "[[1]]", "a list of 2 fields is needed here, not a list of 1"),
        ("pairs", "[[1, [[2], 3]]]", "the lists of a tensor have different lengths"),
        (
            "pairs",
            "[[1, [2, 3, 4]]]",
            "Tensor[(2,), int8] is needed here, not one of shape (3,)",
        ),
        ("main", "[" * 100_000, "this JSON is nested too deep"),
    ],
)
def test_what_is_wrong_is_said(entry: str, given: str, message: str) -> None:
    ran = cli("run", "p.relay", "--entry", entry, given)
    assert ran.status == 1
    assert message in ran.output


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("Cons(int32)", {"Cons": [1]}),
        ("Cons(int32, Mine)", {"Cons": [1, "Nil"]}),
        ("Nil(int32)", {"Nil": [2]}),
    ],
)
def test_a_cons_that_is_not_of_a_list(declared: str, given: object) -> None:
    last = "Cons" if declared.startswith("Nil") else "Nil"
    Path("m.relay").write_text(f"type Mine {{ {declared}, {last} }}\ndef @main(%x: Mine) -> Mine {{ %x }}")
    assert cli("run", "m.relay", json.dumps(given), "--output", "out.json").output == ""
    assert json.loads(Path("out.json").read_text()) == given


def test_functions_have_no_json() -> None:
    Path("f.relay").write_text("def @main(%x: int32) { (%x, fn (%y: int32) { %y }) }")
    ran = cli("run", "f.relay", "1", "--output", "out.json")
    assert ran.status == 1
    assert "error[not-tensors]" in ran.output
    assert not Path("out.json").exists()


def test_numbers_come_back_to_the_bit() -> None:
    for dtype in ("float16", "float32", "float64", "bfloat16", "int8", "uint64"):
        x = np.random.default_rng(0).normal(scale=30, size=100)
        array = abs(x).astype(relay.ir.dtype.to_numpy(dtype))
        t = relay.TensorType((100,), dtype)
        again = value_of_json(json.loads(as_json(array)), t, relay.IRModule(), SPAN)
        assert np.array_equal(np.asarray(again), array), dtype


def test_a_long_list() -> None:
    down = "fn (%n) { if (%n == 0) { None } else { Some((%n - 1, %n)) } }"
    value = evaluate(relay.parse(f'import "std/list"\n@unfoldr({down}, 100000)'), "main")
    assert json.loads(as_json(value)) == list(range(100_000, 0, -1))
