"""No number in a request sizes time or memory: each request is answered soon, however large one of its numbers is.

In the quick tests all numbers are huge at once; `tests/properties/test_request_integers.py` has one at a time.
"""

import struct
import time
import tracemalloc
from uuid import UUID

import pytest
from attrs import evolve

from kafka_groups.broker.api.handlers import HANDLERS
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_groups.protocol.record_batch import crc32c
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from tests.support.requests.number_requests import (
    CASES,
    Place,
    error_codes,
    newest_version,
    with_all_numbers_huge,
    with_huge_numbers,
)
from tests.support.requests.raw_client import RawClient

MOST_S, MOST_BYTES = 1.0, 4 * 2**20
ALL = "all at once"
BATCH = build_batch([NewRecord(b"value", timestamp_ms=1)])
HEADER_NUMBERS = {"leader epoch": 12, "last offset delta": 23, "base sequence": 53, "records": 57}
"""Where the numbers of a batch's header are."""


async def place_in(cluster: EmbeddedCluster, client: RawClient) -> Place:
    """Make what the requests name."""
    topic = cluster.create_topic("t", 2)
    cluster.create_topic("other")
    cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
    cluster.produce("t", [b"value"] * 3, partition=0)
    await client.ask(FindCoordinatorRequest(coordinator_keys=("g",)))
    for epoch in (0, 1):
        join = ShareGroupHeartbeatRequest(
            group_id="g", member_id="ann", member_epoch=epoch, subscribed_topic_names=("t",)
        )
        await client.ask(join)
    return Place("t", topic.topic_id, "g", "ann", BATCH)


async def ask_new_broker(api: ApiKey, change: str | None = None) -> set[ErrorCode]:
    """Send the request of an API, or the variant of that name, to a new broker; return the error codes."""
    network = MemoryNetwork()
    async with EmbeddedCluster(network=network) as cluster:
        host, _, port = cluster.bootstrap_servers.partition(":")
        async with RawClient(network, host, int(port)) as client:
            place = await place_in(cluster, client)
            request = CASES[api].request(place)
            variants = {ALL: with_all_numbers_huge(request), **dict(with_huge_numbers(request))}
            variant = request if change is None else variants[change]
            for before in CASES[api].before(place):
                await client.ask(before, newest_version(before))
            return await measured(client, variant, change)


async def measured(client: RawClient, request: object, change: str | None) -> set[ErrorCode]:
    """Ask, and check what it took; without a change there are imports to do, which do not count."""
    tracemalloc.start()
    started_s = time.process_time()
    try:
        response = await client.ask(request, newest_version(request))
        took_s, most_bytes = time.process_time() - started_s, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert change is None or took_s < MOST_S, f"{change} took {took_s:.1f} s"
    assert change is None or most_bytes < MOST_BYTES, f"{change} took {most_bytes} bytes"
    return set(error_codes(response))


def changes_of(api: ApiKey) -> list[str]:
    """The names of all variants of an API's request."""
    return [name for name, _ in with_huge_numbers(CASES[api].request(Place("t", UUID(int=1), "g", "ann", BATCH)))]


@pytest.mark.parametrize("api", HANDLERS, ids=lambda api: api.name.lower())
async def test_huge_numbers_are_answered_soon(api: ApiKey) -> None:
    assert await ask_new_broker(api) <= CASES[api].allowed
    await ask_new_broker(api, ALL)


@pytest.mark.slow
@pytest.mark.parametrize("api", [api for api in HANDLERS if changes_of(api)], ids=lambda api: api.name.lower())
async def test_a_huge_number_is_answered_soon(api: ApiKey) -> None:
    await ask_new_broker(api)
    for change in changes_of(api):
        await ask_new_broker(api, change)


def test_the_numbers_of_all_requests_are_found() -> None:
    found = {api: {name.partition("=")[0] for name in changes_of(api)} for api in HANDLERS}
    assert found[ApiKey.CREATE_PARTITIONS] == {
        ".topics[0].count", ".topics[1].count", ".topics[1].assignments[0].broker_ids[0]", ".timeout_ms"
    }  # fmt: skip
    assert ".topics[0].partitions[0].acknowledgement_batches[0].last_offset" in found[ApiKey.SHARE_FETCH]
    assert {api for api in HANDLERS if not found[api]} == {
        ApiKey.METADATA, ApiKey.LIST_GROUPS, ApiKey.DELETE_GROUPS,
        ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        ApiKey.SHARE_GROUP_DESCRIBE, ApiKey.CONSUMER_GROUP_DESCRIBE, ApiKey.STREAMS_GROUP_DESCRIBE,
        ApiKey.DELETE_SHARE_GROUP_OFFSETS, ApiKey.LEAVE_GROUP, ApiKey.DESCRIBE_GROUPS, ApiKey.DESCRIBE_TRANSACTIONS,
    }  # fmt: skip
    create = with_all_numbers_huge(CASES[ApiKey.CREATE_TOPICS].request(Place("t", UUID(int=1), "g", "ann", BATCH)))
    assert {topic.num_partitions for topic in create.topics} == {2**31 - 1}
    assert {topic.replication_factor for topic in create.topics} == {2**15 - 1}
    assert "=2147483647" in changes_of(ApiKey.CREATE_PARTITIONS)[0]
    assert any(name.endswith("=9223372036854775807") for name in changes_of(ApiKey.SHARE_ACKNOWLEDGE))


@pytest.mark.parametrize("field", HEADER_NUMBERS)
async def test_a_huge_number_in_the_header_of_a_batch_is_answered_soon(field: str) -> None:
    place = HEADER_NUMBERS[field]
    for number in (2**31 - 1, -1, -(2**31)):
        batch = bytearray(BATCH)
        batch[place : place + 4] = struct.pack(">i", number)
        batch[17:21] = struct.pack(">I", crc32c(memoryview(batch)[21:]))
        network = MemoryNetwork()
        async with EmbeddedCluster(network=network) as cluster:
            host, _, port = cluster.bootstrap_servers.partition(":")
            async with RawClient(network, host, int(port)) as client:
                named = evolve(await place_in(cluster, client), batch=bytes(batch))
                for _ in range(2):
                    await measured(client, CASES[ApiKey.PRODUCE].request(named), f"{field}={number}")
                await measured(client, CASES[ApiKey.FETCH].request(named), f"{field}={number}")
