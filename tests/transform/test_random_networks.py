"""Passes about layers, on random networks: the result checks, and has the value of the network."""

from functools import cache

import numpy as np
import pytest

import relay.transform as passes
from relay.interpreter.machine import Interpreter
from relay.ir.module import IRModule
from relay.transform.rewriting.forms import ANF
from transform.cases import Change, program, verified
from transform.networks import Network

PASSES: dict[str, Change] = {
    "fold_scale_axis": passes.fold_scale_axis,
    "forward_fold_scale_axis": passes.forward_fold_scale_axis,
    "backward_fold_scale_axis": passes.backward_fold_scale_axis,
    "convert_layout": passes.convert_layout,
    "combine_parallel_conv2d": lambda mod: passes.combine_parallel_conv2d(mod, min_num_branches=2),
    "combine_parallel_dense": lambda mod: passes.combine_parallel_dense(mod, min_num_branches=2),
    "combine_rows": lambda mod: passes.combine_rows(mod, max_rows=64),
    "combine_parallel_dense, one": lambda mod: passes.combine_parallel_dense(
        mod, min_num_branches=2, to_batch=False
    ),
    "combine_parallel_batch_matmul": lambda mod: passes.combine_parallel_batch_matmul(
        mod, min_num_branches=2
    ),
    "simplify_inference": passes.simplify_inference,
    "expand_composites": passes.expand_composites,
    "canonicalize_ops": passes.canonicalize_ops,
    "simplify_expr": passes.simplify_expr,
    "eliminate_common_subexpr": passes.eliminate_common_subexpr,
    "fuse_ops": passes.fuse_ops,
    "partial_evaluate": passes.partial_evaluate,
    "optimize": lambda mod: passes.optimize(mod, level=4),
}


def values(mod: IRModule, network: Network) -> tuple[np.ndarray, ...]:
    return Interpreter(mod).evaluate("main", *network.args)


@cache
def forms(seed: int) -> tuple[Network, tuple[IRModule, ...], tuple[np.ndarray, ...]]:
    """A random network, its module in three forms, all of which have its value, and that value."""
    network = Network(seed)
    mod = program(network.text)
    found = (mod, passes.to_graph_normal_form(mod), passes.to_anf(mod))
    before = values(mod, network)
    for form in found[1:]:
        assert_close(before, values(form, network), seed)
    return network, found, before


def assert_close(before: tuple[np.ndarray, ...], after: tuple[np.ndarray, ...], seed: int) -> None:
    for a, b in zip(before, after, strict=True):
        assert a.dtype == b.dtype, f"seed {seed}"
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9, err_msg=f"seed {seed}")


@pytest.mark.parametrize("name", PASSES)
def test_type_and_value_are_kept(name: str, seeds: range) -> None:
    changed = 0
    for seed in seeds:
        network, found, before = forms(seed)
        for form in found:
            out = PASSES[name](form)
            assert not ANF.is_known(out) or all(map(ANF.holds, out.functions.values())), f"seed {seed}"
            if out is not form:
                changed += 1
                assert_close(before, values(verified(out), network), seed)
    assert changed >= len(seeds) // 50
