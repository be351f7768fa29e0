"""Workers whose handlers wait: the rate of two workers, the delay until a handler starts, the memory of many handlers.

`python -m tests.benchmarks.workers.waiting KIND BOOTSTRAP TOPIC GROUP RECORDS` prints figures as JSON.
"""

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from kafka_groups import ShareRecord, Worker

__all__ = ["HANDLER_S", "WAITING", "WAITING_THREADS"]

HANDLER_S = 0.05
WAITING_THREADS = 16
_TIMEOUT_S = 300.0
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES


def _until_stdin_closes(worker: Worker) -> None:
    def end() -> None:
        sys.stdin.read()
        worker.stop(timeout=0)

    threading.Thread(target=end, daemon=True).start()
    worker.run()


def slow(servers: str, topic: str, group: str, _: int) -> None:
    """A worker of 16 threads whose handler waits 50 ms. Prints the time of each start until its input closes."""
    worker = Worker(group, bootstrap_servers=servers)
    starts: list[float] = []

    @worker.handler(topic, concurrency=WAITING_THREADS)
    def handle(value: bytes) -> None:
        starts.append(time.monotonic())
        threading.Event().wait(HANDLER_S)

    _until_stdin_closes(worker)
    print(json.dumps(starts), flush=True)


def delay(servers: str, topic: str, group: str, records: int) -> None:
    """The time from a record's timestamp until its handler starts, in ms."""
    delays: list[float] = []
    worker = Worker(group, bootstrap_servers=servers)

    @worker.handler(topic)
    def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
        delays.append(time.time() * 1000 - (record.timestamp or 0))
        if len(delays) == records:
            worker.stop(timeout=0)

    worker.run()
    print(json.dumps({"median_ms": median(delays), "p99_ms": sorted(delays)[len(delays) * 99 // 100]}), flush=True)


def memory(servers: str, topic: str, group: str, records: int) -> None:
    """The memory of so many asynchronous handlers that wait, above that of an idle worker."""
    worker = Worker(group, bootstrap_servers=servers)
    arrived = 0
    all_arrived = asyncio.Event()
    figures: dict[str, float] = {}

    @worker.handler(topic, concurrency=records)
    async def handle(value: bytes) -> None:
        nonlocal arrived
        arrived += 1
        if arrived == 1:
            figures["idle_bytes"] = _resident_bytes()
        if arrived == records:
            all_arrived.set()
        await all_arrived.wait()
        if "bytes" not in figures:
            figures["bytes"] = _resident_bytes() - figures["idle_bytes"]
            worker.stop(timeout=0)

    worker.run()
    print(json.dumps(figures), flush=True)


WAITING: dict[str, Callable[[str, str, str, int], None]] = {"slow": slow, "delay": delay, "memory": memory}


def main() -> None:
    """Run the program that the arguments name."""
    kind, servers, topic, group, records = sys.argv[1:]
    WAITING[kind](servers, topic, group, int(records))


if __name__ == "__main__":
    main()
