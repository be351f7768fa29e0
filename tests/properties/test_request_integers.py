"""No valid request ends in an internal error or a closed connection, whatever its integers are.

Every API is asked in every version that a broker serves, with integers at the bounds of their fields: one at a time,
several at once, and in random requests. None takes long, or much memory. The broker lives in virtual time, because it
may be right to wait for weeks. Afterwards the records that coordinators wrote are read from their topics, as their
bytes are made only then.
"""

import asyncio
import functools
import gc
import logging
import time
import tracemalloc
from collections.abc import Iterable
from functools import partial
from random import Random
from uuid import UUID

import pytest
from attrs import evolve

from kafka_groups.broker.api.handlers import HANDLERS
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.metadata.placement import GROUP_TOPIC, SHARE_STATE_TOPIC
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.network import FrameTransport
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.codec import decode_response, encode_request
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from kafka_groups.protocol.messages.create_acls import CreateAclsRequest
from kafka_groups.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafka_groups.protocol.messages.describe_acls import DescribeAclsRequest
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_groups.protocol.messages.produce import NO_ACKS
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.testing.simulation.virtual_time import Simulation, run_simulated
from tests.support.requests.integer_requests import (
    Attempt,
    one_at_a_time,
    plain_request,
    random_requests,
    served_versions,
    several_at_once,
)
from tests.support.requests.number_requests import CASES, Place, error_codes, newest_version

FOR_EVER_S = 1e15
MOST_S, MOST_BYTES = 1.0, 8 * 2**20
SEVERAL, RANDOM, FEW_RANDOM = 10, 30, 8


class Wire:
    """A client's end of a connection: one request after the other, and their responses."""

    def __init__(self) -> None:
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._transport: FrameTransport | None = None

    async def connect(self, network: MemoryNetwork, address: str) -> None:
        self._connect = functools.partial(self.connect, network, address)
        host, _, port = address.partition(":")
        self._transport = await network.connect(host, int(port), self)

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()

    def frame_received(self, frame: memoryview) -> None:
        self._frames.put_nowait(bytes(frame))

    def connection_lost(self, error: Exception | None) -> None:
        self._frames.put_nowait(None)

    async def ask(self, request: object, version: int) -> object:
        """The response. For a producer that wants none it is another one, after the broker has handled what it sent."""
        assert self._transport is not None
        frame = encode_request(request, version, 1, "client")
        key = ApiKey(int.from_bytes(frame[:2]))
        self._transport.send(frame)
        if getattr(request, "acks", None) == NO_ACKS:
            return await self._ask_for_versions()
        answer = await self._frames.get()
        if answer is None and has_unknown_numbers(request):
            await self._connect()
            return None
        assert answer is not None, "the broker closed the connection"
        return decode_response(answer, key, version)

    async def _ask_for_versions(self) -> object:
        assert self._transport is not None
        self._transport.send(encode_request(ApiVersionsRequest(), 0, 1, "client"))
        answer = await self._frames.get()
        if answer is not None:
            return decode_response(answer, ApiKey.API_VERSIONS, 0)
        await self._connect()  # the broker refused the records, and closed the connection
        return await self.ask(ApiVersionsRequest(), 0)


def has_unknown_numbers(request: object) -> bool:
    """Whether a request about ACLs has the number of "unknown": Kafka cannot read it, and closes the connection."""
    match request:
        case CreateAclsRequest(creations=creations):
            return any(
                0 in (each.resource_type, each.resource_pattern_type, each.operation, each.permission_type)
                for each in creations
            )
        case DeleteAclsRequest(filters=filters):
            return any(map(_has_unknown_number, filters))
        case DescribeAclsRequest():
            return _has_unknown_number(request)
    return False


def _has_unknown_number(chosen: DescribeAclsRequest | DeleteAclsFilter) -> bool:
    numbers = (chosen.resource_type_filter, chosen.pattern_type_filter, chosen.operation, chosen.permission_type)
    return 0 in numbers


async def place_in(cluster: EmbeddedCluster, wire: Wire) -> Place:
    """Make what the requests name."""
    topic = cluster.create_topic("t", 2)
    cluster.create_topic("other")
    cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
    cluster.produce("t", [b"value"] * 3, partition=0)
    await wire.ask(FindCoordinatorRequest(coordinator_keys=("g",)), 4)
    for epoch in (0, 1):
        join = ShareGroupHeartbeatRequest(
            group_id="g", member_id="ann", member_epoch=epoch, subscribed_topic_names=("t",)
        )
        await wire.ask(join, 1)
    place = Place("t", topic.topic_id, "g", "ann", build_batch([NewRecord(b"value", timestamp_ms=1)]))
    joined = await wire.ask(plain_request(ApiKey.JOIN_GROUP, 3, place), 3)
    place = evolve(place, classic_member_id=joined.member_id)  # type: ignore[attr-defined]
    await wire.ask(plain_request(ApiKey.SYNC_GROUP, 3, place), 3)
    for key in (ApiKey.OFFSET_COMMIT, ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_HEARTBEAT):
        request = CASES[key].request(place)
        await wire.ask(request, newest_version(request))
    return place


def read_internal_topics(cluster: EmbeddedCluster) -> int:
    """How many bytes the records of coordinators have."""
    size = 0
    for name in (GROUP_TOPIC, SHARE_STATE_TOPIC):
        topic = cluster.metadata.topic(name)
        for partition in range(topic.num_partitions if topic is not None else 0):
            assert topic is not None
            log = cluster.logs.get(topic.topic_id, partition)
            size += len(log.read(log.log_start_offset, 1 << 30).records)
    return size


async def try_all(key: ApiKey, version: int, random: int, sim: Simulation) -> None:
    network = MemoryNetwork()
    async with EmbeddedCluster(network=network, clock=sim.clock) as cluster:
        wire = Wire()
        await wire.connect(network, cluster.bootstrap_servers)
        place = await place_in(cluster, wire)
        for before in CASES[key].before(place):
            await wire.ask(before, newest_version(before))
        plain = plain_request(key, version, place)
        assert set(error_codes(await wire.ask(plain, version))) <= CASES[key].allowed
        attempts = [
            *one_at_a_time(plain, version),
            *several_at_once(plain, version, Random(f"{key}-{version}"), SEVERAL),
            *random_requests(key, version, place, random),
        ]
        await attempt_each(wire, attempts)
        assert read_internal_topics(cluster) > 0
        wire.close()


async def attempt_each(wire: Wire, attempts: Iterable[Attempt]) -> None:
    # Only what the requests make costs them time: objects of earlier tests are no work for the collector, and threads
    # that they left are no work of this one.
    gc.freeze()
    tracemalloc.start()
    try:
        for attempt in attempts:
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            started_s = time.thread_time()
            try:
                await wire.ask(attempt.request, attempt.version)
            except AssertionError as error:
                error.add_note(f"{attempt}")
                raise
            took_s = time.thread_time() - started_s
            assert took_s < MOST_S, f"{attempt} took {took_s:.1f} s"
            grown = tracemalloc.get_traced_memory()[1] - before
            assert grown < MOST_BYTES, f"{attempt} took {grown} bytes"
    finally:
        tracemalloc.stop()
        gc.unfreeze()


def check(key: ApiKey, versions: Iterable[int], caplog: pytest.LogCaptureFixture, *, random: int = RANDOM) -> None:
    with caplog.at_level(logging.WARNING):
        for version in versions:
            run_simulated(partial(try_all, key, version, random), 1, limit_s=FOR_EVER_S)
    assert [record for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize("key", HANDLERS, ids=lambda key: key.name.lower())
def test_integers_at_their_bounds(key: ApiKey, caplog: pytest.LogCaptureFixture) -> None:
    check(key, served_versions(key)[-1:], caplog, random=FEW_RANDOM)


@pytest.mark.slow
@pytest.mark.parametrize("key", HANDLERS, ids=lambda key: key.name.lower())
def test_integers_at_their_bounds_in_every_version(key: ApiKey, caplog: pytest.LogCaptureFixture) -> None:
    check(key, served_versions(key), caplog)


def test_the_requests_have_integers_at_bounds() -> None:
    place = Place("t", UUID(int=1), "g", "ann", b"")
    plain = plain_request(ApiKey.OFFSET_COMMIT, 2, place)
    found = {attempt.what for attempt in one_at_a_time(plain, 2)}
    assert {f".retention_time_ms={number}" for number in (-(2**63), -1, 0, 2**63 - 1)} <= found
    assert ".topics[0].partitions[0].committed_offset=-9223372036854775808" in found
