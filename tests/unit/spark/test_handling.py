"""What becomes of the records of a poll, whatever `process` does."""

from collections.abc import Callable

import pytest

from kafka_groups.errors import (
    BootstrapError,
    DeliveryFailedError,
    InvalidRecordStateError,
    OperationTimeoutError,
)
from kafka_groups.share.aio import CommitResult
from kafka_groups.spark.acknowledging import Acknowledger, Tally
from kafka_groups.spark.batch import ShareBatch
from kafka_groups.spark.dead_letters import DeadLetters
from kafka_groups.spark.handling import Handling, PollHandler
from kafka_groups.spark.policy import DeliveryPolicy
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import AcknowledgeType, Header
from tests.unit.spark.polled import Broker, Range, polled

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


class Box:
    """A dead-letter topic."""

    def __init__(self) -> None:
        self.letters: list[tuple[str, bytes | None, dict[str, bytes | None]]] = []
        self.flushed = 0
        self.is_away = False

    def produce(self, topic: str, *, key: bytes | None, value: bytes | None, headers: list[Header]) -> None:
        self.letters.append((topic, value, dict(headers)))

    def flush(self, timeout_s: float) -> None:
        if self.is_away:
            raise DeliveryFailedError("nobody there", failed=0, unanswered=1)
        self.flushed = len(self.letters)

    @property
    def values(self) -> list[bytes | None]:
        return [value for _, value, _ in self.letters[: self.flushed]]


class Desk:
    """A handler with everything around it.

    Args:
        process: The user's function; what it is given is noted down first.
        ranges: What was polled.
        dead_letters: Whether there is a dead-letter topic.
    """

    def __init__(
        self,
        process: Callable[[ShareBatch], object],
        *ranges: Range,
        on_error: str = "release",
        dead_letters: bool = False,
    ) -> None:
        self.given: list[list[int]] = []
        self.waited: list[float] = []
        self.tally, self.box = Tally(), Box()
        self.batch = ShareBatch(polled(*ranges))
        self.broker = Broker(self.batch.records)

        def noted(batch: ShareBatch) -> None:
            self.given.append([record.offset for record in batch])
            process(batch)

        handling = Handling(
            process=noted,
            on_error=on_error,
            policy=DeliveryPolicy(5),
            dead_letters=DeadLetters("dlq", "g", {}, self.box) if dead_letters else None,
            wait=self.waited.append,
        )
        clock = ManualClock()
        self.handler = PollHandler(handling, Acknowledger(self.broker, self.tally, clock), self.tally, clock)

    def handle(self) -> bool:
        return self.handler.handle(self.batch)

    @property
    def counts(self) -> tuple[int, int, int, int]:
        return self.tally.accepted, self.tally.released, self.tally.rejected, self.tally.lock_lost


def succeed(batch: ShareBatch) -> None:
    pass


def fail(batch: ShareBatch) -> None:
    raise ValueError("boom")


def failing_on(*bad: int) -> Callable[[ShareBatch], None]:
    def process(batch: ShareBatch) -> None:
        for record in batch:
            if record.offset in bad:
                raise ValueError(f"bad {record.offset}")

    return process


def test_what_was_processed_is_accepted_in_one_commit() -> None:
    desk = Desk(succeed, (0, 4, 1), (9, 9, 2))
    assert desk.handle()
    assert desk.broker.sent == [{**dict.fromkeys(range(5), ACCEPT), 9: ACCEPT}]
    assert desk.counts == (6, 0, 0, 0)
    assert desk.tally.max_delivery_count == 2
    assert not desk.tally.failed


def test_what_the_function_decided_holds() -> None:
    def process(batch: ShareBatch) -> None:
        batch.reject([True, False, False])
        batch.release([False, True, False])

    desk = Desk(process, (0, 2, 1))
    assert desk.handle()
    assert desk.broker.fates == {0: REJECT, 1: RELEASE, 2: ACCEPT}
    assert desk.counts == (1, 1, 1, 0)


def test_release_gives_everything_back_and_says_why_whatever_the_function_had_decided() -> None:
    def process(batch: ShareBatch) -> None:
        batch.reject()
        raise ValueError("boom")

    desk = Desk(process, (0, 2, 1))
    assert not desk.handle()
    assert desk.broker.fates == dict.fromkeys(range(3), RELEASE)
    assert desk.counts == (0, 3, 0, 0)
    assert desk.tally.failed
    assert desk.tally.error is not None
    assert "ValueError: boom" in desk.tally.error


def test_per_record_gives_only_the_bad_ones_back() -> None:
    desk = Desk(failing_on(2, 4), (0, 5, 1), on_error="per_record")
    assert desk.handle()
    assert desk.broker.fates == {0: ACCEPT, 1: ACCEPT, 2: RELEASE, 3: ACCEPT, 4: RELEASE, 5: ACCEPT}
    assert desk.given == [[0, 1, 2, 3, 4, 5], [0], [1], [2], [3], [4], [5]]
    assert desk.counts == (4, 2, 0, 0)
    assert not desk.tally.failed


def test_per_record_stops_trying_when_it_is_not_the_records() -> None:
    desk = Desk(fail, (0, 99, 1), on_error="per_record")
    assert not desk.handle()
    assert desk.given[1:] == [[0], [1], [2]]
    assert desk.counts == (0, 100, 0, 0)


def test_reject_copies_everything_before_it_is_gone() -> None:
    desk = Desk(fail, (0, 2, 1), on_error="reject", dead_letters=True)
    desk.handle()
    assert desk.counts == (0, 0, 3, 0)
    assert desk.box.values == [b"v0", b"v1", b"v2"]
    assert desk.tally.dead_lettered == 3
    assert not desk.tally.failed


def test_what_the_function_rejects_is_copied_with_where_it_came_from() -> None:
    def process(batch: ShareBatch) -> None:
        batch.reject([False, True, False])

    desk = Desk(process, (0, 2, 2), dead_letters=True)
    assert desk.handle()
    ((topic, value, headers),) = desk.box.letters
    assert (topic, value) == ("dlq", b"v1")
    assert headers == {
        "__dlq.errors.topic": b"orders",
        "__dlq.errors.partition": b"0",
        "__dlq.errors.offset": b"1",
        "__dlq.errors.group": b"g",
        "__dlq.errors.delivery.count": b"2",
        "__dlq.errors.message": b"rejected",
    }


@pytest.mark.parametrize("process", [fail, lambda batch: batch.reject()])
def test_what_cannot_be_copied_is_given_back(process: Callable[[ShareBatch], object]) -> None:
    desk = Desk(process, (0, 1, 1), on_error="reject", dead_letters=True)
    desk.box.is_away = True
    desk.handle()
    assert desk.counts == (0, 2, 0, 0)
    assert desk.tally.failed
    assert desk.tally.error is not None
    assert "nobody there" in desk.tally.error


# ------------------------------------------------------------------------------- records that were delivered often


def test_what_was_delivered_often_is_processed_after_the_others_each_on_its_own() -> None:
    desk = Desk(succeed, (0, 1, 1), (2, 3, 3), (4, 5, 2))
    assert desk.handle()
    assert desk.given == [[0, 1, 4, 5], [2], [3]]
    assert [sorted(commit) for commit in desk.broker.sent] == [[0, 1, 4, 5], [2], [3]]
    assert desk.counts == (6, 0, 0, 0)
    assert desk.waited == [0.1]


def test_a_bad_record_does_not_bring_its_neighbours_nearer_to_their_limit() -> None:
    desk = Desk(failing_on(3), (0, 5, 3))
    assert desk.handle()
    assert desk.broker.fates == {0: ACCEPT, 1: ACCEPT, 2: ACCEPT, 3: RELEASE, 4: ACCEPT, 5: ACCEPT}
    assert desk.tally.failed


def test_near_the_limit_a_copy_is_durable_before_anything_is_processed() -> None:
    copied: list[int] = []

    def process(batch: ShareBatch) -> None:
        copied.append(desk.box.flushed)

    desk = Desk(process, (0, 1, 1), (2, 3, 4), dead_letters=True)
    assert desk.handle()
    assert desk.given == [[0, 1], [3], [2]]
    assert copied == [2, 2, 2]
    assert desk.box.values == [b"v2", b"v3"]
    assert desk.counts == (4, 0, 0, 0)


@pytest.mark.parametrize("dead_letters", [True, False])
def test_the_last_failure_rejects_and_copies_once(dead_letters: bool) -> None:
    desk = Desk(failing_on(1), (0, 1, 5), dead_letters=dead_letters)
    desk.handle()
    assert desk.broker.fates == {0: ACCEPT, 1: REJECT}
    assert desk.box.values == ([b"v0", b"v1"] if dead_letters else [])
    assert desk.tally.dead_lettered == (2 if dead_letters else 0)


def test_the_last_delivery_is_tried_although_no_copy_can_be_made() -> None:
    desk = Desk(succeed, (0, 1, 5), dead_letters=True)
    desk.box.is_away = True
    desk.handle()
    assert desk.broker.fates == {0: ACCEPT, 1: ACCEPT}
    assert desk.tally.failed


# ----------------------------------------------------------------------------------------------- acknowledgements


def test_what_the_broker_refuses_is_never_counted_as_accepted() -> None:
    desk = Desk(succeed, (0, 2, 1))
    desk.broker.refusal = InvalidRecordStateError("the lock was lost")
    assert desk.handle()
    assert desk.counts == (0, 0, 0, 3)
    assert desk.handler.is_fit
    assert not desk.tally.failed


def test_an_error_of_the_background_is_told_and_the_acknowledgements_are_sent_all_the_same() -> None:
    desk = Desk(succeed, (0, 2, 1))
    desk.broker.background = [BootstrapError("nobody there")]
    desk.handle()
    assert desk.counts == (3, 0, 0, 0)
    assert desk.tally.failed
    assert desk.handler.is_fit


def test_a_consumer_that_raises_again_and_again_is_not_fit_to_go_on() -> None:
    desk = Desk(succeed, (0, 2, 1))
    desk.broker.background = [BootstrapError("nobody there")] * 9
    desk.handle()
    assert desk.counts == (0, 0, 0, 3)
    assert not desk.handler.is_fit


def test_an_answer_that_does_not_come_in_time() -> None:
    class Slow:
        def commit_sync(self) -> CommitResult:
            raise OperationTimeoutError("no answer")

    tally, clock = Tally(), ManualClock()
    batch = ShareBatch(polled((0, 2, 1)))
    batch.accept_open()
    assert not Acknowledger(Slow(), tally, clock).send(batch.records)
    assert (tally.accepted, tally.lock_lost) == (0, 3)
    assert not tally.failed


def test_nothing_decided_is_nothing_sent() -> None:
    desk = Desk(succeed, (0, 2, 1))
    assert Acknowledger(desk.broker, desk.tally, ManualClock()).send(desk.batch.records)
    assert desk.broker.sent == []
