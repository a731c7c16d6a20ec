"""Devices of scripts: those of XLA, which stand in for GPUs here."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import relay as own

GPUS = {"cuda(0)": "xla gpu:0", "cuda(1)": "xla gpu:1"}


def machine_with(monkeypatch: pytest.MonkeyPatch, *gpus: str) -> None:
    """A machine with these GPUs, which programs can be planned for."""
    for name in ("devices", "targets"):
        module = import_module(f"relay.compat.tvm.{name}")
        monkeypatch.setattr(module, "accelerators", lambda kind: list(gpus) if kind == "cuda" else [])


@pytest.fixture
def gpus(tvm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch, *GPUS.values())


def target_for(given: Any) -> Any:
    return import_module("relay.compat.tvm.targets").target_for(given)


@pytest.mark.usefixtures("gpus")
def test_devices_that_are_here(tvm: Any) -> None:
    assert tvm.cuda().exist
    assert tvm.device("gpu", 1).exist
    assert not tvm.cuda(2).exist
    assert not tvm.rocm().exist
    assert import_module("relay.compat.tvm.devices").checked([tvm.cpu(), tvm.cuda(1)]) == tvm.cpu()


@pytest.mark.usefixtures("gpus")
def test_a_gpu_alone_computes_what_is_not_placed(tvm: Any) -> None:
    for given in ("cuda", tvm.target.Target("cuda -arch=sm_90"), tvm.cuda(), ["cuda"], "gpu"):
        assert list(target_for(given).items()) == [*GPUS.items(), ("cpu(0)", "native")]


@pytest.mark.usefixtures("gpus")
def test_beside_a_processor_it_computes_what_is_placed(tvm: Any) -> None:
    for given in ({"cpu": "llvm", "cuda": "cuda"}, ["cuda", "llvm"], [tvm.cpu(), tvm.cuda()]):
        found = target_for(given)
        assert next(iter(found)) == "cpu(0)"
        assert {k: found[k] for k in GPUS} == GPUS


def test_without_a_gpu_the_target_keeps_its_name(tvm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch)
    assert target_for("cuda -arch=sm_90") == "cuda -arch=sm_90"
    assert target_for({"cpu": "llvm", "cuda": "cuda"}) == ["native", "cuda"]
    with pytest.raises(own.RelayError) as failure:
        tvm.relay.build(tvm.IRModule.from_expr(tvm.relay.const(1.0)), "cuda")
    assert failure.value.codes == ("unknown-target",)


def test_targets_are_given(tvm: Any) -> None:
    for given in ([], {}):
        for take in (target_for, lambda x: tvm.target.make_compilation_config(None, x)):
            with pytest.raises(own.RelayError) as failure:
                take(given)
            assert failure.value.codes == ("unknown-target",)


def test_functions_on_devices(tvm: Any) -> None:
    relay = tvm.relay
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    f = relay.Function([x, y], relay.Tuple([relay.exp(x), relay.tanh(y)]))
    with pytest.raises(own.RelayError):
        relay.annotation.function_on_device(f, [tvm.cpu()], tvm.cpu())
    placed = relay.annotation.function_on_device(f, [tvm.cpu(), tvm.cpu()], tvm.cuda())
    mod = relay.transform.PlanDevices(None)(tvm.IRModule.from_expr(placed))
    copies = [
        (e.attrs.src_device, e.attrs.dst_device)
        for e in own.post_order(mod["main"])
        if isinstance(e, relay.Call) and e.op.name == "device_copy"
    ]
    assert copies == [("cpu(0)", "cuda(0)")] * 2
    found = relay.create_executor("debug", mod).evaluate()(np.ones(2, "float32"), np.zeros(2, "float32"))
    np.testing.assert_allclose(found[0].numpy(), np.exp(np.ones(2)), rtol=1e-6)
