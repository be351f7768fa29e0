"""Programs that handle records, each in a process of its own: with a worker, or written by hand over a consumer.

`python -m tests.benchmarks.workers.programs KIND BOOTSTRAP TOPIC GROUP RECORDS` handles so many records with a function
that does nothing, and prints the records and the seconds from the first one on as JSON.
"""

import asyncio
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import count
from typing import Any

from attrs import define, field

from kafka_groups import AcknowledgeType, AsyncKafkaShareConsumer, KafkaShareConsumer, Worker

__all__ = ["PROGRAMS", "Meter", "begin_stop", "consumer_of", "run_program"]

_THREADS = 16
_TASKS = 100
_TIMEOUT_S = 300.0


@define
class Meter:
    """Counts records, from the first one on.

    Attributes:
        wanted: How many there are.
        done: Set with the last.
    """

    wanted: int
    done: threading.Event = field(factory=threading.Event)
    _next: Callable[[], int] = field(factory=lambda: count(1).__next__)
    _began: float = 0.0
    _ended: float = 0.0

    def one(self) -> None:
        """Count a record."""
        number = self._next()
        if number == 1:
            self._began = time.perf_counter()
        elif number == self.wanted:
            self._ended = time.perf_counter()
            self.done.set()

    def result(self) -> dict[str, float]:
        """Return what it took."""
        if not self.done.wait(_TIMEOUT_S):
            raise TimeoutError(f"{self.wanted} records were not there after {_TIMEOUT_S} s")
        return {"records": self.wanted - 1, "seconds": self._ended - self._began, "cpu_seconds": time.process_time()}


def consumer_of(servers: str, group: str, **more: Any) -> KafkaShareConsumer[bytes, bytes]:
    """Return a consumer that acknowledges each record."""
    return KafkaShareConsumer(
        bootstrap_servers=servers, group_id=group, acknowledgement_mode="explicit", auto_renew=True, **more
    )


def bare_loop(servers: str, topic: str, group: str, meter: Meter) -> None:
    """A poll loop in explicit mode that accepts each record."""
    one = meter.one
    with consumer_of(servers, group) as consumer:
        consumer.subscribe([topic])
        while not meter.done.is_set():
            for record in consumer.poll(timeout=1.0):
                if record.value is not None:
                    one()
                consumer.acknowledge(record, AcknowledgeType.ACCEPT)
        consumer.commit_sync()


def thread_pool(servers: str, topic: str, group: str, meter: Meter) -> None:
    """The how-to's program: a ThreadPoolExecutor, and a consumer that holds what it runs."""
    running: dict[Future[None], Any] = {}
    with consumer_of(servers, group) as consumer, ThreadPoolExecutor(_THREADS) as pool:
        consumer.subscribe([topic])
        while not meter.done.is_set():
            if len(running) < 2 * _THREADS:
                for record in consumer.poll(timeout=0.1, hold=True):
                    running[pool.submit(meter.one)] = record
            for future in wait(running, timeout=0.1, return_when=FIRST_COMPLETED).done:
                consumer.acknowledge(running.pop(future), AcknowledgeType.ACCEPT)
            consumer.commit_async()


def one_thread(servers: str, topic: str, group: str, meter: Meter) -> None:
    """A worker with `def` and concurrency=1."""
    _work(servers, topic, group, meter, concurrency=1)


def many_threads(servers: str, topic: str, group: str, meter: Meter) -> None:
    """A worker with `def` and 16 threads."""
    _work(servers, topic, group, meter, concurrency=_THREADS)


def noting_threads(servers: str, topic: str, group: str, meter: Meter) -> None:
    """A worker with `def` and 16 threads that keeps its notes in a directory."""
    with tempfile.TemporaryDirectory(prefix="kafka-groups-notes-") as directory:
        _work(servers, topic, group, meter, concurrency=_THREADS, state_dir=directory)


def _work(servers: str, topic: str, group: str, meter: Meter, *, concurrency: int, **options: Any) -> None:
    worker = Worker(group, bootstrap_servers=servers, **options)

    @worker.handler(topic, concurrency=concurrency)
    def handle(value: bytes) -> None:
        meter.one()

    _run(worker, meter)


def begin_stop(worker: Worker, meter: Meter) -> None:
    """Have a worker stop when the last record was counted."""

    def end() -> None:
        meter.done.wait(_TIMEOUT_S)
        worker.stop(timeout=0)

    threading.Thread(target=end, daemon=True).start()


def _run(worker: Worker, meter: Meter) -> None:
    begin_stop(worker, meter)
    worker.run()


def tasks_by_hand(servers: str, topic: str, group: str, meter: Meter) -> None:
    """An asyncio program with a task for each record, 100 at once."""

    async def handle(record: Any, done: list[Any]) -> None:
        meter.one()
        done.append(record)

    async def main() -> None:
        async with AsyncKafkaShareConsumer(
            bootstrap_servers=servers, group_id=group, acknowledgement_mode="explicit", auto_renew=True
        ) as consumer:
            await consumer.subscribe([topic])
            while not meter.done.is_set():
                done: list[Any] = []
                tasks: set[asyncio.Task[None]] = set()
                for record in await consumer.poll(timeout=1.0):
                    tasks.add(asyncio.create_task(handle(record, done)))
                    if len(tasks) >= _TASKS:
                        await asyncio.wait(tasks)
                        tasks.clear()
                if tasks:
                    await asyncio.wait(tasks)
                for record in done:
                    consumer.acknowledge(record, AcknowledgeType.ACCEPT)
                consumer.commit_async(with_next_fetch=True)

    asyncio.run(main())


def many_tasks(servers: str, topic: str, group: str, meter: Meter) -> None:
    """A worker with `async def`, 100 at once."""
    worker = Worker(group, bootstrap_servers=servers)

    @worker.handler(topic, concurrency=_TASKS)
    async def handle(value: bytes) -> None:
        meter.one()

    _run(worker, meter)


PROGRAMS: dict[str, Callable[[str, str, str, Meter], None]] = {
    "bare loop": bare_loop,
    "thread pool": thread_pool,
    "def, 1 thread": one_thread,
    "def, 16 threads": many_threads,
    "def, 16 threads, state_dir": noting_threads,
    "tasks by hand": tasks_by_hand,
    "async def, 100": many_tasks,
}


def run_program(programs: Mapping[str, Callable[[str, str, str, Meter], None]]) -> None:
    """Run the program that the arguments name."""
    kind, servers, topic, group, records = sys.argv[1:]
    meter = Meter(int(records))
    programs[kind](servers, topic, group, meter)
    print(json.dumps(meter.result()), flush=True)


if __name__ == "__main__":
    run_program(PROGRAMS)
