"""Every pass on random well-typed programs: the result checks, and has the value of the program."""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

import relay.transform as passes
from generators.programs import random_program
from relay.ir.module import IRModule
from relay.ir.type import FuncType
from relay.ir.walk import type_post_order
from relay.transform.rewriting.forms import ANF, BASIC_BLOCKS
from relay.typecheck.infer import infer
from transform.cases import Change, outcome, verified


@dataclass(frozen=True)
class Case:
    """A pass, whether doing it twice is doing it once, and what it may change about the work."""

    name: str
    run: Change
    idempotent: bool = True
    work: str = "same"


def in_anf(change: Change) -> Change:
    """A pass on A-normal form."""
    return lambda mod: change(passes.to_anf(mod))


def eta_all(mod: IRModule) -> IRModule:
    """Every name that is used as a value as a function literal."""
    return passes.eta_expand(mod, expand_constructor=True, expand_global_var=True, expand_op=True)


def inlined_once(mod: IRModule) -> IRModule:
    """Without dead code, and with what is used once in its place."""
    return passes.dead_code(mod, inline_once=True)


def there_and_back(mod: IRModule) -> IRModule:
    """Through continuation-passing style, unless the result holds functions: these would be in it."""
    out = passes.un_cps(verified(passes.to_cps(mod)))
    return mod if out["main"].attrs.get("cps") else out


def without_functions(mod: IRModule) -> IRModule:
    """Defunctionalised, unless the result holds functions."""
    holds_functions = any(isinstance(t, FuncType) for t in type_post_order(mod["main"].ret_type))
    return mod if holds_functions else passes.defunctionalize(mod)


CASES = [
    Case("to_anf", passes.to_anf),
    Case("to_basic_block_normal_form", passes.to_basic_block_normal_form),
    # branches are lazy; without the functions that nobody uses, others may be seen to be pure
    Case("to_graph_normal_form", passes.to_graph_normal_form, False, "less"),
    Case("from A-normal form to a graph", in_anf(passes.to_graph_normal_form), False, "less"),
    Case("dead_code", passes.dead_code, False, "less"),  # without its writes a function may be pure
    Case("dead_code, inline_once", in_anf(inlined_once), False, "less"),
    Case("fold_constants", passes.fold_constants, work="less"),
    Case("fold_constants, A-normal", in_anf(passes.fold_constants), False, "less"),  # shows more
    Case("eliminate_common_subexpr", passes.eliminate_common_subexpr, work="less"),
    Case("eliminate_common_subexpr, A-normal", in_anf(passes.eliminate_common_subexpr), work="less"),
    Case("inline", passes.inline, False),
    Case("inline all", lambda mod: passes.inline(mod, all_calls=True), False),
    Case("eta_expand", eta_all),
    Case("eta_expand, A-normal", in_anf(eta_all)),
    Case("lambda_lift", passes.lambda_lift),
    Case("to_cps, un_cps", there_and_back, False),
    Case("defunctionalize", without_functions, False),
    Case("monomorphize", passes.monomorphize),
    Case("fuse_ops", passes.fuse_ops),
    Case("fuse_ops, A-normal", in_anf(passes.fuse_ops), False),  # binds the functions
    Case("fuse_ops, defuse_ops", lambda mod: passes.defuse_ops(passes.fuse_ops(mod)), False),
    Case("remove_unused_functions", passes.remove_unused_functions),
]  # fmt: skip


@cache
def before(seed: int) -> tuple[IRModule, tuple[Any, ...], Any, Counter[str]]:
    """A random program, annotated, its arguments, its value, and the work that it takes."""
    program = random_program(seed)
    mod = infer(program.mod)
    return mod, program.args, *outcome(mod, program.args)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_type_value_and_work_are_kept(case: Case, seeds: range) -> None:
    for seed in seeds:
        mod, args, value, work = before(seed)
        out = verified(case.run(mod))
        for form in (ANF, BASIC_BLOCKS):
            assert all(form.holds(e) for v, e in out.items() if form.is_known_of(out, v)), f"seed {seed}"
        new_value, new_work = outcome(out, args)
        assert new_value == value, f"seed {seed}"
        if case.work == "same":
            assert new_work == work, f"seed {seed}"
        elif case.work == "less":
            assert new_work <= work, f"seed {seed}"
        if case.idempotent:
            assert case.run(out) is out, f"seed {seed}"
