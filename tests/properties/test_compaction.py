"""Retention and compaction of a log against the list of everything that was ever written to it."""

from collections.abc import Generator, Iterator

import pytest
from attrs import define, field, frozen
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kafka_groups.broker.log import compaction
from kafka_groups.broker.log.batches import AppendRules
from kafka_groups.broker.log.cleaning import CleaningRules, cleanable, delete_expired
from kafka_groups.broker.log.compaction import CompactionPass
from kafka_groups.broker.log.entries import EndMarker, Producer
from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.broker.log.segment import Segment, StoredBatch
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.record_batch import DecodedRecord, iter_batches
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from tests.support.planted_defects import Patch, Plant, by_name

DELETE_RETENTION_MS = 100
RULES = AppendRules(verifies_transactions=False, segment_bytes=400)
PRODUCERS = range(1, 4)

keyed = st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=5)


@frozen
class Written:
    offset: int
    key: bytes
    value: bytes | None
    producer_id: int | None


@define
class Model:
    """Everything that was written, and how the transactions ended."""

    records: list[Written] = field(factory=list)
    open: dict[int, list[int]] = field(factory=dict)  # offsets by producer
    aborted: set[int] = field(factory=set)
    end: int = 0

    def write(self, key: int, *, is_tombstone: bool, producer_id: int | None = None) -> None:
        value = None if is_tombstone else b"%d" % self.end
        self.records.append(Written(self.end, b"k%d" % key, value, producer_id))
        if producer_id is not None:
            self.open.setdefault(producer_id, []).append(self.end)
        self.end += 1

    def stable_offset(self) -> int:
        return min((offsets[0] for offsets in self.open.values()), default=self.end)

    def committed(self, start: int, end: int) -> list[Written]:
        return [r for r in self.records if start <= r.offset < end and r.offset not in self.aborted]

    def last_of_each_key(self, start: int, end: int) -> dict[bytes, Written]:
        return {record.key: record for record in self.committed(start, end)}


class CleanedLogMachine(RuleBasedStateMachine):
    @initialize(compression=st.sampled_from((Compression.NONE, Compression.LZ4)), most_keys=st.sampled_from((2, 1_000)))
    def begin(self, compression: Compression, most_keys: int) -> None:
        self.log = PartitionLog()
        self.model = Model()
        self.compression = compression
        self.most_keys = most_keys
        self.now_ms = 1_000
        self.pass_ms = 0
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        self.running: Generator[int, None, None] | None = None
        self.first_touched_ms: dict[int, int] = {}  # of tombstones, by a pass that maybe came to nothing
        self.first_passed_ms: dict[int, int] = {}

    # ------------------------------------------------------------------------------------------ writing

    @rule(records=keyed)
    def append(self, records: list[tuple[int, bool]]) -> None:
        self._append(records, None)

    @rule(records=keyed, producer_id=st.sampled_from(PRODUCERS))
    def append_in_transaction(self, records: list[tuple[int, bool]], producer_id: int) -> None:
        self._append(records, producer_id)

    def _append(self, records: list[tuple[int, bool]], producer_id: int | None) -> None:
        begin = len(self.model.records)
        for key, is_tombstone in records:
            self.model.write(key, is_tombstone=is_tombstone, producer_id=producer_id)
        new = [NewRecord(r.value, r.key, self.now_ms, [("h", b"1")]) for r in self.model.records[begin:]]
        options = BatchOptions(compression=self.compression)
        if producer_id is not None:
            sequence = self.sequences[producer_id]
            self.sequences[producer_id] += len(new)
            options = BatchOptions(
                compression=self.compression,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=sequence,
                is_transactional=True,
            )
        self.log.append(build_batch(new, 0, options), 0, self.now_ms, rules=RULES)

    @rule(producer_id=st.sampled_from(PRODUCERS), committed=st.booleans())
    def end_transaction(self, producer_id: int, committed: bool) -> None:
        offsets = self.model.open.pop(producer_id, [])
        if not committed:
            self.model.aborted.update(offsets)
        self.log.append_end(EndMarker(Producer(producer_id, 0), committed), 0, self.now_ms)
        self.model.end += 1

    @rule(duration_ms=st.integers(1, 150))
    def let_time_pass(self, duration_ms: int) -> None:
        self.now_ms += duration_ms

    @rule()
    def roll(self) -> None:
        self.log.roll()

    # ----------------------------------------------------------------------------------------- cleaning

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        start = self.log.log_start_offset
        assert self.log.delete_records(int(start + (self.log.end_offset - start) * share * share * share)) >= start

    @rule(retention_bytes=st.integers(0, 2_000))
    def delete_by_size(self, retention_bytes: int) -> None:
        sizes = [segment.size_bytes for segment in self.log.segments]
        ends = [segment.base_offset for segment in self.log.segments[1:]] + [self.log.end_offset]
        kept = sum(sizes)
        expected = self.log.log_start_offset
        for size, end in zip(sizes, ends, strict=True):
            if size and kept - size >= retention_bytes:
                kept, expected = kept - size, end
            else:
                break
        delete_expired(self.log, CleaningRules(retention_ms=-1, retention_bytes=retention_bytes), self.now_ms)
        assert (self.log.log_start_offset, self.log.size_bytes) == (expected, kept)

    @rule(retention_ms=st.integers(50, 1_000))
    def delete_by_age(self, retention_ms: int) -> None:
        delete_expired(self.log, CleaningRules(retention_ms=retention_ms), self.now_ms)
        oldest = self.log.segments[0]
        assert not len(oldest) or self.now_ms - oldest.largest_timestamp_ms <= retention_ms

    @precondition(lambda self: len(self.log.segments) > 2)
    @rule()
    def delete_first_segment(self) -> None:
        self.log.delete_records(self.log.segments[1].base_offset)

    @precondition(lambda self: self.running is None)
    @rule(steps=st.integers(0, 30))
    def begin_pass(self, steps: int) -> None:
        if self._begin():
            self.go_on(steps)

    @precondition(lambda self: self.running is not None)
    @rule(steps=st.integers(1, 10))
    def go_on(self, steps: int) -> None:
        for _ in range(steps):
            if self.running is not None and next(self.running, None) is None:
                self._ended()

    @rule()
    def compact_all(self) -> None:
        has_begun = False
        for _ in range(1_000):
            if self.running is None and not self._begin():
                break
            has_begun = True
            self.go_on(100)
        else:
            raise AssertionError("CompactionPass makes no progress.")
        if has_begun:
            self._check_compacted()

    def _begin(self) -> bool:
        part = cleanable(self.log, self._rules(), self.now_ms)
        if part.is_due(self._rules()):
            self.pass_ms = self.now_ms
            self._note_tombstones(part.end_offset, self.first_touched_ms)
            self.running = CompactionPass(self.log, part, self._rules(), self.now_ms, most_keys=self.most_keys).work()
        return self.running is not None

    def _ended(self) -> None:
        self.running = None
        self._note_tombstones(self.log.clean_offset, self.first_passed_ms)

    def _note_tombstones(self, end_offset: int, first_ms: dict[int, int]) -> None:
        for record in self.model.committed(0, end_offset):
            if record.value is None:
                first_ms.setdefault(record.offset, self.pass_ms)

    def _rules(self) -> CleaningRules:
        return CleaningRules(
            compacts=True, min_dirty_ratio=0, segment_bytes=1_000, delete_retention_ms=DELETE_RETENTION_MS
        )

    def _check_compacted(self) -> None:
        """Of each key, only the last record is left before the end of what was compacted."""
        start, end = self.log.log_start_offset, self.log.clean_offset
        left = {record.offset for record in self._visible() if record.offset < end}
        last = {r.offset: r for r in self.model.last_of_each_key(0, end).values() if r.offset >= start}
        assert {offset for offset, record in last.items() if record.value is not None} <= left
        assert left <= last.keys()
        for offset in left:
            assert last[offset].value is not None or self.first_passed_ms[offset] + DELETE_RETENTION_MS > self.pass_ms

    # --------------------------------------------------------------------------------------- invariants

    def _visible(self) -> Iterator[DecodedRecord]:
        log = self.log
        stable_offset = log.last_stable_offset
        aborted = list(log.aborted_between(log.log_start_offset, stable_offset))
        for stored in log.batches(log.log_start_offset, stable_offset):
            if stored.info.last_offset >= stable_offset:
                break  # deleted up to the middle of a batch whose transaction is open
            info, batch = stored.info, next(iter_batches(stored.data))
            is_aborted = info.is_transactional and any(
                each.producer_id == info.producer_id and each.first_offset <= info.base_offset < each.last_offset
                for each in aborted
            )
            if not (info.is_control or is_aborted):
                yield from (r for r in batch.records(check_crc=True) if r.offset >= log.log_start_offset)

    @precondition(lambda self: hasattr(self, "log"))
    @invariant()
    def what_is_left_was_written(self) -> None:
        stable = self.model.stable_offset()
        written = {r.offset: (r.key, r.value) for r in self.model.committed(0, stable)}
        left = list(self._visible())
        assert all((r.key, r.value) == written[r.offset] and list(r.headers) == [("h", b"1")] for r in left)
        assert [r.offset for r in left] == sorted({r.offset for r in left})

    @precondition(lambda self: hasattr(self, "log"))
    @invariant()
    def the_last_of_each_key_is_left(self) -> None:
        start, stable = self.log.log_start_offset, self.model.stable_offset()
        left = {r.key: (r.offset, r.value) for r in self._visible()}
        for key, record in self.model.last_of_each_key(0, stable).items():
            if record.offset >= start and record.value is not None:
                assert left[key] == (record.offset, record.value)
            elif record.value is None:
                assert left.get(key, (record.offset, None)) == (record.offset, None)

    @precondition(lambda self: hasattr(self, "log"))
    @invariant()
    def new_tombstones_are_left(self) -> None:
        """A tombstone stays for some time after the first pass that met it."""
        start, stable = self.log.log_start_offset, self.model.stable_offset()
        left = {record.offset for record in self._visible()}
        for record in self.model.last_of_each_key(0, stable).values():
            first_ms = self.first_touched_ms.get(record.offset, self.now_ms)
            if record.value is None and record.offset >= start and self.now_ms < first_ms + DELETE_RETENTION_MS:
                assert record.offset in left

    @precondition(lambda self: hasattr(self, "log"))
    @invariant()
    def offsets_and_sizes_agree(self) -> None:
        log = self.log
        assert (log.end_offset, log.last_stable_offset) == (
            self.model.end,
            max(self.model.stable_offset(), log.log_start_offset),
        )
        assert log.size_bytes == sum(len(batch.data) for segment in log.segments for batch in segment)
        bases = [segment.base_offset for segment in log.segments]
        assert bases == sorted(set(bases))
        assert self._read_all() == log.size_bytes == log.available_bytes(log.log_start_offset)

    def _read_all(self) -> int:
        """Read the log as a consumer does, and return how many bytes it got."""
        offset, size = self.log.log_start_offset, 0
        while (read := self.log.read(offset, 300)).batches:
            assert read.batches[0].last_offset >= offset
            offset = read.batches[-1].last_offset + 1
            size += len(read.records)
        return size


CleanedLogMachine.TestCase.settings = settings(max_examples=80, stateful_step_count=50)
TestCleanedLog = CleanedLogMachine.TestCase


# ------------------------------------------------------------------------------------- planted defects


def aborted_records_count(patch: Patch) -> None:
    patch.setattr(compaction._Transactions, "aborted", lambda *_: None)


def tombstones_go_at_once(patch: Patch) -> None:
    patch.setattr(CompactionPass, "_is_past_horizon", lambda *_: True)


def keys_of_clean_records_are_forgotten(patch: Patch) -> None:
    stays = CompactionPass._stays

    def stays_if_noted(self: CompactionPass, record: DecodedRecord, batch: StoredBatch) -> bool:
        return record.key in self._last_offset_of and stays(self, record, batch)

    patch.setattr(CompactionPass, "_stays", stays_if_noted)


def records_that_were_not_noted_go(patch: Patch) -> None:
    stays = CompactionPass._stays

    def stays_before_the_end(self: CompactionPass, record: DecodedRecord, batch: StoredBatch) -> bool:
        return record.offset < self._end_offset and stays(self, record, batch)

    patch.setattr(CompactionPass, "_stays", stays_before_the_end)


def a_copy_replaces_what_is_gone(patch: Patch) -> None:
    def replace(self: PartitionLog, old: list[Segment], new: Segment) -> bool:
        first = self._index_of_segment(old[0].base_offset)
        self._segments[first : first + len(old)] = [new]
        return True

    patch.setattr(PartitionLog, "replace_segments", replace)


def the_unstable_part_is_compacted(patch: Patch) -> None:
    patch.setattr(PartitionLog, "last_stable_offset", property(lambda self: self.end_offset))


def every_record_of_a_key_stays(patch: Patch) -> None:
    patch.setattr(CompactionPass, "_stays", lambda *_: True)


DEFECTS = by_name(
    aborted_records_count,
    tombstones_go_at_once,
    keys_of_clean_records_are_forgotten,
    records_that_were_not_noted_go,
    a_copy_replaces_what_is_gone,
    the_unstable_part_is_compacted,
    every_record_of_a_key_stays,
)


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS.keys())
def test_planted_defects_are_found(defect: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    defect(monkeypatch)
    found = settings(
        max_examples=500,
        stateful_step_count=50,
        phases=[Phase.generate],
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    with pytest.raises((AssertionError, KeyError, IndexError, ValueError)):
        run_state_machine_as_test(CleanedLogMachine, settings=found)
