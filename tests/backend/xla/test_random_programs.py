"""Random programs by XLA and by the interpreter."""

import pytest

import relay
from backend.xla.near import assert_near
from generators.programs import random_program
from relay.backend.xla import host_operators, hybrid
from relay.interpreter.machine import evaluate

pytestmark = pytest.mark.extras
pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

PER_TEST = 20
WHOLE = 0.8
"""The share of random programs that XLA computes as a whole, at least."""


def compared(seed: int) -> bool:
    """Whether XLA computes a program as a whole, whose value has to be the interpreter's."""
    program = random_program(seed)
    built = relay.build(program.mod, "xla", opt_level=0 if seed % 2 else None)
    assert_near(built(*program.args), evaluate(program.mod, "main", *program.args))
    return not built.by_name["main"].not_whole


@pytest.mark.parametrize("first", [0, 100])
def test_values_are_those_of_the_interpreter(first: int) -> None:
    assert sum(map(compared, range(first, first + 100))) >= 100 * WHOLE


@pytest.mark.long
def test_values_of_many_programs_are_those_of_the_interpreter(seeds: range) -> None:
    assert sum(map(compared, seeds)) >= len(seeds) * (WHOLE if len(seeds) >= 100 else 0.5)


@pytest.mark.parametrize("batch", [None, "dynamic"])
@pytest.mark.parametrize("first", range(0, 40, PER_TEST))
def test_values_in_segments_are_those_of_the_interpreter(
    first: int, batch: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (host_operators, hybrid):
        monkeypatch.setattr(module, "HOST_ELEMENTS", 0)
    for seed in range(first, first + PER_TEST):
        program = random_program(seed)
        entry = relay.build(program.mod, "xla", opt_level=0, batch=batch).by_name["main"]
        found = entry.hybrid.apply(entry.hybrid.value_of(entry.whole.name), program.args)
        assert_near(found, evaluate(program.mod, "main", *program.args))
