"""Optimisers as Relay functions over trees of parameters: nested tuples of floating-point tensors.

>>> rule = relay.optim.adam(1e-3)
>>> step = relay.optim.train_step(loss, rule)
"""

from relay.optim.adam import adam
from relay.optim.rule import Rule, train_step
from relay.optim.sgd import sgd

__all__ = ["Rule", "adam", "sgd", "train_step"]
