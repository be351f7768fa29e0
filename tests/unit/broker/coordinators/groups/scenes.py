"""A shard of the group coordinator whose records a test stores and loads."""

import random
from collections.abc import Mapping
from functools import partial
from itertools import count
from typing import Any

from kafka_groups.broker.coordinators.groups.classic.joining import ClassicSources
from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.broker.coordinators.groups.records import GroupRecord
from kafka_groups.broker.coordinators.groups.settings import GroupConfigSources
from kafka_groups.broker.coordinators.groups.shard import GroupShard
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.config.cluster.broker import BrokerSettings, ConsumerGroupConfig, ShareGroupConfig
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig
from kafka_groups.protocol.coordinator_records.offsets import OffsetCommitValue
from kafka_groups.types import TopicPartition, random_uuid
from tests.support.broker.share_groups import Topics

MINUTE_MS = 60_000
OUTSIDE = OffsetCommitter()


class Groups:
    """A shard, the topics that it sees, and two clocks."""

    def __init__(self, **settings: Any) -> None:
        self.topics = Topics()
        self.records: list[GroupRecord] = []
        self.now_ms, self.wall_ms = 5_000, 1_000_000_000
        self._settings = BrokerSettings(**settings)
        self._sources = ClassicSources(count(1).__next__, partial(random_uuid, random.Random(1)), lambda: self.wall_ms)
        self.shard = self._new_shard()
        self._begin()

    def _new_shard(self) -> GroupShard:
        configs = GroupConfigSources(
            lambda _: ShareGroupConfig(), lambda _: ConsumerGroupConfig(), lambda _: StreamsGroupConfig()
        )
        return GroupShard(self.topics, configs, self._settings, self._sources)

    def reload(self) -> None:
        """Give the groups to the next coordinator."""
        self.shard = self._new_shard()
        for offset, record in enumerate(self.records):
            self.shard.replay(record, offset)
        self._begin()

    def _begin(self) -> None:
        for part in self.shard.loaded(self.now_ms, self.wall_ms):
            self.store(part)

    def store(self, result: Result[Any, GroupRecord]) -> Any:
        """Store and replay the records of an operation; returns the response."""
        for record in result.records:
            self.shard.replay(record, len(self.records))
            self.records.append(record)
        return result.response

    def after(self, ms: int) -> None:
        """Let time pass, and do what is due."""
        until_ms = self.now_ms + ms
        while (due_ms := self.shard.next_deadline_ms()) is not None and due_ms <= until_ms:
            self.advance(max(due_ms, self.now_ms))
            self.store(self.shard.expire(self.now_ms, self.wall_ms))
        self.advance(until_ms)

    def advance(self, now_ms: int) -> None:
        """Let both clocks go on."""
        self.wall_ms += now_ms - self.now_ms
        self.now_ms = now_ms

    def commit(self, group_id: str, offsets: Mapping[tuple[str, int], int], *, expires_ms: int = -1) -> None:
        """Commit offsets from outside of the group, by topic and partition."""
        values = {
            TopicPartition(*key): OffsetCommitValue(
                offset=offset,
                leader_epoch=-1,
                metadata="",
                commit_timestamp_ms=self.wall_ms,
                expire_timestamp_ms=expires_ms,
            )
            for key, offset in offsets.items()
        }
        self.store(self.shard.offsets.commit(group_id, OUTSIDE, 9, values, self.now_ms))

    def offsets(self, group_id: str) -> dict[tuple[str, int], int]:
        """The offsets of a group, by topic and partition."""
        of_group = self.shard.offsets.table.of_group(group_id)
        return {
            (topic, number): each.offset for topic, of_topic in of_group.items() for number, each in of_topic.items()
        }
