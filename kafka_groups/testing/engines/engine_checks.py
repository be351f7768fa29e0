"""Checks of an engine that are not random: statuses, queries of other threads, wipes, positions that are left."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from kafka_groups.streams.engines.interface import TaskEngine
from kafka_groups.streams.errors import InvalidStateStoreError, StateStoreMigratedError, StoreNotAvailableError
from kafka_groups.streams.state.engine import EngineReader, EngineStatus
from kafka_groups.testing.engines.engine_failure import EngineTestError, ensure, expect
from kafka_groups.testing.engines.trial import DEFINITIONS, KEPT, OTHER_TASK, TASK, VOLATILE, EngineTrial
from kafka_groups.types import TopicPartition

__all__ = ["CHECKS"]

_PLACE: Final = TopicPartition("changelog", 0)
_PATIENCE_S: Final = 30.0


@contextmanager
def _another_thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


def _refused(error: type[InvalidStateStoreError], engine: TaskEngine, *, allows_stale: bool) -> None:
    try:
        with engine.moment(KEPT, allows_stale=allows_stale):
            pass
    except error:
        return
    raise EngineTestError(f"moment(allows_stale={allows_stale}) should raise {error.__name__}")


def statuses(trial: EngineTrial) -> None:
    """Queries are answered by the status, and not at all after the end."""
    engine = trial.open()
    engine.commit({KEPT: {b"k": b"v"}})
    engine.set_status(EngineStatus.RESTORING)
    _refused(StoreNotAvailableError, engine, allows_stale=False)
    engine.set_status(EngineStatus.STANDBY)
    _refused(StateStoreMigratedError, engine, allows_stale=False)
    for status in (EngineStatus.RESTORING, EngineStatus.STANDBY):
        engine.set_status(status)
        expect(f"A stale read while {status.value}", _asked(engine, allows_stale=True), b"v")
    engine.set_status(EngineStatus.ACTIVE)
    expect("A read while active", _asked(engine), b"v")
    ensure("is_open is true before close", holds=engine.is_open)
    engine.close()
    engine.close()  # which may happen
    ensure("is_open is false after close", holds=not engine.is_open)
    for allows_stale in (False, True):
        _refused(StateStoreMigratedError, engine, allows_stale=allows_stale)


def _asked(engine: TaskEngine, *, allows_stale: bool = False) -> bytes | None:
    def ask() -> bytes | None:
        with engine.moment(KEPT, allows_stale=allows_stale) as reader:
            return reader.table(KEPT).get(b"k")

    with _another_thread() as threads:
        return threads.submit(ask).result(_PATIENCE_S)


def moments(trial: EngineTrial) -> None:
    """All that a query of another thread reads in a moment was committed at one time, however long it takes."""
    engine = trial.open()
    engine.commit({KEPT: {b"k": b"1"}, f"{KEPT}@1": {b"k": b"1"}}, notes={f"{KEPT}#n": b"1"})
    reading, may_go_on = threading.Event(), threading.Event()

    def ask() -> list[object]:
        with engine.moment(KEPT) as reader:
            first = _seen(reader)
            reading.set()
            may_go_on.wait(_PATIENCE_S)
            return [first, _seen(reader)]

    def commit() -> None:
        engine.commit({KEPT: {b"k": b"2"}, f"{KEPT}@1": None}, notes={f"{KEPT}#n": b"2"})

    with _another_thread() as queries, _another_thread() as workers:
        asking = queries.submit(ask)
        reading.wait(_PATIENCE_S)
        committing = workers.submit(commit)  # it may wait for the query
        _settled(committing)
        may_go_on.set()
        expected = (b"1", [(b"k", b"1")], b"1")
        expect("What a query reads in one moment", asking.result(_PATIENCE_S), [expected, expected])
        committing.result(_PATIENCE_S)
    with engine.moment(KEPT) as reader:
        expect("What the next query reads", _seen(reader), (b"2", [], b"2"))


def _seen(reader: EngineReader) -> tuple[object, object, object]:
    segment = list(reader.table(f"{KEPT}@1").scan(b"", None))
    return reader.table(KEPT).get(b"k"), segment, reader.notes.get(f"{KEPT}#n")


def _settled(future: "Future[None]") -> None:
    """Give a commit time to do what it must not do."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    done.wait(0.05)


def wipes(trial: EngineTrial) -> None:
    """A wipe leaves nothing of a task, and everything of the others and of the global stores."""
    for each in (trial.open(), trial.open(OTHER_TASK), trial.open_global({"topic": DEFINITIONS[0]})):
        each.commit({KEPT: {b"k": b"v"}}, {_PLACE: 3}, {f"{KEPT}#n": b"1"})
    trial.restart()
    trial.factory.wipe(TASK)
    trial.factory.wipe(TASK)  # nothing is left to delete
    _is_empty(trial.open())
    kept = [(b"k", b"v")] if trial.outlasts else []
    for engine in (trial.open(OTHER_TASK), trial.open_global({"topic": DEFINITIONS[0]})):
        expect("What a wipe of another task leaves", list(engine.table(KEPT).scan(b"", None)), kept)
    trial.restart()
    trial.factory.wipe_global()
    _is_empty(trial.open_global({"topic": DEFINITIONS[0]}))


def _is_empty(engine: TaskEngine) -> None:
    expect("What a wipe leaves", list(engine.table(KEPT).scan(b"", None)), [])
    expect("The tables after a wipe", engine.tables(""), [])
    expect("The positions after a wipe", dict(engine.positions), {})
    expect("The notes after a wipe", dict(engine.notes), {})


def left_positions(trial: EngineTrial) -> None:
    """The factory tells the sum of the positions of tasks that are not open, and of no others."""
    expect("The positions that are left at first", trial.factory.positions_left().get(TASK, 0), 0)
    engine = trial.open()
    engine.commit({KEPT: {b"k": b"v"}}, {_PLACE: 3, TopicPartition("changelog", 1): 4})
    ensure("positions_left leaves out a task that is open", holds=TASK not in trial.factory.positions_left())
    trial.open_global({"topic": DEFINITIONS[0]}).commit({KEPT: {b"k": b"v"}}, {TopicPartition("topic", 0): 9})
    trial.restart()
    expected = {TASK: 7} if trial.outlasts else {}
    found = {task: offset for task, offset in trial.factory.positions_left().items() if offset}
    expect("The positions that are left", found, expected)
    trial.open()
    ensure("positions_left leaves out a task that is open again", holds=TASK not in trial.factory.positions_left())


def openings(trial: EngineTrial) -> None:
    """Openings may be given up, whether they were begun or not, and tidying deletes nothing that was used just now."""
    trial.factory.give_up(TASK)
    trial.factory.give_up_global()
    trial.open().commit({KEPT: {b"k": b"v"}, VOLATILE: {b"k": b"v"}}, {_PLACE: 3})
    trial.factory.tidy()
    trial.restart()
    trial.factory.give_up(TASK)
    trial.factory.tidy()
    engine = trial.open()
    expect("The positions after give_up and tidy", dict(engine.positions), {_PLACE: 3} if trial.outlasts else {})
    ensure("is_damaged is false while nothing is damaged", holds=not engine.is_damaged)


CHECKS: Final[dict[str, Callable[[EngineTrial], None]]] = {
    each.__name__: each for each in (statuses, moments, wipes, left_positions, openings)
}
"""The checks, by their names."""
