"""Optimisers as Relay functions over trees of parameters: nested tuples of floating-point tensors.

>>> rule = relay.optim.clipped(relay.optim.adamw(relay.optim.cosine(1e-3, steps=1000)), 1.0)
>>> step = relay.optim.train_step(loss, rule)
"""

from relay.op.namespace import missing_attribute, public_function
from relay.optim.adafactor import adafactor
from relay.optim.adam import adam, adamw, lamb
from relay.optim.around import accumulated, averaged, clipped, global_norm
from relay.optim.lion import lion
from relay.optim.nested import apply_rule, initial_state
from relay.optim.rule import Rule, train_step
from relay.optim.scaled import scaled
from relay.optim.schedule import Schedule, constant, cosine, linear, one_cycle, piecewise, warmup
from relay.optim.sgd import sgd
from relay.optim.tensor_rule import TensorRule, is_matrix


def __getattr__(name: str) -> object:
    """Report a name that is not there, with a near one."""
    raise AttributeError(missing_attribute(__name__, name, __all__))


__all__ = [
    "Rule",
    "Schedule",
    "TensorRule",
    "accumulated",
    "adafactor",
    "adam",
    "adamw",
    "apply_rule",
    "averaged",
    "clipped",
    "constant",
    "cosine",
    "global_norm",
    "initial_state",
    "is_matrix",
    "lamb",
    "linear",
    "lion",
    "one_cycle",
    "piecewise",
    "scaled",
    "sgd",
    "train_step",
    "warmup",
]

globals().update({name: public_function(globals()[name], f"optim.{name}") for name in __all__})
