"""Commits of a worker whose transactions our own engine writes, on the embedded cluster in virtual time."""

from typing import Any

import pytest

from kafka_groups.broker.faults import DROP_CONNECTION, DROP_RESPONSE, delay
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.end_txn import EndTxnRequest
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.streams import StreamsError
from kafka_groups.streams.tasks.error_context import ErrorHandler, ErrorResponse
from tests.unit.streams.runtime.engine_application import LETTERS, SINK, SOURCE, TASK, Application, simulated

LEVELS = pytest.mark.parametrize("level", [1, 2])
ROUND_TRIP_MS = 100
ENDING = (ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.PRODUCE, ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN)
TOO_LARGE = b"x" * 3_000


def answering(*responses: ErrorResponse, asked: list[bytes] | None = None) -> ErrorHandler:
    """A production handler with these answers in their order, and the last one from then on."""
    left = [*responses]

    def handler(_context: object, record: Any, _error: Exception) -> ErrorResponse:
        if asked is not None:
            asked.append(record.value)
        return left.pop(0) if len(left) > 1 else left[0]

    return handler


# ---------------------------------------------------------------------------------------------- round trips


@LEVELS
def test_a_commit_takes_two_round_trips(level: int) -> None:
    async def scene(application: Application) -> None:
        await application.process(b"1")
        await application.commit()
        await application.process(b"2")
        await application.plane.rest(1_000)  # the transaction is open, as it is in an application after a while
        for api in ENDING:
            application.world.cluster.faults.on(api, delay(ROUND_TRIP_MS))
        await application.world.produce([NewRecord(b"3", b"k", application.clock.wall_ms())])
        await application.plane.rest(1_000)
        application.request_commit()
        took_ms = await application.turn()
        assert not any(each.is_dirty for each in application.worker.tasks.values())
        assert 2 * ROUND_TRIP_MS <= took_ms < 2.5 * ROUND_TRIP_MS
        assert await application.written() == [b"1", b"2", b"3"]
        assert await application.offset() == 3

    simulated(scene, level)


def test_a_transaction_of_offsets_alone_takes_two_round_trips() -> None:
    async def scene(application: Application) -> None:
        await application.process(b"1")
        await application.commit()
        for api in ENDING:
            application.world.cluster.faults.on(api, delay(ROUND_TRIP_MS))
        for task in application.worker.tasks.values():
            task.is_dirty = True  # as after records that have no results
        application.request_commit()
        assert 2 * ROUND_TRIP_MS <= await application.turn() < 2.5 * ROUND_TRIP_MS

    simulated(scene)


# ------------------------------------------------------------------------------------------ refused records


@LEVELS
def test_a_refused_record_that_is_skipped_is_committed_with_the_others(level: int) -> None:
    asked: list[bytes] = []

    async def scene(application: Application) -> None:
        await application.process(b"1", TOO_LARGE, b"2")
        await application.commit()
        assert asked == [TOO_LARGE]
        assert await application.written() == [b"1", b"2"]
        assert await application.offset() == 3

    simulated(scene, level, answering(ErrorResponse.RESUME, asked=asked))


@LEVELS
def test_a_dead_letter_is_in_the_transaction_whose_offsets_were_sent_before_it(level: int) -> None:
    async def scene(application: Application) -> None:
        ends = application.world.requests(ApiKey.END_TXN)
        stored = application.world.requests(ApiKey.TXN_OFFSET_COMMIT)
        await application.process(b"1", TOO_LARGE, b"2")
        assert (ends, stored) == ([], [])
        await application.commit()
        assert await application.written(SINK, LETTERS) == [b"1", b"2", TOO_LARGE]
        assert await application.offset() == 3
        assert [end.committed for end in ends] == [True]
        assert len(stored) == 1

    simulated(scene, level, answering(ErrorResponse.DEAD_LETTER))


@LEVELS
def test_a_record_that_the_handler_fails_on_aborts_the_transaction_with_its_offsets(level: int) -> None:
    async def scene(application: Application) -> None:
        ends = application.world.requests(ApiKey.END_TXN)
        stored = application.world.requests(ApiKey.TXN_OFFSET_COMMIT)
        await application.process(b"1", TOO_LARGE, b"2")
        application.request_commit()
        application.is_clean = False
        with pytest.raises(StreamsError, match="cannot write to sink"):
            await application.until(lambda: False)
        assert len(stored) == 1
        await application.worker.close(is_clean=False)
        assert [end.committed for end in ends] == [False]
        assert await application.written() == []
        assert await application.offset() is None

    simulated(scene, level, answering(ErrorResponse.FAIL))


# ---------------------------------------------------------------------------------- what happens in between


@LEVELS
def test_a_commit_without_an_answer_is_repeated_with_the_same_offsets(level: int) -> None:
    async def scene(application: Application) -> None:
        await application.process(b"1")
        rule = application.world.cluster.faults.on(ApiKey.END_TXN, DROP_RESPONSE, times=1)
        application.request_commit()
        await application.until(lambda: rule.hits)
        await application.commit()
        await application.process(b"2")
        await application.commit()
        assert await application.written() == [b"1", b"2"]
        assert await application.offset() == 2

    simulated(scene, level)


@LEVELS
@pytest.mark.parametrize("away", [ApiKey.PRODUCE, ApiKey.TXN_OFFSET_COMMIT])
def test_a_task_that_is_lost_while_its_commit_is_pending_takes_its_offsets_along(level: int, away: ApiKey) -> None:
    """The offsets are stored in the transaction, and the records are not, or the other way round."""

    async def scene(application: Application) -> None:
        await application.process(b"1")
        await application.commit()
        ends: list[EndTxnRequest] = application.world.requests(ApiKey.END_TXN)
        stored = application.world.requests(ApiKey.TXN_OFFSET_COMMIT)
        faults = application.world.cluster.faults
        rule = faults.on(away, DROP_CONNECTION, when=lambda request: request.transactional_id == "id")
        await application.process(b"2")
        application.request_commit()
        await application.until(lambda: rule.hits and stored)
        await application.plane.rest(1_000)
        application.member.is_lost = True
        application.member.lose(TASK)
        await application.until(lambda: not application.worker.tasks)
        assert not any(end.committed for end in ends)
        application.world.cluster.faults.clear()
        application.member.is_lost = False
        assert await application.offset() == 1
        application.member.assign(TASK)
        await application.until(lambda: application.worker.tasks and application.worker.is_running)
        await application.until(lambda: any(each.is_dirty for each in application.worker.tasks.values()))
        await application.commit()
        assert await application.written() == [b"1", b"2"]
        assert await application.offset() == 2

    simulated(scene, level)


def test_offsets_that_were_sent_stay_as_they_are_while_the_commit_is_pending() -> None:
    """A partition that begins elsewhere in the meantime, because its log has lost its next offset, is no part of it."""

    async def scene(application: Application) -> None:
        await application.process(b"1", b"2")
        rule = application.world.cluster.faults.on(ApiKey.PRODUCE, DROP_CONNECTION)
        application.request_commit()
        await application.until(lambda: rule.hits)
        (task,) = application.worker.tasks.values()
        (queue,) = task.task.queues.values()
        queue.position = 7
        application.world.cluster.faults.clear()
        await application.until(lambda: task.committed == {SOURCE: 2})
        assert await application.offset() == 2
        application.request_commit()
        await application.until(lambda: task.committed == {SOURCE: 7})
        assert await application.offset() == 7

    simulated(scene)


def test_a_log_that_was_truncated_while_its_commit_was_pending_is_committed_again() -> None:
    async def scene(application: Application) -> None:
        await application.process(b"1", b"2")
        rule = application.world.cluster.faults.on(ApiKey.PRODUCE, DROP_CONNECTION)
        application.request_commit()
        await application.until(lambda: rule.hits)
        (task,) = application.worker.tasks.values()
        (queue,) = task.task.queues.values()
        queue.leave_log()
        queue.position, queue.is_former = 1, False  # it goes on there
        application.world.cluster.faults.clear()
        await application.until(lambda: not application.worker._commits.is_pending)
        assert task.committed == {}, "purging must not go by an offset of the log before"
        assert task.is_dirty
        await application.commit()
        assert task.committed == {SOURCE: 1}
        assert await application.offset() == 1

    simulated(scene)
