"""`vmap` of random programs is the stack of their rows, on the interpreter and in machine code."""

from typing import Any

import numpy as np
import pytest

import relay
from generators.rows import FAILED, DifferentError, Rows, random_rows, stacked
from relay.batching.maps import DIFFERENT
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import ConstructorValue
from relay.typecheck.infer import infer

REFUSED = ("batch-function", "unknown-grad-target")
"""Functions that are not known where they are batched, operators in tuples."""
COMPILED = 2, 5
"""Two of five programs are compiled too, which takes longer than all else."""
LARGEST = 1e5
"""Where the terms of a result are larger, an order of addition shows."""


def outcome(run: Any) -> Any:
    """What a program gives, or the error that it ends with."""
    with np.errstate(all="ignore"):
        try:
            return run()
        except relay.RelayError as e:
            return e


def rows_of(program: Rows) -> Any:
    """The rows of a program one by one, stacked; the error that one ends with."""
    mod = infer(program.mod)
    rows = [outcome(lambda args=args: Interpreter(mod).evaluate("row", *args)) for args in program.rows]
    failed = [r for r in rows if isinstance(r, relay.RelayError)]
    if failed:
        return failed[0]
    try:
        return stacked(rows, program.result, program.out_axes, rows[0])
    except DifferentError as e:
        return e


def agree(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return all(map(agree, a, b))
    if isinstance(a, ConstructorValue):
        return a.constructor.name_hint == b.constructor.name_hint and all(map(agree, a.fields, b.fields))
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    is_large = a.dtype.kind == "f" and not (np.abs(a) < LARGEST).all()
    return is_large or np.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True)


def both(program: Rows) -> list[Any]:
    """What the interpreter gives for a batched program, and for some of them machine code."""
    found = [outcome(lambda: relay.run(program.mod, "main", list(program.args)))]
    if program.seed % COMPILED[1] < COMPILED[0]:
        found.append(outcome(lambda: relay.build(program.mod)(*program.args)))
    return found


def check(program: Rows) -> str:
    """How a batched program did: `"same"`, or why it could not be told."""
    want = rows_of(program)
    for found in both(program):
        if isinstance(found, relay.RelayError) and found.diagnostics[0].code in REFUSED:
            return "refused"
        if isinstance(found, relay.RelayError) and DIFFERENT in str(found):
            return "different"
        if isinstance(want, relay.RelayError):
            assert isinstance(found, relay.RelayError), f"{program.seed} does not fail"
            assert FAILED in str(found), program.seed
            continue
        assert not isinstance(found, relay.RelayError), f"{program.seed}: {found}"
        assert not isinstance(want, DifferentError), program.seed
        assert agree(want, found), program.seed
    return "fails" if isinstance(want, relay.RelayError) else "same"


@pytest.mark.parametrize("fails", [False, True], ids=["rows that end", "rows that may fail"])
def test_it_is_the_stack_of_the_rows(seeds: range, fails: bool) -> None:
    programs = [p for seed in seeds if (p := random_rows(seed, fails=fails)) is not None]
    found = [check(p) for p in programs]
    untold = len(found) - found.count("same") - found.count("fails")
    assert untold <= max(1, 0.1 * len(found)), found


def test_derivatives_are_the_stack_of_those_of_the_rows(seeds: range) -> None:
    """`vmap(grad(f))` of one in twenty: they take longer."""
    rows = [random_rows(seed, size=20, differentiates=True) for seed in seeds[::20]]
    programs = [p for p in rows if p is not None]
    assert [check(p) for p in programs].count("same") >= 0.7 * len(programs)


def test_no_rows(seeds: range) -> None:
    for seed in seeds:
        program = random_rows(seed, count=0)
        if program is None:
            continue
        found = both(program)
        failed = [e for e in found if isinstance(e, relay.RelayError)]
        assert all(e.diagnostics[0].code in REFUSED for e in failed), f"{seed}: {failed}"
        assert failed or agree(found[0], found[-1]), seed
