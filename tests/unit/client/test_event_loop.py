"""Clients that belong to one event loop."""

import asyncio

import pytest

from kafka_groups.client.event_loop import check_loop
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
