"""Eight devices for the tests of meshes, made of the CPU: JAX reads this when it first looks for devices."""

import os
from importlib import import_module

import pytest

DEVICES = "--xla_force_host_platform_device_count"
if DEVICES not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {DEVICES}=8"


@pytest.fixture
def eight_devices() -> None:
    """Skip a test where the devices that JAX prefers are fewer, such as one GPU."""
    if import_module("jax").device_count() < 8:
        pytest.skip("needs eight devices of one kind")
