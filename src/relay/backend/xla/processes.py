"""Several processes that run one program together, each with devices of its own.

JAX has the runtime: `jax.distributed`.  Where a process does not come, or is gone, it ends the others by a
signal and says little of it.  So the processes meet here first, and stay connected: all others name the one
that does not come within a time limit, or that ends before them.
"""

import atexit
import re
import sys
from importlib import import_module
from time import sleep
from typing import Any, NoReturn

from relay.backend.xla.meeting import Cluster, meet
from relay.backend.xla.platforms import load_jax
from relay.backend.xla.watch import AGAIN, Watch
from relay.diagnostic import fail

LONGEST_LOSS_SECONDS = 5.0
"""How long it takes at most until the end of another process is known here."""
LONGEST_SECONDS = 1_000_000
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^\[\]:\s]+)):(?P<port>\d{1,5})")


def distributed(
    coordinator: str, processes: int, rank: int, *, timeout: float = 60.0, lost_after: float = 30.0
) -> None:
    """Have this process run programs for XLA together with others, as number `rank` of `processes`.

    All processes call this before they look for devices, with the same `coordinator`: the machine that runs
    process 0, and a port there of which the next one is free too ("10.0.0.1:9000").  Afterwards JAX finds the
    devices of all processes, meshes have all of them, and each process runs the same calls.

    A process that does not come within `timeout` seconds is `cluster-incomplete` in all others.  When one
    ends before the others, or is silent for `lost_after` seconds, these print `cluster-lost` and exit with 1.

    Raises `cluster-option`, `cluster-incomplete`, `no-xla`.
    """
    cluster = checked_cluster(coordinator, processes, rank, timeout)
    check_seconds("lost_after", lost_after)
    jax = load_jax()
    if jax.distributed.is_initialized():
        fail("cluster-option", "this process is one of several already", hint="call it once")
    connections = meet(cluster)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    host = f"[{cluster.host}]" if ":" in cluster.host else cluster.host
    watch = Watch(connections, rank, lost_after)
    watch.start()
    try:
        jax.distributed.initialize(
            f"{host}:{cluster.port + 1}", processes, rank, initialization_timeout=max(1, int(timeout))
        )
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        fail("cluster-option", f"JAX cannot begin: {reason}", hint="call it before JAX is used")
    atexit.register(watch.leave)
    if processes > 1 and jax.default_backend() == "cpu" and jax.local_device_count() > 1:
        message = (
            f"this process has {jax.local_device_count()} CPU devices, and several processes have one each"
        )
        fail("cluster-option", message, hint="unset XLA_FLAGS, or run one process")


def checked_cluster(coordinator: Any, processes: Any, rank: Any, timeout: Any) -> Cluster:
    """The processes that options name (`cluster-option`)."""
    found = _ADDRESS.fullmatch(coordinator) if isinstance(coordinator, str) else None
    if found is None or not 0 < int(found["port"]) < 65_535:
        hint = 'it is the machine of process 0 and a port: "10.0.0.1:9000"'
        fail("cluster-option", f"`coordinator` cannot be {coordinator!r}", hint=hint)
    if type(processes) is not int or processes < 1:
        fail("cluster-option", f"`processes` cannot be {processes!r}", hint="it is at least 1")
    if type(rank) is not int or not 0 <= rank < processes:
        hint = f"it is a number from 0 to {processes - 1}, another in each process"
        fail("cluster-option", f"`rank` cannot be {rank!r}", hint=hint)
    check_seconds("timeout", timeout)
    return Cluster(found["six"] or found["host"], int(found["port"]), processes, rank, float(timeout))


def check_seconds(name: str, value: Any) -> None:
    """Demand that an option is a time (`cluster-option`)."""
    if not isinstance(value, int | float) or not 0 < value <= LONGEST_SECONDS:
        hint = f"it is in seconds, above 0 and at most {LONGEST_SECONDS:,}"
        fail("cluster-option", f"`{name}` cannot be {value!r}", hint=hint)


def is_one_of_several() -> bool:
    """Whether this process runs programs together with others."""
    jax = sys.modules.get("jax")  # who has not loaded JAX does not
    return jax is not None and jax.distributed.is_initialized() and jax.process_count() > 1


def is_first() -> bool:
    """Whether this is process 0."""
    return load_jax().process_index() == 0


def wait_for_all() -> None:
    """Wait until all processes have come to this place."""
    import_module("jax.experimental.multihost_utils").sync_global_devices("relay")


def gathered(x: Any) -> Any:
    """An array that is whole in this process.  Of one that is split over several, all call this."""
    if getattr(x, "is_fully_addressable", True) or x.is_fully_replicated:
        return x
    return import_module("jax.experimental.multihost_utils").process_allgather(x, tiled=True)


def wait_for_loss(error: Exception) -> NoReturn:
    """End a call that failed since another process is gone (`cluster-lost`): the watch ends this one in a
    moment, and says which it was.
    """
    sleep(LONGEST_LOSS_SECONDS)
    reason = str(error).partition("\n")[0]
    fail("cluster-lost", f"the processes do not reach each other: {reason}", hint=AGAIN)
