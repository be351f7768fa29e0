"""A renewal and an acknowledgement of the same records in one request."""

import random
from uuid import UUID

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from kafka_groups.share.delivery.commits import PendingAcknowledgement
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.delivery import SessionId
from kafka_groups.share.delivery.fetching.fetch_size import FetchSize
from kafka_groups.share.delivery.fetching.leader import Leader
from kafka_groups.share.delivery.marks import encode_batches
from kafka_groups.types import AcknowledgeType, TopicIdPartition


def test_what_was_acknowledged_while_its_renewal_waited_is_named_once() -> None:
    delivery = DeliveredRecords(
        TopicIdPartition(UUID(int=1), 0, "t"),
        SessionId(1, 0),
        [AcquiredRecords(first_offset=100, last_offset=109, delivery_count=1)],
        10_000,
    )
    renewal = PendingAcknowledgement(delivery, delivery.renewal_batches(), None, 10_000)
    delivery.acknowledge_range(103, 105, AcknowledgeType.ACCEPT)
    taken = delivery.take_acknowledged()
    accepted = PendingAcknowledgement(delivery, encode_batches(taken, delivery.first_offset), taken, 10_000)

    leader = Leader(1, BackoffTimer(1, 1, random.Random(0)), FetchSize(500))
    request = leader.acknowledge_request("g", "m", [renewal, accepted], closing=False)

    batches = request.topics[0].partitions[0].acknowledgement_batches
    assert batches == (
        AcknowledgementBatch(first_offset=100, last_offset=109, acknowledge_types=(4, 4, 4, 1, 1, 1, 4, 4, 4, 4)),
    )
    assert request.is_renew_ack
