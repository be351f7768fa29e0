"""Applications without a group, for brokers that have no streams groups: each has all tasks of its topology.

Worker, tasks and data plane are those of `AsyncKafkaStreams`. What a group does for it is done here: internal topics
are made when it joins, tasks are assigned once, and offsets are committed by nobody's member.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from uuid import UUID

from attrs import evolve
from typing_extensions import override

from kafka_groups.admin.rules.group_offsets import commit_question, fetch_question
from kafka_groups.admin.rules.group_topology.group_topology import ChangelogTopic, GroupTopology, RepartitionTopic
from kafka_groups.admin.rules.topics import TopicToCreate, create_topics
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import admin_client
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.membership.group_metadata import NOBODY, GroupMetadata
from kafka_groups.errors import TopicAlreadyExistsError
from kafka_groups.net.clock import SystemClock
from kafka_groups.records.asking import counting_partitions
from kafka_groups.records.engine_plane import EnginePlane
from kafka_groups.streams import (
    GroupMembershipOperation,
    KafkaStreams,
    MemberTasks,
    TaskId,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.aio import AsyncKafkaStreams
from kafka_groups.streams.application import _Application
from kafka_groups.streams.engines.shared_memory import MemoryEngines
from kafka_groups.streams.member.rules.member_events import StreamsMembershipEvent
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.runtime.worker import StreamsWorker
from kafka_groups.streams.runtime.worker_membership import NO_IDS
from kafka_groups.streams.topology.internal_topics import group_topology
from kafka_groups.streams.workers.configured import ConfiguredApplication
from kafka_groups.streams.workers.worker_thread import RunningWorker
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["BlockingHandAssignedStreams", "HandAssignedStreams"]

_ASKING_MS = 5_000
_PROCESS = "alone"


class _Alone(_Application):
    """An application of one process, which needs no streams groups."""

    @override
    def _assembled(self) -> RunningWorker:
        application = self._application
        # The next process has the same id, so that it need not wait until a transaction of this one is too old.
        transactional_id = application.transactional_id(_PROCESS, 1) if application.config.is_exactly_once else None
        plane = EnginePlane(evolve(application.engine_plane, transactional_id=transactional_id))
        membership = _HandAssigned(application)
        worker = StreamsWorker(application.settings, plane, membership, SystemClock(), MemoryEngines())
        return RunningWorker(worker, plane, application.config.client_id, dict)


class HandAssignedStreams(_Alone, AsyncKafkaStreams):
    """`AsyncKafkaStreams` without a group."""


class BlockingHandAssignedStreams(_Alone, KafkaStreams):
    """`KafkaStreams` without a group."""


class _HandAssigned:
    """A worker's place in no group, on the event loop of the worker."""

    is_spare = False
    state = MembershipState.STABLE
    epoch = 1

    def __init__(self, application: ConfiguredApplication) -> None:
        config = application.config
        self._group_id = config.application_id
        self._topology = group_topology(
            application.settings.tasks.topology, config.application_id, config.topic_configs
        )
        self._client = admin_client(config.member, Environment())
        self._events: tuple[StreamsMembershipEvent, ...] = ()

    @property
    def _ask(self) -> Asking:
        return self._client.within(_ASKING_MS)

    async def join(self) -> None:
        """Make the internal topics that are missing, and assign all tasks."""
        existing = (await self._ask(counting_partitions())).checked()[""]
        counts = _all_counts(self._topology, existing)
        missing = {topic.name: topic for topic in _internal(self._topology) if topic.name not in existing}
        wanted = {name: TopicToCreate(counts[name], configs=dict(topic.configs)) for name, topic in missing.items()}
        created = await create_topics(self._ask, wanted)
        assert all(isinstance(each, TopicAlreadyExistsError) for each in created.errors.values()), created.errors
        tasks = {TaskId(each, number) for each, count in _tasks(self._topology, counts) for number in range(count)}
        self._events = (TasksAssigned(MemberTasks(active=tasks), 1),)

    async def poll(self) -> tuple[StreamsMembershipEvent, ...]:
        events, self._events = self._events, ()
        return events

    async def confirm(self, event: TasksRevoked | TasksLost) -> None:
        raise AssertionError("nobody takes a task away")

    @asynccontextmanager
    async def committing(self, *, is_urgent: bool = False) -> AsyncIterator[bool]:
        yield True

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], topic_ids: Mapping[TopicPartition, UUID] = NO_IDS
    ) -> None:
        if offsets:
            question = commit_question(self._group_id, offsets, topic_ids=topic_ids)
            (await self._ask(question))[self._group_id].checked()

    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        question = fetch_question(self._group_id, tuple(partitions))
        return dict((await self._ask(question))[self._group_id].checked().values)

    def group_metadata(self) -> GroupMetadata:
        return GroupMetadata(self._group_id, NOBODY)

    async def ask_group(self) -> None: ...

    async def request_shutdown(self) -> None:
        raise AssertionError("there are no other members")

    async def close(self, timeout_s: float | None, operation: GroupMembershipOperation) -> None:
        await self._client.close()


def _internal(topology: GroupTopology) -> Iterator[ChangelogTopic | RepartitionTopic]:
    for each in topology.subtopologies:
        yield from each.repartition_sources
        yield from each.changelogs


def _all_counts(topology: GroupTopology, existing: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of partitions of all topics, those to create included."""
    counts = dict(existing)
    given = {topic.name: topic.partitions for each in topology.subtopologies for topic in each.repartition_sources}
    counts.update({name: count for name, count in given.items() if count and name not in counts})
    # A repartition topic has as many partitions as the topics that its writers read, as far as those are known: in a
    # join by foreign keys, two sub-topologies read what the other one writes.
    while missing := given.keys() - counts.keys():
        found = {
            name: max(counts[topic] for topic in each.read_topics & counts.keys())
            for each in topology.subtopologies
            if each.read_topics & counts.keys()
            for name in missing.intersection(each.repartition_sinks)
        }
        assert found, f"nothing tells the numbers of partitions of {missing}"
        counts.update(found)
    for subtopology_id, count in _tasks(topology, counts):
        (its,) = (each for each in topology.subtopologies if each.subtopology_id == subtopology_id)
        counts.update({topic.name: count for topic in its.changelogs if topic.name not in counts})
    return counts


def _tasks(topology: GroupTopology, counts: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Return for each sub-topology how many tasks it has."""
    for each in topology.subtopologies:
        yield each.subtopology_id, max(counts[topic] for topic in each.read_topics)
