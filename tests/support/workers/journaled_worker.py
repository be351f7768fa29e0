"""A program with a worker that journals what its handler does. Values say what happens to their records.

`python -m tests.support.workers.journaled_worker SETTINGS`, where the settings are `JournaledSettings` as JSON.
"""

import asyncio
import enum
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Self

from attrs import asdict, frozen

from kafka_groups import Backoff, Worker, current_attempt
from tests.support.workers.journal import Journal, Step

__all__ = ["SETTINGS_VARIABLE", "JournaledSettings", "Nature", "begin_log", "worker_of"]

SETTINGS_VARIABLE = "KAFKA_GROUPS_JOURNALED_WORKER"
"""Where programs find the settings that have no argument for them."""

RETRIES = Backoff(first=0.1, most=0.5, times=3)
WORK_S = 0.003


class Nature(enum.Enum):
    """What a record does to its handler."""

    GOOD = "good"
    RAISES = "raises"
    HANGS = "hangs"
    KILLS = "kills"


class BadRecordError(Exception):
    """The record is bad, whenever it is handled."""


@frozen
class JournaledSettings:
    """The settings of the program.

    Attributes:
        servers: The brokers.
        group: The share group.
        topic: The topic.
        dead: The topic for dead letters.
        journal: The file of the journal.
        outage: A file that is there while the sink is down.
        is_async: Whether the handler is asynchronous.
        keeps_order: Whether records of a key keep their order.
        timeout_s: The longest time of an attempt, or None.
    """

    servers: str
    group: str
    topic: str
    dead: str
    journal: str
    outage: str
    is_async: bool
    keeps_order: bool
    timeout_s: float | None

    @property
    def argument(self) -> str:
        """The argument of the program."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, argument: str) -> Self:
        """Return the settings of such an argument."""
        return cls(**json.loads(argument))


class JournaledHandler:
    """The handler, in both forms.

    Args:
        settings: Where the journal and the sink are.
    """

    def __init__(self, settings: JournaledSettings) -> None:
        self._journal = Journal(Path(settings.journal))
        self._outage = Path(settings.outage)

    def handle(self, value: bytes) -> None:
        """Handle a record in a thread."""
        attempt = current_attempt()
        self._journal.note(Step.BEGINS, attempt)
        try:
            if self._begin(value) is Nature.HANGS:
                threading.Event().wait()
            threading.Event().wait(WORK_S)
        except Exception:
            self._journal.note(Step.FAILS, attempt)
            raise
        self._journal.note(Step.DONE, attempt)

    async def handle_async(self, value: bytes) -> None:
        """Handle a record in a task."""
        attempt = current_attempt()
        self._journal.note(Step.BEGINS, attempt)
        try:
            if self._begin(value) is Nature.HANGS:
                await asyncio.Event().wait()
            await asyncio.sleep(WORK_S)
        except BaseException:  # it may be cancelled
            self._journal.note(Step.FAILS, attempt)
            raise
        self._journal.note(Step.DONE, attempt)

    def _begin(self, value: bytes) -> Nature:
        nature = Nature(value.decode())
        if nature is Nature.KILLS:
            os.kill(os.getpid(), signal.SIGKILL)
        if nature is Nature.RAISES:
            raise BadRecordError("it is bad")
        if self._outage.exists():
            raise ConnectionError("sink is down")
        return nature


def worker_of(settings: JournaledSettings) -> Worker:
    """Return the worker."""
    worker = Worker(settings.group, bootstrap_servers=settings.servers, fetch_max_wait_ms=100, shutdown_timeout=5)
    handler = JournaledHandler(settings)
    declare = worker.handler(
        settings.topic,
        name="handle",
        dead_letters=settings.dead,
        retries=RETRIES,
        timeout=settings.timeout_s,
        order_by="key" if settings.keeps_order else None,
    )
    declare(handler.handle_async if settings.is_async else handler.handle)
    return worker


def begin_log() -> None:
    """Log to standard error."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(name)s %(levelname)s %(message)s")


if __name__ == "__main__":
    begin_log()
    worker_of(JournaledSettings.of(sys.argv[1])).run()
