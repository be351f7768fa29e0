"""The partition log against a list of records that does everything the slow and obvious way."""

import pytest
from attrs import define, field, frozen
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_groups.broker.log.partition_log import HIGH_WATERMARK, PartitionLog
from kafka_groups.errors import OffsetOutOfRangeError, OutOfOrderSequenceNumberError
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch

WALL_MS = 1_000_000


@frozen
class Stored:
    offset: int
    timestamp_ms: int
    value: bytes
    batch: int
    epoch: int


@define
class Model:
    records: list[Stored] = field(factory=list)
    start: int = 0
    end: int = 0
    batch_sizes: list[int] = field(factory=list)
    batch_ends: list[int] = field(factory=list)

    def live(self) -> list[Stored]:
        return [record for record in self.records if record.offset >= self.start]

    def batches_from(self, offset: int) -> list[int]:
        return [number for number, end in enumerate(self.batch_ends) if end > offset]


class LogMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.log = PartitionLog()
        self.model = Model()
        self.epoch = 0
        self.sequence = 0

    def _store(self, times: list[int], data: bytes, deltas: list[int], length: int) -> None:
        model = self.model
        for delta, time_ms in zip(deltas, times, strict=True):
            value = b"%d" % (model.end + delta)
            model.records.append(Stored(model.end + delta, time_ms, value, len(model.batch_ends), self.epoch))
        model.end += length
        model.batch_ends.append(model.end)
        model.batch_sizes.append(len(data))

    def _records(self, times: list[int], deltas: list[int]) -> list[NewRecord]:
        pairs = zip(deltas, times, strict=True)
        return [NewRecord(b"%d" % (self.model.end + d), timestamp_ms=ms, offset_delta=d) for d, ms in pairs]

    @rule(times=st.lists(st.integers(0, 50), min_size=1, max_size=6), codec=st.sampled_from(Compression))
    def append(self, times: list[int], codec: Compression) -> None:
        deltas = list(range(len(times)))
        data = build_batch(self._records(times, deltas), 0, BatchOptions(compression=codec))
        result = self.log.append(data, self.epoch, WALL_MS)
        assert (result.base_offset, result.last_offset) == (self.model.end, self.model.end + len(times) - 1)
        self._store(times, data, deltas, len(times))

    @rule(times=st.lists(st.integers(0, 50), min_size=1, max_size=4), twice=st.booleans())
    def append_idempotent(self, times: list[int], twice: bool) -> None:
        deltas = list(range(len(times)))
        options = BatchOptions(producer_id=1, producer_epoch=0, base_sequence=self.sequence)
        data = build_batch(self._records(times, deltas), 0, options)
        result = self.log.append(data, self.epoch, WALL_MS)
        self._store(times, data, deltas, len(times))
        self.sequence += len(times)
        if twice:
            again = self.log.append(data, self.epoch, WALL_MS)
            assert (again.base_offset, again.last_offset) == (result.base_offset, result.last_offset)
            ahead = BatchOptions(producer_id=1, producer_epoch=0, base_sequence=self.sequence + 1)
            with pytest.raises(OutOfOrderSequenceNumberError):
                self.log.append(build_batch([NewRecord(b"")], 0, ahead), self.epoch, WALL_MS)

    @rule(
        steps=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 50)), min_size=1, max_size=4), gap=st.integers(0, 3)
    )
    def append_with_gaps(self, steps: list[tuple[int, int]], gap: int) -> None:
        deltas = [sum(step for step, _ in steps[: i + 1]) - 1 for i in range(len(steps))]
        times = [time_ms for _, time_ms in steps]
        length = deltas[-1] + 1 + gap
        options = BatchOptions(leader_epoch=self.epoch, last_offset_delta=length - 1)
        data = build_batch(self._records(times, deltas), self.model.end, options)
        self.log.append_as_is(data)
        self._store(times, data, deltas, length)

    @rule()
    def new_leader(self) -> None:
        self.epoch += 1

    @rule(share=st.floats(0, 1), everything=st.booleans())
    def delete(self, share: float, everything: bool) -> None:
        offset = self.model.end if everything and share > 0.9 else int(self.model.end * share)
        wanted = HIGH_WATERMARK if offset == self.model.end else offset
        self.model.start = max(self.model.start, offset)
        assert self.log.delete_records(wanted) == self.model.start

    @rule(share=st.floats(0, 1), max_bytes=st.integers(0, 600), min_one=st.booleans())
    def read(self, share: float, max_bytes: int, min_one: bool) -> None:
        model = self.model
        offset = model.start + int((model.end - model.start) * share)
        expected: list[int] = []
        for number in model.batches_from(offset):
            size = sum(model.batch_sizes[n] for n in [*expected, number])
            if size > max_bytes and not (min_one and not expected):
                break
            expected.append(number)
        read = self.log.read(offset, max_bytes, min_one=min_one)
        assert len(read.records) == sum(model.batch_sizes[number] for number in expected)
        decoded = [
            (r.offset, r.timestamp, r.value) for b in iter_batches(read.records) for r in b.records(check_crc=True)
        ]
        assert decoded == [(r.offset, r.timestamp_ms, r.value) for r in model.records if r.batch in expected]
        assert [info.last_offset + 1 for info in read.batches] == [model.batch_ends[number] for number in expected]

    @rule(offset=st.integers(-3, 100))
    def read_outside(self, offset: int) -> None:
        if not self.model.start <= offset <= self.model.end:
            with pytest.raises(OffsetOutOfRangeError):
                self.log.read(offset, 100)

    @rule(time_ms=st.integers(0, 55))
    def search(self, time_ms: int) -> None:
        expected = next((r for r in self.model.live() if r.timestamp_ms >= time_ms), None)
        found = self.log.offset_for_timestamp(time_ms)
        assert (found and (found.offset, found.timestamp_ms, found.leader_epoch)) == (
            expected and (expected.offset, expected.timestamp_ms, expected.epoch)
        )

    @rule()
    def largest_timestamp(self) -> None:
        expected = max(self.model.live(), key=lambda r: (r.timestamp_ms, -r.offset), default=None)
        found = self.log.max_timestamp()
        assert (found and (found.offset, found.timestamp_ms)) == (expected and (expected.offset, expected.timestamp_ms))

    @precondition(lambda self: hasattr(self, "log"))
    @invariant()
    def sizes_and_ends_agree(self) -> None:
        model = self.model
        kept = model.batches_from(model.start)
        assert (self.log.log_start_offset, self.log.end_offset) == (model.start, model.end)
        assert self.log.size_bytes == sum(model.batch_sizes[number] for number in kept)
        assert self.log.available_bytes(model.start) == self.log.size_bytes
        assert len(self.log) == len(kept)


LogMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestLogAgainstModel = LogMachine.TestCase
