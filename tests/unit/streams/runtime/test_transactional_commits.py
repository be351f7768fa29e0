"""Workers that write in transactions, over the fake brokers: the logs have only what was committed."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.errors import (
    FencedInstanceIdError,
    InvalidProducerEpochError,
    KafkaGroupsError,
    MessageTooLargeError,
    OperationTimeoutError,
    ProducerFencedError,
    TransactionFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.streams import StreamsError
from kafka_groups.streams.tasks.error_context import ErrorHandlers, ErrorResponse
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.support.exactly_once_defects import (
    changelogs_are_left_out,
    stores_are_committed_before_the_transaction,
    tasks_go_on_after_a_failure,
)
from tests.support.fake_kafka import FakeKafka, FakePlane, Faults, Killed
from tests.support.planted_defects import Patch, Plant, by_name
from tests.unit.streams.runtime.counting import CHANGELOG, OUTPUT, Process, brokers, restored

WORDS = ("to", "be", "or", "not", "to", "be", "to", "see")


def process(kafka: FakeKafka, faults: Faults | None = None, **settings: Any) -> Process:
    made = Process(kafka, faults, **{"is_exactly_once": True, "cache_max_bytes": 0, **settings})
    made.member.assign("0_0")
    return made


def written() -> FakeKafka:
    kafka = brokers()
    for number, word in enumerate(WORDS):
        kafka.produce("words", word, word, number)
    return kafka


def results(kafka: FakeKafka) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for entry in kafka.values(OUTPUT):
        found.setdefault((entry.key or b"").decode(), []).append(int.from_bytes(entry.value or b"", "big"))
    return found


def once_each() -> dict[str, list[int]]:
    return {word: [*range(1, count + 1)] for word, count in Counter(WORDS).items()}


async def run(made: Process) -> None:
    """Process all words, some in each transaction."""
    await made.worker.start()
    await made.turn_until(lambda: made.has_committed(len(WORDS)))


async def killed_at(kafka: FakeKafka, at: int | None) -> int:
    """Run a process that is killed at a call. Returns how many calls there were."""
    faults = Faults(at)
    made = process(kafka, faults, max_poll_records=3)
    try:
        await run(made)
        await made.worker.close()
    except Killed:
        pass
    return faults.calls


async def check_kills() -> None:
    """Kill a process at each of its calls; another one goes on."""
    calls = await killed_at(written(), None)
    assert calls > 30
    for at in range(1, calls + 1):
        kafka = written()
        await killed_at(kafka, at)
        last = process(kafka)
        await run(last)
        await last.worker.close()
        assert results(kafka) == once_each(), at
        assert restored(kafka) == Counter(WORDS), at


class FailingPlane(FakePlane):
    """Loses a transaction before or in its commit, each time that it is told to."""

    failing = 0
    late = 0
    renewals = 0
    cause: KafkaGroupsError | None = None
    unprepared: tuple[Exception, ...] = ()
    commits: list[Mapping[TopicPartition, OffsetAndMetadata]]

    async def prepare(self) -> None:
        if self.unprepared:
            error, *rest = self.unprepared
            self.unprepared = tuple(rest)
            raise error
        await super().prepare()

    async def flush(self, timeout_ms: int) -> None:
        if self.failing == 1:
            self.failing = 0
            raise TransactionFailedError("lost before the commit") from self.cause
        await super().flush(timeout_ms)

    async def renew(self) -> None:
        self.renewals += 1
        await super().renew()

    async def commit_transaction(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], who: GroupMetadata) -> None:
        self.commits.append(offsets)
        if self.late:
            self.late -= 1
            raise OperationTimeoutError("the coordinator did not answer")
        if self.failing == 2:
            self.failing = 0
            raise TransactionFailedError("lost in the commit")
        await super().commit_transaction(offsets, who)


def failing_process(kafka: FakeKafka, **settings: Any) -> tuple[Process, FailingPlane]:
    made = process(kafka, max_poll_records=3, **settings)
    made.plane.__class__ = FailingPlane
    plane: Any = made.plane
    plane.commits = []
    return made, plane


async def check_failures() -> None:
    """Lose transactions again and again. The process goes on."""
    for failing in (1, 2):
        kafka = written()
        await _run_with_failures(kafka, failing)
        assert results(kafka) == once_each(), failing
        assert restored(kafka) == Counter(WORDS), failing


async def _run_with_failures(kafka: FakeKafka, failing: int) -> None:
    made, plane = failing_process(kafka)
    await made.worker.start()
    for offset in (3, 6, len(WORDS)):
        await made.turn_until(partial(made.has_committed, offset))
        plane.failing = failing
    plane.failing = 0
    await made.worker.close()


async def test_a_process_that_is_killed_at_any_call() -> None:
    await check_kills()


async def test_at_least_once_repeats_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """A control: the check finds what transactions prevent."""
    monkeypatch.setattr(f"{__name__}.process", partial(process, is_exactly_once=False))
    with pytest.raises(AssertionError):
        await check_kills()


async def test_transactions_that_fail() -> None:
    await check_failures()


async def test_stores_are_not_restored_after_a_transaction_that_failed() -> None:
    kafka = written()
    made, plane = failing_process(kafka)
    await made.worker.start()
    await made.turn_until(lambda: made.has_committed(3))
    restored_before = made.worker.sensors.restored.total
    plane.failing = 2
    await made.turn_until(lambda: made.has_committed(len(WORDS)))
    assert made.worker.sensors.restored.total == restored_before
    assert results(kafka) == once_each()


NOT_PREPARED = (
    OperationTimeoutError("no answer"),
    TransactionFailedError("it hangs"),
    OperationTimeoutError("no answer"),
)


async def test_a_worker_waits_for_its_producer() -> None:
    kafka = written()
    made, plane = failing_process(kafka)
    plane.unprepared = NOT_PREPARED
    await run(made)
    assert results(kafka) == once_each()


async def test_a_restored_task_waits_for_the_next_producer() -> None:
    """The task is not among those that begin again when the transaction fails."""
    kafka = brokers(2)
    other = TopicPartition(CHANGELOG, 1)
    for number, word in enumerate(WORDS):
        kafka.produce("words", word, word, number)
        kafka.produce("words", word + "!", word, number, partition=1)
    kafka.produce(CHANGELOG, "old!", "\0" * 7 + "\1", partition=1)
    made, plane = failing_process(kafka)
    plane.changelogs.paused.add(other)
    await made.worker.start()
    await made.turn_until(lambda: made.has_committed(3))
    made.member.assign("0_1")
    await made.turn_until(lambda: other in plane.changelogs.positions)
    plane.failing, plane.unprepared = 2, NOT_PREPARED
    await made.turn_until(lambda: not plane.is_prepared)
    plane.changelogs.paused.clear()
    await made.turn_until(lambda: made.has_committed(len(WORDS), TopicPartition("words", 1)))
    await made.turn_until(lambda: made.has_committed(len(WORDS)))
    shouted = {f"{word}!": counts for word, counts in once_each().items()}
    assert results(kafka) == {**once_each(), **shouted}


async def test_a_producer_that_is_found_lost_when_another_task_begins_ends_the_work_of_the_others() -> None:
    """The records of a running task are in the transaction: it must not go on with a producer that is not prepared."""
    kafka = brokers(2)
    for number, word in enumerate(WORDS):
        kafka.produce("words", word, word, number)
        kafka.produce("words", word + "!", word, number, partition=1)
    made, plane = failing_process(kafka)
    await made.worker.start()
    await made.turn_until(lambda: made.has_committed(3))
    made.member.assign("0_1")
    plane.unprepared = (TransactionFailedError("fenced"),)
    await made.turn_until(lambda: not plane.unprepared)
    assert not any(task.is_running for task in made.worker.tasks.values())
    await made.turn_until(lambda: made.has_committed(len(WORDS), TopicPartition("words", 1)))
    await made.turn_until(lambda: made.has_committed(len(WORDS)))
    shouted = {f"{word}!": counts for word, counts in once_each().items()}
    assert results(kafka) == {**once_each(), **shouted}


@pytest.mark.parametrize("cause", [InvalidProducerEpochError("old"), ProducerFencedError("fenced"), None])
async def test_a_worker_that_was_fenced_asks_its_group_before_it_fences_others(cause: KafkaGroupsError | None) -> None:
    made, plane = failing_process(written())
    await made.worker.start()
    await made.turn_until(lambda: made.has_committed(3))
    plane.failing, plane.cause = 1, cause
    made.member.refusal = FencedInstanceIdError("another process has the instance id")
    if cause is None:
        await made.turn_until(lambda: made.has_committed(len(WORDS)))
        assert made.member.asked == 0
        return
    with pytest.raises(FencedInstanceIdError):
        await made.turn_until(lambda: made.has_committed(6))
    assert made.member.asked == 1
    assert plane.renewals == 0


async def test_a_commit_without_answer_is_repeated_before_anything_else() -> None:
    kafka = written()
    made, plane = failing_process(kafka)
    await made.worker.start()
    await made.turn_until(lambda: made.has_committed(3))
    plane.late = 3
    plane.commits.clear()
    await made.turn_until(lambda: made.has_committed(6))
    assert len(plane.commits) == 4
    assert all(each == plane.commits[0] for each in plane.commits)
    await made.turn_until(lambda: made.has_committed(len(WORDS)))
    assert results(kafka) == once_each()


async def test_a_member_that_has_lost_its_tasks_commits_nothing() -> None:
    kafka = written()
    made, plane = failing_process(kafka)
    await made.worker.start()
    await made.turn_until(lambda: made.has_committed(3))
    made.member.is_lost = True
    await made.turn_until(lambda: len(plane.commits) >= 3)
    assert made.has_committed(3)
    made.member.lose("0_0")
    await made.turn_until(lambda: not made.worker.tasks)
    await made.worker.close()
    other = process(kafka)
    await run(other)
    assert results(kafka) == once_each()


async def test_lost_tasks_take_the_transaction_with_them() -> None:
    kafka = written()
    made, plane = failing_process(kafka)
    await made.worker.start()
    await made.turn_until(lambda: made.has_committed(3))
    plane.late = 1_000
    await made.turn_until(lambda: len(plane.commits) > 3)
    made.member.lose("0_0")
    await made.turn_until(lambda: not made.worker.tasks)
    plane.late = 0
    made.member.assign("0_0")
    await made.turn_until(lambda: made.has_committed(len(WORDS)))
    assert results(kafka) == once_each()


def refusing(kafka: FakeKafka) -> None:
    """Let the brokers refuse a word."""
    kafka.refusal = lambda place, entry: (
        MessageTooLargeError("too large") if place.topic == OUTPUT and entry.key == b"not" else None
    )


async def test_the_handler_is_asked_when_a_refused_record_comes_again() -> None:
    kafka = written()
    refusing(kafka)
    asked: list[object] = []

    def resume(_context: object, record: Any, _error: Exception) -> ErrorResponse:
        asked.append(record.key)
        return ErrorResponse.RESUME

    made = process(kafka, handlers=ErrorHandlers(production=resume))
    await run(made)
    await made.worker.close()
    assert asked == [b"not"]
    assert results(kafka) == {word: counts for word, counts in once_each().items() if word != "not"}
    assert restored(kafka) == Counter(WORDS)


async def test_without_a_handler_a_refused_record_ends_the_worker() -> None:
    kafka = written()
    refusing(kafka)
    made = process(kafka)
    await made.worker.start()
    with pytest.raises(StreamsError, match="cannot write to totals"):
        await made.turn_until(lambda: made.has_committed(len(WORDS)))
    await made.worker.close(is_clean=False)
    assert not results(kafka)


async def test_a_refused_record_that_always_differs_ends_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = written()
    refusing(kafka)
    monkeypatch.setattr("kafka_groups.streams.runtime.output._MOST_REMEMBERED", 0)
    made = process(kafka)
    await made.worker.start()
    with pytest.raises(StreamsError, match="refused 3 transactions in a row"):
        await made.turn_until(lambda: made.has_committed(len(WORDS)))
    await made.worker.close(is_clean=False)
    assert not results(kafka)


async def test_an_error_of_the_producer_that_does_not_pass_ends_the_worker_after_three_transactions() -> None:
    kafka = written()
    kafka.refusal = lambda place, _entry: KafkaGroupsError("bad arguments") if place.topic == OUTPUT else None
    made = process(kafka)
    await made.worker.start()
    with pytest.raises(StreamsError, match=r"The producer has refused 3 transactions in a row.*bad arguments"):
        await made.turn_until(lambda: made.has_committed(len(WORDS)))
    await made.worker.close(is_clean=False)
    assert not results(kafka)


def unknown(kafka: FakeKafka, *, is_deleted: bool) -> None:
    """Let the brokers once not know the topic of the results."""

    def refusal(place: TopicPartition, _entry: object) -> KafkaGroupsError | None:
        if place.topic != OUTPUT:
            return None
        kafka.refusal = lambda _place, _entry: None
        if is_deleted:
            del kafka.counts[OUTPUT]
        return UnknownTopicOrPartitionError("unknown")

    kafka.refusal = refusal


async def test_a_topic_that_brokers_do_not_know_for_a_while_costs_nothing() -> None:
    kafka = written()
    unknown(kafka, is_deleted=False)
    await run(process(kafka))
    assert results(kafka) == once_each()


@pytest.mark.parametrize("has_handler", [True, False])
async def test_a_topic_that_is_deleted_is_a_matter_of_the_handler(*, has_handler: bool) -> None:
    kafka = written()
    unknown(kafka, is_deleted=True)
    asked: list[Exception] = []

    def fail(_context: object, _record: object, error: Exception) -> ErrorResponse:
        asked.append(error)
        return ErrorResponse.FAIL

    made = process(kafka, handlers=ErrorHandlers(production=fail if has_handler else None))
    await made.worker.start()
    with pytest.raises(StreamsError, match=r"does not exist, but a sink writes to it\. Create totals"):
        await made.turn_until(lambda: made.has_committed(len(WORDS)))
    assert [type(error) for error in asked] == [UnknownTopicOrPartitionError] * has_handler


async def test_transactions_do_not_fail_for_longer_than_the_task_timeout_without_progress() -> None:
    kafka = written()
    made, plane = failing_process(kafka, task_timeout_ms=10_000)
    await made.worker.start()
    await made.turn_until(lambda: made.has_committed(3))
    begun_ms = made.clock.now_ms()
    with pytest.raises(TransactionFailedError, match="lost in the commit"):
        await made.turn_until(partial(never_committed, made, plane))
    assert 10_000 <= made.clock.now_ms() - begun_ms <= 15_000
    assert made.has_committed(3)


def never_committed(made: Process, plane: FailingPlane) -> bool:
    plane.failing = 2
    return False


async def test_progress_gives_transactions_the_whole_time_again() -> None:
    kafka = brokers()
    made, plane = failing_process(kafka, task_timeout_ms=10_000)
    await made.worker.start()
    for number in range(1, 5):
        kafka.produce("words", "word", "word")
        until_ms = made.clock.now_ms() + 8_000
        while made.clock.now_ms() < until_ms:
            plane.failing = 2
            made.clock.advance(500)
            await made.worker.turn()
        plane.failing = 0
        await made.turn_until(partial(made.has_committed, number))
    assert results(kafka) == {"word": [1, 2, 3, 4]}


async def test_a_member_that_has_no_tasks_for_a_while_has_the_whole_time_again() -> None:
    kafka = written()
    made, plane = failing_process(kafka, task_timeout_ms=10_000)
    await made.worker.start()
    for _ in range(4):
        until_ms = made.clock.now_ms() + 8_000
        while made.clock.now_ms() < until_ms:
            plane.failing = 2
            made.clock.advance(500)
            await made.worker.turn()
        made.member.lose("0_0")
        await made.turn_until(lambda: not made.worker.tasks)
        made.clock.advance(1_000)
        await made.worker.turn()
        made.member.assign("0_0")
    plane.failing = 0
    await made.turn_until(lambda: made.has_committed(len(WORDS)))
    assert results(kafka) == once_each()


async def test_records_that_are_not_confirmed_in_time_come_again() -> None:
    kafka = written()
    made, plane = failing_process(kafka)
    await made.worker.start()
    await made.turn_until(lambda: made.has_committed(3))
    kafka.refusal = lambda place, _entry: OperationTimeoutError("no answer") if place.topic == OUTPUT else None
    for _ in range(20):
        made.clock.advance(1_000)
        await made.worker.turn()
    assert made.has_committed(3)
    assert not plane.commits[1:]
    kafka.refusal = lambda _place, _entry: None
    await made.turn_until(lambda: made.has_committed(len(WORDS)))
    assert results(kafka) == once_each()


# ------------------------------------------------------------------------------------- planted defects


def offsets_are_committed_before_the_records(patch: Patch) -> None:
    async def commit(self: FakePlane, offsets: Mapping[TopicPartition, OffsetAndMetadata], _who: GroupMetadata) -> None:
        self.kafka.committed.update(offsets)
        self.faults.call()
        self._write(self.open)
        self.open = []

    patch.setattr(FakePlane, "commit_transaction", commit)


def offsets_are_committed_after_the_records(patch: Patch) -> None:
    async def commit(self: FakePlane, offsets: Mapping[TopicPartition, OffsetAndMetadata], _who: GroupMetadata) -> None:
        self._write(self.open)
        self.open = []
        self.faults.call()
        self.kafka.committed.update(offsets)

    patch.setattr(FakePlane, "commit_transaction", commit)


def the_producer_is_kept(patch: Patch) -> None:
    async def nothing(_self: FakePlane) -> None:
        pass

    patch.setattr(FakePlane, "renew", nothing)


DEFECTS = by_name(
    stores_are_committed_before_the_transaction,
    tasks_go_on_after_a_failure,
    offsets_are_committed_before_the_records,
    offsets_are_committed_after_the_records,
    changelogs_are_left_out,
    the_producer_is_kept,
)


@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS.keys())
async def test_planted_defects_are_found(defect: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    defect(monkeypatch)
    checks: tuple[Callable[[], Any], ...] = (check_kills, check_failures)
    found = 0
    for check in checks:
        try:
            await check()
        except AssertionError:
            found += 1
    assert found
