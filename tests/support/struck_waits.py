"""A program whose main thread waits in each way that the package has, and gets signals at random moments of it.

Another thread keeps the interpreter busy, so that the moments between the last look for signals and the system call
that blocks are long. `python -m tests.support.struck_waits ROUNDS SEED` prints the number of signals that were not
noticed within `PATIENCE_S`, for each way to wait.
"""

import asyncio
import json
import os
import queue
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial

from kafka_groups.client.assembly import Environment
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.repeated_signals import signals_interrupting
from kafka_groups.net.short_waits import joined, result_of, taken
from kafka_groups.net.signal_handlers import signals_handled
from kafka_groups.share import Worker
from kafka_groups.streams import KafkaStreams
from kafka_groups.streams.workers.application_state import ApplicationLife
from tests.unit.streams.runtime.counting import counting

__all__ = ["PATIENCE_S", "WAITS", "main"]

PATIENCE_S = 10.0
_LATEST_MS = 20
_LONG_WAYS = 10
"""A whole application or worker takes as long as so many other waits."""


class StruckError(Exception):
    """What a handler of signals raises."""


class Sender:
    """A process that sends this one a signal, some milliseconds after it was asked. Make it before any thread."""

    def __init__(self, seed: int) -> None:
        reading, self._asking = os.pipe()
        target, self._pid = os.getpid(), os.fork()
        if self._pid == 0:
            os.close(self._asking)
            _send(reading, target, random.Random(seed))
            os._exit(0)
        os.close(reading)

    def ask(self, number: signal.Signals) -> None:
        """Have a signal sent soon."""
        os.write(self._asking, bytes([number]))

    def close(self) -> None:
        """End the process."""
        os.close(self._asking)
        os.waitpid(self._pid, 0)


def _send(reading: int, target: int, random_moments: random.Random) -> None:
    clock = SystemClock()
    while number := os.read(reading, 1):
        until_ms = clock.now_ms() + random_moments.randrange(_LATEST_MS)
        while clock.now_ms() < until_ms:
            pass
        os.kill(target, number[0])


def end_of_application(strike: Callable[[signal.Signals], None]) -> None:
    life = ApplicationLife(None)
    with signals_handled((signal.SIGTERM,), lambda *_: life.ask_to_end()):
        strike(signal.SIGTERM)
        life.wait_to_end()


def orders_of_worker_process(strike: Callable[[signal.Signals], None]) -> None:
    orders: queue.SimpleQueue[int] = queue.SimpleQueue()
    with signals_handled((signal.SIGTERM,), lambda number, _: orders.put(number)):
        strike(signal.SIGTERM)
        taken(orders)


def blocking_lifespan(strike: Callable[[signal.Signals], None]) -> None:
    def struck(*_: object) -> None:
        raise StruckError

    with suppress(StruckError), signals_interrupting((signal.SIGTERM,), struck):
        strike(signal.SIGTERM)
        threading.Event().wait()


def state_of_application(strike: Callable[[signal.Signals], None]) -> None:
    with suppress(KeyboardInterrupt):
        strike(signal.SIGINT)
        ApplicationLife(None).wait_for(lambda _: False, None)


def call_of_client(strike: Callable[[signal.Signals], None]) -> None:
    thread = LoopThread("calls")
    thread.start()
    with suppress(KeyboardInterrupt):
        strike(signal.SIGINT)
        thread.run(asyncio.Event().wait())
    thread.stop()


def end_of_thread(strike: Callable[[signal.Signals], None]) -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait, daemon=True)
    thread.start()
    with suppress(KeyboardInterrupt):
        strike(signal.SIGINT)
        joined(thread)
    over.set()


def result_of_supervisor(strike: Callable[[signal.Signals], None]) -> None:
    with suppress(KeyboardInterrupt):
        strike(signal.SIGINT)
        result_of(Future[None]())


def whole_application(strike: Callable[[signal.Signals], None]) -> None:
    app = KafkaStreams(counting, application_id="struck", bootstrap_servers="localhost:1")
    start = app.start

    def started() -> None:
        start()
        strike(signal.SIGTERM)

    app.start = started  # type: ignore[method-assign]
    app.run()


def whole_worker(strike: Callable[[signal.Signals], None]) -> None:
    @contextmanager
    def lifespan() -> Iterator[None]:
        strike(signal.SIGTERM)
        threading.Event().wait()
        yield

    worker = Worker("g", bootstrap_servers="nobody:9092", environment=Environment(MemoryNetwork()), lifespan=lifespan)

    @worker.handler("orders")
    def handle(value: bytes) -> None: ...

    worker.run()


WAITS = (
    end_of_application,
    orders_of_worker_process,
    blocking_lifespan,
    state_of_application,
    call_of_client,
    end_of_thread,
    result_of_supervisor,
)
_WHOLE = (whole_application, whole_worker)


def _lost(wait: Callable[[Callable[[signal.Signals], None]], None], rounds: int, sender: Sender) -> int:
    return sum(_is_lost(wait, sender) for _ in range(rounds))


def _is_lost(wait: Callable[[Callable[[signal.Signals], None]], None], sender: Sender) -> bool:
    asked: list[signal.Signals] = []
    has_ended, was_lost = threading.Event(), threading.Event()

    def strike(number: signal.Signals) -> None:
        asked.append(number)
        sender.ask(number)

    def watch() -> None:
        if not has_ended.wait(PATIENCE_S):
            was_lost.set()
            os.kill(os.getpid(), asked[-1])  # a second one ends it

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    wait(strike)
    has_ended.set()
    watching.join()
    return was_lost.is_set()


def _spin(stopped: threading.Event) -> None:
    while not stopped.is_set():
        sum(range(50))


def main(rounds: int, seed: int) -> dict[str, int]:
    """Strike each wait so many times. Return how many signals each has missed."""
    sender, stopped = Sender(seed), threading.Event()
    busy = threading.Thread(target=partial(_spin, stopped), daemon=True)
    busy.start()
    lost = {wait.__name__: _lost(wait, rounds, sender) for wait in WAITS}
    lost |= {wait.__name__: _lost(wait, max(1, rounds // _LONG_WAYS), sender) for wait in _WHOLE}
    stopped.set()
    busy.join()
    sender.close()
    return lost


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
