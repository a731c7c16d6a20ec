"""The network of the examples, once for all tests."""

import pytest

from quantize.digits_network import Digits
from support import ROOT


@pytest.fixture(scope="session")
def digits() -> Digits:
    return Digits(ROOT / "examples")
