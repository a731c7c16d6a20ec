"""The blocks of the founding documents that are Python, and the table of all of them."""

import re

import numpy as np

import relay
from support import ROOT

SEEDS = ROOT / "tests" / "seeds"


def test_the_table_names_every_seed_file_and_no_other() -> None:
    table = (ROOT / "docs" / "seeds.md").read_text()
    linked = set(re.findall(r"tests/seeds/([\w.-]+\.relay)\)", table))
    assert linked == {p.name for p in SEEDS.glob("*.relay")}


def test_s0_19_python_variables_share_nodes() -> None:
    a, b = relay.var("a", shape=(), dtype="int32"), relay.var("b", shape=(), dtype="int32")
    sum1 = relay.add(a, b)
    sum2 = relay.add(sum1, sum1)
    product = relay.multiply(sum2, sum2)
    text = relay.parse("def @main(%a: int32, %b: int32) { %1 = %a + %b\n %2 = %1 + %1\n %2 * %2 }")
    assert relay.ir.structural_equal(relay.Function([a, b], product), text["main"], map_free_vars=True)
    assert relay.create_executor("debug").evaluate(relay.Function([a, b], product))(1, 2) == 36


def test_s4_01_every_node_has_a_span() -> None:
    mod = relay.parse("def @f(%x: int32) {\n  %x + 1\n}", "model.relay")
    assert str(mod["f"].body.span) == "model.relay:2:3"


def test_s4_07_the_environment_answers_and_takes_edits() -> None:
    mod = relay.parse("def @f(%x: float32) { %x * 2.0 }\ndef @g(%x: float32) { @f(%x) + 1.0 }")
    g = mod.get_global_var("g")
    assert str(mod.type_of(g)) == "fn(float32) -> float32"
    assert mod.evaluate("g", np.float32(3.0)) == 7.0
    mod["f"] = relay.parse("def @f(%x: float32) { %x * 10.0 }")["f"]
    assert str(mod.type_of(g)) == "fn(float32) -> float32"
    assert mod.evaluate("g", np.float32(3.0)) == 31.0
