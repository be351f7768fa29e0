"""Scenario 42: whatever bytes come, the broker answers with an error or closes the connection, and lives on."""

import asyncio
import random
import struct

import pytest

from kafka_groups.net.network import FrameTransport
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.codec import encode_request
from kafka_groups.protocol.framing import frame
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from kafka_groups.protocol.messages.produce import (
    NO_ACKS,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_groups.protocol.messages.share_fetch import ShareFetchRequest
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from tests.support.kafka.real_kafka import unique
from tests.support.members.consuming import consume, values
from tests.support.targets import Target, everywhere, over_tcp

PATIENCE_S = 10.0
HUGE = struct.pack(">i", 2**31 - 1)
SHARE_FETCH = encode_request(
    ShareFetchRequest(
        group_id="g", member_id="m", share_session_epoch=0, max_wait_ms=0, min_bytes=0, max_records=1, batch_size=1
    ),
    2, 1, "hostile",
)  # fmt: skip


def header(api_key: int, version: int) -> bytes:
    return struct.pack(">hhih", api_key, version, 1, -1)


FRAMES: dict[str, bytes] = {
    "empty": b"",
    "a header cut short": b"\x00\x12\x00",
    "an unknown API": header(9_999, 0),
    "a negative API": header(-1, 0),
    "a version from the future": header(ApiKey.SHARE_FETCH, 99) + b"\x00",
    "a client id longer than the frame": struct.pack(">hhih", ApiKey.METADATA, 1, 1, 20_000) + b"x",
    "a share fetch cut short": SHARE_FETCH[:-6],
    "topics without end": header(ApiKey.METADATA, 1) + HUGE,
    "a negative number of topics": header(ApiKey.METADATA, 1) + struct.pack(">i", -7),
    "compact arrays without end": header(ApiKey.SHARE_FETCH, 2) + b"\x00" + b"\xff\xff\xff\xff\x0f" * 8,
    "produce of a batch without end": header(ApiKey.PRODUCE, 3) + b"\xff\xff\xff\xff\x00\x00\x03\xe8" + HUGE,
    **{f"random bytes {seed}": random.Random(seed).randbytes(200) for seed in range(5)},
}
STREAMS: dict[str, bytes] = {
    "a negative length": struct.pack(">i", -1) + b"x" * 20,
    "the largest length": HUGE + b"x" * 20,
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a TLS handshake": bytes.fromhex("1603010200010001fc0303") + b"\x00" * 100,
    "good and then bad": frame(encode_request(ApiVersionsRequest(), 0, 1, "x")) + struct.pack(">i", -5),
}


@everywhere
async def test_42_hostile_frames_get_an_error_or_a_closed_connection(target: Target) -> None:
    outcomes = await asyncio.gather(*(fate_of_frame(target, payload) for payload in FRAMES.values()))

    assert dict(zip(FRAMES, outcomes, strict=True)) == dict.fromkeys(FRAMES, "over")
    await still_works(target)


@over_tcp
async def test_42_hostile_streams_get_a_closed_connection(target: Target) -> None:
    outcomes = await asyncio.gather(*(fate_of_stream(target, sent) for sent in STREAMS.values()))

    assert dict(zip(STREAMS, outcomes, strict=True)) == dict.fromkeys(STREAMS, "closed")
    await still_works(target)


@everywhere
async def test_42_an_unknown_version_of_api_versions_is_answered(target: Target) -> None:
    response = await answer_to(target, header(ApiKey.API_VERSIONS, 99) + b"\x00")

    assert response is not None
    assert response[:6] == struct.pack(">ih", 1, 35)  # in version 0: UNSUPPORTED_VERSION, and what there is instead


@everywhere
async def test_42_refused_records_that_want_no_response_close_the_connection(target: Target) -> None:
    """Otherwise a producer with acks=0 would send to the wrong broker, or to a deleted topic, for ever."""
    batch = build_batch([NewRecord(b"lost")])
    data = TopicProduceData(name=unique("missing"), partition_data=(PartitionProduceData(index=0, records=batch),))
    request = ProduceRequest(acks=NO_ACKS, timeout_ms=1_000, topic_data=(data,))

    assert await answer_to(target, encode_request(request, 9, 1, "hostile")) is None


@over_tcp
@pytest.mark.parametrize("announced", [1_000, 50_000_000])
async def test_42_a_frame_that_never_ends_holds_nobody_up(target: Target, announced: int) -> None:
    _, writer = await asyncio.open_connection(target.host, target.port)
    writer.write(struct.pack(">i", announced) + b"x" * 100)
    await writer.drain()
    try:
        await still_works(target)
    finally:
        writer.close()
        await writer.wait_closed()


class OutcomeWatcher:
    """Handler of a connection that only sees whether something comes, or the end."""

    def __init__(self) -> None:
        self.outcome: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self.lost = asyncio.Event()

    def frame_received(self, frame: memoryview) -> None:
        if not self.outcome.done():
            self.outcome.set_result(bytes(frame))

    def connection_lost(self, _error: Exception | None) -> None:
        self.lost.set()
        if not self.outcome.done():
            self.outcome.set_result(None)


async def answer_to(target: Target, payload: bytes) -> bytes | None:
    """What comes back for a frame; None when the connection is closed instead."""
    watcher = OutcomeWatcher()
    transport: FrameTransport = await target.network.connect(target.host, target.port, watcher)
    transport.send(payload)
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await watcher.outcome
    finally:
        transport.abort()
        await watcher.lost.wait()


async def fate_of_frame(target: Target, payload: bytes) -> str:
    try:
        await answer_to(target, payload)
    except TimeoutError:
        return "neither answered nor closed"
    return "over"


async def fate_of_stream(target: Target, sent: bytes) -> str:
    reader, writer = await asyncio.open_connection(target.host, target.port)
    writer.write(sent)
    try:
        async with asyncio.timeout(PATIENCE_S):
            await reader.read()
    except TimeoutError:
        return "not closed"
    except ConnectionResetError:
        return "closed"
    finally:
        writer.transport.abort()
    return "closed"


async def still_works(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(3))
    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        assert [record.value for record in await consume(consumer, 3)] == values(3)
