"""Dimensions as values in text, JSON, pickles and Python, and the names that they have."""

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest

import relay
from relay.diagnostic import RelayError, Report
from relay.text.json_format import load_json, save_json
from relay.text.parser import parse_module
from typecheck.dimension_programs import X, codes

WRITTEN = """def @main(%x: Tensor[(n, 4), float32]) {
  let %y = n * 2;
  (reshape(%x, (n * 2, 2)), one_hot(%y, 1.0, 0.0, n), full(0.5, (n,)), n)
}"""


@pytest.mark.parametrize("inferred", [False, True])
def test_text_json_and_pickles_keep_dimensions(inferred: bool) -> None:
    mod = relay.parse(WRITTEN)
    mod = relay.infer(mod) if inferred else mod
    for other in (
        relay.parse(str(mod)),
        load_json(save_json(mod)),
        pickle.loads(pickle.dumps(mod)),
        copy.deepcopy(mod),
        relay.parse(mod.astext(show_types=inferred)),
    ):
        assert relay.structural_equal(mod, other)
        assert relay.structural_hash(mod) == relay.structural_hash(other)
    main = mod["main"]
    again = pickle.loads(pickle.dumps(main))
    assert relay.structural_equal(main, again)


def test_dimensions_are_compared_as_type_parameters_are() -> None:
    mod = relay.parse(WRITTEN)
    renamed = relay.parse(re.sub(r"\bn\b", "k", WRITTEN))
    assert relay.structural_equal(mod, renamed)
    assert relay.structural_hash(mod) == relay.structural_hash(renamed)
    for one, other in (("zeros(shape=(n, m), dtype=int8)", "zeros(shape=(m, n), dtype=int8)"), ("n", "m")):
        a, b = [relay.parse(f"def @main(%x: Tensor[(n, m), float32]) {{ {e} }}") for e in (one, other)]
        assert not relay.structural_equal(a, b)


def test_dimensions_in_attributes_are_free_where_nothing_binds_them() -> None:
    main = relay.parse(WRITTEN)["main"]
    (n,) = main.type_params
    assert relay.analysis.free_type_vars(main) == []
    assert relay.analysis.free_type_vars(main.body) == [n]
    assert not relay.analysis.well_formed(relay.IRModule.from_expr(relay.Function([], relay.dim_value(n))))


def test_inference_leaves_no_dimension_in_attributes_and_is_done_at_once() -> None:
    mod = relay.infer(relay.parse(WRITTEN))
    assert relay.infer(mod) is mod
    assert "dim_value" not in str(mod)


@pytest.mark.parametrize(
    "use", ["n", "(n, abs(%x))", "n + 1", "-n", "%x[n - 1]", "%x[:n]", "if (n > 2) { n } else { 0 }"]
)
def test_a_bare_name_is_a_dimension(use: str) -> None:
    assert codes(f"def @main(%x: Tensor[(n,), float32]) {{ {use} }}") == []


def test_a_name_with_another_meaning_gets_a_warning() -> None:
    assert codes("def @main(%x: Tensor[(n,), float32], %n: int32) { n }") == ["dimension-name"]
    assert codes("def @main(%x: Tensor[(abs,), float32]) { (abs, abs(%x)) }") == ["dimension-name"]
    assert codes("type M { N } def @main(%x: Tensor[(N,), float32]) { (N, N(), 1) }") == ["dimension-name"]
    assert codes("def @main(n: int32, %x: Tensor[(n,), float32]) { n }") == ["missing-sigil", "missing-sigil"]


def test_names_that_dimensions_hide_are_printed_so_that_they_read_back() -> None:
    text = """
    type M { N }
    def @main(%x: Tensor[(N, abs), float32]) { let %f = relay.abs; (N, N(), abs, abs(%x), %f) }
    """
    mod = parse_module(text, warnings=Report())
    assert relay.structural_equal(mod, parse_module(str(mod), warnings=Report()))


def test_the_strict_dialect_has_none_of_it() -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(n,), float32]) { n }'
    assert codes(text) != []
    with pytest.raises(RelayError, match="dialect-cannot-express"):
        relay.parse(WRITTEN).astext(dialect="tvm")


def test_dimensions_in_python() -> None:
    n = relay.TypeVar("n", relay.TypeKind.ShapeVar)
    x = relay.var("x", relay.TensorType((n, 4), "float32"))
    body = relay.multiply(relay.reshape(x, (2 * n, 2)), relay.cast(relay.dim_value(n + 1), "float32"))
    fn = relay.Function([x], body, None, [n])
    found = relay.create_executor("interpreter", mod=relay.IRModule.from_expr(fn)).evaluate()(X)
    np.testing.assert_allclose(np.asarray(found), X.reshape(6, 2) * 4)


def long_program(kind: str, depth: int) -> relay.IRModule:
    """A chain of calls that use a dimension."""
    n = relay.TypeVar("n", relay.TypeKind.ShapeVar)
    x = relay.var("x", relay.TensorType((n, 4), "float32"))
    e: Any = x
    bound: list[tuple[Any, Any]] = []
    for i in range(depth):
        if kind == "attributes":
            e = relay.reshape(e, (n, 4) if i % 2 else (2 * n, 2))
        else:
            e = relay.add(e, relay.cast(relay.dim_value(n), "float32"))
        if kind == "lets":
            bound.append((relay.var(f"v{i}"), e))
            e = bound[-1][0]
    for var, value in reversed(bound):
        e = relay.Let(var, value, e)
    return relay.IRModule.from_expr(relay.Function([x], e, None, [n]))


@pytest.mark.parametrize("kind", ["values", "lets", "attributes"])
@pytest.mark.parametrize("depth", [1_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_long_programs_with_dimensions(kind: str, depth: int) -> None:
    mod = long_program(kind, depth)
    inferred = relay.infer(mod)
    assert relay.infer(inferred) is inferred
    for m in (mod, inferred):
        for other in (relay.parse(str(m)), load_json(save_json(m)), pickle.loads(pickle.dumps(m))):
            assert relay.structural_equal(m, other)
            assert relay.structural_hash(m) == relay.structural_hash(other)
