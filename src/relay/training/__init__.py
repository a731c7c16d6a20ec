"""Functions that a training loop is composed of: its state on disk.

>>> relay.training.save_state("run", {"weights": weights, "optimizer": state}, step=100)
>>> state, step = relay.training.restore_state("run")
"""

from relay.training.store import restore_state, save_state, saved_steps

__all__ = ["restore_state", "save_state", "saved_steps"]
