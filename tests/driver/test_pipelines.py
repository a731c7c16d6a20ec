"""The pipelines: each of their passes is one that contexts and instruments know."""

import io
from pathlib import Path

import numpy as np
import pytest

import relay
from relay.pipelines import DEFAULT, NATIVE, OPTIONAL, TRAINING
from relay.transform import PassContext, PassInstrument, PassTimingInstrument, PrintAfter, Verify
from relay.transform.rewriting.context import canonical
from relay.transform.rewriting.registry import rules

TEXT = "def @main(%x: Tensor[(3,), float32]) { nn.softmax(%x) * 2f }"
ATTENTION = """
def @main(%q: Tensor[(2, 8, 4), float32], %k: Tensor[(2, 8, 4), float32], %v: Tensor[(2, 4, 8), float32]) {
  nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k)), %v)
}
"""


def names_of(text: str, **context: object) -> list[str]:
    """The passes that a build runs, in order."""
    clock = PassTimingInstrument()
    with PassContext(instruments=[clock], **context):
        relay.build(relay.parse(text))
    return [canonical(name) for _, name, _ in clock.rows]


def test_pipelines_are_lists_of_registered_passes() -> None:
    assert TRAINING[1:] == DEFAULT
    assert set(OPTIONAL) < set(NATIVE)
    assert all(function in rules for function in (*TRAINING, *NATIVE))


def test_instruments_see_every_pass_of_a_build() -> None:
    names = names_of(TEXT)
    half = names[names.index("lower_to_native") :]
    expected = [rules[function].name for function in NATIVE]
    assert [n for n in half if n in expected] == expected
    assert "simplify_expr" in names[: names.index("lower_to_native")]


def test_what_is_printed_after_all_includes_the_groups_of_the_backend() -> None:
    out = io.StringIO()
    with PassContext(instruments=[PrintAfter(None, out)]):
        relay.build(relay.parse(TEXT))
    assert "// after outline_fused_groups" in out.getvalue()
    assert "def @fused" in out.getvalue()


@pytest.mark.parametrize("text", [TEXT, ATTENTION, "def @main(%n: int32) { let %f = fn(%x) { %x }; %f(%n) }"])
def test_each_pass_of_a_build_makes_a_well_formed_module(text: str) -> None:
    with PassContext(instruments=[Verify()]):
        relay.build(relay.parse(text))


def test_a_pass_that_is_not_indispensable_can_be_disabled() -> None:
    assert "join_attention" in names_of(ATTENTION)
    assert "join_attention" not in names_of(ATTENTION, disabled_pass=["join_attention"])
    assert "narrow_products" not in names_of(ATTENTION, disabled_pass=["narrow_products"])


def test_code_is_generated_whatever_is_disabled() -> None:
    class Never(PassInstrument):
        def should_run(self, mod: object, info: object) -> bool:
            return False

    x = np.array([1, 2, 3], "float32")
    wanted = relay.parse(TEXT).evaluate("main", x)
    off = [rules[function].name for function in (*DEFAULT, *NATIVE)]
    with PassContext(instruments=[Never()], disabled_pass=off):
        np.testing.assert_allclose(relay.build(relay.parse(TEXT))(x), wanted, rtol=1e-6)


def test_a_build_that_is_watched_is_not_read_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELAY_CACHE", str(tmp_path))
    assert names_of(TEXT) == names_of(TEXT) != []
