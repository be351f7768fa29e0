"""Faults of requests: which are handled twice."""

import random
from collections import Counter

import pytest

from kafka_groups.broker.faults import REPEAT, Faults
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest
from kafka_groups.testing.clock import VirtualClock
from kafka_groups.testing.simulation.faults.network_faults import NetworkFaults
from kafka_groups.testing.simulation.faults.seeded_faults import FaultDraws, SeededFaults

FULL = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=1, rebalance_timeout_ms=1000)
BRIEF = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=1)
CLASSIC = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


@pytest.mark.parametrize(
    ("key", "request_", "is_repeated"),
    [
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, FULL, True),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, BRIEF, False),
        (ApiKey.HEARTBEAT, CLASSIC, True),
    ],
)
async def test_heartbeats_are_repeated_if_a_client_may_repeat_them(
    key: ApiKey, request_: object, is_repeated: bool
) -> None:
    faults, draws = Faults(), FaultDraws(SeededFaults.only(repeated_heartbeat=1))
    NetworkFaults(random.Random(1), VirtualClock(), draws).arm(faults)

    struck = Counter(faults.action_for(0, key, request_) for _ in range(1000))

    assert (struck[REPEAT] > 0) is is_repeated
