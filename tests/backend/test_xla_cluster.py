"""How processes of a cluster meet, with threads in the place of processes: no JAX is needed for it."""

import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import relay
from relay.backend.xla.meeting import Cluster, meet
from relay.backend.xla.processes import checked_cluster
from support import free_port


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("10.0.0.1", 2, 0), "`coordinator` cannot be '10.0.0.1'"),
        (("10.0.0.1:99999", 2, 0), "`coordinator` cannot be"),
        ((9000, 2, 0), "`coordinator` cannot be 9000"),
        (("host:9000", 0, 0), "`processes` cannot be 0"),
        (("host:9000", 2, 2), "`rank` cannot be 2"),
        (("host:9000", 2, -1), "`rank` cannot be -1"),
        (("host:9000", 2, 0, 0), "`timeout` cannot be 0"),
        (("host:9000", 2, 0, float("inf")), "`timeout` cannot be inf"),
    ],
)
def test_options_that_cannot_be_have_a_diagnostic(options: Any, said: str) -> None:
    with pytest.raises(relay.RelayError) as error:
        checked_cluster(*options[:3], *(options[3:] or (60.0,)))
    assert error.value.codes == ("cluster-option",)
    assert said in str(error.value)


@pytest.mark.parametrize("limit", [0, -1, "5", None, float("nan")])
def test_how_long_a_process_may_be_silent_is_a_time(limit: Any) -> None:
    with pytest.raises(relay.RelayError, match="`lost_after` cannot be"):
        relay.distributed("host:9000", 2, 0, lost_after=limit)


def test_addresses_are_names_and_numbers_of_both_kinds() -> None:
    assert checked_cluster("node-1.local:9000", 4, 2, 5) == Cluster("node-1.local", 9000, 4, 2, 5.0)
    assert checked_cluster("[::1]:9000", 1, 0, 5).host == "::1"


def meeting(members: Sequence[tuple[int, int]], timeout: float = 10.0) -> list[Any]:
    """What comes of a meeting of processes, each a rank and how many it knows of: the ranks that it connects
    with, or what it says.
    """
    port = free_port()

    def one(member: tuple[int, int]) -> Any:
        rank, processes = member
        try:
            found = meet(Cluster("127.0.0.1", port, processes, rank, timeout))
        except relay.RelayError as error:
            return error.diagnostics[0].message
        for connection in found.values():
            connection.close()
        return sorted(found)

    with ThreadPoolExecutor(len(members)) as pool:
        return list(pool.map(one, members))


def test_all_connect_to_the_first() -> None:
    assert meeting([(2, 3), (0, 3), (1, 3)]) == [[0], [1, 2], [0]]
    assert meeting([(0, 1)]) == [[]]


def test_who_is_missing_is_named() -> None:
    wanted = "processes 2, 3 of 4 did not come within 0.3 seconds"
    assert meeting([(0, 4), (1, 4)], 0.3) == [wanted, wanted]


def test_who_knows_of_another_number_is_refused() -> None:
    wanted = "process 1 is one of 3, and process 0 of 2"
    assert meeting([(0, 2), (1, 3)]) == [wanted, wanted]


def test_what_else_connects_is_left_alone() -> None:
    port = free_port()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(meet, Cluster("127.0.0.1", port, 2, 0, 10.0))
        for noise in (b"GET / HTTP/1.1\r\n\r\n", b"{}\n", b'{"rank": "1"}\n', b"x" * 2000):
            while True:
                try:
                    with socket.create_connection(("127.0.0.1", port)) as other:
                        other.sendall(noise)
                    break
                except ConnectionRefusedError:
                    continue
        second = pool.submit(meet, Cluster("127.0.0.1", port, 2, 1, 10.0))
        for found in (first.result(), second.result()):
            for connection in found.values():
                connection.close()
        assert sorted(first.result()) == [1]


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(relay.RelayError, match="is not the name of a machine"):
        meet(Cluster("no-such-machine.invalid", 9000, 2, 0, 1.0))
    listener = socket.create_server(("127.0.0.1", 0))
    with listener, ThreadPoolExecutor(1) as pool:
        port = listener.getsockname()[1]
        found = pool.submit(meet, Cluster("127.0.0.1", port, 2, 1, 5.0))
        connection, _ = listener.accept()
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 400 Bad Request\n")
        connection.close()
        with pytest.raises(relay.RelayError, match="is not process 0, or it has ended"):
            found.result()
