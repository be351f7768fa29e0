"""One process of the example, as the harness starts it: `python -m tests.chaos.process SERVERS APPLICATION …`.

SIGTERM has it leave. SIGUSR1 keeps its main thread busy for longer than `max.poll.interval.ms`, wherever that is at the
moment, while the member's thread and the producer's go on.
"""

import argparse
import signal
import sys
import threading

from streams_flights import Application, work

MAX_POLL_INTERVAL_MS = 3_000
SLOW_S = 4.0


def main() -> None:
    """Work until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("servers")
    parser.add_argument("application")
    parser.add_argument("--transactions", action="store_true")
    given = parser.parse_args()
    signal.signal(signal.SIGUSR1, lambda *_: threading.Event().wait(SLOW_S))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # until it has begun to work
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    work(Application(given.servers, given.application, given.transactions, MAX_POLL_INTERVAL_MS))


if __name__ == "__main__":
    main()
