"""One process of the example, as the harness starts it: `python -m tests.chaos.process SERVERS APPLICATION …`.

SIGTERM has it leave. SIGUSR1 keeps its main thread busy for longer than `max.poll.interval.ms`, in the middle of a
batch, while the member's thread and the producer's go on: half of its records are written early, and half too late.
SIGUSR2 stops it there (SIGSTOP), so that records are left in its producer's queue.
"""

import argparse
import os
import signal
import sys
import threading
from unittest.mock import patch

import streams_member_flights
from confluent_kafka import Message
from streams_member_flights import Application, Worker, work

MAX_POLL_INTERVAL_MS = 6_000
SLOW_S = 8.0

busy, paused = threading.Event(), threading.Event()


class StruckWorker(Worker):
    """A worker that can be struck in the middle of a batch."""

    def _count(self, flights: list[Message]) -> None:
        half = len(flights) // 2
        super()._count(flights[:half])
        if busy.is_set():
            busy.clear()
            threading.Event().wait(SLOW_S)
        super()._count(flights[half:])
        if paused.is_set():
            paused.clear()
            os.kill(os.getpid(), signal.SIGSTOP)


def main() -> None:
    """Work until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("servers")
    parser.add_argument("application")
    parser.add_argument("--transactions", action="store_true")
    given = parser.parse_args()
    signal.signal(signal.SIGUSR1, lambda *_: busy.set())
    signal.signal(signal.SIGUSR2, lambda *_: paused.set())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # until it has begun to work
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    with patch.object(streams_member_flights, "Worker", StruckWorker):
        work(Application(given.servers, given.application, given.transactions, MAX_POLL_INTERVAL_MS))


if __name__ == "__main__":
    main()
