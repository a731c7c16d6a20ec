"""Who watches passes, by the module name that people know."""

from relay.transform.context import PassInstrument
from relay.transform.instruments import PassTimingInstrument, pass_instrument

__all__ = ["PassInstrument", "PassTimingInstrument", "pass_instrument"]
