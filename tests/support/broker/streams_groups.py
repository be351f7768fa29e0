"""Streams groups with made-up topics, driven by hand, in virtual time."""

from collections.abc import Iterable
from typing import Any, TypeVar

from kafka_groups.assignment.application.assignor_run import Computed, computed
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.streams.effects import ComputeAssignment, CreateInternalTopics
from kafka_groups.broker.coordinators.groups.streams.group import StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.groups import StreamsGroups
from kafka_groups.broker.coordinators.groups.streams.records import StreamsGroupRecord
from kafka_groups.broker.coordinators.groups.streams.requests import validate
from kafka_groups.broker.coordinators.groups.streams.settings import StreamsRules
from kafka_groups.broker.coordinators.groups.streams.tasks import listed_tasks, task_set
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    StreamsGroupHeartbeatTopology,
)
from kafka_groups.types import TaskId
from tests.support.broker.share_groups import Topics
from tests.support.members.streams_topologies import sent, subtopology

__all__ = ["AT_ONCE", "GROUP", "REBALANCE_MS", "SIMPLE", "Streams", "active", "standby", "task_ids"]

T = TypeVar("T")

GROUP = "app"
REBALANCE_MS = 5_000
START_MS = 1_000
SIMPLE = sent(subtopology("0", sources=("in",)))
"""One sub-topology that reads one topic."""
AT_ONCE = StreamsGroupConfig(initial_rebalance_delay_ms=0, assignment_interval_ms=0)
"""Tasks are assigned at once."""


class Streams:
    """The streams groups of a shard, their topics, and a clock.

    Attributes:
        groups: The groups.
        topics: The topics.
        config: The configuration of all groups.
        now_ms: The time.
        records: All that was stored.
        to_create: The internal topics that the last heartbeat wanted to be created.
        to_compute: The assignments that are to be computed.
    """

    def __init__(self, config: StreamsGroupConfig = AT_ONCE, **rules: Any) -> None:
        self.topics = Topics()
        self.now_ms = START_MS
        self.config = config
        self.records: list[StreamsGroupRecord] = []
        self.to_create: list[str] = []
        self.to_compute: list[ComputeAssignment] = []
        self._rules = rules
        self.groups = self._new_groups()

    @property
    def group(self) -> StreamsGroup:
        """The only group."""
        return self.groups.group(GROUP)

    def beat(
        self,
        member_id: str,
        epoch: int,
        owned: Iterable[tuple[str, int]] | None = None,
        standbys: Iterable[tuple[str, int]] = (),
        *,
        version: int = 1,
        **fields: Any,
    ) -> StreamsGroupHeartbeatResponse:
        """A heartbeat, whose records are stored."""
        if owned is not None:
            fields |= {
                "active_tasks": listed_tasks(_tasks(owned)),
                "standby_tasks": listed_tasks(_tasks(standbys)),
                "warmup_tasks": (),
            }
        request = StreamsGroupHeartbeatRequest(group_id=GROUP, member_id=member_id, member_epoch=epoch, **fields)
        return self.handle(request, version)

    def handle(self, request: StreamsGroupHeartbeatRequest, version: int = 1) -> StreamsGroupHeartbeatResponse:
        """A heartbeat as a message, which is checked as its handler checks it, and whose records are stored."""
        validate(request, is_4_4=self._rules.get("is_4_4", True))
        result = self.groups.heartbeat(request, MemberClient("client", "/127.0.0.1"), version, self.now_ms)
        created = [effect for effect in result.effects if isinstance(effect, CreateInternalTopics)]
        self.to_create = [info.name for effect in created for info in effect.topics]
        return self.store(result)

    def join(
        self, member_id: str, topology: StreamsGroupHeartbeatTopology = SIMPLE, **fields: Any
    ) -> StreamsGroupHeartbeatResponse:
        """Join with a topology. By default, the process has the id of the member."""
        values = {"rebalance_timeout_ms": REBALANCE_MS, "process_id": member_id, "client_tags": (), **fields}
        return self.beat(member_id, 0, (), topology=topology, **values)

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

    def store(self, result: Result[T, StreamsGroupRecord]) -> T:
        """Store the records of an operation; returns the response."""
        for record in result.records:
            self.groups.replay(record)
            self.records.append(record)
        self.to_compute += [effect for effect in result.effects if isinstance(effect, ComputeAssignment)]
        return result.response

    def compute(self) -> None:
        """Compute the assignments that are to be computed."""
        effects, self.to_compute = self.to_compute, []
        for effect in effects:
            self.store(self.groups.assignment_computed(effect, _computed(effect), self.now_ms))

    def _new_groups(self) -> StreamsGroups:
        rules = StreamsRules(lambda _: self.config, lambda: self.now_ms, **self._rules)
        return StreamsGroups(self.topics, rules)


def _computed(effect: ComputeAssignment) -> Computed | Exception:
    try:
        return computed(effect.assignor, effect.given)
    except Exception as error:
        return error


def _tasks(pairs: Iterable[tuple[str, int]]) -> frozenset[TaskId]:
    return frozenset(TaskId(*pair) for pair in pairs)


def task_ids(subtopology_id: str, *partitions: int) -> set[TaskId]:
    """Tasks of one sub-topology."""
    return {TaskId(subtopology_id, partition) for partition in partitions}


def active(response: StreamsGroupHeartbeatResponse) -> set[TaskId] | None:
    """The active tasks in a response, if it has some."""
    return None if response.active_tasks is None else set(task_set(response.active_tasks))


def standby(response: StreamsGroupHeartbeatResponse) -> set[TaskId] | None:
    """The standby tasks in a response, if it has some."""
    return None if response.standby_tasks is None else set(task_set(response.standby_tasks))
