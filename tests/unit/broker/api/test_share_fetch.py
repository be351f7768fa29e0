"""ShareFetch and ShareAcknowledge as handlers: over the wire format, with waiting in virtual time."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any
from uuid import UUID

import attrs
import pytest

from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.profile import DEFAULT_PROFILE
from kafka_groups.broker.share_partitions.leader import SharePartitionLeader
from kafka_groups.broker.share_partitions.share_writers import ShareWriters
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.net.clock import Clock
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kafka_groups.protocol.messages.share_fetch import (
    ShareFetchPartition,
    ShareFetchPartitionData,
    ShareFetchRequest,
    ShareFetchTopic,
    ShareForgottenTopic,
)
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import TopicPartition
from tests.support.broker.broker_services import HandlerBroker
from tests.support.broker.held_letters import HeldLetters
from tests.support.broker.share_state import persister

BATCH = build_batch([NewRecord(b"v" * 50) for _ in range(10)])
ACCEPT, RELEASE, RENEW = 1, 2, 4
LOCK_MS = 30_000

Acks = Mapping[int, tuple[AcknowledgementBatch, ...]]


def acked(first: int, last: int, kind: int = ACCEPT) -> tuple[AcknowledgementBatch, ...]:
    return (AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=(kind,)),)


class ShareBroker(HandlerBroker):
    """Broker 0 with topic t, whose share-partitions of group g begin at 0."""

    def __init__(
        self,
        partitions: int = 1,
        *,
        brokers: int = 1,
        max_sessions: int = 10,
        clock: Clock | None = None,
        features: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(brokers, clock=clock, features=features)
        topic = self.metadata.create_topic("t", partitions)
        state = persister()
        for partition in topic.partitions:
            state.initialize("g", topic.topic_id, partition.partition, 0)
            if partition.leader_id != 0:
                self.metadata.move_leader(TopicPartition("t", partition.partition), 0)
        config = ShareGroupConfig(record_lock_duration_ms=LOCK_MS)
        share = SharePartitionLeader(
            0,
            self.metadata,
            self.services.cluster.logs,
            ShareWriters(state.states.coordinators.persister, HeldLetters()),
            group_config=lambda _group: config,
            max_sessions=max_sessions,
        )
        self.state = state
        self.services = attrs.evolve(self.services, share=share)

    def produce(self, count: int = 1, partition: int = 0) -> None:
        for _ in range(count):
            self.log("t", partition).append(BATCH, 0, 0)

    def fetch_request(
        self,
        epoch: int,
        listed: tuple[int, ...] = (),
        *,
        acks: Acks | None = None,
        forgotten: tuple[int, ...] = (),
        topic_id: UUID | None = None,
        **fields: Any,
    ) -> ShareFetchRequest:
        acks = acks or {}
        parts = tuple(
            ShareFetchPartition(partition_index=p, acknowledgement_batches=acks.get(p, ()))
            for p in dict.fromkeys([*listed, *acks])
        )
        topic_id = topic_id or self.topic_id("t")
        defaults = {
            "group_id": "g",
            "member_id": "ann",
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_records": 500,
            "batch_size": 500,
            "topics": (ShareFetchTopic(topic_id=topic_id, partitions=parts),) if parts else (),
            "forgotten_topics_data": (ShareForgottenTopic(topic_id=topic_id, partitions=forgotten),)
            if forgotten
            else (),
        }
        return ShareFetchRequest(share_session_epoch=epoch, **{**defaults, **fields})

    def ack_request(self, epoch: int, acks: Acks, **fields: Any) -> ShareAcknowledgeRequest:
        parts = tuple(
            AcknowledgePartition(partition_index=p, acknowledgement_batches=batches) for p, batches in acks.items()
        )
        topics = (AcknowledgeTopic(topic_id=self.topic_id("t"), partitions=parts),)
        defaults: dict[str, Any] = {"group_id": "g", "member_id": "ann", "topics": topics}
        return ShareAcknowledgeRequest(share_session_epoch=epoch, **{**defaults, **fields})


def partitions(response: Any) -> dict[int, ShareFetchPartitionData]:
    assert response.error_code is ErrorCode.NONE
    return {data.partition_index: data for topic in response.responses for data in topic.partitions}


def ranges(data: ShareFetchPartitionData) -> list[tuple[int, int, int]]:
    return [(each.first_offset, each.last_offset, each.delivery_count) for each in data.acquired_records]


@pytest.mark.parametrize("version", [1, 2])
async def test_fetch_acknowledge_and_close_in_every_version(version: int) -> None:
    broker = ShareBroker()
    broker.produce(2)
    first = await broker.ask(broker.fetch_request(0, (0,)), version)
    assert ranges(partitions(first)[0]) == [(0, 19, 1)]
    assert partitions(first)[0].records is not None
    assert first.acquisition_lock_timeout_ms == LOCK_MS
    response = await broker.ask(broker.ack_request(1, {0: acked(0, 9)}), version)
    assert [(d.partition_index, d.error_code) for t in response.responses for d in t.partitions] == [(0, 0)]
    assert response.acquisition_lock_timeout_ms == (LOCK_MS if version == 2 else 0)
    closed = await broker.ask(broker.fetch_request(-1, acks={0: acked(10, 14)}), version)
    assert partitions(closed)[0].acknowledge_error_code is ErrorCode.NONE
    again = await broker.ask(broker.fetch_request(0, (0,), member_id="bob"), version)
    assert ranges(partitions(again)[0]) == [(15, 19, 2)]


async def test_errors_of_the_request() -> None:
    broker = ShareBroker()
    for request, code in (
        (broker.fetch_request(1), ErrorCode.SHARE_SESSION_NOT_FOUND),
        (broker.fetch_request(-1), ErrorCode.SHARE_SESSION_NOT_FOUND),
        (broker.fetch_request(0, acks={0: acked(0, 0)}), ErrorCode.INVALID_REQUEST),
        (broker.fetch_request(0, member_id=""), ErrorCode.INVALID_REQUEST),
        (broker.fetch_request(0, member_id="x" * 37), ErrorCode.INVALID_REQUEST),
        (broker.fetch_request(0, member_id=None), ErrorCode.INVALID_REQUEST),
        (broker.fetch_request(0, group_id=None), ErrorCode.INVALID_REQUEST),
        (broker.ack_request(0, {0: acked(0, 0)}), ErrorCode.INVALID_SHARE_SESSION_EPOCH),
        (broker.ack_request(1, {0: acked(0, 0)}), ErrorCode.SHARE_SESSION_NOT_FOUND),
        (broker.ack_request(1, {}, member_id=""), ErrorCode.INVALID_REQUEST),
    ):
        response = await broker.ask(request)
        assert (response.error_code, response.responses, response.acquisition_lock_timeout_ms) == (code, (), 0)
        assert response.error_message
    await broker.ask(broker.fetch_request(0, (0,)))
    assert (await broker.ask(broker.fetch_request(7))).error_code is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert (await broker.ask(broker.ack_request(7, {}))).error_code is ErrorCode.INVALID_SHARE_SESSION_EPOCH


async def test_an_unknown_acquire_mode_uses_up_the_epoch() -> None:
    broker = ShareBroker()
    refused = await broker.ask(broker.fetch_request(0, (0,), share_acquire_mode=2))
    assert (refused.error_code, refused.responses) == (ErrorCode.UNKNOWN_SERVER_ERROR, ())
    assert (await broker.ask(broker.fetch_request(1))).error_code is ErrorCode.NONE


async def test_without_the_feature_nothing_is_served() -> None:
    broker = ShareBroker(features={**DEFAULT_PROFILE.finalized_features(), "share.version": 0})
    for request in (broker.fetch_request(0, (0,)), broker.ack_request(1, {})):
        assert (await broker.ask(request)).error_code is ErrorCode.UNSUPPORTED_VERSION


async def test_errors_of_partitions() -> None:
    broker = ShareBroker(3, brokers=2)
    moved = broker.metadata.move_leader(TopicPartition("t", 1), 1)
    broker.state.delete("g", broker.topic_id("t"), 2)
    broker.produce()
    response = await broker.ask(broker.fetch_request(0, (0, 1, 2, 9)))
    data = partitions(response)
    assert {index: each.error_code.name for index, each in data.items()} == {
        0: "NONE",
        1: "NOT_LEADER_OR_FOLLOWER",
        2: "UNKNOWN_SERVER_ERROR",
        9: "UNKNOWN_TOPIC_OR_PARTITION",
    }
    assert data[1].current_leader == LeaderIdAndEpoch(leader_id=1, leader_epoch=moved.leader_epoch)
    assert response.node_endpoints == (NodeEndpoint(node_id=1, host="host1", port=9093),)
    refused = await broker.ask(broker.ack_request(1, {1: acked(0, 0), 9: acked(0, 0)}))
    leaders = {d.partition_index: d.current_leader.leader_id for t in refused.responses for d in t.partitions}
    assert leaders == {1: 1, 9: -1}
    assert refused.node_endpoints == response.node_endpoints


async def test_an_unknown_topic_id() -> None:
    broker = ShareBroker()
    for topic_id in (UUID(int=5), UUID(int=0)):
        response = await broker.ask(broker.fetch_request(0, (0,), topic_id=topic_id))
        assert partitions(response)[0].error_code is ErrorCode.UNKNOWN_TOPIC_ID


async def test_only_the_first_response_names_partitions_without_news() -> None:
    broker = ShareBroker(2)
    assert set(partitions(await broker.ask(broker.fetch_request(0, (0,))))) == {0}
    assert set(partitions(await broker.ask(broker.fetch_request(1, (1,))))) == {1}
    assert partitions(await broker.ask(broker.fetch_request(2))) == {}
    broker.produce(partition=1)
    assert set(partitions(await broker.ask(broker.fetch_request(3)))) == {1}
    answered = partitions(await broker.ask(broker.fetch_request(4, acks={0: acked(0, 0)})))
    assert answered[0].acknowledge_error_code is ErrorCode.INVALID_RECORD_STATE
    assert answered[0].error_code is ErrorCode.NONE


async def test_a_partition_without_acknowledgements_is_not_named_in_an_acknowledgement() -> None:
    broker = ShareBroker()
    await broker.ask(broker.fetch_request(0, (0,)))
    assert (await broker.ask(broker.ack_request(1, {0: ()}))).responses == ()


async def test_renewal() -> None:
    broker = ShareBroker()
    broker.produce()
    await broker.ask(broker.fetch_request(0, (0,)))
    renewing: dict[str, Any] = {
        "is_renew_ack": True,
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": 0,
        "max_records": 0,
    }
    acks = {0: acked(0, 9, RENEW)}
    for field in ("max_wait_ms", "min_bytes", "max_bytes", "max_records"):
        response = await broker.ask(broker.fetch_request(1, acks=acks, **{**renewing, field: 1}))
        assert response.error_code is ErrorCode.INVALID_REQUEST
    renewed = partitions(await broker.ask(broker.fetch_request(1, acks=acks, **renewing)))[0]
    assert (renewed.acknowledge_error_code, renewed.acquired_records) == (ErrorCode.NONE, ())
    without_flag = partitions(await broker.ask(broker.fetch_request(2, acks=acks)))[0]
    assert without_flag.acknowledge_error_code is ErrorCode.INVALID_REQUEST
    for epoch, version, code in ((3, 2, ErrorCode.NONE), (4, 1, ErrorCode.INVALID_REQUEST)):
        request = broker.ack_request(epoch, acks, is_renew_ack=version == 2)
        response = await broker.ask(request, version)
        assert [d.error_code for t in response.responses for d in t.partitions] == [code]


# ------------------------------------------------------------------------------------------- waiting


def simulated(
    start: Callable[[ShareBroker], Coroutine[Any, Any, Any]],
    waiting: Callable[[ShareBroker], ShareFetchRequest],
    after_100_ms: Callable[[ShareBroker], Coroutine[Any, Any, Any]] | None = None,
    **options: Any,
) -> tuple[int, Any]:
    """Milliseconds that a fetch took, and its response."""

    async def main(simulation: Simulation) -> tuple[int, Any]:
        broker = ShareBroker(clock=simulation.clock, **options)
        await start(broker)
        begin_ms = simulation.clock.now_ms()
        response = asyncio.ensure_future(broker.ask(waiting(broker)))
        if after_100_ms is not None:
            await asyncio.sleep(0.1)
            await after_100_ms(broker)
        return (await response, simulation.clock.now_ms() - begin_ms)[::-1]

    return run_simulated(main, seed=1)


async def nothing(_broker: ShareBroker) -> None:
    pass


async def ann_holds_all(broker: ShareBroker) -> None:
    broker.produce()
    await broker.ask(broker.fetch_request(0, (0,)))


def bob_waits(broker: ShareBroker) -> ShareFetchRequest:
    return broker.fetch_request(0, (0,), member_id="bob", max_wait_ms=500)


def test_a_fetch_waits_until_its_time_is_up() -> None:
    took_ms, response = simulated(nothing, lambda broker: broker.fetch_request(0, (0,), max_wait_ms=500))
    assert took_ms == 500
    assert partitions(response)[0].acquired_records == ()


def test_a_fetch_with_acknowledgements_waits_too() -> None:
    took_ms, response = simulated(
        ann_holds_all, lambda broker: broker.fetch_request(1, acks={0: acked(0, 9)}, max_wait_ms=500)
    )
    assert took_ms == 500
    assert partitions(response)[0].acknowledge_error_code is ErrorCode.NONE


def test_a_fetch_without_partitions_does_not_wait() -> None:
    took_ms, response = simulated(
        ann_holds_all, lambda broker: broker.fetch_request(1, acks={0: acked(0, 9)}, forgotten=(0,), max_wait_ms=500)
    )
    assert took_ms == 0
    assert set(partitions(response)) == {0}


def test_produced_records_end_the_waiting() -> None:
    async def produce(broker: ShareBroker) -> None:
        data = TopicProduceData(name="t", partition_data=(PartitionProduceData(index=0, records=BATCH),))
        await broker.ask(ProduceRequest(acks=1, timeout_ms=0, topic_data=(data,)), 9)

    took_ms, response = simulated(nothing, bob_waits, produce)
    assert (took_ms, ranges(partitions(response)[0])) == (100, [(0, 9, 1)])


def test_released_records_wait_for_the_end_of_another_members_wait() -> None:
    async def release(broker: ShareBroker) -> None:
        await broker.ask(broker.ack_request(1, {0: acked(3, 5, RELEASE)}))

    took_ms, response = simulated(ann_holds_all, bob_waits, release)
    assert (took_ms, ranges(partitions(response)[0])) == (500, [(3, 5, 2)])


def test_the_next_acknowledgement_ends_the_wait_for_released_records() -> None:
    async def release_and_acknowledge(broker: ShareBroker) -> None:
        await broker.ask(broker.ack_request(1, {0: acked(3, 5, RELEASE)}))
        await broker.ask(broker.ack_request(2, {0: acked(7, 8, RELEASE)}))

    took_ms, response = simulated(ann_holds_all, bob_waits, release_and_acknowledge)
    assert (took_ms, ranges(partitions(response)[0])) == (100, [(3, 5, 2)])


def test_a_start_offset_that_moves_ends_the_waiting_of_another_member() -> None:
    async def accept_and_release(broker: ShareBroker) -> None:
        await broker.ask(broker.ack_request(1, {0: (*acked(0, 2), *acked(3, 5, RELEASE))}))

    took_ms, response = simulated(ann_holds_all, bob_waits, accept_and_release)
    assert (took_ms, ranges(partitions(response)[0])) == (100, [(3, 5, 2)])


def test_the_records_of_a_closed_session_wait_for_the_end_of_another_members_wait() -> None:
    async def close(broker: ShareBroker) -> None:
        await broker.ask(broker.ack_request(-1, {}))

    took_ms, response = simulated(ann_holds_all, bob_waits, close)
    assert (took_ms, ranges(partitions(response)[0])) == (500, [(0, 9, 2)])


def test_a_moved_leader_ends_the_waiting() -> None:
    async def move(broker: ShareBroker) -> None:
        def told(_image: MetadataImage, delta: MetadataDelta) -> None:
            broker.services.share.metadata_changed(delta)
            for partition in delta.lost_partitions():
                broker.services.purgatory.notify(partition)

        broker.metadata.on_change(told)
        broker.metadata.move_leader(TopicPartition("t", 0), 1)

    took_ms, response = simulated(ann_holds_all, bob_waits, move, brokers=2)
    assert took_ms == 100
    assert partitions(response)[0].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_the_session_limit_is_told_after_the_wait() -> None:
    took_ms, response = simulated(ann_holds_all, bob_waits, max_sessions=1)
    assert (took_ms, response.error_code) == (500, ErrorCode.SHARE_SESSION_LIMIT_REACHED)
