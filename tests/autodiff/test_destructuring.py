"""Patterns that take tuples apart are projections to a derivative."""

import numpy as np

import relay
from relay.ir.expr import Call, Let, Match, Op, RefRead

HEAD = "def @f(%x: Tensor[(4,), float64]) -> float64 "
MAIN = "def @main(%x: Tensor[(4,), float64]) { grad(@f)(%x) }"


def gradient(body: str) -> relay.IRModule:
    return relay.infer(relay.parse(f"{HEAD}{{ {body} }}\n{MAIN}"))


def test_a_gradient_through_a_pattern_is_as_short_as_one_through_fields():
    by_pattern = gradient("let (%a, (%b, _)) = (split(%x, 2).0, (split(%x, 2).1, 1)); sum(%a * exp(%b))")
    by_field = gradient("let %t = (split(%x, 2).0, (split(%x, 2).1, 1)); sum(%t.0 * exp(%t.1.0))")
    sizes = []
    for mod in (by_pattern, by_field):
        nodes = list(relay.post_order(relay.transform.optimize(mod)["main"]))
        assert not any(isinstance(e, Match | RefRead) for e in nodes)
        sizes.append(sum(isinstance(e, Call) and isinstance(e.op, Op) for e in nodes))
    assert sizes[0] == sizes[1]
    x = np.asarray([1.0, 2.0, 0.5, -1.0])
    expected = np.concatenate([np.exp(x[2:]), x[:2] * np.exp(x[2:])])
    for mod in (by_pattern, by_field):
        np.testing.assert_allclose(relay.run(mod, "main", [x])[1][0], expected)


def test_a_pattern_in_a_value_and_at_the_end():
    mod = gradient("let %s = { let (%a, %b) = (sum(%x), 2f64); %a * %b }; let (%c, _) = (%s * %s, %x); %c")
    np.testing.assert_allclose(relay.run(mod, "main", [np.ones(4)])[1][0], np.full(4, 32.0))


def test_a_long_chain_of_patterns():
    steps = "".join([f"let (%a{i + 1}, _) = (%a{i} * 1.0001f64, %x); " for i in range(500)])
    mod = gradient(f"let %a0 = sum(%x); {steps}%a500")
    assert isinstance(mod["f"].body, Let)
    np.testing.assert_allclose(relay.run(mod, "main", [np.ones(4)])[1][0], np.full(4, 1.0001**500))
