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
from kafka_groups.spark.failures.holding import DeskAddress, DeskAnswer, DeskLine, HeldRecords, HoldingDesk

HELD = HeldRecords(
    worker=1, host="here", pid=7, held=20, failures=3, failing_since=1.0, next_try=2.0, error="the sink is away"
)


class Conf:
    def get(self, key: str, default: str | None) -> str | None:
        return "127.0.0.1"


class Session:
    conf = Conf()


@pytest.fixture(scope="module")
def desk() -> HoldingDesk:
    return HoldingDesk(GoOn())


@pytest.fixture(scope="module")
def address(desk: HoldingDesk) -> Iterator[DeskAddress]:
    with listening(desk) as address:
        yield address


def listening(desk: HoldingDesk) -> AbstractContextManager[DeskAddress]:
    session: Any = Session()
    return desk.listening(session)


def test_the_driver_sees_what_is_held_until_it_is_not(desk: HoldingDesk, address: DeskAddress) -> None:
    line = DeskLine(address, 1)
    assert line.tell(HELD) == DeskAnswer()
    assert desk.held == (HELD,)
    assert line.tell(None) == DeskAnswer()
    assert not desk.held


def test_a_worker_hears_that_it_may_go_on_and_that_the_run_ends(address: DeskAddress) -> None:
    desk = HoldingDesk(GoOn())
    with listening(desk) as its_address:
        line = DeskLine(its_address, 1)
        desk.go_on.ask()
        assert line.tell(HELD) == DeskAnswer(go_on=1)
        desk.end()
        assert line.tell(HELD) == DeskAnswer(go_on=1, is_ending=True)


@pytest.mark.parametrize("fails", [False, True])
def test_the_socket_is_closed_and_nothing_is_held_when_a_run_ends(fails: bool) -> None:
    desk, before = HoldingDesk(GoOn()), set(threading.enumerate())
    with suppress(ZeroDivisionError), listening(desk) as its_address:
        assert DeskLine(its_address, 1).tell(HELD) is not None
        (thread,) = (each for each in set(threading.enumerate()) - before if each.name == "kafka-share-desk")
        if fails:
            raise ZeroDivisionError
    assert not desk.held
    thread.join(5)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((its_address.host, its_address.port), 5)


@pytest.mark.parametrize("line", [b"", b"GET / HTTP/1.1\r\n", b"[1]\n", b'{"worker": 1, "token": "\xc3\xa9"}\n'])
def test_something_else_that_connects_gets_no_answer(desk: HoldingDesk, address: DeskAddress, line: bytes) -> None:
    with socket.create_connection((address.host, address.port), 5) as stranger:
        stranger.sendall(line)
        stranger.shutdown(socket.SHUT_WR)
        assert stranger.makefile("rb").read() == b""
    assert not desk.held


def test_a_driver_that_cannot_be_reached_is_reported_once(
    address: DeskAddress, caplog: pytest.LogCaptureFixture
) -> None:
    line = DeskLine(evolve(address, token="not the secret"), 1)
    with caplog.at_level(logging.WARNING):
        assert line.tell(HELD) is None
        assert line.tell(HELD) is None
    assert len(caplog.records) == 1
    assert DeskLine(None, 1).tell(HELD) is None
