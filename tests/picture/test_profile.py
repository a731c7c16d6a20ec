"""Profiles of the interpreter, and profiles as pages."""

import json
import re

import numpy as np
import pytest

import relay
from relay.interpreter.profile import Change, Site, live_at_peak
from relay.picture.interpreted import interpreted_profile
from relay.picture.profile import Places
from support import cli

TEXT = """def @twice(%x: Tensor[(1000,), float64]) { let %y = exp(%x); %y + %y }
def @main(%x: Tensor[(1000,), float64]) { sum(@twice(%x) * @twice(%x)) }
"""


def test_the_interpreter_times_operators_and_tensors() -> None:
    found = interpreted_profile(relay.infer(relay.parse(TEXT, "m.relay")), "main", [np.ones(1000)])
    calls = {s.label: s.calls for s in found.data.spent}
    assert calls == {"exp": 2, "add": 2, "multiply": 1, "sum": 1}
    assert sum(s.seconds for s in found.data.spent) + found.data.outside[0][1] == pytest.approx(
        found.data.seconds
    )
    assert 16_000 <= found.data.peak_bytes <= 40_000
    assert found.data.memory[-1].bytes < found.data.peak_bytes
    said = str(found)
    assert re.search(r"\d+%? +2  exp \(m\.relay:1:\d+\)", said)
    assert "memory: " in said
    assert "most while in: @twice" in said


def test_tensors_alive_at_the_peak_are_exact() -> None:
    a, b = Site("a", None), Site("b", None)
    changes = [
        Change(0, 10, a, 1),
        Change(1, 20, b, 2),
        Change(2, -10, a, 1),
        Change(3, 5, a, 3),
        Change(4, -20, b, 2),
    ]
    peak, alive = live_at_peak(changes)
    assert (peak, [(c.site.name, c.bytes) for c in alive]) == (30, [("b", 20), ("a", 10)])
    assert live_at_peak([]) == (0, [])


def test_a_place_is_in_the_definition_before_it() -> None:
    mod = relay.parse(TEXT, "m.relay")
    places = Places(mod)
    inner = mod["twice"].body
    assert places.definition(inner.span) == "twice"
    assert places.definition(mod["main"].body.span) == "main"
    assert places.definition(None) == ""


def test_profiles_on_the_command_line(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.relay").write_text(TEXT.replace("1000", "4"))
    for backend in ("native", "interpreter"):
        ran = cli("run", "m.relay", "[1.0, 2.0, 3.0, 4.0]", "--backend", backend, "--html", "p.html")
        assert ran.status == 0, ran.output
        page = (tmp_path / "p.html").read_text()
        data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
        assert data["profile"]["spent"]
        assert data["seconds"] > 0
        assert {"twice", "main"} >= {row[1] for row in data["profile"]["spent"]} != {""}
        assert any(len(node) > 8 and node[8] > 0 for node in data["nodes"]), "time stands on nodes"
    assert cli("run", "m.relay", "[1.0]", "--html", "p.svg").status == 2
    assert cli("run", "m.relay", "[1.0]", "--html", "p.html", "--output", "x.npz").status == 2
    assert cli("run", "m.relay", "[1.0]", "--trace", "t.json", "--backend", "interpreter").status == 2
    assert cli("run", "m.relay", "[1.0]", "--profile", "--backend", "xla").status == 2
    ran = cli("run", "m.relay", "[1.0]", "--html", "p.html", "--backend", "interpreter")
    assert (ran.status, ran.output.count("error[")) == (1, 1)
    ran = cli("run", "m.relay", "[1.0, 2.0, 3.0, 4.0]", "--html", "no/p.html")
    assert (ran.status, ran.output.count("error[cannot-write]")) == (1, 1)
