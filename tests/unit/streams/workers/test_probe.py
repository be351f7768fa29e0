"""Probes over TCP."""

import http.client
import socket
from collections.abc import Iterator

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.streams.workers.application_state import ApplicationLife, StreamsState
from kafka_groups.streams.workers.probe import ProbeServer


@pytest.fixture
def life() -> ApplicationLife:
    return ApplicationLife(None)


@pytest.fixture
def server(life: ApplicationLife) -> Iterator[ProbeServer]:
    made = ProbeServer(("127.0.0.1", 0), life)
    yield made
    made.close()


def asked(server: ProbeServer, path: str, method: str = "GET") -> tuple[int, str | None, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(method, path)
    response = connection.getresponse()
    found = response.status, response.headers.get_content_type(), response.read().decode()
    connection.close()
    return found


@pytest.mark.parametrize(
    ("state", "live", "ready"),
    [
        (StreamsState.REBALANCING, 200, 503),
        (StreamsState.RUNNING, 200, 200),
        (StreamsState.PENDING_SHUTDOWN, 200, 503),
        (StreamsState.NOT_RUNNING, 503, 503),
        (StreamsState.ERROR, 503, 503),
    ],
)
def test_answers_have_the_state(
    server: ProbeServer, life: ApplicationLife, state: StreamsState, live: int, ready: int
) -> None:
    life.enter(state)
    assert asked(server, "/live") == (live, "text/plain", f"{state.name}\n")
    assert asked(server, "/ready?verbose") == (ready, "text/plain", f"{state.name}\n")


def test_other_paths_and_methods_are_refused_in_one_line(server: ProbeServer) -> None:
    assert asked(server, "/") == (404, "text/plain", "Ask for /live or /ready.\n")
    status, kind, line = asked(server, "/live", "POST")
    assert (status, kind, line.count("\n")) == (501, "text/plain", 1)


def test_probes_are_answered_while_a_client_sends_nothing(server: ProbeServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)):
        assert asked(server, "/live")[0] == 200


def test_nothing_listens_after_it_was_closed(life: ApplicationLife) -> None:
    made = ProbeServer(("127.0.0.1", 0), life)
    made.close()
    with pytest.raises(ConnectionRefusedError):
        asked(made, "/live")
    ProbeServer(("127.0.0.1", made.port), life).close()


def test_addresses_that_cannot_be_used_are_refused(server: ProbeServer, life: ApplicationLife) -> None:
    with pytest.raises(
        ConfigurationError, match=f"probe_address=127.0.0.1:{server.port}: cannot listen .*in use.*Give"
    ):
        ProbeServer(("127.0.0.1", server.port), life)
    with pytest.raises(ConfigurationError, match=r"probe_address=no\.such\.host\.invalid:80: cannot listen there"):
        ProbeServer(("no.such.host.invalid", 80), life)
