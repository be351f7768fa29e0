"""Topics that are deleted and made again while an application on our own engine reads and writes them.

No record that is written to the new topics is lost, and with exactly-once none is there twice. Java loses nothing of
sources and repartition topics. A changelog has the only copy of its rows, so the application says what is lost.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest

from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.partitioning import partition_of
from kafka_groups.streams import InvalidStateStoreError, StreamsBuilder, serdes
from kafka_groups.streams.aio import AsyncKafkaStreams
from tests.support.application_programs import Guarantee, also_on_older_kafkas, at_once, compacted, guarantees
from tests.support.application_scene import NOW_MS, PATIENCE_S, ApplicationScene, copying, numbered
from tests.support.conditions import until
from tests.support.targets import Target
from tests.support.topic_reader import topic_reader

pytestmark = pytest.mark.slow

pauses = pytest.mark.parametrize("pause_s", [0.0, pytest.param(0.5, marks=pytest.mark.long), 2.0])
"""The time without the topic."""


class Scene(ApplicationScene):
    """Without a classic group, whose leader ends the application when a source is away, as in Java."""

    has_group = False


@also_on_older_kafkas
@guarantees
@pauses
async def test_a_source(target: Target, guarantee: Guarantee, pause_s: float) -> None:
    async with topic_reader(target) as reader:
        scene = Scene(target, reader, guarantee)
        await scene.make("in")
        await scene.make("out")
        old, new = numbered("old", 10), numbered("new", 30)
        async with scene.application(copying) as app:
            await scene.give(*old)
            await scene.until_written(*old, app=app)
            await scene.delete("in")
            await asyncio.sleep(pause_s)
            await scene.make_again("in", {"retention.ms": "-1"})
            await scene.give(*new)
            await scene.until_written(*old, *new, app=app)


def repartitioning(builder: StreamsBuilder, scene: ApplicationScene) -> None:
    read = builder.stream(scene.topic("in"), key=serdes.bytes_, value=serdes.bytes_)
    read.repartition(name="again", partitions=1).to(scene.topic("out"), key=serdes.bytes_, value=serdes.bytes_)


@also_on_older_kafkas
@guarantees
@pauses
async def test_a_repartition_topic(target: Target, guarantee: Guarantee, pause_s: float) -> None:
    async with topic_reader(target) as reader:
        scene = Scene(target, reader, guarantee)
        await scene.make("in")
        await scene.make("out")
        old, away, new = numbered("old", 20), numbered("away", 20), numbered("new", 20)
        async with scene.application(repartitioning) as app:
            await scene.give(*old)
            await scene.until_written(*old, app=app)
            await scene.delete("again-repartition")
            await scene.give(*away)
            await asyncio.sleep(pause_s)
            await scene.make_again("again-repartition", {"retention.ms": "-1"})
            await scene.give(*new)
            await scene.until_written(*old, *away, *new, app=app)


@also_on_older_kafkas
@guarantees
@pauses
async def test_a_sink(target: Target, guarantee: Guarantee, pause_s: float) -> None:
    """What was confirmed before is gone with the old topic. All later records are written."""
    async with topic_reader(target) as reader:
        scene = Scene(target, reader, guarantee)
        await scene.make("in")
        await scene.make("out")
        old, away, new = numbered("old", 10), numbered("away", 10), numbered("new", 10)
        async with scene.application(copying) as app:
            await scene.give(*old)
            await scene.until_written(*old, app=app)
            await scene.delete("out")
            await scene.give(*away)
            await asyncio.sleep(pause_s)
            await scene.make_again("out", {"retention.ms": "-1"})
            await scene.give(*new)
            await scene.until_written(*away, *new, app=app)


def counting(builder: StreamsBuilder, scene: ApplicationScene) -> None:
    read = builder.stream(scene.topic("in"), key=serdes.string, value=serdes.string)
    counts = read.group_by_key().count(store="counts", caching=False)
    counts.to_stream().to(scene.topic("out"), key=serdes.string, value=serdes.int64)


def warnings_of_losses(records: list[logging.LogRecord]) -> Iterator[str]:
    """The warnings that name the store, with what to do."""
    for each in records:
        text = each.getMessage()
        if each.levelno >= logging.WARNING and "'counts'" in text and "with another application_id" in text:
            yield text


OLD = {"k0": 10, "k1": 10, "k2": 10}
KEPT, LOST, COUNTED_ON = {"k0": 20, "k1": 20, "k2": 10}, {"k0": 10, "k1": 10}, {"k0": 20, "k1": 20}
"""Rows that were kept; those of the new changelog alone; those that were counted on from kept ones, then read."""


async def rows_of(app: AsyncKafkaStreams, *, store: str = "counts", is_stale: bool = False) -> dict[str, object]:
    """What the tasks of an application have committed."""
    with suppress(InvalidStateStoreError):
        return dict(app.store(store, allow_stale=is_stale).all())
    return {}


async def rows_in_changelog(scene: ApplicationScene) -> dict[str, object]:
    log = compacted(await scene.reader.log(scene.topic("counts-changelog")))
    return {str(key, "ascii"): int.from_bytes(value or b"", "big") for rows in log for key, value, *_ in rows if key}


@also_on_older_kafkas
@guarantees
@pauses
async def test_a_changelog(
    target: Target, guarantee: Guarantee, pause_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    async with topic_reader(target) as reader:
        scene = Scene(target, reader, guarantee)
        await scene.make("in")
        await scene.make("out")
        async with scene.application(counting) as app:
            await scene.give(*numbered("old", 30), keys=3)
            await until(lambda: rows_in_changelog(scene), lambda it: it == OLD, PATIENCE_S)
            await scene.delete("counts-changelog")
            await asyncio.sleep(pause_s)
            await scene.make_again("counts-changelog", {"cleanup.policy": "compact"})
            await scene.give(*numbered("new", 20), keys=2)
            await until(scene.written, lambda it: len(it) == 50, PATIENCE_S)
            kept = await until(lambda: rows_of(app), lambda it: it in (KEPT, LOST, COUNTED_ON), PATIENCE_S)
            assert app.error is None
        assert list(warnings_of_losses(caplog.records)) != []
        logged = await rows_in_changelog(scene)
        assert logged.items() <= kept.items()
        async with scene.application(counting) as again:
            await again.wait_until_running(PATIENCE_S)
            assert await rows_of(again) == logged


@at_once
@guarantees
@pauses
async def test_a_changelog_that_a_standby_task_follows(target: Target, guarantee: Guarantee, pause_s: float) -> None:
    """The standby task has exactly the rows of the new changelog in the end."""
    async with topic_reader(target) as reader:
        scene = Scene(target, reader, guarantee)
        await scene.make("in")
        await scene.make("out")
        await target.cluster.set_group_config(scene.name, {"streams.num.standby.replicas": "1"})
        async with scene.application(counting) as one, scene.application(counting) as other:
            await scene.give(*numbered("old", 30), keys=3)
            for app in (one, other):
                await until(partial(rows_of, app, is_stale=True), lambda it: it == OLD, PATIENCE_S)
            await scene.delete("counts-changelog")
            await asyncio.sleep(pause_s)
            await scene.make_again("counts-changelog", {"cleanup.policy": "compact"})
            await scene.give(*numbered("new", 20), keys=2)
            await until(scene.written, lambda it: len(it) == 50, PATIENCE_S)
            await until(partial(states_of, scene, one, other), _is_settled, 60)
            assert (one.error, other.error) == (None, None)


def _is_settled(states: tuple[dict[str, object], ...]) -> bool:
    active, standby, changelog = states
    return active in (KEPT, LOST, COUNTED_ON) and standby == changelog


async def states_of(scene: ApplicationScene, *apps: AsyncKafkaStreams) -> tuple[dict[str, object], ...]:
    """The rows of the active task, those of the standby task, and those of the changelog."""
    active = [await rows_of(app) for app in apps]
    stale = [await rows_of(app, is_stale=True) for app in apps]
    at = next((at for at, rows in enumerate(active) if rows), 0)
    return stale[at], stale[1 - at], await rows_in_changelog(scene)


def enriching(builder: StreamsBuilder, scene: ApplicationScene) -> None:
    names = builder.global_table(scene.topic("names"), key=serdes.string, value=serdes.string, store="names")
    read = builder.stream(scene.topic("in"), key=serdes.string, value=serdes.string)
    joined = read.left_join(names, lambda text, name: f"{text}+{name}", on=lambda key, _: key)
    joined.to(scene.topic("out"), value=serdes.string)


@also_on_older_kafkas
@guarantees
@pauses
async def test_a_global_topic(
    target: Target, guarantee: Guarantee, pause_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    """The store has the rows of the new topic alone."""
    async with topic_reader(target) as reader:
        scene = Scene(target, reader, guarantee)
        for name in ("in", "names", "out"):
            await scene.make(name)
        await scene.give_records([NewRecord(b"old%d" % at, b"k%d" % at, NOW_MS) for at in range(2)], "names")
        async with scene.application(enriching) as app:
            await scene.give(b"a", b"b", keys=2)
            await scene.until_written(b"a+old0", b"b+old1", app=app)
            await scene.delete("names")
            await asyncio.sleep(pause_s)
            await scene.make_again("names", {"retention.ms": "-1"})
            await scene.give_records([NewRecord(b"new1", b"k1", NOW_MS)], "names")
            await until(partial(rows_of, app, store="names"), lambda it: it == {"k1": "new1"}, PATIENCE_S)
            await app.wait_until_running(PATIENCE_S)
            await scene.give(b"c", b"d", keys=2)
            await scene.until_written(b"a+old0", b"b+old1", b"c+None", b"d+new1", app=app)
        assert "The global stores are emptied and filled again from their topics" in caplog.text


@at_once
@guarantees
@pytest.mark.parametrize(("before", "after"), [(3, 1), (1, 3)])
@pytest.mark.parametrize("name", ["in", "out"])
async def test_a_topic_with_another_number_of_partitions(
    target: Target, guarantee: Guarantee, before: int, after: int, name: str
) -> None:
    """The application has no state, so it can follow a source and a sink that are made again in another size.

    Records that wait for the new topic keep the partition that was chosen for them, as in Java. If there is no such
    partition, they are processed again. All later records are where their keys belong.
    """
    async with topic_reader(target) as reader:
        scene = Scene(target, reader, guarantee)
        await scene.make("in", partitions=before if name == "in" else 1)
        await scene.make("out", partitions=before if name == "out" else 1)
        old, new, later = (numbered(prefix, 20) for prefix in ("old", "new", "later"))
        async with scene.application(copying) as app:
            await scene.give(*old, keys=10)
            await until(scene.written, lambda it: len(it) == 20, PATIENCE_S)
            await scene.delete(name)
            await scene.make(name, partitions=after)
            for given in (new, later):
                await scene.give(*given, keys=10)
                await until(scene.written, {*given}.issubset, PATIENCE_S)
            assert app.error is None
        log = await reader.log(scene.topic("out"))
        counts = Counter(row[1] for rows in log for row in rows)
        assert [counts[value] for value in later] == [1] * 20
        if guarantee == "exactly_once_v2":
            assert [counts[value] for value in new] == [1] * 20
        places = {row[0]: at for at, rows in enumerate(log) for row in rows if row[1] in later}
        assert places == {key: partition_of(key, len(log)) for key in (b"k%d" % at for at in range(10))}
