"""Sinks that take small batches only, or not every record: an application on our own engine writes all others."""

from functools import partial
from typing import Any

import pytest

from kafka_groups.errors import InvalidRecordError, InvalidTimestampError, MessageTooLargeError
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.streams import ErrorContext, ErrorResponse, Record
from tests.support.application_programs import Guarantee, also_on_older_kafkas, guarantees
from tests.support.application_scene import NOW_MS, PATIENCE_S, ApplicationScene, copying
from tests.support.conditions import until
from tests.support.targets import Target
from tests.support.topic_reader import topic_reader

pytestmark = pytest.mark.slow

_TOPIC_RESOURCE = 2
FAR = {"message.timestamp.after.max.ms": str(2**63 - 1)}
"""For a source with records of the future."""


class Refusals:
    """A production handler that skips records and notes them, with the offsets that they come from."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, object, type[Exception]]] = []

    def __call__(self, context: ErrorContext, record: Record[Any, Any], error: Exception) -> ErrorResponse:
        self.seen.append((context.offset, record.value, type(error)))
        return ErrorResponse.RESUME


async def settled(scene: ApplicationScene, refusals: Refusals) -> int:
    """The number of records that are written or refused."""
    return len(await scene.written()) + len(refusals.seen)


def texts(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


@also_on_older_kafkas
@guarantees
async def test_all_records_reach_a_sink_with_small_batches(target: Target, guarantee: Guarantee) -> None:
    """Java's producer divides batches, too. None of 1,000 was written with librdkafka."""
    async with topic_reader(target) as reader:
        scene = ApplicationScene(target, reader, guarantee)
        await scene.make("in")
        await scene.make("out", {"max.message.bytes": "10000"})
        given, refusals = [b"%04d" % number * 25 for number in range(1_000)], Refusals()
        async with scene.application(copying, production_exception_handler=refusals) as app:
            await scene.give(*given)
            await scene.until_written(*given, app=app)
        assert refusals.seen == []


@also_on_older_kafkas
@guarantees
async def test_a_limit_that_is_lowered_while_the_application_runs(target: Target, guarantee: Guarantee) -> None:
    """Batches are divided, and a record that is too large for itself is the handler's."""
    async with topic_reader(target) as reader:
        scene = ApplicationScene(target, reader, guarantee)
        await scene.make("in")
        await scene.make("out")
        given, refusals = [b"%04d" % number * 25 for number in range(1_000)], Refusals()
        async with scene.application(copying, production_exception_handler=refusals) as app:
            await scene.give(*given[:500])
            await scene.until_written(*given[:500], app=app)
            result = await target.cluster.alter_config(
                _TOPIC_RESOURCE, scene.topic("out"), {"max.message.bytes": "5000"}
            )
            assert not result.error_code
            while not refusals.seen:  # a broker may act on the change a little later
                before = len(await scene.written()) + len(refusals.seen)
                await scene.give(b"L" * 6_000)
                await until(partial(settled, scene, refusals), before.__lt__, PATIENCE_S)
            await scene.give(*given[500:], b"L" * 6_000)
            await until(scene.written, lambda it: it[-1:] == given[-1:], PATIENCE_S)
        assert [value for value in await scene.written() if value != b"L" * 6_000] == given
        assert [each[1:] for each in refusals.seen] == [(b"L" * 6_000, MessageTooLargeError)] * 2


@also_on_older_kafkas
@guarantees
async def test_one_record_without_a_key_for_a_compacted_sink(target: Target, guarantee: Guarantee) -> None:
    """Java drops all records of the batch."""
    async with topic_reader(target) as reader:
        scene = ApplicationScene(target, reader, guarantee)
        await scene.make("in")
        await scene.make("out", {"cleanup.policy": "compact"})
        given, refusals = texts(100), Refusals()
        async with scene.application(copying, production_exception_handler=refusals) as app:
            await scene.give_records([
                NewRecord(value, None if at == 40 else b"k%d" % at, NOW_MS + at) for at, value in enumerate(given)
            ])  # fmt: skip
            await scene.until_written(*given[:40], *given[41:], app=app)
        assert refusals.seen == [(40, given[40], InvalidRecordError)]


@also_on_older_kafkas
@guarantees
async def test_one_record_of_the_future(target: Target, guarantee: Guarantee) -> None:
    async with topic_reader(target) as reader:
        scene = ApplicationScene(target, reader, guarantee)
        await scene.make("in", FAR)
        await scene.make("out", {"message.timestamp.after.max.ms": "1000"})
        given, refusals = texts(100), Refusals()
        async with scene.application(copying, production_exception_handler=refusals) as app:
            await scene.give_records([
                NewRecord(value, b"k", NOW_MS * 2 if at == 40 else NOW_MS + at) for at, value in enumerate(given)
            ])  # fmt: skip
            await scene.until_written(*given[:40], *given[41:], app=app)
        assert refusals.seen == [(40, given[40], InvalidTimestampError)]
