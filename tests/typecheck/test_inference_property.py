"""Inference finds the annotations of random well-typed programs again, or more general types."""

from dataclasses import MISSING, fields

import pytest

import relay
from generators.programs import erase_annotations, random_program
from relay.diagnostic import RelayError
from relay.ir.expr import Call, Expr, Function, GlobalVar, Let, Op, Var
from relay.ir.module import IRModule
from relay.ir.type import HAS_INCOMPLETE
from relay.ir.walk import post_order
from relay.op.registry import registry
from relay.typecheck.check import check
from relay.typecheck.infer import infer


def as_written(erased: IRModule, original: IRModule) -> IRModule:
    """`erased`, and for each definition a caller that has the type which was written."""
    mod = erased.copy()
    for var, fn in original.items():
        params = tuple([Var(p.name_hint, p.type_annotation) for p in fn.params])
        caller = Function(params, Call(var, params), fn.ret_type, fn.type_params)
        mod[GlobalVar(f"as_written_{var.name_hint}")] = caller
    return mod


def test_annotated_programs_are_inferred_to_what_they_say(seeds):
    for seed in seeds:
        program = random_program(seed)
        found = infer(program.mod)
        check(found)
        for var, fn in program.mod.items():
            new = found[var]
            assert new.ret_type is fn.ret_type, (seed, var)
            assert [p.type_annotation for p in new.params] == [p.type_annotation for p in fn.params], (
                seed,
                var,
            )


def test_types_of_erased_programs_are_the_erased_ones_or_more_general(seeds):
    ambiguous = 0
    for seed in seeds:
        program = random_program(seed)
        try:
            found = infer(as_written(erase_annotations(program.mod), program.mod))
        except RelayError as error:
            # Some parameters say what no use of them does: then the program without them has no one type.
            if set(error.codes) != {"ambiguous-type"}:
                raise AssertionError(f"seed {seed}") from error
            ambiguous += 1
        else:
            check(found)
    assert ambiguous <= len(seeds) // 20


def test_everything_is_annotated_after_inference(seeds):
    for seed in seeds[::2]:
        found = infer(random_program(seed).mod)
        for definition in found.functions.values():
            for e in post_order(definition):
                if isinstance(e, Function):
                    assert e.ret_type is not None
                    assert all(p.type_annotation is not None for p in e.params)
                if isinstance(e, Let):
                    assert e.var.type_annotation is not None
                    assert not e.var.type_annotation.flags & HAS_INCOMPLETE


def test_inference_is_idempotent_and_keeps_sharing_and_spans(seeds):
    for seed in seeds[::2]:
        program = random_program(seed)
        found = infer(program.mod)
        assert infer(found) is found, seed
        for var, definition in program.mod.items():
            before, after = list(post_order(definition)), list(post_order(found[var]))
            assert [type(e) for e in before] == [type(e) for e in after], seed
            assert [str(e.span) for e in before] == [str(e.span) for e in after], seed


def is_value(e: Expr) -> bool:
    """Whether an expression can stand alone: an operator that requires an attribute has to be called."""
    return not isinstance(e, Op) or all(f.default is not MISSING for f in fields(registry[e.name]))


def test_the_type_of_every_part_can_be_asked_for(seeds):
    for seed in seeds[::6]:
        found = infer(random_program(seed).mod)
        types = relay.Types(found)
        for definition in found.functions.values():
            for e in filter(is_value, post_order(definition)):
                assert not types.type_of(e).flags & HAS_INCOMPLETE


@pytest.mark.parametrize("size", [1, 100])
def test_sizes_from_tiny_to_large(size):
    for seed in range(20):
        check(infer(random_program(seed, size).mod))
