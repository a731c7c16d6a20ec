"""A tensor with a dimension, and the codes of a program's diagnostics, for tests of dimensions."""

import numpy as np

import relay
from relay.diagnostic import RelayError, Report
from relay.text.parser import parse_module

N = 3
X = np.arange(12, dtype="float32").reshape(3, 4) / 8 - 0.5


def codes(text: str) -> list[str]:
    report = Report()
    try:
        relay.infer(parse_module(text, warnings=report))
    except RelayError as error:
        return list(error.codes)
    return [d.code for d in report.warnings]
