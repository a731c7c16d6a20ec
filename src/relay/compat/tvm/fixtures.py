"""Fixtures of pytest that tests take by name: `target` and `dev`, where nothing else says what they are."""

import pytest

from relay.compat.tvm.devices import Device, cpu


@pytest.fixture
def target() -> str:
    """The target that programs are built for."""
    return "llvm"


@pytest.fixture
def dev() -> Device:
    """The device that programs run on."""
    return cpu()
