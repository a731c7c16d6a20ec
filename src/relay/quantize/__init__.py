"""Programs in small integers: scales by calibration, weights alone by groups, training with quantisation.

>>> quantised = relay.quantize.quantize(mod, params, calibration, method="entropy")
>>> integers = relay.transform.FakeQuantizationToInteger()(quantised)
"""

from relay.op.namespace import public_function
from relay.quantize.api import quantize, report
from relay.quantize.compat import QConfig, current_qconfig, qconfig
from relay.quantize.config import Static, WeightOnly
from relay.quantize.learned import learned_scale
from relay.quantize.prepare import prerequisite_optimize
from relay.quantize.report import Difference, Report, Row
from relay.quantize.training import Training, prepare_training

__all__ = [
    "Difference", "QConfig", "Report", "Row", "Static", "Training", "WeightOnly", "current_qconfig",
    "learned_scale", "prepare_training", "prerequisite_optimize", "qconfig", "quantize", "report",
]  # fmt: skip

globals().update({name: public_function(globals()[name], f"quantize.{name}") for name in __all__})
