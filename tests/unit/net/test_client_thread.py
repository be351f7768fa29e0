"""The thread of a client: it starts with the first call, and ends with the client."""

import asyncio
import gc
import threading

import pytest

from kafka_groups.errors import ClosedError
from kafka_groups.net.client_thread import ClientThread


class Closing:
    """A client that notes on which thread it was closed."""

    def __init__(self) -> None:
        self.closed_on: list[str] = []

    async def close(self) -> None:
        self.closed_on.append(threading.current_thread().name)


async def name_of_the_thread() -> str:
    return threading.current_thread().name


def running() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "under-test"]


def test_the_first_call_starts_it_and_the_client_is_closed_on_it() -> None:
    client = Closing()
    thread = ClientThread("client", "under-test", client.close)
    assert (thread.is_running, running()) == (False, [])
    assert thread.run(name_of_the_thread()) == "under-test"
    assert thread.run(name_of_the_thread()) == "under-test"
    assert (thread.is_running, running()) == (True, ["under-test"])
    thread.close()
    thread.close()
    assert (thread.is_running, running(), client.closed_on) == (False, [], ["under-test"])
    with pytest.raises(ClosedError, match="client was closed"):
        thread.run(name_of_the_thread())


def test_one_that_was_never_used_closes_nothing() -> None:
    client = Closing()
    ClientThread("client", "under-test", client.close).close()
    assert client.closed_on == []


def test_one_that_is_dropped_closes_the_client() -> None:
    client = Closing()
    thread = ClientThread("client", "under-test", client.close)
    thread.run(name_of_the_thread())
    del thread
    gc.collect()
    assert (running(), client.closed_on) == ([], ["under-test"])


def test_a_call_ends_with_its_time() -> None:
    thread = ClientThread("client", "under-test", Closing().close)
    with pytest.raises(TimeoutError):
        thread.run(asyncio.sleep(60), 0.01)
    thread.close()


async def test_a_thread_that_runs_a_loop_may_call() -> None:
    thread = ClientThread("client", "under-test", Closing().close)
    assert thread.run(name_of_the_thread()) == "under-test"
    thread.close()
