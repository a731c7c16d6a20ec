"""Random programs whose values are placed at random: what devices compute changes no value."""

from random import Random
from typing import Any

import pytest

import relay
import relay.transform as passes
from generators.programs import random_program
from relay.diagnostic import RelayError
from relay.interpreter.regions import generators as compilers
from relay.ir.expr import Call, Expr, Function, Op
from relay.ir.walk import rewrite
from transform.cases import outcome, verified

DEVICES = {"cpu": "", "a": "placing a", "b": "placing b"}


def placed(mod: relay.IRModule, rng: Random) -> relay.IRModule:
    """The program with `on_device` around one operator in three."""

    def rule(e: Expr) -> Expr | None:
        if not isinstance(e, Call) or not isinstance(e.op, Op) or rng.random() < 0.67:
            return None
        return relay.on_device(e, virtual_device=rng.choice(list(DEVICES)))

    return relay.infer(mod.map_functions(lambda f: rewrite(f, rule)))


def own_code(function: Function) -> Any:
    """Code of a region: its body, interpreted."""
    body = relay.IRModule.from_expr(function.without_attr("Compiler").without_attr("Primitive"))
    return lambda *args: body.evaluate("main", *args)


@pytest.mark.parametrize("seed", range(100))
def test_values_are_those_of_the_program(seed: int) -> None:
    program = random_program(seed)
    mod = placed(program.mod, Random(seed))
    try:
        parted = passes.PartitionDevices(compilers=DEVICES)(mod)
    except RelayError as error:
        if error.codes != ("device-conflict",):
            raise
        return
    compilers["placing"] = own_code
    try:
        assert outcome(verified(parted), program.args)[0] == outcome(program.mod, program.args)[0]
    finally:
        del compilers["placing"]
