"""Who watches passes, by the module name that people know."""

from relay.transform.rewriting.context import PassInstrument
from relay.transform.rewriting.instruments import PassTimingInstrument, pass_instrument

__all__ = ["PassInstrument", "PassTimingInstrument", "pass_instrument"]
