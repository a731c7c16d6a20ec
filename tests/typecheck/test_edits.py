"""After an edit of a module that was inferred, what depends on it is inferred again, and nothing else is."""

import pytest

import relay
from generators.programs import random_program
from relay.ir.expr import GlobalVar

LENGTH = 6
CHAIN = "\n".join(
    [f"def @f{i}() {{ @f{i + 1}() }}" for i in range(LENGTH)]
    + [f"def @f{LENGTH}() {{ 1 }}", "def @other() { 2 }", "def @pair() { (@f2(), @other()) }"]
)


def afresh(mod):
    """What inference says of the same definitions in a module that nothing is known about."""
    return relay.infer(relay.parse(str(mod)))


@pytest.mark.parametrize("value", ["2.5", "True", "(1, 2)", "1"])
@pytest.mark.parametrize("edited", [LENGTH, 3, 0])
def test_every_dependant_of_an_edit_is_inferred_again(value, edited):
    mod = relay.parse(CHAIN)
    before = relay.infer(mod)
    mod[f"f{edited}"] = relay.parse_expr(f"fn () {{ {value} }}")
    after = relay.infer(mod)
    relay.check(after)
    relay.assert_structural_equal(after, afresh(mod))
    for i in range(edited + 1):
        assert mod.type_of(GlobalVar(f"f{i}")) is mod.type_of(GlobalVar(f"f{edited}"))
    for i in range(edited + 1, LENGTH + 1):
        assert after[f"f{i}"] is before[f"f{i}"]
    assert after["other"] is before["other"]


@pytest.mark.parametrize("value", ["2.5", "True", "(1, 2)"])
def test_an_edit_of_an_annotated_module_either_fits_its_callers_or_is_an_error(value):
    mod = relay.infer(relay.parse(CHAIN)).copy()
    mod[f"f{LENGTH}"] = relay.parse_expr(f"fn () {{ {value} }}")
    try:
        found = relay.infer(mod)
    except relay.RelayError as error:
        assert set(error.codes) == {"type-mismatch"}  # noqa: PT017
    else:
        relay.check(found)


def test_an_edit_in_a_group_of_mutually_recursive_functions():
    mod = relay.parse(
        "def @even(%n) { if (%n == 0) { True } else { @odd(%n - 1) } }"
        "def @odd(%n) { if (%n == 0) { False } else { @even(%n - 1) } }"
        "def @use() { @even(4) }"
    )
    assert str(relay.infer(mod)["use"].ret_type) == "bool"
    mod["odd"] = relay.parse_expr("fn (%n) { if (%n == 0i64) { False } else { @even(%n - 1) } }", mod=mod)
    after = relay.infer(mod)
    assert str(after["even"].params[0].type_annotation) == "int64"
    relay.assert_structural_equal(after, afresh(mod))


def test_a_fault_that_is_fixed_leaves_nothing_behind():
    mod = relay.parse(CHAIN)
    relay.infer(mod)
    mod["f6"] = relay.parse_expr("fn () { 1 + True }")
    with pytest.raises(relay.RelayError):
        relay.infer(mod)
    mod["f6"] = relay.parse_expr("fn () { 3.5 }")
    assert str(relay.infer(mod)["f0"].ret_type) == "float32"


def test_random_edits_give_what_inference_of_the_whole_gives(seeds):
    for seed in seeds[::10]:
        mod, donor = (random_program(s).mod.copy() for s in (seed, seed + 1))
        relay.infer(mod)
        for name in ("helper0", "helper1", "main"):
            if name in mod and name in donor:
                mod[name] = relay.parse_expr("fn () { 1 }")
                try:
                    found = relay.infer(mod)
                except relay.RelayError as error:
                    with pytest.raises(relay.RelayError) as caught:
                        afresh(mod)
                    assert sorted(caught.value.codes) == sorted(error.codes)  # noqa: PT017
                else:
                    relay.assert_structural_equal(found, afresh(mod))
