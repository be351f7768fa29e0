"""Clients that belong to one event loop, and code that shares the loop with them."""

import asyncio
import socket

import pytest

from kafka_groups.client.event_loop import check_loop, loop_pass
from kafka_groups.errors import IllegalStateError


async def test_a_client_may_be_used_on_its_loop_and_before_it_has_one() -> None:
    check_loop("c", "a client", asyncio.get_running_loop())
    check_loop("c", "a client", None)


async def test_a_client_is_refused_on_another_loop() -> None:
    other = asyncio.new_event_loop()
    with pytest.raises(
        IllegalStateError, match=r"'c' belongs to another event loop, which is running: .*close a client"
    ):
        check_loop("c", "a client", other)
    other.close()
    with pytest.raises(IllegalStateError, match="which is closed"):
        check_loop("c", "a client", other)


def test_a_client_is_refused_without_a_loop() -> None:
    loop = asyncio.new_event_loop()
    with pytest.raises(IllegalStateError, match="another event loop"):
        check_loop("c", "a client", loop)
    loop.close()


async def test_a_pass_reads_sockets_that_are_ready_and_runs_timers_that_are_due() -> None:
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        ran: list[str] = []
        loop.add_reader(ours, lambda: ran.append(ours.recv(10).decode()))
        loop.call_later(0, ran.append, "timer")
        theirs.send(b"socket")
        await loop_pass()
        assert ran == ["socket", "timer"]
        loop.remove_reader(ours)


async def test_a_single_sleep_ends_before_anything_was_read() -> None:
    """The reason why a pass takes two; see `loop_pass`."""
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        ran: list[bytes] = []
        loop.add_reader(ours, lambda: ran.append(ours.recv(10)))
        theirs.send(b"socket")
        await asyncio.sleep(0)
        assert ran == []
        await asyncio.sleep(0)
        assert ran == [b"socket"]
        loop.remove_reader(ours)


async def test_a_pass_waits_for_nothing() -> None:
    ran: list[str] = []
    timer = asyncio.get_running_loop().call_later(60, ran.append, "timer")
    await loop_pass()
    assert ran == []
    timer.cancel()
