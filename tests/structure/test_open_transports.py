"""The tests notice connections that outlive their event loop."""

import asyncio
import socket

import pytest

from tests.support.open_transports import left_open


async def _opened(address: tuple[str, int], *, closes: bool) -> None:
    transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, *address)
    if closes:
        transport.close()


@pytest.mark.parametrize(("closes", "count"), [(True, 0), (False, 1)])
def test_a_connection_that_is_open_when_its_loop_is_closed_is_found_once(*, closes: bool, count: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        asyncio.run(_opened(server.getsockname(), closes=closes))
        found = left_open()
    assert len(found) == count
    assert all("_opened" in each for each in found)
    assert left_open() == []
