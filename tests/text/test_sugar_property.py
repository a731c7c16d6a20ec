"""Random programs with all short forms: text goes round before and after inference, the formatter is done
after one run, JSON and pickles keep them, and every evaluator gives and writes the same, of gradients too;
`--programs 20000` for a long run.
"""

import contextlib
import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import relay
from generators.sugared import Program, sugared_program
from relay.cli.fmt import formatted
from relay.ir.module import IRModule

COMPILED = 2
"""Programs of each part that are compiled too, by default; a tenth of them where there are many."""


Evaluator = Callable[[IRModule, tuple[Any, ...]], Any]
"""Runs `@main` of a module on arguments."""


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


def test_json_and_pickles_keep_programs(seeds: range) -> None:
    for seed in seeds:
        mod = relay.parse(sugared_program(seed).text)
        for kept in (mod, relay.infer(mod)):
            for again in (relay.load_json(relay.save_json(kept)), pickle.loads(pickle.dumps(kept))):
                assert relay.structural_equal(again, kept), f"sugared_program({seed})"


def interpreted(mod: IRModule, args: tuple[Any, ...]) -> Any:
    return relay.run(mod, "main", args)


def compiled(mod: IRModule, args: tuple[Any, ...]) -> Any:
    return relay.build(mod).program.evaluate("main", *args)


def slope(kind: str) -> Evaluator:
    """The value and the gradients of a program."""

    def run(mod: IRModule, args: tuple[Any, ...]) -> Any:
        main = mod.get_global_var("main")
        return relay.create_executor(kind, mod=mod).evaluate(relay.grad(main))(*args)

    return run


@dataclass(frozen=True)
class Failed:
    """What a program fails with."""

    codes: tuple[str, ...]


def outcome(program: Program, run: Evaluator) -> tuple[str, Any]:
    """What a program writes, and gives or fails with."""
    screen = io.StringIO()
    with contextlib.redirect_stderr(screen):
        try:
            value = run(relay.parse(program.text), program.args)
        except relay.RelayError as error:
            value = Failed(error.codes)
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
        elif isinstance(a, str | Failed):
            assert a == b
        else:
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def check_agreement(seed: int, first: Evaluator, second: Evaluator) -> None:
    program = sugared_program(seed)
    try:
        wanted = outcome(program, first)
        found = outcome(program, second)
        assert words(found[0]) == words(wanted[0])
        assert_same(found[1], wanted[1])
    except Exception as error:
        raise AssertionError(f"sugared_program({seed}):\n{program.text}") from error


def test_evaluators_agree(seeds: range) -> None:
    for seed in seeds[: max(COMPILED, len(seeds) // 10)]:
        check_agreement(seed, interpreted, compiled)


def test_gradients_agree(seeds: range) -> None:
    for seed in seeds[-max(1, len(seeds) // 30) :]:
        check_agreement(seed, slope("debug"), slope("native"))


def words(written: str) -> list[str]:
    """The lines of a run without the digits of floats, which may differ in the last."""
    return ["".join(c for c in line if c.isalpha() or c in "{}[]|") for line in written.splitlines()]


def test_most_programs_run_to_a_value() -> None:
    found = [outcome(sugared_program(seed), interpreted)[1] for seed in range(40)]
    failed = [x for x in found if isinstance(x, Failed)]
    assert len(failed) < 4, failed
