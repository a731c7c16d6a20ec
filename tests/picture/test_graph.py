"""What is drawn of programs: nodes, groups, edges; as DOT and as SVG."""

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import relay
from relay.picture.data import Sources
from relay.picture.graph import Graph
from relay.picture.parts import MAX_CHILDREN
from relay.picture.program import graph_of
from support import ROOT, cli

BRANCHES = """
type Layer { Dense(Tensor[(2, 2), float32]), Relu }
def @apply(%x: Tensor[(n, 2), float32], %layer: Layer) -> Tensor[(n, 2), float32] {
  match (%layer) { Dense(%w) => nn.dense(%x, %w), Relu => nn.relu(%x) }
}
def @main(%x: Tensor[(2, 2), float32]) {
  let (%a, %b) = (%x, nn.softmax(exp(%x * 2f) + 1f));
  let %f = fn (%y: Tensor[(2, 2), float32]) { %y * %a };
  if (sum(%a) > 0f) { @apply(%a, Relu) } else { %f(%b) + grad(%f)(%b).1.0 }
}
"""


def edges(graph: Graph) -> set[str]:
    named = [n.label for n in graph.nodes]
    return {f"{named[e.start]} -> {named[e.end]}: {e.label} {e.type}" for e in graph.edges}


def inside(graph: Graph, label: str) -> list[str]:
    group = next(i for i, g in enumerate(graph.groups) if g.label == label)
    return [n.label for n in graph.nodes if n.group == group]


def test_groups_are_definitions_functions_branches_and_loops() -> None:
    graph = graph_of(relay.parse(BRANCHES))
    assert inside(graph, "Dense(…)") == ["nn.dense"]
    assert inside(graph, "match") == ["match"]
    assert inside(graph, "multiply exp add") == ["multiply(·, 2f)", "exp", "add(·, 1f)"]
    assert sorted(inside(graph, "%f = fn (%y)")) == ["%f = fn", "%y", "multiply"]
    assert inside(graph, "then") == ["@apply(·, Relu)"]
    assert {g.label for g in graph.groups if g.kind == "definition"} == {"@apply", "@main"}
    assert all(g.parent < i for i, g in enumerate(graph.groups))


def test_edges_have_types_and_say_which_part() -> None:
    found = edges(graph_of(relay.parse(BRANCHES)))
    assert "%layer -> nn.dense: Dense.0 (2, 2) float32" in found
    assert "greater(·, 0f) -> if: condition bool" in found
    assert "call -> add: .1.0 (2, 2) float32" in found
    assert "nn.softmax -> %f:  (2, 2) float32" in found, "a pattern of a tuple is looked through"
    assert not any("tuple" in e for e in found)


def test_calls_lead_to_definitions_and_derivatives_do() -> None:
    graph = graph_of(relay.parse("def @f(%x: float32) { %x * %x } def @main() { grad(@f)(2f).0 + @f(1f) }"))
    names = [(graph.nodes[i].label, graph.groups[g].label) for i, g in graph.calls()]
    assert names == [("grad(@f)(2f)", "@f"), ("@f(1f)", "@f")]


def test_recursion_is_no_edge_back() -> None:
    graph = graph_of(
        relay.parse(
            """def @main(%n: int32) {
              let rec %f = fn (%k: int32) -> int32 { if (%k == 0) { 0 } else { %f(%k - 1) } }; %f(%n) }"""
        )
    )
    assert [e.end for e in graph.edges if graph.nodes[e.start].label == "%f = fn"] == [
        i for i, n in enumerate(graph.nodes) if n.label == "%f" and graph.groups[n.group].kind == "definition"
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.relay")), ids=lambda p: p.stem)
def test_every_example_is_drawn(path: Any) -> None:
    graph = graph_of(relay.parse(path.read_text(), str(path)))
    assert graph.nodes
    assert all(0 <= e.start < len(graph.nodes) and 0 <= e.end < len(graph.nodes) for e in graph.edges)
    assert all(n.span is not None for n in graph.nodes if n.kind == "operator")


def test_what_is_imported_and_not_used_is_left_out() -> None:
    graph = graph_of(relay.parse('import "std/list"\ndef @main() { @length([| 1, 2 |]) }'))
    assert set(graph.definitions()) == {"main", "length", "foldl"}


@pytest.mark.parametrize("count", [1_000, 30_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_long_definitions_are_divided_into_parts(count: int) -> None:
    x = relay.var("x", shape=(4,), dtype="float32")
    e: Any = x
    for _ in range(count):
        e = relay.nn.relu(e)
    graph = graph_of(relay.IRModule.from_expr(relay.Function([x], e)))
    sizes = [0] * len(graph.groups)
    for n in graph.nodes:
        sizes[n.group] += 1
    for g in graph.groups[1:]:
        sizes[g.parent] += g.parent >= 0
    assert max(sizes) <= MAX_CHILDREN
    assert len(graph.nodes) == count + 2


def test_branches_nest_as_deep_as_programs_do() -> None:
    depth = 5_000
    x = relay.var("x", shape=(), dtype="float32")
    e: Any = x
    for _ in range(depth):
        e = relay.If(relay.less(x, relay.const(1.0)), relay.add(e, x), x)
    graph = graph_of(relay.IRModule.from_expr(relay.Function([x], e)))
    assert sum(g.label == "then" for g in graph.groups) == depth


def test_modules_of_machine_code_show_their_groups() -> None:
    from relay.pipelines import lower_to_native

    mod = lower_to_native(
        relay.infer(relay.parse("def @main(%x: Tensor[(2,), float32]) { nn.relu(%x) * %x }"))
    )
    graph = graph_of(mod)
    assert [g.label for g in graph.groups] == ["@main", "@fused"]


def test_dot_is_all_of_it() -> None:
    said = cli(
        "view",
        "-",
        "--dot",
        stdin=b"def @main(%x: Tensor[(2,), float32]) { nn.leaky_relu(%x, alpha=0.5) + 1f }",
    )
    assert said.status == 0
    assert said.output == (ROOT / "tests/picture/small.dot").read_text()


def test_a_model_is_drawn_as_the_program_it_is_imported_as(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="needs the onnx extra")
    make, floats = onnx.helper, onnx.TensorProto.FLOAT
    inputs = [make.make_tensor_value_info(name, floats, ["n", 3]) for name in "ab"]
    nodes = [make.make_node("Add", ["a", "b"], ["total"]), make.make_node("Relu", ["total"], ["y"])]
    output = make.make_tensor_value_info("y", floats, ["n", 3])
    model = make.make_model(make.make_graph(nodes, "net", inputs, [output]), ir_version=8)
    onnx.save(model, tmp_path / "net.onnx")
    said = cli("view", str(tmp_path / "net.onnx"), "--dot")
    assert said.status == 0, said.output
    drawn = set(re.findall(r'label="(.*?)"', said.output))
    assert {"@main", "%a", "%b", "%total = add", "%y = nn.relu", "(n, 3) float32"} <= drawn


def test_without_onnx_a_model_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    (tmp_path / "net.onnx").write_bytes(b"")
    said = cli("view", str(tmp_path / "net.onnx"), "--dot")
    assert said.status == 1
    assert said.output.startswith("error[cannot-read]: reading ONNX models needs the package `onnx`")
    assert "pip install 'relay-ir[onnx]'" in said.output


def test_svg_needs_no_browser() -> None:
    pytest.importorskip("quickjs")
    said = cli("view", "-", "--svg", stdin=BRANCHES.encode())
    assert said.status == 0, said.output
    root = ET.fromstring(said.output)
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"@main", "multiply exp add", "nn.dense", "(2, 2) float32", "%f = fn (%y)"} <= set(texts)
    boxes = [g for g in root.iter("{http://www.w3.org/2000/svg}g") if "node" in (g.get("class") or "")]
    assert len(boxes) == len(graph_of(relay.parse(BRANCHES)).nodes)


def test_svg_of_a_large_program_has_its_definitions_closed() -> None:
    pytest.importorskip("quickjs")
    body = "".join([f"let %v{i + 1} = nn.relu(%v{i}); " for i in range(400)])
    main = "def @main(%x: Tensor[(2,), float32]) { @f(%x) }"
    text = f"def @f(%v0: Tensor[(2,), float32]) {{ {body} %v400 }} {main}"
    drawn = relay.parse(text).view().svg()
    assert "400 operations" in drawn
    assert "nn.relu" not in drawn


def test_faults_are_diagnostics(tmp_path: Any) -> None:
    assert (
        "error[broadcast-mismatch]"
        in cli(
            "view", "-", "--dot", stdin=b"def @main(%x: Tensor[(2,), float32]) { %x + [1f, 2f, 3f] }"
        ).output
    )
    assert cli("view", "nothing.relay", "--dot").output.startswith("error[cannot-read]")
    assert cli("view", str(tmp_path), "--dot").output.startswith("error[cannot-read]")
    (tmp_path / "bytes.relay").write_bytes(b"\xff\xfe\x00")
    assert cli("view", str(tmp_path / "bytes.relay"), "--dot").output.startswith("error[not-text]")
    (tmp_path / "x.relay").write_text("def @main() { 1 }")
    said = cli("view", str(tmp_path / "x.relay"), "-o", str(tmp_path / "x.png"))
    assert (said.status, ".html, .svg, .dot" in said.output) == (2, True)
    said = cli("view", str(tmp_path / "x.relay"), "-o", str(tmp_path / "no" / "x.html"))
    assert said.output.startswith("error[cannot-write]")
    assert cli("view", str(tmp_path / "x.relay"), "-o", "x.html", "--dot").status == 2


def test_pages_hold_texts_that_look_like_scripts() -> None:
    page = relay.parse('def @main() { "</script><script>alert(1)</script>" }', "<b>.relay").view("<b>").html()
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")


def test_places_lie_inside_the_text_of_a_python_file_that_is_gone_or_shorter_now(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("# short\n")
    for path, size in (("<string>", 0), (str(file), 8)):
        x = eval(compile("\n\nrelay.var('x', 'float32')", path, "eval"))
        sources = Sources()
        assert sources.place(x.span) == (0, size, size)
        assert len(sources.texts[0][1]) == size
