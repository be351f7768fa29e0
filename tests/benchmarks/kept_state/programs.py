"""Programs about engines, each for a process of its own: `python -m tests.benchmarks.kept_state.programs NAME NUMBERS`.

They use no broker, and print their figures as JSON.
"""

import json
import random
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from kafka_groups.net.clock import SystemClock
from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.streams import StreamsBuilder, TimeWindows, serdes, stores
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.machine import boot_id
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.engines.questions import answers
from kafka_groups.streams.engines.shared_memory import SharedEngine
from kafka_groups.streams.queries.committed import committed_view
from kafka_groups.streams.state.engine import Engine, EngineStatus, KeyedBytes
from kafka_groups.streams.state.opened_state import open_state
from kafka_groups.streams.state.state_store import RecordContext, StoreSurroundings
from kafka_groups.streams.tasks.stream_task import StreamTask
from kafka_groups.streams.topology.context import open_view
from kafka_groups.streams.topology.node_graph import TopologyStore
from kafka_groups.types import TaskId
from tests.benchmarks.state_program import one_task, resident_bytes

__all__ = ["PROGRAMS"]

_BATCH: Final = 10_000
_NOW_MS: Final = 1_790_000_000_000
_NUMBER: Final = struct.Struct(">q")
_WINDOW_MS: Final = 600_000  # longer than the shortest segment, which would decide otherwise
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_UPDATES_PER_MS: Final = 10
_SPREAD: Final = 7_919_317
"""A prime number: keys that come one after the other are far apart."""


def opening(tasks: int) -> Mapping[str, float]:
    """Milliseconds in which the files of a task are made, and in which they are opened again."""
    with TemporaryDirectory() as folder:
        made, again = (_opened_ms(Path(folder), tasks) for _ in range(2))
    return {"made_ms": made, "opened_ms": again}


def _opened_ms(folder: Path, tasks: int) -> float:
    engines = DiskEngines(folder, boot_id(), SystemClock())
    store = stores.key_value("counts", serdes.string, serdes.int64, persistent=True)
    began_s = time.perf_counter()
    found = [engines.open(TaskId("0", number), [store]) for number in range(tasks)]
    took_s = time.perf_counter() - began_s
    for engine in found:
        assert engine is not None, "the files are in use"
        engine.commit({"counts": {b"key": _NUMBER.pack(1)}})
        engine.close()
    return took_s / tasks * 1e3


def view(rows: int, questions: int) -> Mapping[str, float]:
    """Microseconds of a `get` by a view of a window store in memory that has so many rows."""
    store = stores.window("visits", serdes.string, serdes.int64, size=_HOUR, retention=_DAY)
    engine, record = SharedEngine(), RecordContext()
    state = open_state(store, StoreSurroundings(topic="t", engine=engine, record=record, is_caching=False))
    filled: Any = open_view(state, record)
    for number in range(rows):
        filled.put(f"key-{number}", number, _NOW_MS)
    engine.commit(state.changes(), notes=state.notes())
    engine.set_status(EngineStatus.ACTIVE)
    having = [(TaskId("0", 0), engine)]
    asked = committed_view(TopologyStore(definition=store), "app", lambda each: answers(each, store, having, 1))
    began_s = time.process_time()
    for number in range(questions):
        assert asked.get(f"key-{number % rows}", _NOW_MS) == number % rows
    return {"get_us": (time.process_time() - began_s) / questions * 1e6}


def updates(count: int, keys: int) -> Mapping[str, float]:
    """Bytes of files, and of the rows in them that have not expired, after updates of windowed counts."""
    with TemporaryDirectory() as folder, closing(LmdbEngine(Path(folder))) as engine:
        task = _windowed(engine)
        for batch in _windowed_updates(count, keys):
            _apply(task, batch)
        files = sum(each.stat().st_blocks * 512 for each in Path(folder).iterdir())
        last_ms = _NOW_MS + count // _UPDATES_PER_MS
        live = sum(len(key) + len(value) for key, value in _rows(engine) if _started_ms(key) > last_ms - 2 * _WINDOW_MS)
    return {"file_bytes": files, "live_bytes": live}


def _windowed(engine: Engine) -> StreamTask:
    builder = StreamsBuilder()
    size = timedelta(milliseconds=_WINDOW_MS)
    clicks = builder.stream("clicks", key=serdes.string, value=serdes.string).group_by_key()
    clicks.windowed_by(TimeWindows(size, grace=size)).count(store="counts")
    return one_task(builder, engine)


def _windowed_updates(count: int, keys: int) -> Iterator[ChangelogBatch]:
    chosen = random.Random(1)
    for first in range(0, count, _BATCH):
        now_ms = _NOW_MS + first // _UPDATES_PER_MS
        place = struct.pack(">qi", now_ms - now_ms % _WINDOW_MS, 0)
        numbers = [chosen.randrange(keys) for _ in range(_BATCH)]
        yield _batch(first, [b"key-%07d" % number + place for number in numbers], _NUMBER.pack(first), now_ms)


def _rows(engine: LmdbEngine) -> Iterator[KeyedBytes]:
    for name in engine.tables("counts@"):
        yield from engine.table(name).scan(b"", None)


def _started_ms(row: bytes) -> int:
    started_ms: int = _NUMBER.unpack_from(row, len(row) - 12)[0]
    return started_ms


def memory(keys: int, value_bytes: int) -> Mapping[str, float]:
    """Resident bytes, without pages of files, that a store on disk adds, and bytes of its files."""
    builder = StreamsBuilder()
    builder.table("texts", key=serdes.string, value=serdes.string, store="texts")
    with TemporaryDirectory() as folder, closing(LmdbEngine(Path(folder))) as engine:
        task = one_task(builder, engine)
        before = resident_bytes()
        for first in range(0, keys, _BATCH):
            found = [b"key-%07d" % (number * _SPREAD % keys) for number in range(first, first + _BATCH)]
            _apply(task, _batch(first, found, b"v" * value_bytes, _NOW_MS))
        grown = resident_bytes() - before
        return {"bytes": grown, "file_bytes": sum(each.stat().st_blocks * 512 for each in Path(folder).iterdir())}


def _batch(first: int, keys: list[bytes], value: bytes, time_ms: int) -> ChangelogBatch:
    length = len(keys)
    return ChangelogBatch(range(first, first + length), keys, [value] * length, [time_ms] * length)


def _apply(task: StreamTask, batch: ChangelogBatch) -> None:
    (place,) = task.changelog_partitions
    task.apply(place, batch, batch.offsets[-1] + 1)


PROGRAMS: Final[Mapping[str, Callable[..., Mapping[str, float]]]] = {
    "opening": opening,
    "view": view,
    "updates": updates,
    "memory": memory,
}


def main() -> None:
    """Run one of the programs."""
    name, *numbers = sys.argv[1:]
    print(json.dumps(PROGRAMS[name](*map(int, numbers))), flush=True)


if __name__ == "__main__":
    main()
