"""Functions that a training loop is composed of: first values of weights, dtypes of
arithmetic, and its state on disk.

>>> weights = relay.training.kaiming_normal(0, (64, 32))
>>> relay.training.save_state("run", {"weights": weights, "optimizer": state}, step=100)
>>> state, step = relay.training.restore_state("run")
"""

from relay.op.namespace import missing_attribute, public_function
from relay.training.initial import (
    kaiming_normal,
    kaiming_uniform,
    normal,
    orthogonal,
    split,
    truncated_normal,
    uniform,
    xavier_normal,
    xavier_uniform,
)
from relay.training.pending import finish_saves
from relay.training.precision import cast
from relay.training.store import restore_state, save_state, saved_steps


def __getattr__(name: str) -> object:
    """Report a name that is not there, with a near one."""
    raise AttributeError(missing_attribute(__name__, name, __all__))


__all__ = [
    "cast",
    "finish_saves",
    "kaiming_normal",
    "kaiming_uniform",
    "normal",
    "orthogonal",
    "restore_state",
    "save_state",
    "saved_steps",
    "split",
    "truncated_normal",
    "uniform",
    "xavier_normal",
    "xavier_uniform",
]

globals().update({name: public_function(globals()[name], f"training.{name}") for name in __all__})
