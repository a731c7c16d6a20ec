"""Random well-typed programs run to a value of their type, the same on every way there."""

import numpy as np

import relay
from generators.programs import erase_annotations, random_program
from relay.diagnostic import RelayError
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import ConstructorValue, RefValue, values_equal
from relay.ir.type import FuncType, RefType, TensorType, TupleType, TypeCall, TypeVar
from relay.typecheck.check import check
from relay.typecheck.infer import infer


def belongs(value, t, mod):
    """Whether a run-time value has a type."""
    match t:
        case TensorType():
            array = np.asarray(value)
            return array.shape == t.concrete_shape and array.dtype == t.dtype
        case TupleType():
            return len(value) == len(t.fields) and all(
                belongs(v, f, mod) for v, f in zip(value, t.fields, strict=True)
            )
        case TypeCall():
            assert isinstance(value, ConstructorValue)
            inputs = [t.args[0] if isinstance(f, TypeVar) else t for f in value.constructor.inputs]
            return all(belongs(v, f, mod) for v, f in zip(value.fields, inputs, strict=True))
        case RefType():
            return isinstance(value, RefValue) and belongs(value.value, t.value, mod)
        case FuncType():
            return callable(value)


def comparable(t):
    return not any(isinstance(p, FuncType | RefType) for p in relay.ir.walk.type_post_order(t))


def test_programs_run_to_a_value_of_their_type(seeds):
    for seed in seeds:
        program = random_program(seed)
        mod = infer(program.mod)
        check(mod)
        value = Interpreter(mod).evaluate("main", *program.args)
        assert belongs(value, program.result, mod), seed


def test_text_and_erasure_change_no_value(seeds):
    for seed in seeds:
        program = random_program(seed)
        if not comparable(program.result):
            continue
        expected = Interpreter(infer(program.mod)).evaluate("main", *program.args)
        printed = relay.parse(str(program.mod))
        assert values_equal(Interpreter(infer(printed)).evaluate("main", *program.args), expected), seed
        try:
            erased = infer(erase_annotations(program.mod))
        except RelayError:
            continue  # the inference property counts these
        found = Interpreter(erased).evaluate("main", *program.args)
        assert values_equal(found, expected), seed


def test_large_programs_run():
    for seed in range(10):
        program = random_program(seed, 150)
        mod = infer(program.mod)
        assert belongs(Interpreter(mod).evaluate("main", *program.args), program.result, mod), seed
