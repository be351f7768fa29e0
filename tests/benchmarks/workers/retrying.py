"""A worker whose records come from retry topics: how late it starts them, and how many it holds before their time.

`python -m tests.benchmarks.workers.retrying KIND BOOTSTRAP TOPIC PREFIX GROUP RECORDS` prints figures as JSON.
"""

import json
import sys
import threading
import time
from collections.abc import Sequence
from statistics import median

from kafka_groups import RetryTopics, Worker

__all__ = ["HANDLER", "KINDS", "delays_of"]

HANDLER = "sell"
_HELD_AFTER_S = 15.0
_DELAYS = {"lateness": (2, 20), "holding": (3_600,)}


def delays_of(kind: str) -> Sequence[int]:
    """Return the delays of the retry topics in seconds."""
    return _DELAYS[kind]


def _worker(servers: str, group: str) -> Worker:
    return Worker(group, bootstrap_servers=servers)


def lateness(servers: str, topic: str, prefix: str, group: str, records: int) -> None:
    """Print how late records started whose values are the times when they are due, in ms."""
    late_ms: list[float] = []
    worker = _worker(servers, group)

    @worker.handler(
        topic,
        name=HANDLER,
        dead_letters=f"{topic}.dead",
        concurrency=16,
        retry_topics=RetryTopics(prefix, delays=_DELAYS["lateness"]),
    )
    def sell(value: bytes) -> None:
        late_ms.append(time.time() * 1000 - float(value))
        if len(late_ms) == records:
            worker.stop(timeout=0)

    _say_when_ready(worker)
    worker.run()
    late_ms.sort()
    figures = {"early": sum(late < 0 for late in late_ms), "median_ms": median(late_ms)}
    print(json.dumps({**figures, "p99_ms": late_ms[len(late_ms) * 99 // 100], "most_ms": late_ms[-1]}), flush=True)


def holding(servers: str, topic: str, prefix: str, group: str, records: int) -> None:
    """Print how many records of a retry topic a worker holds, none of which is due."""
    del records
    worker = _worker(servers, group)
    started: list[bytes] = []
    worker.handler(
        topic, name=HANDLER, dead_letters=f"{topic}.dead", retry_topics=RetryTopics(prefix, delays=_DELAYS["holding"])
    )(started.append)
    _say_when_ready(worker)
    held: list[int] = []
    threading.Thread(target=_look, args=(worker, held), daemon=True).start()
    worker.run()
    print(json.dumps({"held": max(held), "started": len(started)}), flush=True)


def _look(worker: Worker, held: list[int]) -> None:
    end_s = time.monotonic() + _HELD_AFTER_S
    while time.monotonic() < end_s:
        time.sleep(0.1)
        runtime = worker._running._runtime if worker._running is not None else None
        if runtime is not None:
            held += [sum(each.handling.in_hand.values()) for each in runtime._running if each.member.is_retry]
    worker.stop(timeout=0)


def _say_when_ready(worker: Worker) -> None:
    def look() -> None:
        while not worker.health().is_ready:
            time.sleep(0.05)
        print("ready", flush=True)

    threading.Thread(target=look, daemon=True).start()


KINDS = {"lateness": lateness, "holding": holding}


if __name__ == "__main__":
    _, kind, at, read, prefix_, group_, count = sys.argv
    KINDS[kind](at, read, prefix_, group_, int(count))
