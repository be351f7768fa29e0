"""Restores a store of a task from records: `python -m tests.benchmarks.state_program KIND KEYS`.

Prints, as JSON, the resident memory that the keys have added, and the processor time in which they were applied. The
records are made as the consumer hands them over. That they are fetched from brokers is not a part of it.
"""

import json
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from kafka_groups.streams import SessionWindows, StreamsBuilder, TimeWindows, serdes
from kafka_groups.streams.processors.extractors import fail_on_invalid
from kafka_groups.streams.runtime.settings import WorkerSettings
from kafka_groups.streams.runtime.shared_engine import SharedEngine
from kafka_groups.streams.tasks.task import StreamTask, TaskSettings
from kafka_groups.types import FetchedRecord, Headers, TaskId

__all__ = ["KINDS"]

_HOUR: Final = timedelta(hours=1)
_NO_GRACE: Final = timedelta(0)
_NOW_MS: Final = 1_790_000_000_000
_SLICE: Final = 1_000
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


class _NoSinks:
    """Refuses records of sinks: nothing is processed during a restoration."""

    def partitions(self, topic: str) -> int:
        """Refuse."""
        raise AssertionError(topic)

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
    ) -> None:
        """Refuse."""
        raise AssertionError(topic, key, value, timestamp_ms, headers, partition)


def task(kind: str) -> StreamTask:
    """Return a task with an empty store."""
    builder = StreamsBuilder()
    _BY[kind](builder.stream("clicks", key=serdes.string, value=serdes.string).group_by_key()).count(store="counts")
    settings = TaskSettings(topology=builder.build().graph, application_id="app", extractor=fail_on_invalid)
    (group,) = WorkerSettings(tasks=settings).groups().values()
    no_sinks: Any = _NoSinks()
    return StreamTask(TaskId("0", 0), group, settings, SharedEngine(), no_sinks, {})


def slices(kind: str, keys: int) -> Iterator[list[FetchedRecord]]:
    """Yield the records of the changelog: keys of 11 characters, and counts."""
    place, pack = _PLACES[kind], _COUNT.pack
    for first in range(0, keys, _SLICE):
        yield [
            FetchedRecord(number, b"key-%07d" % number + place, pack(number), _NOW_MS)
            for number in range(first, min(first + _SLICE, keys))
        ]


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def main() -> None:
    """Restore, and print the figures."""
    kind, keys = sys.argv[1], int(sys.argv[2])
    restored = task(kind)
    (place,) = restored.changelog_partitions
    restored.apply(place.topic, next(slices(kind, 1)))
    before, seconds = resident_bytes(), 0.0
    for records in slices(kind, keys):
        begun = time.process_time()
        restored.apply(place.topic, records)
        seconds += time.process_time() - begun
    print(json.dumps({"bytes": resident_bytes() - before, "processor_seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
