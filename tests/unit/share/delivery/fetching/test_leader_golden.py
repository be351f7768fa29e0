"""What we send to leaders is, field by field, what Kafka's Java client was captured sending in the same situation."""

import random
from typing import Any

import pytest

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords, ShareFetchRequest
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.commits import PendingAcknowledgement
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.delivery import SessionId
from kafka_groups.share.delivery.fetching.fetch_size import FetchSize
from kafka_groups.share.delivery.fetching.leader import FetchLimits, Leader
from kafka_groups.types import AcknowledgeType, TopicIdPartition
from tests.recording.golden import golden
from tests.unit.share.deliveries import types_of


def leader_in(message: Any) -> tuple[Leader, list[TopicIdPartition]]:
    """A leader whose session is where it was when the message was sent."""
    leader = Leader(1, BackoffTimer(1, 1, random.Random(1)), FetchSize(500))
    listed = [TopicIdPartition(t.topic_id, p.partition_index) for t in message.topics for p in t.partitions]
    if message.share_session_epoch != 0:
        leader.session.change_to(listed)
        leader.session.epoch = max(message.share_session_epoch, 1)
    return leader, listed


def acknowledgements_of(message: Any) -> list[PendingAcknowledgement]:
    """The same decisions, made by an application offset by offset."""
    made = []
    for topic in message.topics:
        for partition in topic.partitions:
            for offset, kind in types_of(partition.acknowledgement_batches).items():
                made.append((TopicIdPartition(topic.topic_id, partition.partition_index), offset, kind))
    deliveries: dict[TopicIdPartition, DeliveredRecords] = {}
    for tip, offset, kind in made:
        if tip not in deliveries:
            ranges = [AcquiredRecords(first_offset=0, last_offset=20, delivery_count=1)]
            deliveries[tip] = DeliveredRecords(tip, SessionId(1, 0), ranges, 1)
        deliveries[tip].acknowledge(offset, AcknowledgeType(kind))
    pending = []
    for delivery in deliveries.values():
        taken = delivery.take_acknowledged()
        pending.append(PendingAcknowledgement(delivery, m.encode_batches(taken, 0), taken, 1))
    return pending


@pytest.mark.parametrize("name", ["java-open-session", "java-fetch-on", "java-fetch-with-acknowledgements"])
def test_fetches(name: str) -> None:
    message: ShareFetchRequest = golden(name).message()
    leader, listed = leader_in(message)
    limits = FetchLimits(
        message.max_wait_ms, message.min_bytes, message.max_bytes, message.max_records, message.batch_size, 0
    )
    built = leader.fetch_request(
        message.group_id or "", message.member_id or "", listed, acknowledgements_of(message), limits
    )
    assert built == message


@pytest.mark.parametrize("name", ["java-acknowledge", "java-renew", "java-close-session"])
def test_acknowledgements(name: str) -> None:
    message: ShareAcknowledgeRequest = golden(name).message()
    leader, _ = leader_in(message)
    built = leader.acknowledge_request(
        message.group_id or "",
        message.member_id or "",
        acknowledgements_of(message),
        closing=message.share_session_epoch == -1,
    )
    assert built == message
