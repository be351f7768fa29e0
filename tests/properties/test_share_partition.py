"""A share-partition against a naive model with one entry per record.

The model knows the rules of a record's life and nothing of runs, batches or windows. Which records are acquired is the
share-partition's choice; the model says whether each single one of them could be.
"""

import itertools
import random

from attrs import define
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafka_groups.broker.runs import OffsetRange
from kafka_groups.broker.share_partitions.acknowledgement import Acknowledgement
from kafka_groups.broker.share_partitions.acquisition import AcquisitionLimits
from kafka_groups.broker.share_partitions.partition import SharePartition
from kafka_groups.broker.share_partitions.record_state import TERMINAL, RecordState
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.errors import BrokerError, InvalidRecordStateError, InvalidRequestError
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_fetch import AcquireMode
from kafka_groups.protocol.messages.share_state import StateBatch
from kafka_groups.protocol.messages.write_share_group_state import WriteShareStatePartition
from tests.support.broker.share_state import persister
from tests.unit.broker.share_partitions.scenes import KEY, Batch

MEMBERS = st.sampled_from(["ann", "bob", "cid"])
LOCK_MS = 1_000
MAX_IN_FLIGHT = 100
LARGEST_BATCH = 60
LARGEST_HOLE = 3
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
AFTER = {GAP: RecordState.ARCHIVED, ACCEPT: RecordState.ACKNOWLEDGED, REJECT: RecordState.ARCHIVED}


@define
class Record:
    state: RecordState = RecordState.AVAILABLE
    count: int = 0
    owner: str | None = None
    deadline_ms: int = 0

    def put(self, state: RecordState) -> None:
        self.state, self.owner = state, None


class Model:
    """One `Record` per offset."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.start = 0
        self.records: dict[int, Record] = {}
        self.accepted: set[int] = set()

    def at(self, offset: int) -> Record:
        return self.records.setdefault(offset, Record())

    def give_back(self, record: Record) -> None:
        record.put(RecordState.ARCHIVED if record.count >= self.limit else RecordState.AVAILABLE)

    def expire(self, now_ms: int) -> None:
        for record in self.records.values():
            if record.state is RecordState.ACQUIRED and record.deadline_ms <= now_ms:
                self.give_back(record)
        self.advance()

    def acknowledge(self, member: str, types: dict[int, int], end: int, now_ms: int) -> None:
        types = {offset: kind for offset, kind in types.items() if offset >= self.start}
        if any(offset > end for offset in types):
            raise InvalidRequestError
        for offset in types:
            record = self.at(offset)
            if record.state is not RecordState.ACQUIRED or record.owner != member:
                raise InvalidRecordStateError
        for offset, kind in types.items():
            self.apply(offset, kind, now_ms)
        self.advance()

    def apply(self, offset: int, kind: int, now_ms: int) -> None:
        record = self.at(offset)
        if kind == RENEW:
            record.deadline_ms = now_ms + LOCK_MS
        elif kind == RELEASE:
            self.give_back(record)
        else:
            record.put(AFTER[kind])
            if kind == ACCEPT:
                self.accepted.add(offset)

    def advance(self) -> None:
        while self.start in self.records and self.records[self.start].state in TERMINAL:
            self.start += 1


class SharePartitionMachine(RuleBasedStateMachine):
    @initialize(limit=st.integers(2, 5), seed=st.integers(0, 2**32))
    def begin(self, limit: int, seed: int) -> None:
        self.rng = random.Random(seed)
        self.config = ShareGroupConfig(
            delivery_count_limit=limit, partition_max_record_locks=MAX_IN_FLIGHT, record_lock_duration_ms=LOCK_MS
        )
        self.now_ms = 0
        self.leader_epoch = 0
        self.log_start = 0
        self.batches: list[Batch] = []
        self.model = Model(limit)
        self.store = persister()
        self.store.initialize(KEY.group_id, KEY.partition.topic_id, KEY.partition.partition, 0)
        self.lead()
        for _ in range(3):
            self.produce(4, 0)

    def lead(self) -> None:
        persisted = self.store.read(KEY.group_id, KEY.partition.topic_id, KEY.partition.partition, self.leader_epoch)
        self.partition = SharePartition(KEY, persisted, self.leader_epoch)

    def commit(self, batches: tuple[StateBatch, ...]) -> None:
        if batches:
            update = self.partition.update((), batches)
            self.partition.apply(batches)
            self.written(update)

    def written(self, update: WriteShareStatePartition) -> None:
        self.store.write(KEY.group_id, KEY.partition.topic_id, KEY.partition.partition, update)
        self.partition.advance_start()
        passed = self.partition.start_offset - update.start_offset
        assert update.delivery_complete_count == self.partition.in_flight.terminal_count + passed

    def expire(self) -> None:
        self.commit(self.partition.expire(self.config, self.now_ms))
        self.model.expire(self.now_ms)

    # ------------------------------------------------------------------------------------------ rules

    @rule(batches=st.integers(1, 4), hole=st.sampled_from([0, 0, 0, LARGEST_HOLE]))
    def produce(self, batches: int, hole: int) -> None:
        first = self.batches[-1].last_offset + 1 + hole if self.batches else 0
        for _ in range(batches):
            size = self.rng.choice([1, 2, 10, LARGEST_BATCH])
            self.batches.append(Batch(first, first + size - 1))
            first += size

    @rule(
        member=MEMBERS,
        max_records=st.sampled_from([1, 7, 30, 200]),
        batch_size=st.sampled_from([1, 20, 500]),
        mode=st.sampled_from(AcquireMode),
    )
    def acquire(self, member: str, max_records: int, batch_size: int, mode: AcquireMode) -> None:
        self.expire()
        offset = self.partition.fetch_offset
        batches = [batch for batch in self.batches if batch.last_offset >= offset]
        if batches and batches[0].base_offset > offset:
            self.discard(offset, batches[0].base_offset - 1)
        could = self.partition.can_acquire(self.config) and bool(batches)
        before = self.partition.in_flight.window_size
        acquired = self.partition.acquire(
            member, batches, AcquisitionLimits(max_records, batch_size, mode), self.config, self.now_ms
        )
        offsets = [o for each in acquired for o in range(each.first_offset, each.last_offset + 1)]
        counts = [each.delivery_count for each in acquired for _ in range(each.first_offset, each.last_offset + 1)]
        assert bool(offsets) == could, "what can be acquired is acquired, at least in part"
        self.check_amount(offsets, max_records, mode, before)
        self.check_last_attempts(offsets)
        for o, count in zip(offsets, counts, strict=True):
            record = self.model.at(o)
            assert record.state is RecordState.AVAILABLE, f"offset {o} was {record}"
            assert o not in self.model.accepted
            assert o >= self.log_start
            record.state, record.owner, record.deadline_ms = RecordState.ACQUIRED, member, self.now_ms + LOCK_MS
            record.count += 1
            assert record.count == count <= self.model.limit

    def check_amount(self, offsets: list[int], max_records: int, mode: AcquireMode, window: int) -> None:
        if mode is AcquireMode.RECORD_LIMIT:
            assert len(offsets) <= max_records
        if window >= MAX_IN_FLIGHT:
            assert self.partition.in_flight.window_size == window, "at the limit the window does not grow"
        assert len(set(offsets)) == len(offsets)
        assert offsets == sorted(offsets)

    def check_last_attempts(self, offsets: list[int]) -> None:
        limit = self.model.limit
        if limit > 2 and any(self.model.at(o).count >= limit - 1 for o in offsets):
            assert len(offsets) == 1, "a last attempt comes alone"

    def discard(self, first: int, last: int) -> None:
        # Nothing writes this by itself. Written at once, it survives a change of leader, as in the model.
        archived = self.partition.discard([OffsetRange(first, last)], self.config)
        if archived:
            self.written(self.partition.update(archived))
        for offset in range(max(first, self.model.start), last + 1):
            if self.model.at(offset).state is RecordState.AVAILABLE:
                self.model.at(offset).put(RecordState.ARCHIVED)
        self.model.advance()

    @rule(member=MEMBERS)
    def acquire_all(self, member: str) -> None:
        self.acquire(member, 200, 500, AcquireMode.BATCH_OPTIMIZED)

    @rule(
        member=MEMBERS,
        kinds=st.lists(
            st.sampled_from([GAP, ACCEPT, RELEASE, RELEASE, RELEASE, REJECT, RENEW]), min_size=1, max_size=4
        ),
        back=st.integers(0, 4),
    )
    def acknowledge(self, member: str, kinds: list[int], back: int) -> None:
        self.expire()
        held = self.partition.in_flight.held_by(member)
        run = self.rng.choice(held) if held else None
        first = (
            self.partition.start_offset if run is None else self.rng.choice([run.first, (run.first + run.last) // 2])
        )
        # Most acknowledgements are right; the others begin too early or go on too far.
        rightful = run is not None and self.rng.random() < 0.75
        first = first if rightful else max(first - back, 0)
        highest = run.last if run is not None and rightful else first + 100
        batches, types = [], {}
        for kind in kinds:
            last = min(first + self.rng.choice([0, 3, 12, 60]), highest)
            if first > last:
                break
            batches.append(AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=(kind,)))
            types.update(dict.fromkeys(range(first, last + 1), kind))
            first = last + 1 + self.rng.choice([0, 0, 3])
        end = self.partition.in_flight.end_offset
        self.check_same_outcome(member, tuple(batches), types, end)

    def check_same_outcome(
        self, member: str, batches: tuple[AcknowledgementBatch, ...], types: dict[int, int], end: int
    ) -> None:
        expected: type[BrokerError] | None = None
        try:
            self.model.acknowledge(member, types, end, self.now_ms)
        except BrokerError as error:
            expected = type(error)
        try:
            acknowledgement = Acknowledgement(member, batches, is_renew_ack=True)
            self.commit(self.partition.begin_acknowledge(acknowledgement, self.config, self.now_ms))
        except BrokerError:
            # Which of two faults is told first is not the model's business.
            assert expected is not None
        else:
            assert expected is None

    @rule(elapsed_ms=st.sampled_from([1, LOCK_MS // 2, LOCK_MS]))
    def let_time_pass(self, elapsed_ms: int) -> None:
        self.now_ms += elapsed_ms
        deadline_ms = self.partition.next_deadline_ms()
        held = [record.deadline_ms for record in self.model.records.values() if record.state is RecordState.ACQUIRED]
        assert deadline_ms == (min(held) if held else None)
        self.expire()

    @rule(kind=st.sampled_from(["close", "close", "delete", "leader"]), member=MEMBERS, ahead=st.integers(0, 50))
    def disturb(self, kind: str, member: str, ahead: int) -> None:
        if kind == "close":
            self.close_session(member)
        elif kind == "delete":
            self.delete_records(ahead)
        else:
            self.change_leader()

    def close_session(self, member: str) -> None:
        self.commit(self.partition.release(member, self.config))
        for record in self.model.records.values():
            if record.owner == member:
                self.model.give_back(record)
        self.model.advance()

    def delete_records(self, ahead: int) -> None:
        self.log_start = min(self.log_start + ahead, self.batches[-1].last_offset + 1)
        self.batches = [batch for batch in self.batches if batch.last_offset >= self.log_start] or [
            Batch(self.log_start, self.log_start)
        ]
        self.partition.move_start(self.log_start)
        for offset in range(self.model.start, self.log_start):
            self.model.at(offset).put(RecordState.ARCHIVED)
        self.model.start = max(self.model.start, self.log_start)
        self.model.advance()

    def change_leader(self) -> None:
        self.leader_epoch += 1
        self.lead()
        self.partition.move_start(self.log_start)
        # Counts are persisted with changes of state only, so the model takes over those of what was acquired.
        known = {offset: run.value for run in self.partition.in_flight for offset in range(run.first, run.last + 1)}
        for offset, record in self.model.records.items():
            if offset >= self.partition.start_offset and record.state not in TERMINAL:
                delivery = known.get(offset)
                persisted_count = 0 if delivery is None else delivery.delivery_count
                assert persisted_count <= record.count
                record.put(RecordState.AVAILABLE)
                record.count = persisted_count

    # ------------------------------------------------------------------------------------- invariants

    @invariant()
    def says_what_the_model_says(self) -> None:
        if not hasattr(self, "partition"):
            return
        in_flight = self.partition.in_flight
        assert in_flight.start_offset == self.model.start
        for run in in_flight.between(in_flight.start_offset, in_flight.end_offset):
            for offset in range(run.first, run.last + 1):
                record = self.model.at(offset)
                state = RecordState.AVAILABLE if run.value is None else run.value.state
                assert state is record.state, f"offset {offset} is {state.name}, the model has {record}"
                owner = None if run.value is None else run.value.owner
                assert owner == record.owner
        for offset in range(in_flight.end_offset + 1, max(self.model.records, default=0) + 1):
            assert self.model.at(offset).state is RecordState.AVAILABLE

    @invariant()
    def runs_are_merged_and_counted(self) -> None:
        if not hasattr(self, "partition"):
            return
        runs = list(self.partition.in_flight)
        for left, right in itertools.pairwise(runs):
            assert left.last + 1 < right.first or left.value != right.value
        assert self.partition.in_flight.terminal_count == sum(r.size for r in runs if r.value.state in TERMINAL)
        # The last batch may reach beyond the limit, after a hole; and a hole behind it is archived all the same.
        assert self.partition.in_flight.window_size <= MAX_IN_FLIGHT + LARGEST_BATCH + 2 * LARGEST_HOLE

    @invariant()
    def the_first_available_offset_is_found(self) -> None:
        if not hasattr(self, "partition"):
            return
        offset = self.model.start
        while (
            offset <= self.partition.in_flight.end_offset and self.model.at(offset).state is not RecordState.AVAILABLE
        ):
            offset += 1
        assert self.partition.fetch_offset == offset


SharePartitionMachine.TestCase.settings = settings(max_examples=settings().max_examples, stateful_step_count=60)
TestSharePartition = SharePartitionMachine.TestCase
