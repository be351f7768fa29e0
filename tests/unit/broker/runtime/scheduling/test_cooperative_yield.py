"""However many items a request has, the broker does only so much work before others have their turn."""

import asyncio
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.broker.api.handlers import HANDLERS
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.security import ANONYMOUS
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.network import FrameTransport
from kafka_groups.protocol.apis import ApiKey, api_of
from kafka_groups.protocol.codec import encode_request
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from tests.support.requests.large_requests import Peer, large_requests
from tests.support.requests.number_requests import Place, newest_version
from tests.support.requests.raw_client import RawClient
from tests.unit.broker.test_api_numbers import place_in

ITEMS = 4_000
MOST_CALLS = 80_000
"""Calls of functions between two turns of the event loop: some milliseconds, and too few for so many items."""
NOT_LONG = {
    ApiKey.API_VERSIONS, ApiKey.INIT_PRODUCER_ID, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE,
    ApiKey.DESCRIBE_CLUSTER, ApiKey.HEARTBEAT, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN,
}  # fmt: skip
"""Requests without an array."""
FEW_ITEMS = {ApiKey.LIST_GROUPS, ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_HEARTBEAT}
"""Only names, which are looked at at once."""
ONE_OPERATION = {ApiKey.STREAMS_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE}
"""A large topology, or its description, is one operation on its group, whose tasks are assigned together."""


class Calls:
    """Counts calls of functions, in the stretch between two turns that has the most."""

    def __init__(self) -> None:
        self.most = self._since = 0

    def turn(self) -> None:
        self.most, self._since = max(self.most, self._since), 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        gc.collect()  # what other tests left behind would call its finalizers while we count
        gc.disable()
        sys.setprofile(self._count)
        try:
            yield
        finally:
            sys.setprofile(None)
            gc.enable()

    def _count(self, _frame: FrameType, event: str, _argument: Any) -> None:
        if event.endswith("call"):
            self._since += 1


async def most_calls(items: int) -> dict[str, int]:
    """Send all requests to a new broker; return the most calls between two turns, for each of them."""
    network, found = MemoryNetwork(), {}
    async with EmbeddedCluster(network=network, acls=[], settings={"super.users": ANONYMOUS}) as cluster:
        host, _, port = cluster.bootstrap_servers.partition(":")
        async with RawClient(network, host, int(port)) as client:
            place = await place_in(cluster, client)
        peer = Peer()
        connection = await network.connect(host, int(port), peer)
        for name, request in large_requests(place, items):
            found[name] = await _calls_for(request, connection, peer)
        connection.close()
    return found


async def _calls_for(request: object, connection: FrameTransport, peer: Peer) -> int:
    frame = encode_request(request, newest_version(request), 1, "client")
    calls = Calls()
    answer = asyncio.ensure_future(peer.answers.get())
    with calls.counted():
        connection.send(frame)
        while not answer.done():
            await asyncio.sleep(0)
            calls.turn()
    assert answer.result() > 0, f"the broker broke the connection after {type(request).__name__}"
    return calls.most


@pytest.mark.long
@pytest.mark.timeout(1_800)  # counting calls is slow
async def test_no_request_keeps_others_from_their_turn() -> None:
    await most_calls(1)  # what is imported and built on first use does not count
    found = await most_calls(ITEMS)
    assert {name: calls for name, calls in found.items() if calls > MOST_CALLS} == {}


def test_every_api_with_an_array_is_tried() -> None:
    place = Place("t", UUID(int=1), "g", "ann", build_batch([NewRecord(b"v", timestamp_ms=1)]))
    tried = {api_of(type(request)).key for _, request in large_requests(place, 1)}
    assert tried == set(HANDLERS) - NOT_LONG - FEW_ITEMS - ONE_OPERATION
