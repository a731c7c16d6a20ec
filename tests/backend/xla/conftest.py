"""Eight devices for the tests of meshes, made of the CPU: JAX reads this when it first looks for devices."""

import os

DEVICES = "--xla_force_host_platform_device_count"
if DEVICES not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {DEVICES}=8"
