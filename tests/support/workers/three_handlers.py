"""A program with a worker of three handlers in one process, whose first topic has records that end the process.

`python -m tests.support.workers.three_handlers SETTINGS`, where the settings are `ThreeHandlerSettings` as JSON. Each
handler writes a line into the ledger for each record that it has done. The process starts often, so it imports little.
"""

import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

from attrs import asdict, frozen

from kafka_groups import ShareRecord, Worker

__all__ = ["EXITS", "EXIT_STATUS", "GOOD", "KILLS", "DoneRecord", "ThreeHandlerSettings", "done_in"]

GOOD, KILLS, EXITS = b"good", b"kills", b"exits"
EXIT_STATUS = 9
_CONCURRENCY = 16

HandlerFunction = Callable[[bytes, ShareRecord[bytes, bytes]], None]


@frozen
class DoneRecord:
    """A line of the ledger.

    Attributes:
        topic: The number of the topic.
        place: The record.
        delivery_count: The count of its delivery.
    """

    topic: int
    place: tuple[int, int]
    delivery_count: int


@frozen
class ThreeHandlerSettings:
    """The settings of the program.

    Attributes:
        servers: The brokers.
        group: The share group.
        topics: The topics, one for each handler.
        dead: Their topics for dead letters.
        ledger: The file of the ledger.
        state_dir: Where a process leaves notes for its successor; None for nowhere.
    """

    servers: str
    group: str
    topics: Sequence[str]
    dead: Sequence[str]
    ledger: str
    state_dir: str | None = None

    @property
    def argument(self) -> str:
        """The argument of the program."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, argument: str) -> Self:
        """Return the settings of such an argument."""
        return cls(**json.loads(argument))


def done_in(ledger: Path) -> Iterator[DoneRecord]:
    """Yield the lines of a ledger, in the order in which they were written."""
    for line in ledger.read_text(encoding="utf-8").splitlines():
        topic, partition, offset, count = map(int, line.split(" "))
        yield DoneRecord(topic, (partition, offset), count)


def worker_of(settings: ThreeHandlerSettings) -> Worker:
    """Return the worker."""
    worker = Worker(
        settings.group,
        bootstrap_servers=settings.servers,
        state_dir=settings.state_dir,
        fetch_max_wait_ms=100,
        shutdown_timeout=5,
    )
    ledger = os.open(settings.ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for number, (topic, dead) in enumerate(zip(settings.topics, settings.dead, strict=True)):
        declare = worker.handler(topic, name=f"handle-{number}", dead_letters=dead, concurrency=_CONCURRENCY)
        declare(_handler(number, ledger))
    return worker


def _handler(number: int, ledger: int) -> HandlerFunction:
    def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
        if value == KILLS:
            os.kill(os.getpid(), signal.SIGKILL)
        if value == EXITS:
            os._exit(EXIT_STATUS)
        os.write(ledger, b"%d %d %d %d\n" % (number, record.partition, record.offset, record.delivery_count))

    return handle


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(name)s %(levelname)s %(message)s")
    worker_of(ThreeHandlerSettings.of(sys.argv[1])).run()
