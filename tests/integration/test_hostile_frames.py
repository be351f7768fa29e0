"""Hostile bytes over TCP: the broker answers an error or closes the connection, stays up, and allocates nothing big."""

import socket
import struct
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.protocol.apis import APIS
from kafka_groups.protocol.codec import correlation_id_of, encode_request
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

FEW = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
BIG_BYTES = 8 * 1024 * 1024


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("t", 2)
        yield cluster


def valid_requests() -> list[bytes]:
    heartbeat = ShareGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=0, rack_id=None, subscribed_topic_names=("t", "u")
    )
    batch = AcknowledgementBatch(first_offset=0, last_offset=9, acknowledge_types=(1,))
    return [
        encode_request(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3, 1, "fuzz"),
        encode_request(MetadataRequest(topics=(MetadataRequestTopic(name="t"),)), 12, 1, "fuzz"),
        encode_request(MetadataRequest(topics=(MetadataRequestTopic(name="t"),)), 1, 1, "fuzz"),
        encode_request(heartbeat, 1, 1, "fuzz"),
        encode_request(produce_request(b"\x00" * 80), 9, 1, "fuzz"),
        encode_request(produce_request(b"\xff" * 80), 3, 1, "fuzz"),
        encode_request(acknowledge_request(batch), 2, 1, "fuzz"),
    ]


def produce_request(records: bytes) -> ProduceRequest:
    partition = PartitionProduceData(index=0, records=records)
    return ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=(TopicProduceData(name="t", partition_data=(partition,)),)
    )


def acknowledge_request(batch: AcknowledgementBatch) -> ShareAcknowledgeRequest:
    partition = AcknowledgePartition(partition_index=0, acknowledgement_batches=(batch,))
    topic = AcknowledgeTopic(topic_id=None, partitions=(partition,))
    return ShareAcknowledgeRequest(group_id="g", member_id="m", share_session_epoch=1, topics=(topic,))


def connect(cluster: EmbeddedCluster) -> socket.socket:
    host, _, port = cluster.bootstrap_servers.partition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def exchange(cluster: EmbeddedCluster, sent: bytes) -> bytes:
    """All that comes back until the broker has nothing more to say."""
    with connect(cluster) as sock:
        sock.sendall(sent)
        sock.shutdown(socket.SHUT_WR)
        received = bytearray()
        try:
            while chunk := sock.recv(65536):
                received += chunk
        except ConnectionResetError:
            pass
        return bytes(received)


def assert_healthy(cluster: EmbeddedCluster) -> None:
    request = encode_request(MetadataRequest(topics=()), 12, 77, "still there")
    with connect(cluster) as sock:
        sock.sendall(framed(request))
        length = struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))[0]
        assert correlation_id_of(sock.recv(length, socket.MSG_WAITALL)) == 77
    assert cluster.unexpected_errors == ()


@FEW
@given(st.binary(max_size=200))
def test_random_bytes(cluster: EmbeddedCluster, data: bytes) -> None:
    exchange(cluster, data)
    assert_healthy(cluster)


@FEW
@given(st.binary(max_size=200))
def test_random_payloads(cluster: EmbeddedCluster, payload: bytes) -> None:
    exchange(cluster, framed(payload))
    assert_healthy(cluster)


@settings(FEW, max_examples=250)
@given(st.sampled_from(sorted(APIS)), st.integers(-1, 20), st.booleans(), st.binary(max_size=120))
def test_random_bodies_behind_the_header_of_every_api(
    cluster: EmbeddedCluster, key: int, version: int, flexible: bool, body: bytes
) -> None:
    header = struct.pack(">hhih", key, version, 5, -1) + (b"\x00" if flexible else b"")
    exchange(cluster, framed(header + body))
    assert_healthy(cluster)


@FEW
@given(st.integers(-32768, 32767).filter(lambda key: key not in set(APIS)), st.integers(-32768, 32767))
def test_unknown_apis_close_the_connection(cluster: EmbeddedCluster, key: int, version: int) -> None:
    assert exchange(cluster, framed(struct.pack(">hhih", key, version, 5, -1) + b"\x00")) == b""
    assert_healthy(cluster)


@FEW
@given(st.data())
def test_valid_requests_that_are_cut_or_changed(cluster: EmbeddedCluster, data: st.DataObject) -> None:
    payload = bytearray(data.draw(st.sampled_from(valid_requests())))
    position = data.draw(st.integers(8, len(payload) - 1))
    if data.draw(st.booleans()):
        del payload[position:]
    else:
        payload[position] = data.draw(st.integers(0, 255))
    exchange(cluster, framed(bytes(payload)))
    assert_healthy(cluster)


@FEW
@given(st.data())
def test_huge_lengths_in_valid_requests_allocate_nothing_of_their_size(
    cluster: EmbeddedCluster, data: st.DataObject
) -> None:
    payload = bytearray(data.draw(st.sampled_from(valid_requests())))
    huge = data.draw(
        st.sampled_from([b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f", b"\x7f\xff"])
    )
    position = data.draw(st.integers(8, len(payload) - len(huge)))
    payload[position : position + len(huge)] = huge
    tracemalloc.start()
    try:
        exchange(cluster, framed(bytes(payload)))
        assert tracemalloc.get_traced_memory()[1] < BIG_BYTES
    finally:
        tracemalloc.stop()
    assert_healthy(cluster)


@pytest.mark.parametrize("length", [-1, -(2**31), 2**31 - 1, 104_857_601])
def test_bad_frame_lengths_close_the_connection_at_once(cluster: EmbeddedCluster, length: int) -> None:
    with connect(cluster) as sock:
        sock.sendall(struct.pack(">i", length))
        assert sock.recv(1) == b""
    assert_healthy(cluster)


def test_announced_frame_that_never_comes_takes_no_memory(cluster: EmbeddedCluster) -> None:
    tracemalloc.start()
    try:
        socks = [connect(cluster) for _ in range(10)]
        for sock in socks:
            sock.sendall(struct.pack(">i", 100 * 1024 * 1024) + b"a few bytes")
        assert_healthy(cluster)
        assert tracemalloc.get_traced_memory()[1] < BIG_BYTES
        for sock in socks:
            sock.close()
    finally:
        tracemalloc.stop()
    assert_healthy(cluster)


def test_many_requests_in_one_write_are_answered_in_order(cluster: EmbeddedCluster) -> None:
    requests = [encode_request(MetadataRequest(topics=()), 12, number, None) for number in range(300)]
    with connect(cluster) as sock:
        sock.sendall(b"".join(framed(request) for request in requests))
        for number in range(300):
            length = struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))[0]
            assert correlation_id_of(sock.recv(length, socket.MSG_WAITALL)) == number


def test_request_that_comes_byte_by_byte_is_answered(cluster: EmbeddedCluster) -> None:
    request = framed(encode_request(MetadataRequest(topics=()), 12, 9, None))
    with connect(cluster) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for position in range(len(request)):
            sock.sendall(request[position : position + 1])
        length = struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))[0]
        assert correlation_id_of(sock.recv(length, socket.MSG_WAITALL)) == 9
