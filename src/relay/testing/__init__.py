"""Workloads, such as `relay.testing.resnet.get_workload(num_layers=18)`, and helpers for tests."""

from typing import Any

from relay.ir import import_home
from relay.testing.gradient import check_grad, rand
from relay.testing.helpers import count_ops, run_as_python, run_infer_type, run_opt_pass
from relay.testing.init import count_parameters, create_workload, parameters
from relay.testing.nat import count, make_nat_expr, make_nat_value

WORKLOADS = (
    "char_rnn", "dcgan", "densenet", "dqn", "gpt2", "gru", "inception_v3", "lstm", "mlp", "mobilenet",
    "mobilenet_v2", "resnet", "resnet_3d", "squeezenet", "synthetic", "transformer", "treelstm", "vgg",
)  # fmt: skip
"""The networks that are here, each a module with `get_workload`, which gives its program and parameters."""

__all__ = [
    "WORKLOADS", "check_grad", "count", "count_ops", "count_parameters", "create_workload", "make_nat_expr",
    "make_nat_value", "parameters", "rand", "run_as_python", "run_infer_type", "run_opt_pass",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """A workload's module, on first use."""
    if name in WORKLOADS or name in ("init", "layers", "nat"):
        return import_home(f"relay.testing.{name}")
    raise AttributeError(f"module 'relay.testing' has no attribute {name!r}")
