"""`parse(print(m))` is `m`, for random modules over every form; `--programs 20000` for a long run."""

import copy
import pickle
from itertools import pairwise

import pytest
from hypothesis import given, settings

import relay
from generators.programs import modules, random_expr, random_module, random_program
from relay.analysis import Feature, detect_feature, faults
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.text.parser import parse_expression, parse_module
from relay.text.printer import expr_text, module_text


def survives(mod: IRModule, seed: object) -> None:
    """Print, parse, compare, and print again."""
    text = module_text(mod, show_meta_data=True)
    try:
        again = parse_module(text)
        relay.assert_structural_equal(mod, again)
        assert module_text(again, show_meta_data=True) == text
    except Exception as error:
        raise AssertionError(f"random_module({seed}), printed as\n{text}") from error


def test_generated_modules_are_well_formed(seeds):
    for seed in seeds:
        assert faults(random_module(seed)) == [], f"random_module({seed})"


def test_generated_modules_use_every_form():
    assert set().union(*[detect_feature(random_module(seed)) for seed in range(50)]) == set(Feature)


def test_modules_come_back_from_text(seeds):
    for seed in seeds:
        survives(random_module(seed), seed)


def test_expressions_come_back_from_text(seeds):
    for seed in seeds:
        e, mod = random_expr(seed)
        text = expr_text(e, show_meta_data=True)
        try:
            again = parse_expression(text, mod=mod)
            assert relay.structural_equal(e, again, map_free_vars=True)
        except Exception as error:
            raise AssertionError(f"random_expr({seed}), printed as\n{text}") from error


def test_annotated_programs_come_back_from_text(seeds):
    for seed in seeds:
        survives(relay.infer(random_program(seed).mod), f"infer(random_program({seed}))")


@pytest.mark.parametrize("width", [40, 1000])
def test_width_does_not_change_the_meaning(seeds, width):
    for seed in seeds[::4]:
        mod = random_module(seed)
        assert relay.structural_equal(
            parse_module(module_text(mod, show_meta_data=True, width=width)), mod
        ), seed


def test_modules_come_back_from_pickles_with_their_spans(seeds):
    for seed in seeds[::4]:
        mod = random_module(seed)
        again = pickle.loads(pickle.dumps(mod))
        assert relay.structural_equal(again, mod), seed
        for var, definition in mod.items():
            pairs = zip(inner_nodes(definition), inner_nodes(again[var]), strict=True)
            assert all(str(a.span) == str(b.span) for a, b in pairs), seed


def inner_nodes(e):
    """Nodes that are one object or several for a reason; leaves come back one for each mention."""
    return [n for n in post_order(e) if n.children]


def test_hashes_agree_with_equality(seeds):
    for seed in seeds[::4]:
        mod, twin = random_module(seed), random_module(seed)
        assert relay.structural_equal(mod, twin), seed
        assert relay.structural_hash(mod) == relay.structural_hash(twin), seed
        assert copy.deepcopy(mod)["main" if "main" in mod else next(iter(mod))] is not None


def test_different_seeds_give_different_modules(seeds):
    several = [random_module(seed) for seed in seeds[:30]]
    equal = sum(relay.structural_equal(a, b) for a, b in pairwise(several))
    assert equal <= len(several) // 5


@settings(max_examples=40, deadline=None, derandomize=True)
@given(modules(12))
def test_small_modules_come_back_from_text(mod):
    survives(mod, "…")
