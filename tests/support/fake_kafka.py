"""Logs and a group in memory for workers of streams applications, with a fault at any call."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple
from uuid import UUID

from kafka_groups.client.membership.group_metadata import AsMember, GroupMetadata
from kafka_groups.errors import (
    ApplicationShutdownError,
    DeliveryFailedError,
    KafkaGroupsError,
    LeaderNotAvailableError,
    TasksLostError,
    TransactionFailedError,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatStatus, StreamsStatus
from kafka_groups.records.interface import NO_EPOCHS, NOTHING, LogChange, PolledRecords, UnwrittenRecord
from kafka_groups.streams import GroupMembershipOperation, MemberTasks, TaskId, TasksAssigned, TasksLost, TasksRevoked
from kafka_groups.streams.member.rules.member_events import StatusesChanged, StreamsMembershipEvent, asks_for_shutdown
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.runtime.worker_membership import NO_IDS
from kafka_groups.types import FetchedRecord, Headers, OffsetAndMetadata, TopicPartition
from tests.support.listed_records import ListedRecords

MEMBER, LOST = (GroupMetadata("app", AsMember(name, 1)) for name in ("member", "lost"))
"""A member, and one that has lost its tasks."""


class LogEntry(NamedTuple):
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers = ()


class Killed(BaseException):
    """The process ends at this call."""


class FakeKafka:
    """The brokers: logs, and the offsets of one group."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = dict(counts)
        self.logs: defaultdict[TopicPartition, list[LogEntry]] = defaultdict(list)
        self.begins: defaultdict[TopicPartition, int] = defaultdict(int)
        self.ids: dict[str, UUID] = {topic: UUID(int=number) for number, topic in enumerate(counts, start=1)}
        self.committed: dict[TopicPartition, OffsetAndMetadata] = {}
        self.leaderless: set[TopicPartition] = set()
        self.stable: dict[TopicPartition, int] = {}
        self.changes: dict[TopicPartition, LogChange] = {}  # to tell, once
        self.refusal: Callable[[TopicPartition, LogEntry], KafkaGroupsError | None] = lambda _place, _entry: None

    def produce(self, topic: str, key: str, value: str, timestamp_ms: int = 0, partition: int = 0) -> None:
        entry = LogEntry(key.encode(), value.encode(), timestamp_ms)
        self.logs[TopicPartition(topic, partition)].append(entry)

    def values(self, topic: str) -> list[LogEntry]:
        return [each for at in range(self.counts[topic]) for each in self.logs[TopicPartition(topic, at)]]


class Faults:
    """Counts the calls of a process, and ends it at one of them."""

    def __init__(self, at: int | None = None, error: BaseException | None = None) -> None:
        self.calls = 0
        self.at = at
        self.error = error or Killed()

    def call(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            raise self.error


class FakeReader:
    """One consumer."""

    def __init__(self, kafka: FakeKafka) -> None:
        self._kafka = kafka
        self.positions: dict[TopicPartition, int] = {}
        self.paused: set[TopicPartition] = set()
        self._told: dict[TopicPartition, int] = {}

    def assign(self, starts: Mapping[TopicPartition, int]) -> None:
        self.positions.update(starts)
        self._told = {place: end for place, end in self._told.items() if place not in starts}

    def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        for place in partitions:
            self.positions.pop(place, None)
            self._told.pop(place, None)

    def poll(self, most: int) -> PolledRecords:
        batches, ends = {}, {}
        changes = {
            place: self._kafka.changes.pop(place) for place in self.positions.keys() & self._kafka.changes.keys()
        }
        lost = list(changes)
        self.unassign(changes)
        for place in self.positions.keys() - self.paused:
            start, log = self.positions[place], self._kafka.logs[place]
            if start < self._kafka.begins[place]:
                lost.append(place)
                continue
            found = ListedRecords(FetchedRecord(start + at, *e) for at, e in enumerate(log[start : start + most]))
            if found:
                batches[place] = found
                self.positions[place] = start + len(found)
            end = self.positions[place]
            if end == len(log) and self._told.get(place) != end:
                ends[place] = self._told[place] = end
        self.unassign(lost)
        return PolledRecords(batches, ends, tuple(lost), changes) if batches or ends or lost else NOTHING


class FakePlane:
    """The data plane of one process. Records are in the logs after a flush; what a killed process had not flushed
    is lost, or written, as chance has it: here the first half is written."""

    def __init__(self, kafka: FakeKafka, faults: Faults | None = None, *, is_transactional: bool = False) -> None:
        self.kafka = kafka
        self.faults = faults or Faults()
        self.is_transactional = is_transactional
        self.is_prepared = False
        self.open: list[tuple[TopicPartition, LogEntry, object]] = []  # of the transaction
        self._failure: KafkaGroupsError | None = None
        self.written: dict[TopicPartition, int] = {}
        self.replaced: set[TopicPartition] = set()
        self.sources, self.changelogs = FakeReader(kafka), FakeReader(kafka)
        self.queued: list[tuple[TopicPartition, LogEntry, object]] = []
        self._unwritten: list[UnwrittenRecord] = []
        self.is_closed = False
        self.has_room = True
        self.expires_soon = False
        self.sent: Mapping[TopicPartition, OffsetAndMetadata] = {}

    def forget_written(self, partitions: Iterable[TopicPartition]) -> None:
        for place in partitions:
            self.written.pop(place, None)
            self.replaced.discard(place)

    def forget_logs(self, partitions: Iterable[TopicPartition]) -> None:
        self.forget_written(partitions)

    async def assign(
        self, starts: Mapping[TopicPartition, int], epochs: Mapping[TopicPartition, int] = NO_EPOCHS
    ) -> None:
        self.faults.call()
        self.sources.assign(starts)

    async def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        self.sources.unassign(partitions)

    async def pause(self, partitions: Iterable[TopicPartition]) -> None:
        self.sources.paused.update(partitions)

    async def resume(self, partitions: Iterable[TopicPartition]) -> None:
        self.sources.paused.difference_update(partitions)

    async def poll(self, most: int) -> PolledRecords:
        self.faults.call()
        return self.sources.poll(most)

    def topic_ids(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, UUID]:
        return {}

    def leader_epochs(self, positions: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        return {}

    def changed(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        return frozenset(self.kafka.changes.keys() & set(partitions))

    def missing(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        return frozenset(place for place in partitions if place.topic not in self.kafka.counts)

    async def assign_restoring(self, starts: Mapping[TopicPartition, int]) -> None:
        self.faults.call()
        self.changelogs.assign(starts)

    async def unassign_restoring(self, partitions: Iterable[TopicPartition]) -> None:
        self.changelogs.unassign(partitions)

    async def poll_restoring(self, most: int) -> PolledRecords:
        self.faults.call()
        return self.changelogs.poll(most)

    async def wait(self, timeout_ms: int) -> None:
        """Return at once: tests advance a clock."""

    async def rest(self, timeout_ms: int) -> None:
        """Return at once, too."""

    def write(  # noqa: PLR0917 - the parts of a record
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
        origin: object = None,
    ) -> None:
        self.faults.call()
        assert self.is_prepared or not self.is_transactional, "a producer that is not prepared"
        count = self.kafka.counts[topic]
        place = TopicPartition(topic, sum(key or b"") % count if partition is None else partition)
        self.queued.append((place, LogEntry(key, value, timestamp_ms, headers), origin))

    def write_tracked(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int,
    ) -> None:
        self.write(topic, key, value, timestamp_ms, headers, partition)

    async def flush(self, timeout_ms: int) -> None:
        if self.is_transactional:
            self._flush_transaction()
            return
        half = len(self.queued) // 2
        self._append(self.queued[:half])
        self.queued = self.queued[half:]
        self.faults.call()
        self._append(self.queued)
        self.queued = []

    @property
    def has_failed(self) -> bool:
        return self._failure is not None

    async def prepare(self) -> None:
        self.faults.call()
        self.is_prepared = True

    def send_offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], who: GroupMetadata) -> None:
        self.faults.call()
        self.sent = offsets

    async def commit_transaction(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], who: GroupMetadata) -> None:
        """Write all that was flushed, and the offsets: all of it or nothing."""
        self.faults.call()
        assert not self.sent or offsets == self.sent, "other offsets than those that were sent"
        self.sent = {}
        if self._failure is not None or who == LOST:
            raise TransactionFailedError(f"The transaction failed: {self._failure}")
        self._write(self.open)
        self.open = []
        self.kafka.committed.update(offsets)
        self.faults.call()

    async def renew(self) -> None:
        self.faults.call()
        self.queued, self.open, self._unwritten, self._failure, self.sent = [], [], [], None, {}
        self.written.clear()
        self.is_prepared = False

    def refused(self) -> list[UnwrittenRecord]:
        refused, self._unwritten = self._unwritten, []
        return refused

    def _flush_transaction(self) -> None:
        self.faults.call()
        for place, entry, origin in self.queued:
            error = self.kafka.refusal(place, entry)
            self._failure = self._failure or error
            if error is not None and origin is not None:
                parts = (place.topic, entry.key, entry.value, entry.timestamp_ms, entry.headers, place.partition)
                self._unwritten.append(UnwrittenRecord(*parts, error, origin))
        self.open += self.queued
        self.queued = []
        if self._failure is not None:
            raise TransactionFailedError(f"The transaction failed: {self._failure}") from self._failure

    def _write(self, entries: list[tuple[TopicPartition, LogEntry, object]]) -> None:
        for place, entry, _ in entries:
            self.kafka.logs[place].append(entry)
            self.written[place] = len(self.kafka.logs[place])

    def _append(self, entries: list[tuple[TopicPartition, LogEntry, object]]) -> None:
        for place, entry, origin in entries:
            error = self.kafka.refusal(place, entry)
            if error is None:
                self.kafka.logs[place].append(entry)
                self.written[place] = len(self.kafka.logs[place])
            elif origin is None:
                text = f"A record for {place} was not written: {error}"
                raise DeliveryFailedError(text, failed=1, unanswered=0, retriable=error.retriable)
            else:
                parts = (place.topic, entry.key, entry.value, entry.timestamp_ms, entry.headers, place.partition)
                self._unwritten.append(UnwrittenRecord(*parts, error, origin))

    def partitions(self, topic: str) -> int | None:
        return self.kafka.counts.get(topic)

    async def partition_counts(self) -> Mapping[str, int]:
        self.faults.call()
        return self.kafka.counts

    async def ask_topic_ids(self, topics: Iterable[str]) -> Mapping[str, UUID]:
        self.faults.call()
        return {topic: self.kafka.ids[topic] for topic in topics if topic in self.kafka.ids}

    async def bounds(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, tuple[int, int]]:
        self.faults.call()
        return {each: self._bounds(each) for each in partitions}

    async def stable_bounds(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, tuple[int, int]]:
        bounds = await self.bounds(partitions)
        return {place: (begin, self.kafka.stable.get(place, end)) for place, (begin, end) in bounds.items()}

    def _bounds(self, place: TopicPartition) -> tuple[int, int]:
        if place in self.kafka.leaderless:
            raise LeaderNotAvailableError(f"{place} has no leader")
        return self.kafka.begins[place], len(self.kafka.logs[place])

    async def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        found = {
            place: next((at for at, entry in enumerate(self.kafka.logs[place]) if entry.timestamp_ms >= time_ms), None)
            for place, time_ms in times.items()
        }
        return {place: offset for place, offset in found.items() if offset is not None}

    async def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        self.faults.call()
        self.kafka.begins.update(before)

    async def close(self) -> None:
        self.is_closed = True


class FakeMembership:
    """A member whose events the test says."""

    is_spare = False
    state = MembershipState.STABLE
    epoch = 1

    def __init__(self, kafka: FakeKafka, faults: Faults | None = None) -> None:
        self.kafka = kafka
        self.faults = faults or Faults()
        self.events: list[StreamsMembershipEvent] = []
        self.confirmed: list[TasksRevoked | TasksLost] = []
        self.is_lost = self.has_left = self.shutdown_requested = self._shutdown_told = False
        self.is_rebalancing = False
        self.held = self.asked = 0
        self.refusal: KafkaGroupsError | None = None
        self.urgent: list[bool] = []

    @asynccontextmanager
    async def committing(self, *, is_urgent: bool = False) -> AsyncIterator[bool]:
        """Keep commits out while the test says that the group rebalances."""
        if self.is_rebalancing and not is_urgent:
            yield False
            return
        self.urgent.append(is_urgent)
        self.held += 1
        try:
            yield True
        finally:
            self.held -= 1

    def assign(self, *tasks: str, standby: Iterable[str] = (), warmup: Iterable[str] = ()) -> None:
        active, kept, warmed = (frozenset(map(TaskId.parse, each)) for each in (tasks, standby, warmup))
        self.events.append(TasksAssigned(MemberTasks(active=active, standby=kept, warmup=warmed), 1))

    def assign_inputs(self, inputs: Mapping[str, Iterable[TopicPartition]]) -> None:
        """Assign active tasks with the partitions that they read, as classic groups do."""
        its = {TaskId.parse(task): frozenset(places) for task, places in inputs.items()}
        self.events.append(TasksAssigned(MemberTasks(active=its), 1, its))

    def revoke(self, *tasks: str) -> TasksRevoked:
        event = TasksRevoked(MemberTasks(active=map(TaskId.parse, tasks)))
        self.events.append(event)
        return event

    def promote(self, task: str) -> None:
        self.change_role(task, "standby", "active")

    def change_role(self, task: str, before: str, then: str) -> None:
        tasks = frozenset([TaskId.parse(task)])
        self.events.append(TasksRevoked(MemberTasks(**{before: tasks}), then=MemberTasks(**{then: tasks})))
        self.events.append(TasksAssigned(MemberTasks(**{then: tasks}), 1))

    def lose(self, *tasks: str) -> TasksLost:
        event = TasksLost(MemberTasks(active=map(TaskId.parse, tasks)))
        self.events.append(event)
        return event

    def tell(self, status: StreamsStatus | None, detail: str = "", *, is_final: bool = False) -> None:
        """Let the group have a status, or none any more."""
        told = () if status is None else (StreamsGroupHeartbeatStatus(status_code=status, status_detail=detail),)
        self.events.append(StatusesChanged(told, is_final=is_final))

    async def join(self) -> None: ...

    async def poll(self) -> tuple[StreamsMembershipEvent, ...]:
        if self._shutdown_told:
            self.is_lost = True
            raise ApplicationShutdownError("a member asked all members to shut down")
        events, self.events = tuple(self.events), []
        told = [each.statuses for each in events if isinstance(each, StatusesChanged)]
        self._shutdown_told = any(asks_for_shutdown(statuses) for statuses in told)
        return events

    async def confirm(self, event: TasksRevoked | TasksLost) -> None:
        self.faults.call()
        self.confirmed.append(event)

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], topic_ids: Mapping[TopicPartition, UUID] = NO_IDS
    ) -> None:
        if self.is_lost:
            raise TasksLostError("another member has the tasks")
        self.faults.call()
        self.kafka.committed.update(offsets)
        self.faults.call()

    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        self.faults.call()
        return {each: self.kafka.committed.get(each) for each in partitions}

    def group_metadata(self) -> GroupMetadata:
        return LOST if self.is_lost else MEMBER

    async def ask_group(self) -> None:
        self.asked += 1
        if self.refusal is not None:
            raise self.refusal

    async def request_shutdown(self) -> None:
        self.shutdown_requested = True

    async def close(self, timeout_s: float | None, operation: GroupMembershipOperation) -> None:
        self.has_left = operation is not GroupMembershipOperation.REMAIN_IN_GROUP
