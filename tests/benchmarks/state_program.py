"""Restores a store of a task from records: `python -m tests.benchmarks.state_program KIND KEYS ENGINE ORDER`.

Prints, as JSON, the resident memory that the keys have added, without pages of files, the bytes of files, and the
processor time in which they were applied. The records are made as the consumer hands them over. That they are fetched
from brokers is not a part of it.
"""

import json
import random
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from kafka_groups.streams import SessionWindows, StreamsBuilder, TimeWindows, serdes
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.shared_memory import SharedEngine
from kafka_groups.streams.processors.extractors import fail_on_invalid
from kafka_groups.streams.runtime.gathered_records import LOADED_RECORDS
from kafka_groups.streams.runtime.settings import WorkerSettings
from kafka_groups.streams.state.engine import Engine
from kafka_groups.streams.tasks.stream_task import StreamTask, TaskSettings
from kafka_groups.types import FetchedRecord, Headers, TaskId
from tests.support.listed_records import changelog_batch

__all__ = ["ENGINES", "KINDS", "ORDERS"]

_HOUR: Final = timedelta(hours=1)
_NO_GRACE: Final = timedelta(0)
_NOW_MS: Final = 1_790_000_000_000
_COUNT: Final = struct.Struct(">q")

_BY: Final[Mapping[str, Callable[[Any], Any]]] = {
    "key-value": lambda grouped: grouped,
    "window": lambda grouped: grouped.windowed_by(TimeWindows(_HOUR, grace=_NO_GRACE)),
    "session": lambda grouped: grouped.windowed_by(SessionWindows(_HOUR, grace=_NO_GRACE)),
}
_PLACES: Final[Mapping[str, bytes]] = {
    "key-value": b"",
    "window": struct.pack(">qi", _NOW_MS, 0),
    "session": struct.pack(">qq", _NOW_MS, _NOW_MS),
}
KINDS: Final = tuple(_BY)
"""The stores: counts by key, by key and hour, and by session."""
ENGINES: Final = ("memory", "lmdb")
ORDERS: Final = ("sorted", "random")


class _NoSinks:
    """Refuses records of sinks: nothing is processed during a restoration."""

    refuses_later = False

    def partitions(self, topic: str) -> int:
        """Refuse."""
        raise AssertionError(topic)

    def send(  # noqa: PLR0917 - the parts of a record
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
        later: object = None,
    ) -> None:
        """Refuse."""
        raise AssertionError(topic, key, value, timestamp_ms, headers, partition, later)


def task(kind: str, engine: Engine) -> StreamTask:
    """Return a task with an empty store in an engine."""
    builder = StreamsBuilder()
    _BY[kind](builder.stream("clicks", key=serdes.string, value=serdes.string).group_by_key()).count(store="counts")
    return one_task(builder, engine)


def one_task(builder: StreamsBuilder, engine: Engine) -> StreamTask:
    """Return the first task of a topology with one sub-topology."""
    settings = TaskSettings(topology=builder.build().graph, application_id="app", extractor=fail_on_invalid)
    (group,) = WorkerSettings(tasks=settings).groups().values()
    return StreamTask(TaskId("0", 0), group, settings, engine, _NoSinks(), {})


def slices(kind: str, keys: int, order: str) -> Iterator[list[FetchedRecord]]:
    """Yield the records of the changelog: keys of 11 characters, and counts. As many as a load has."""
    place, pack = _PLACES[kind], _COUNT.pack
    numbers = list(range(keys))
    if order == "random":
        random.Random(1).shuffle(numbers)
    for first in range(0, keys, LOADED_RECORDS):
        yield [
            FetchedRecord(first + at, b"key-%07d" % number + place, pack(number), _NOW_MS)
            for at, number in enumerate(numbers[first : first + LOADED_RECORDS])
        ]


def resident_bytes() -> int:
    """Return the resident memory of this process, without pages of files, which the system can take back."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024


@contextmanager
def opened(engine: str) -> Iterator[tuple[Engine, Path | None]]:
    """Open an engine, and tell where its files are."""
    if engine == "memory":
        yield SharedEngine(), None
        return
    with TemporaryDirectory() as folder:
        made = LmdbEngine(Path(folder))
        try:
            yield made, Path(folder)
        finally:
            made.close()


def main() -> None:
    """Restore, and print the figures."""
    kind, keys, engine, order = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    with opened(engine) as (made, folder):
        restored = task(kind, made)
        (place,) = restored.changelog_partitions
        restored.apply(place, changelog_batch(next(slices(kind, 1, order))), 1)
        before, seconds = resident_bytes(), 0.0
        for records in slices(kind, keys, order):
            begun = time.process_time()
            restored.apply(place, changelog_batch(records), records[-1].offset + 1)
            seconds += time.process_time() - begun
        files = 0 if folder is None else sum(each.stat().st_blocks * 512 for each in folder.iterdir())
        found = {"bytes": resident_bytes() - before, "files": files, "processor_seconds": seconds}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
