"""What commands print for machines."""

import json
from pathlib import Path
from typing import Any

from relay.cli.explain import pages
from relay.cli.main import COMMANDS
from relay.op.registry import registry
from support import cli


def printed(*argv: str) -> Any:
    output = cli(*argv, "--json").output
    return json.loads(output[output.index("[") : output.rindex("]") + 1])


def test_diagnostics_of_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "wrong.relay").write_text("def @main() {\n  1 + True\n}\n")
    (tmp_path / "right.relay").write_text("def @main() { 1 }\n")
    (found,) = printed("check", str(tmp_path))
    assert (found["line"], found["severity"], Path(found["file"]).name) == (2, "error", "wrong.relay")
    assert found["code"] in pages()
    assert found["end_column"] > found["column"]
    assert printed("check", str(tmp_path / "right.relay")) == []
    assert cli("check", "--json", str(tmp_path)).status == 1
    assert cli("check", "--json", "--types", str(tmp_path)).status == 2


def test_results_have_their_values_dtypes_and_shapes(tmp_path: Path) -> None:
    program = tmp_path / "program.relay"
    program.write_text(
        'import "std/list"\n'
        "def @main(%x: Tensor[(n,), float32]) {\n"
        '  (%x * 2.0, (cast(%x, bfloat16), "a"), [| 1, 2 |], sum(%x) > 1.0)\n}\n'
    )
    for backend in ("native", "interpreter"):
        ran = cli("run", str(program), "[1.0, 2.5]", "--json", "--backend", backend)
        found = json.loads(ran.output)
        assert found["value"] == [[2.0, 5.0], [[1.0, 2.5], "a"], [1, 2], True]
        assert [(p["name"], p["type"], p["dtype"], p["shape"]) for p in found["parts"]] == [
            ("result.0", "Tensor[(2,), float32]", "float32", [2]),
            ("result.1.0", "Tensor[(2,), bfloat16]", "bfloat16", [2]),
            ("result.1.1", "string", "string", []),
            ("result.2", "List", None, None),
            ("result.3", "bool", "bool", []),
        ]


def test_results_in_json_are_not_written_to_a_file_or_profiled_too(tmp_path: Path) -> None:
    program = tmp_path / "program.relay"
    program.write_text("def @main(%x: int32) { (fn () { %x }, 1) }\n")
    assert cli("run", str(program), "1", "--json", "--output", "x.npz").status == 2
    assert "omit --json" in cli("run", str(program), "1", "--json", "--profile").output
    ran = cli("run", str(program), "1", "--json")
    assert ran.output.startswith("error[not-tensors]")


def test_manuals() -> None:
    assert len(printed("ops")) == len(registry)
    (relu,) = printed("ops", "nn.relu")
    assert (relu["name"], relu["call"]) == ("nn.relu", "nn.relu(data)")
    assert {o["name"] for o in printed("ops", "--search", "sort descending")} <= set(registry)
    (fold,) = printed("std", "foldl")
    assert fold["module"] == "std/list"
    assert len(printed("std")) > len(printed("std", "list")) > 10
    (one,) = printed("passes", "fold_constants")
    assert one["page"].startswith("fold_constants")
    assert len(printed("passes")) > 20
    assert len(printed("explain")) == len(pages())
    assert printed("explain", "divide-by-zero")[0]["page"] == pages()["divide-by-zero"]


def test_times(tmp_path: Path) -> None:
    program = tmp_path / "program.relay"
    program.write_text("def @main(%x: Tensor[(2,), float32]) { %x }\n")
    (found,) = printed("bench", "--backend", "interpreter", "--rounds", "2", str(program))
    assert found["backend"] == "interpreter"
    assert len(found["times_s"]) == 2
    assert 0 < found["min_s"] <= found["median_s"]


def test_wrong_names_are_diagnostics_still() -> None:
    for command in ("ops", "std", "passes", "explain"):
        ran = cli(command, "nothing-like-it", "--json")
        assert ran.status == 1
        assert ran.output.startswith("error[")


def test_shells_complete_all_commands() -> None:
    from click.shell_completion import BashComplete

    from relay.cli.main import relay

    names = [c.value for c in BashComplete(relay, {}, "relay", "_RELAY_COMPLETE").get_completions([], "")]
    assert set(names) >= set(COMMANDS)
    for command in ("debug", "lint", "reduce"):
        options = BashComplete(relay, {}, "relay", "_RELAY_COMPLETE").get_completions([command], "--")
        assert len(options) > 3
