"""What waiting workers tell the driver, and what it answers."""

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.spark.failures.go_on import GoOn
from kafka_groups.spark.failures.outage_server import (
    HeldRecords,
    OutageAddress,
    OutageAnswer,
    OutageClient,
    OutageServer,
)

HELD = HeldRecords(
    worker=1, host="here", pid=7, held=20, failures=3, failing_since=1.0, next_try=2.0, error="the sink is away"
)


class Conf:
    def get(self, key: str, default: str | None) -> str | None:
        return "127.0.0.1"


class Session:
    conf = Conf()


@pytest.fixture(scope="module")
def outage_server() -> OutageServer:
    return OutageServer(GoOn())


@pytest.fixture(scope="module")
def address(outage_server: OutageServer) -> Iterator[OutageAddress]:
    with listening(outage_server) as address:
        yield address


def listening(outage_server: OutageServer) -> AbstractContextManager[OutageAddress]:
    session: Any = Session()
    return outage_server.listening(session)


def test_the_driver_sees_what_is_held_until_it_is_not(outage_server: OutageServer, address: OutageAddress) -> None:
    line = OutageClient(address, 1)
    assert line.tell(HELD) == OutageAnswer()
    assert outage_server.held == (HELD,)
    assert line.tell(None) == OutageAnswer()
    assert not outage_server.held


def test_a_worker_hears_that_it_may_go_on_and_that_the_run_ends(address: OutageAddress) -> None:
    outage_server = OutageServer(GoOn())
    with listening(outage_server) as its_address:
        line = OutageClient(its_address, 1)
        outage_server.go_on.ask()
        assert line.tell(HELD) == OutageAnswer(go_on=1)
        outage_server.end()
        assert line.tell(HELD) == OutageAnswer(go_on=1, is_ending=True)


@pytest.mark.parametrize("fails", [False, True])
def test_the_socket_is_closed_and_nothing_is_held_when_a_run_ends(fails: bool) -> None:
    outage_server, before = OutageServer(GoOn()), set(threading.enumerate())
    with suppress(ZeroDivisionError), listening(outage_server) as its_address:
        assert OutageClient(its_address, 1).tell(HELD) is not None
        (thread,) = (each for each in set(threading.enumerate()) - before if each.name == "kafka-share-outages")
        if fails:
            raise ZeroDivisionError
    assert not outage_server.held
    thread.join(5)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((its_address.host, its_address.port), 5)


@pytest.mark.parametrize("line", [b"", b"GET / HTTP/1.1\r\n", b"[1]\n", b'{"worker": 1, "token": "\xc3\xa9"}\n'])
def test_something_else_that_connects_gets_no_answer(
    outage_server: OutageServer, address: OutageAddress, line: bytes
) -> None:
    with socket.create_connection((address.host, address.port), 5) as stranger:
        stranger.sendall(line)
        stranger.shutdown(socket.SHUT_WR)
        assert stranger.makefile("rb").read() == b""
    assert not outage_server.held


def test_a_driver_that_cannot_be_reached_is_reported_once(
    address: OutageAddress, caplog: pytest.LogCaptureFixture
) -> None:
    line = OutageClient(evolve(address, token="not the secret"), 1)
    with caplog.at_level(logging.WARNING):
        assert line.tell(HELD) is None
        assert line.tell(HELD) is None
    assert len(caplog.records) == 1
    assert OutageClient(None, 1).tell(HELD) is None
