"""Consumer groups with made-up topics, driven by hand, in virtual time."""

import random
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerGroup
from kafka_groups.broker.coordinators.groups.consumer.groups import ConsumerGroups
from kafka_groups.broker.coordinators.groups.consumer.records import ConsumerGroupRecord
from kafka_groups.broker.coordinators.groups.consumer.requests import validate
from kafka_groups.broker.coordinators.groups.consumer.settings import ConsumerRules, ConsumerSources
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.config.cluster.consumer_group import ConsumerGroupConfig
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions,
)
from kafka_groups.types import random_uuid
from tests.support.broker.share_groups import Topics

__all__ = ["GROUP", "REBALANCE_MS", "Consumers", "Owned", "as_owned"]

T = TypeVar("T")

GROUP = "group"
REBALANCE_MS = 5_000
VERSION = 1
START_MS = 1_000
_ASSIGNORS = ("uniform", "range")

Owned = dict[UUID, tuple[int, ...]]


class Consumers:
    """The groups of a shard, their topics, and a clock.

    Attributes:
        groups: The groups.
        topics: The topics.
        now_ms: The time.
        records: All that was stored.
    """

    def __init__(self, config: ConsumerGroupConfig | None = None, max_size: int = 100) -> None:
        self.topics = Topics()
        self.now_ms = START_MS
        self.records: list[ConsumerGroupRecord] = []
        self._config = config or ConsumerGroupConfig(assignment_interval_ms=0)
        self._max_size = max_size
        self.groups = self._new_groups()

    @property
    def group(self) -> ConsumerGroup:
        """The only group."""
        return self.groups.group(GROUP)

    def beat(
        self, member_id: str, epoch: int, owned: Mapping[UUID, Iterable[int]] | None = None, **fields: Any
    ) -> ConsumerGroupHeartbeatResponse:
        """A heartbeat, which is checked as its handler checks it, and whose records are stored."""
        partitions = None
        if owned is not None:
            partitions = tuple(
                ConsumerGroupHeartbeatTopicPartitions(topic_id=topic, partitions=tuple(owned[topic])) for topic in owned
            )
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=member_id, member_epoch=epoch, topic_partitions=partitions, **fields
        )
        validate(request, VERSION, _ASSIGNORS)
        client = MemberClient("client", "/127.0.0.1")
        return self.store(self.groups.heartbeat(request, client, VERSION, self.now_ms))

    def join(self, member_id: str, *topics: str, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        """Join by names of topics."""
        values = {"rebalance_timeout_ms": REBALANCE_MS, "subscribed_topic_names": topics, **fields}
        return self.beat(member_id, 0, {}, **values)

    def after(self, ms: int) -> None:
        """Let time pass, and do what is due."""
        until_ms = self.now_ms + ms
        while (due_ms := self.groups.next_deadline_ms()) is not None and due_ms <= until_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.store(self.groups.expire(self.now_ms))
        self.now_ms = until_ms

    def move(self) -> None:
        """Give the groups to the next coordinator."""
        self.groups = self._new_groups()
        for record in self.records:
            self.groups.replay(record)
        for part in self.groups.loaded(self.now_ms):
            self.store(part)

    def store(self, result: Result[T, ConsumerGroupRecord]) -> T:
        """Store the records of an operation; returns the response."""
        for record in result.records:
            self.groups.replay(record)
            self.records.append(record)
        return result.response

    def _new_groups(self) -> ConsumerGroups:
        rules = ConsumerRules(lambda _: self._config, self._max_size, _ASSIGNORS)
        sources = ConsumerSources(partial(random_uuid, random.Random(1)), lambda: self.now_ms)
        return ConsumerGroups(self.topics, rules, sources)


def as_owned(response: ConsumerGroupHeartbeatResponse) -> Owned | None:
    """The partitions in a response, if it has some."""
    if response.assignment is None:
        return None
    return {each.topic_id: each.partitions for each in response.assignment.topic_partitions if each.topic_id}
