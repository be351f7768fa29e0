"""Endpoints of interactive queries."""

from kafka_groups.protocol.messages.streams_group_heartbeat import (
    EndpointToPartitions,
    StreamsGroupHeartbeatTopicPartition,
)
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.streams.member.coordinated.known_group import partitions_of_endpoints
from kafka_groups.streams.member.rules.endpoints import EndpointPartitions
from kafka_groups.types import TopicPartition

HERE, THERE = UserEndpoint(host="here", port=1), UserEndpoint(host="there", port=1)


def part(*partitions: int) -> tuple[StreamsGroupHeartbeatTopicPartition, ...]:
    return (StreamsGroupHeartbeatTopicPartition(topic="in", partitions=partitions),)


def test_the_entries_of_members_with_one_endpoint_are_united() -> None:
    found = partitions_of_endpoints(
        [
            EndpointToPartitions(user_endpoint=HERE, active_partitions=part(0, 1)),
            EndpointToPartitions(user_endpoint=THERE, active_partitions=part(3)),
            EndpointToPartitions(user_endpoint=HERE, active_partitions=part(2), standby_partitions=part(3)),
        ]
    )
    assert found == {
        HERE: EndpointPartitions(
            frozenset(TopicPartition("in", each) for each in range(3)), frozenset({TopicPartition("in", 3)})
        ),
        THERE: EndpointPartitions(frozenset({TopicPartition("in", 3)})),
    }
