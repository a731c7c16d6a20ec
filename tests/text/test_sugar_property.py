"""Random programs with all short forms: text goes round before and after inference, the formatter is done
after one run, and every evaluator gives and writes the same; `--programs 20000` for a long run.
"""

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np

import relay
from generators.sugar import Program, sugared_program
from relay.cli.fmt import formatted
from relay.ir.module import IRModule

COMPILED = 2
"""Programs of each part that are compiled too, by default; a tenth of them where there are many."""


def survives(mod: IRModule, name: str) -> None:
    """Print, parse, compare, and print again."""
    text = mod.astext()
    again = relay.parse(text)
    relay.assert_structural_equal(mod, again)
    assert again.astext() == text, name


def test_text_goes_round_before_and_after_inference(seeds: range) -> None:
    for seed in seeds:
        program = sugared_program(seed)
        try:
            mod = relay.parse(program.text)
            survives(mod, "before inference")
            survives(relay.infer(mod), "after inference")
        except Exception as error:
            raise AssertionError(f"sugared_program({seed}):\n{program.text}") from error


def test_the_formatter_is_done_after_one_run(seeds: range) -> None:
    for seed in seeds:
        program = sugared_program(seed)
        once = formatted(program.text, "<random>", width=40 + seed % 61)
        assert formatted(once, "<random>", width=40 + seed % 61) == once, f"sugared_program({seed})"


def interpreted(mod: IRModule, args: tuple[Any, ...]) -> Any:
    return relay.run(mod, "main", args)


def compiled(mod: IRModule, args: tuple[Any, ...]) -> Any:
    return relay.build(mod).program.evaluate("main", *args)


def outcome(program: Program, run: Callable[[IRModule, tuple[Any, ...]], Any]) -> tuple[str, Any]:
    """What a program writes, and gives or fails with."""
    screen = io.StringIO()
    with contextlib.redirect_stderr(screen):
        try:
            value = run(relay.parse(program.text), program.args)
        except relay.RelayError as error:
            value = error.codes
    return screen.getvalue(), value


def assert_same(a: Any, b: Any) -> None:
    """Values are the same, but for the last bits of floats."""
    pending = [(a, b)]
    while pending:
        a, b = pending.pop()
        assert type(a) is type(b), (type(a), type(b))
        if isinstance(a, tuple):
            assert len(a) == len(b)
            pending += zip(a, b, strict=True)
        elif isinstance(a, str):
            assert a == b
        else:
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_evaluators_agree(seeds: range) -> None:
    for seed in seeds[: max(COMPILED, len(seeds) // 10)]:
        program = sugared_program(seed)
        try:
            wanted = outcome(program, interpreted)
            found = outcome(program, compiled)
            assert words(found[0]) == words(wanted[0])
            assert_same(found[1], wanted[1])
        except Exception as error:
            raise AssertionError(f"sugared_program({seed}):\n{program.text}") from error


def words(written: str) -> list[str]:
    """The lines of a run without the digits of floats, which may differ in the last."""
    return ["".join(c for c in line if c.isalpha() or c in "{}[]|") for line in written.splitlines()]


def test_most_programs_run_to_a_value() -> None:
    found = [outcome(sugared_program(seed), interpreted)[1] for seed in range(40)]
    failed = [x for x in found if isinstance(x, tuple) and x and isinstance(x[0], str)]
    assert len(failed) < 4, failed
