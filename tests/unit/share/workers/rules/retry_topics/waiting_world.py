"""Retry topics of a naive broker, and members that wait in them by the rules, one random event at a time.

A record is known by a number, and the world knows when it is due. Handlers always succeed. Kills, deployments, lost
locks and refused writes are what may lose a record, start it early, or run it twice.
"""

import random
import uuid
from collections.abc import Sequence

from attrs import define, evolve, field, frozen

from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.verdicts import FailureRules, OnError
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.limits import HandlingRules
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.retry_topics.delay_rules import DelayRules, forward_from
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopic, RetryTopics
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState, read_headers
from kafka_groups.share.workers.rules.steps import (
    AcknowledgeRecords,
    InvokeHandler,
    WritePurpose,
    WriteRecords,
)
from kafka_groups.types import AcknowledgeType, RecordId, TopicIdPartition

__all__ = ["Kept", "WaitingWorld", "WorldSettings"]

LIMIT = 5
GROUP, HANDLER = "g", "h"
_MOST_STEPS = 5_000
_LARGEST_FETCH = 500


@frozen(kw_only=True)
class WorldSettings:
    """How the retry topics are set up.

    Attributes:
        seed: For everything that is drawn.
        delays: The delays in seconds.
        partitions: The partitions of each topic.
        concurrency: The slots of each member.
        wall_ahead_ms: How far the time of day is ahead of the clock of the rules.
    """

    seed: int
    delays: tuple[int, ...] = (10, 60, 600)
    partitions: int = 2
    concurrency: int = 4
    wall_ahead_ms: int = 1_700_000_000_000


@define(eq=False)
class Kept:
    """A record in the log of a retry topic.

    Attributes:
        number: The record, wherever it is written.
        place: Its partition and offset.
        timestamp: When it was written.
        state: What its headers say.
        count: Its deliveries.
        holder: The member that has it, or None.
        is_finished: Whether it is accepted, rejected or archived.
    """

    number: int
    place: RecordId
    timestamp: int
    state: RetryState
    count: int = 0
    holder: "Member | None" = None
    is_finished: bool = False

    def __repr__(self) -> str:
        return (
            f"<record {self.number} at {self.place[0].topic}-{self.place[0].partition}@{self.place[1]} #{self.count}>"
        )


@define(eq=False)
class Delivered:
    """One delivery of a record, as the rules have it."""

    kept: Kept
    count: int


def _place_of(record: Delivered) -> RecordId:
    return record.kept.place


@define(eq=False)
class Member:
    """A member that reads one retry topic, until it is killed.

    Attributes:
        topic: The topic.
        handling: Its rules.
        runs: Its runs under way.
        writes: Its writes that are not confirmed.
        settles: Its acknowledgements that are not confirmed.
        next_size: The size of its next fetch, as a naive reading of the rules has it.
        newest: The last record that came from each partition, until a fetch has brought nothing.
        is_stopping: Whether it was asked to stop.
    """

    topic: RetryTopic
    handling: RecordHandling[Delivered]
    runs: list[InvokeHandler[Delivered]] = field(factory=list)
    writes: list[WriteRecords[Delivered]] = field(factory=list)
    settles: list[AcknowledgeRecords[Delivered]] = field(factory=list)
    held: list[Delivered] = field(factory=list)
    next_size: int = 1
    newest: dict[TopicIdPartition, Delivered] = field(factory=dict)
    is_stopping: bool = False


class WaitingWorld:
    """Has one method for each thing that can happen. After each, the steps of the rules are taken and checked.

    Args:
        settings: How the retry topics are set up.
    """

    def __init__(self, settings: WorldSettings) -> None:
        self.settings = settings
        self.rng = random.Random(settings.seed)
        self.topics = RetryTopics("r", delays=settings.delays)
        self.log: dict[TopicIdPartition, list[Kept]] = {}
        for number, topic in enumerate(self.topics.names):
            for partition in range(settings.partitions):
                self.log[TopicIdPartition(uuid.UUID(int=number + 1), partition, topic)] = []
        self.members: list[Member] = []
        self.now_ms = 0
        self.due_ms: list[int] = []
        self.started: dict[int, int] = {}
        self.may_repeat: dict[int, int] = {}
        self.forwarded = 0
        self.highest_count = 0
        self.lateness_ms: list[int] = []

    # ------------------------------------------------------------------------------------------ the log

    @property
    def wall_ms(self) -> int:
        """The time of day."""
        return self.now_ms + self.settings.wall_ahead_ms

    def fail(self, wait_ms: int) -> None:
        """Write a record for its first retry, which is due after a wait."""
        topic = self.topics.topic_for(wait_ms)
        assert topic is not None
        number, due_ms = len(self.due_ms), self.wall_ms + wait_ms
        self.due_ms.append(due_ms)
        state = RetryState(
            group=GROUP,
            handler=HANDLER,
            origin=RecordOrigin("orders", 0, number, self.wall_ms),
            attempts=1,
            retries=1,
            first_failure_ms=self.wall_ms,
            due_ms=due_ms,
        )
        self._append(topic.topic, number, state)

    def _append(self, topic: str, number: int, state: RetryState) -> None:
        partition = self.rng.choice([each for each in self.log if each.topic == topic])
        records = self.log[partition]
        records.append(Kept(number, (partition, len(records)), self.wall_ms, state))

    def _wrote(self, record: RecordToWrite) -> None:
        state = read_headers(record.headers, GROUP, HANDLER)
        number = state.origin.offset
        assert state.due_ms == self.due_ms[number], f"record {number} has another due time after it was written again"
        self._append(record.topic, number, state)

    # ------------------------------------------------------------------------------------------ members

    def begin(self, topic: RetryTopic) -> None:
        """Let a member of a topic begin."""
        policy = DeliveryPolicy(LIMIT)
        rules: HandlingRules[Delivered] = HandlingRules(
            failures=FailureRules(retries=Backoff(), exhausted=OnError.DEAD_LETTER),
            policy=policy,
            concurrency=self.settings.concurrency,
            buffer=None,
            dead_letter=lambda opened: RecordToWrite("dead", None, str(opened.record.kept.number).encode()),
            record_locks=2_000,
            record_id=_place_of,
            delay=DelayRules(
                delay_ms=topic.delay_ms,
                timestamp_of=lambda record: record.kept.timestamp,
                state_of=lambda record: record.kept.state,
                retry_topics=self.topics,
                write_again=_written_again,
                forward_from=forward_from(policy),
            ),
        )
        member = Member(topic, RecordHandling(rules, self.rng))
        member.handling.holdings.early.wall_ahead_ms = self.settings.wall_ahead_ms
        member.handling.holdings.early.partitions = self.settings.partitions
        self.members.append(member)

    def begin_all(self) -> None:
        """Let a member begin in each topic that has none."""
        for topic in self.topics.topics:
            if not any(member.topic == topic for member in self.members):
                self.begin(topic)

    def kill(self, member: Member) -> None:
        """Kill a member. What it has in hand loses a delivery."""
        for write in member.writes:
            if self.rng.random() < 0.5:  # it arrives, and nobody learns of it
                self._wrote_of(write)
                self._may_repeat(write.opened.record)
        for settle in member.settles:
            if self.rng.random() < 0.5:
                for record in settle.records:
                    self._settled(record, settle.kind)
        for record in member.held:
            self._may_repeat(record)
        self.members.remove(member)
        self._release_all(member)

    def _wrote_of(self, write: WriteRecords[Delivered]) -> None:
        for record in write.records:
            if record.topic != "dead":
                self._wrote(record)

    def _may_repeat(self, record: Delivered) -> None:
        number = record.kept.number
        self.may_repeat[number] = self.may_repeat.get(number, 0) + 1

    def _release_all(self, member: Member) -> None:
        for record in member.held:
            kept = record.kept
            if kept.holder is member and not kept.is_finished and kept.count == record.count:
                self._freed(kept)

    def _freed(self, kept: Kept) -> None:
        kept.holder = None
        if kept.count >= LIMIT:
            kept.is_finished = True

    def stop(self, member: Member) -> None:
        """Ask a member to stop, as a deployment does."""
        member.is_stopping = True
        member.handling.stop(self.now_ms, self.now_ms + 25_000)
        self.turn(member)

    # ------------------------------------------------------------------------------------------ fetching

    def fetch(self, member: Member) -> None:
        """Fetch as much as the rules want, if there is anything."""
        if not (wanted := member.handling.wanted(self.now_ms)):
            return
        waiting = self._waiting(member)
        unready = sum(not self._is_ready(record) for record in waiting)
        if not self._may_have_ready(member):
            assert unready < 2 * self.settings.partitions, f"{unready} records are held before their time"
        assert unready < 2 * self.settings.partitions + _LARGEST_FETCH
        assert wanted <= member.next_size, f"a fetch of {wanted} records instead of {member.next_size}"
        arrived = self._acquire(member, wanted)
        for partition in {record.kept.place[0] for record in arrived}:
            part = [record for record in arrived if record.kept.place[0] == partition]
            counts = [record.count for record in part]
            member.handling.arrived(partition, part, counts, part[-1].kept.place[1], self.now_ms)
        member.handling.fetched(is_empty=not arrived)
        self._note_fetch(member, arrived)
        self.turn(member)

    def _note_fetch(self, member: Member, arrived: Sequence[Delivered]) -> None:
        """Note what a fetch says about the partitions, and how large the next one may be."""
        for record in arrived:
            member.newest[record.kept.place[0]] = record
        if not arrived:
            member.newest = {each: record for each, record in member.newest.items() if not self._is_ready(record)}
        if not self._may_have_ready(member):
            member.next_size = 1
        elif any(map(self._is_ready, arrived)):
            member.next_size = min(2 * member.next_size, _LARGEST_FETCH)

    def _may_have_ready(self, member: Member) -> bool:
        """Return whether a partition may have records that are due: the last one that came from it is ready."""
        return any(map(self._is_ready, member.newest.values()))

    def _acquire(self, member: Member, most: int) -> list[Delivered]:
        partitions = [each for each in self.log if each.topic == member.topic.topic]
        self.rng.shuffle(partitions)
        found = [kept for each in partitions for kept in self.log[each] if not kept.is_finished and kept.holder is None]
        arrived = []
        for kept in sorted(found[:most], key=lambda each: each.place[1]):
            kept.holder, kept.count = member, kept.count + 1
            self.highest_count = max(self.highest_count, kept.count)
            arrived.append(Delivered(kept, kept.count))
        member.held += arrived
        return arrived

    def _is_ready(self, record: Delivered) -> bool:
        """Return whether the delay of its topic is over for a record."""
        delay_ms = next(t.delay_ms for t in self.topics.topics if t.topic == record.kept.place[0].topic)
        return min(record.kept.timestamp + delay_ms, self.due_ms[record.kept.number]) <= self.wall_ms

    def _waiting(self, member: Member) -> Sequence[Delivered]:
        """Return what a member holds, without what runs or is settled or written."""
        busy = {id(record) for run in member.runs for record in run.records}
        busy |= {id(record) for settle in member.settles for record in settle.records}
        busy |= {id(write.opened.record) for write in member.writes}
        return [record for record in member.held if id(record) not in busy]

    # ------------------------------------------------------------------------------------------ results

    def end_run(self, member: Member, choice: int) -> None:
        """End a run."""
        if member.runs:
            run = member.runs.pop(choice % len(member.runs))
            while run.unstarted:
                self._start(run.take())
            member.handling.runs.ran(run, [], self.now_ms)
            self.turn(member)

    def _start(self, record: Delivered) -> None:
        number = record.kept.number
        assert self.due_ms[number] <= self.wall_ms, (
            f"{record.kept} starts {self.due_ms[number] - self.wall_ms} ms early"
        )
        self.started[number] = self.started.get(number, 0) + 1
        if self.started[number] > 1:
            repeats = self.may_repeat.get(number, 0)
            assert self.started[number] - 1 <= repeats, f"{record.kept} runs again without a kill"

    def end_write(self, member: Member, choice: int, *, works: bool) -> None:
        """Confirm a write, or refuse it."""
        if member.writes:
            write = member.writes.pop(choice % len(member.writes))
            if works:
                self._wrote_of(write)
                self.forwarded += write.records[0].topic != "dead"
            member.handling.writing.written(write, None if works else OSError("no leader"), self.now_ms)
            self.turn(member)

    def end_settle(self, member: Member, choice: int) -> None:
        """Confirm an acknowledgement."""
        if member.settles:
            settle = member.settles.pop(choice % len(member.settles))
            for record in settle.records:
                self._settled(record, settle.kind)
                assert record in member.held, f"{record.kept} is acknowledged twice"
                member.held.remove(record)
            member.handling.outbox.settled(settle)
            self.turn(member)

    def _settled(self, record: Delivered, kind: AcknowledgeType) -> None:
        kept = record.kept
        if kept.is_finished or kept.count != record.count:
            return
        if kind is AcknowledgeType.RELEASE:
            self._freed(kept)
        else:
            kept.is_finished, kept.holder = True, None

    def advance(self, wait_ms: int) -> None:
        """Let time pass."""
        self.now_ms += wait_ms
        for member in self.members:
            self.turn(member)

    # ------------------------------------------------------------------------------------------ looking

    def turn(self, member: Member) -> None:
        """Take the steps of a member that are due, and check what it has in hand afterwards."""
        for _ in range(_MOST_STEPS):
            step = member.handling.next(self.now_ms)
            self._withdraw(member)
            if step is None:
                return self.look(member)
            if isinstance(step, InvokeHandler):
                self._start(step.take())
                member.runs.append(step)
            elif isinstance(step, WriteRecords):
                self._check_topic(step)
                member.writes.append(step)
            else:
                assert isinstance(step, AcknowledgeRecords)
                member.settles.append(step)
        raise AssertionError("the steps do not end")

    def _withdraw(self, member: Member) -> None:
        """Withdraw writes that the rules do not need any more, unless they have been sent."""
        withdrawn = member.handling.writing.withdrawn
        while withdrawn:
            write = withdrawn.popleft()
            if self.rng.random() < 0.5:
                member.writes.remove(write)
                member.handling.writing.withdrew(write, self.now_ms)
            else:
                self._may_repeat(write.opened.record)

    def _check_topic(self, write: WriteRecords[Delivered]) -> None:
        """Check that a record moves to the topic with the largest delay that is at most the rest of its wait."""
        if write.purpose is WritePurpose.FORWARD and not write.opened.failed_writes:
            rest_ms = self.due_ms[write.opened.record.kept.number] - self.wall_ms
            fitting = [topic.topic for topic in self.topics.topics if topic.delay_ms <= rest_ms]
            assert [record.topic for record in write.records] == fitting[-1:]

    def look(self, member: Member) -> None:
        """Check that nothing waits which could run, or should move on."""
        waiting = self._waiting(member)
        early = {id(opened.record) for opened in member.handling.holdings.early}
        for record in waiting:
            rest_ms = self.due_ms[record.kept.number] - self.wall_ms
            if id(record) in early:
                assert rest_ms > 0, f"{record.kept} is due and waits"
                assert not member.is_stopping, f"{record.kept} waits although its member stops"
                has_topic = rest_ms >= self.topics.smallest_ms
                assert not (has_topic and record.count >= 3), f"{record.kept} waits on delivery {record.count}"
                assert not (has_topic and self._is_ready(record)), f"{record.kept} waits although its delay is over"

    # ------------------------------------------------------------------------------------------ the end

    @property
    def unfinished(self) -> list[Kept]:
        """The records in the log that are not finished."""
        return [kept for records in self.log.values() for kept in records if not kept.is_finished]

    def drain(self) -> None:
        """Let everything end well: members in each topic, no more kills, and enough time."""
        for _ in range(20_000):
            self.begin_all()
            for member in [*self.members]:
                self.settle_all(member)
                self.fetch(member)
                self.settle_all(member)
                if member.is_stopping and member.handling.is_done:
                    self.members.remove(member)
                    self._release_all(member)
            if not self.unfinished:
                break
            self._wait()
        assert not self.unfinished, "records are left in the retry topics"
        lost = [number for number in range(len(self.due_ms)) if not self.started.get(number)]
        assert not lost, f"records {lost} were never run"

    def _wait(self) -> None:
        """Let time pass until a member has something to do."""
        times = [time for member in self.members if (time := member.handling.wakes_ms()) is not None]
        self.advance(max(1, min([*times, self.now_ms + 600_000]) - self.now_ms))

    def settle_all(self, member: Member) -> None:
        """End everything that a member has under way."""
        while member.runs or member.writes or member.settles:
            self.end_run(member, 0)
            self.end_write(member, 0, works=True)
            self.end_settle(member, 0)


def _written_again(_record: Delivered, state: RetryState | None, deaths: int, topic: RetryTopic) -> RecordToWrite:
    assert state is not None
    return RecordToWrite(topic.topic, None, b"", tuple(evolve(state, deaths=deaths).headers()))
