"""Writes between the rules of a handler and the writer of its process."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from attrs import define, field

from kafka_groups.errors import AuthenticationError, KafkaGroupsError, OperationTimeoutError
from kafka_groups.records.confirmed.writes import RecordToWrite, WriteOutcome
from kafka_groups.share.workers.rules.steps import WriteRecords
from kafka_groups.share.workers.running.handler_report import HandlerReport
from kafka_groups.share.workers.running.handler_writes import HandlerWrites
from kafka_groups.share.workers.running.operations import OperationTimes
from tests.unit.share.workers.rules.bench import OUTPUTS, Bench
from tests.unit.share.workers.rules.jobs import Job


@define(eq=False)
class FakeWriter:
    """Takes writes, of which none was sent unless the test says so."""

    fatal: KafkaGroupsError | None = None
    took: Callable[[Sequence[WriteOutcome]], None] = field(init=False)
    held: Callable[[str, KafkaGroupsError | None], None] = field(init=False)
    written: list[object] = field(factory=list)
    sent: list[object] = field(factory=list)
    divided: list[tuple[object, Sequence[tuple[object, Sequence[RecordToWrite]]]]] = field(factory=list)

    def room(self, owner: str, took: Any, held: Any) -> "FakeWriter":
        """Return the room of a handler."""
        assert owner == "orders"
        self.took, self.held = took, held
        return self

    def write(self, records: Sequence[RecordToWrite], token: object) -> None:
        """Take a write."""
        self.written.append(token)

    def write_each(self, records: Sequence[RecordToWrite], token: object) -> None:
        """Take a write."""
        self.write(records, token)

    def divide(self, token: object, parts: Sequence[tuple[object, Sequence[RecordToWrite]]]) -> bool:
        """Divide a write that has no outcome yet."""
        self.divided.append((token, parts))
        return token not in self.sent

    def withdraw(self, token: object) -> bool:
        """Return whether it was not sent."""
        return token not in self.sent

    async def close(self) -> None:
        """Do nothing."""


@define
class Scene:
    """The rules, with a record whose output is being written."""

    bench: Bench
    writer: FakeWriter
    writes: HandlerWrites
    job: Job
    told: list[tuple[str, object]]
    woken: list[None]

    @property
    def write(self) -> WriteRecords[Any]:
        """The write."""
        return self.bench.copies[0]


def scene(concurrency: int = 4) -> Scene:
    """A record whose output was given to the writer."""
    bench, writer = Bench(concurrency=concurrency), FakeWriter()
    told: list[tuple[str, object]] = []
    report = SimpleNamespace(
        held=lambda topic, error: told.append((topic, error)),
        written=lambda write, error: told.append((write.records[0].topic, error)),
    )
    rules = cast("Any", bench.handling.writing)
    writes = HandlerWrites("orders", rules, writer, cast("HandlerReport", report), OperationTimes("g", lambda: 0.0))
    woken: list[None] = []
    writes.wake = lambda: woken.append(None)
    job = bench.take(0)[0]
    bench.succeed_with(job, b"1")
    writes.write(cast("Any", bench.copies[0]))
    return Scene(bench, writer, writes, job, told, woken)


def test_an_outcome_wakes_the_driver_which_gives_it_to_the_rules() -> None:
    it = scene()
    it.writer.took([WriteOutcome([it.write])])
    assert it.woken
    assert not it.bench.outcomes
    assert it.writes.take_outcomes(0)
    it.bench.go()
    assert it.job in it.bench.outcomes
    assert it.told == [(OUTPUTS, None)]
    assert not it.writes.take_outcomes(0)


def test_a_topic_that_is_held_is_told_to_the_rules_and_reported() -> None:
    it, error = scene(), OperationTimeoutError("no answer")
    are_refused = []
    for each in (error, None):
        it.writer.held(OUTPUTS, each)
        are_refused.append(it.bench.handling.writing.is_refused)
    assert are_refused == [True, False]
    assert it.told == [(OUTPUTS, error), (OUTPUTS, None)]
    assert len(it.woken) == 2


@pytest.mark.parametrize("was_sent", [False, True])
def test_what_was_not_sent_is_withdrawn_when_its_record_is_lost(*, was_sent: bool) -> None:
    it = scene()
    it.writer.sent += [it.write] if was_sent else []
    it.bench.lose(it.job)
    again = it.bench.take(0, count=2)[0]
    it.writes.withdraw(0)
    it.bench.go()
    assert (again in it.bench.running) != was_sent
    if was_sent:
        it.writer.took([WriteOutcome([it.write])])
        it.writes.take_outcomes(0)
        it.bench.go()
        assert again in it.bench.outcomes


def test_an_error_after_which_nothing_can_be_written_ends_the_handler_and_says_nothing_about_records() -> None:
    it = scene()
    it.writer.fatal = AuthenticationError("the password is wrong")
    it.writer.took([WriteOutcome([it.write], it.writer.fatal)])
    with pytest.raises(AuthenticationError, match="password is wrong"):
        it.writes.take_outcomes(0)
    assert it.bench.handling.in_hand["writing"] == 1


@pytest.mark.parametrize("is_confirmed", [False, True])
def test_the_write_of_a_run_is_divided_when_a_lock_is_lost(*, is_confirmed: bool) -> None:
    it = scene(concurrency=1)
    it.bench.write()
    it.bench.fast()
    it.bench.starts = 3
    jobs = it.bench.take(1, 2, 3)
    outputs = {index: [RecordToWrite(OUTPUTS, None, b"1")] for index in range(3)}
    it.bench.report(it.bench.run_of(jobs[0]), {}, outputs=outputs)
    it.bench.go()
    together = cast("Any", it.bench.together[0])
    it.writes.write(together)
    if is_confirmed:  # the outcome has come, and the driver has not looked yet
        it.writer.sent.append(together)
        it.writer.took([WriteOutcome([together])])
    it.bench.lose(jobs[1])
    it.writes.take_outcomes(0)
    it.writes.withdraw(0)
    [(token, parts)] = it.writer.divided
    assert token is together
    assert [len(records) for _, records in parts] == [1, 1, 1]
    if not is_confirmed:
        assert not it.bench.outcomes.keys() & {*jobs}
        it.writer.took([WriteOutcome([parts[0][0], parts[2][0]])])
        it.writes.take_outcomes(0)
    it.bench.go()
    assert [job in it.bench.outcomes for job in jobs] == [True, False, True]
