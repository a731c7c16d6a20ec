"""How processes that run one program find each other: all connect to the first, which waits for them."""

import json
import socket
from contextlib import suppress
from dataclasses import dataclass
from errno import EADDRINUSE, EADDRNOTAVAIL
from time import monotonic, sleep
from typing import Any, NoReturn, cast

from relay.diagnostic import fail
from relay.version import VERSION

RETRY_SECONDS = 0.1
LONGEST_LINE = 1_000
"""How many bytes a process says of itself at most: others that connect are not ours."""


@dataclass(frozen=True)
class Cluster:
    """Some processes, of which `rank` is this one.  The first one listens at `host` and `port`."""

    host: str
    port: int
    processes: int
    rank: int
    timeout: float
    """Seconds that processes wait for each other."""

    def fail(self, message: str, hint: str = "") -> NoReturn:
        """Say why these processes do not begin together (`cluster-incomplete`)."""
        fail("cluster-incomplete", message, hint=hint)


Connections = dict[int, socket.socket]
"""The connections of a process, by the rank at the other end."""


def meet(cluster: Cluster) -> Connections:
    """Wait until all processes are there; the connections to them (`cluster-incomplete`)."""
    deadline = monotonic() + cluster.timeout
    return receive_all(cluster, deadline) if cluster.rank == 0 else {0: join(cluster, deadline)}


def listen(cluster: Cluster, port: int) -> socket.socket:
    """A socket that takes connections at a port of the first process (`cluster-incomplete`)."""
    try:
        found = socket.getaddrinfo(cluster.host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        cluster.fail(f"`{cluster.host}` is not the name of a machine: {error.strerror}")
    family, _, _, _, address = found[0]
    for where in (address, ("", port)):
        try:
            return socket.create_server(where, family=family, backlog=cluster.processes)
        except OSError as error:
            if error.errno == EADDRINUSE:
                hint = "choose another port, the same in all processes; the one behind it is taken too"
                cluster.fail(f"port {port} of `{cluster.host}` is in use", hint)
            if error.errno != EADDRNOTAVAIL:
                cluster.fail(f"port {port} of `{cluster.host}` cannot be listened at: {error.strerror}")
    cluster.fail(f"`{cluster.host}` is not this machine, which runs process 0")


def receive_all(cluster: Cluster, deadline: float) -> Connections:
    """Have the first process wait for all others."""
    connections: Connections = {}
    with listen(cluster, cluster.port) as server:
        listen(cluster, cluster.port + 1).close()  # JAX takes this one
        try:
            while len(connections) < cluster.processes - 1:
                server.settimeout(max(0.0, deadline - monotonic()) or 1e-3)
                connection, _ = server.accept()
                said = hello_from(connection, deadline)
                if said is None:
                    connection.close()
                    continue
                fault = fault_of(cluster, said, connections)
                if fault:
                    send(connection, {"fault": fault})
                    connection.close()
                    give_up(connections, fault)
                    cluster.fail(fault)
                connections[said["rank"]] = connection
        except TimeoutError:
            missing = [str(r) for r in range(1, cluster.processes) if r not in connections]
            some = f"processes {', '.join(missing[:8])}" if len(missing) > 1 else f"process {missing[0]}"
            more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
            fault = f"{some}{more} of {cluster.processes} did not come within {cluster.timeout:g} seconds"
            give_up(connections, fault)
            cluster.fail(fault, "each process calls `relay.distributed` with a rank of its own, from 0 on")
        for connection in connections.values():
            send(connection, {"fault": ""})
    return connections


def fault_of(cluster: Cluster, said: dict[str, Any], known: Connections) -> str:
    """What is wrong with a process that has come; empty where it is one of ours."""
    if said["version"] != VERSION:
        return f"process {said['rank']} has version {said['version']} of Relay, and process 0 {VERSION}"
    if said["processes"] != cluster.processes:
        return f"process {said['rank']} is one of {said['processes']}, and process 0 of {cluster.processes}"
    return f"two processes have the rank {said['rank']}" if said["rank"] in (0, *known) else ""


def give_up(connections: Connections, fault: str) -> None:
    """Tell the processes that have come why they do not begin."""
    for connection in connections.values():
        with suppress(OSError):
            send(connection, {"fault": fault})
        connection.close()


def join(cluster: Cluster, deadline: float) -> socket.socket:
    """Have another process connect to the first, and wait until all are there."""
    while True:
        left = deadline - monotonic()
        try:
            connection = socket.create_connection((cluster.host, cluster.port), max(left, 1e-3))
            break
        except OSError as error:
            if left <= RETRY_SECONDS:
                message = f"process 0 did not answer at {cluster.host}:{cluster.port}"
                hint = f"it has to be there within {cluster.timeout:g} seconds ({error.strerror or error})"
                cluster.fail(message, hint)
            sleep(RETRY_SECONDS)
    # The first process says itself who is missing: it is waited for a little longer.
    with suppress(OSError):
        send(connection, {"rank": cluster.rank, "processes": cluster.processes, "version": VERSION})
    said = line_from(connection, deadline + 5)
    if not isinstance(said.get("fault"), str):
        connection.close()
        cluster.fail(f"{cluster.host}:{cluster.port} is not process 0, or it has ended")
    if said["fault"]:
        connection.close()
        cluster.fail(said["fault"])
    connection.settimeout(None)
    return connection


def hello_from(connection: socket.socket, deadline: float) -> dict[str, Any] | None:
    """What a process says of itself that connects; None where it is not one of ours."""
    said = line_from(connection, min(deadline, monotonic() + 5))
    kinds = {"rank": int, "processes": int, "version": str}
    if not all(type(said.get(k)) is t for k, t in kinds.items()):
        return None
    connection.settimeout(None)
    return said


def line_from(connection: socket.socket, deadline: float) -> dict[str, Any]:
    """The object in a line of JSON that comes before a deadline; an empty one where none does."""
    line = b""
    try:
        while not line.endswith(b"\n") and len(line) < LONGEST_LINE:
            connection.settimeout(max(1e-3, deadline - monotonic()))
            part = connection.recv(1)
            if not part:
                return {}
            line += part
        said = json.loads(line)
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", said) if isinstance(said, dict) else {}


def send(connection: socket.socket, said: dict[str, Any]) -> None:
    """Send a line of JSON."""
    connection.sendall(json.dumps(said).encode() + b"\n")
