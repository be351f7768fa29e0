"""A program with a worker that has retry topics, and that journals attempts and what becomes of records that wait.

`python -m tests.support.workers.retried_worker PROCESSES`, with `RetriedSettings` as JSON in an environment
variable, as each process imports this module.
"""

import enum
import json
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from attrs import asdict, astuple, frozen

from kafka_groups import Backoff, Retry, RetryTopics, Worker, current_attempt
from kafka_groups.net.clock import SystemClock
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.retry_topics import delay_rules
from kafka_groups.share.workers.running.members import handler_members

__all__ = ["SETTINGS_VARIABLE", "RetriedEntry", "RetriedJournal", "RetriedNature", "RetriedSettings", "RetriedStep"]

SETTINGS_VARIABLE = "KAFKA_GROUPS_RETRIED_WORKER"
"""Where the processes of a worker find the settings."""
FAR_AWAY = 1_000
RETRIES = 2


class RetriedNature(enum.Enum):
    """The wait that a record asks for after its first attempts."""

    GOOD = "good"
    SOON = "soon"
    """The smallest delay, once."""
    LATE = "late"
    """The largest delay, once."""
    BOTH = "both"
    """First more than the smallest delay, then more than the largest: the rest is spent elsewhere."""
    BAD = "bad"
    """The smallest delay, until its retries are used up."""


class RetriedStep(enum.Enum):
    """A step of an attempt, or of a record in a retry topic."""

    BEGINS = "begins"
    DONE = "done"
    FAILS = "fails"
    WAIT = "wait"
    REST = "rest"
    FORWARD = "forward"


@frozen
class RetriedEntry:
    """A line of the journal.

    Attributes:
        step: The step.
        process: The process in which it happened.
        origin: Partition and offset of the first record.
        place: Topic, partition and offset of the record that was delivered.
        delivery_count: The count of its delivery.
        attempt: For steps of attempts, its number; for others that of the last one.
        at_ms: When it happened, in milliseconds since the epoch.
        due_ms: For failed attempts, when the next one is due at the earliest; else 0.
    """

    step: RetriedStep
    process: int
    origin: tuple[int, int]
    place: str
    delivery_count: int
    attempt: int
    at_ms: int
    due_ms: int

    @classmethod
    def of(cls, line: str) -> Self:
        """Return the entry of a line."""
        step, process, partition, offset, place, *numbers = line.split(" ")
        count, attempt, at_ms, due_ms = map(int, numbers)
        origin = int(partition), int(offset)
        return cls(RetriedStep(step), int(process), origin, place, count, attempt, at_ms, due_ms)

    @property
    def line(self) -> str:
        """The line of an entry."""
        step, process, origin, *others = astuple(self, recurse=False)
        return " ".join(map(str, (step.value, process, *origin, *others)))


class RetriedJournal:
    """A journal to read while others write it.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def new_entries(self) -> Sequence[RetriedEntry]:
        """Return the entries that were written since the last call, in their order."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            # A line that is being written is for the next call.
            lines = file.read().rpartition(b"\n")[0]
        self._read += len(lines) + 1 if lines else 0
        return [RetriedEntry.of(line) for line in lines.decode().splitlines()]


@frozen
class RetriedSettings:
    """The settings of the program.

    Attributes:
        servers: The brokers.
        group: The share group.
        topic: The topic.
        dead: The topic for dead letters.
        prefix: The beginning of the retry topics' names.
        small_s: The smaller delay.
        large_s: The larger delay.
        journal: The file of the journal.
        forwards: Whether records that wait are forwarded before their deliveries are used up.
    """

    servers: str
    group: str
    topic: str
    dead: str
    prefix: str
    small_s: int
    large_s: int
    journal: str
    forwards: bool

    @property
    def argument(self) -> str:
        """The settings as text."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, argument: str) -> Self:
        """Return the settings of such a text."""
        return cls(**json.loads(argument))

    @property
    def topics(self) -> RetryTopics:
        """The retry topics."""
        return RetryTopics(self.prefix, delays=(self.small_s, self.large_s))

    def wait_s(self, nature: RetriedNature, attempt: int) -> float | None:
        """Return the wait that a record asks for when an attempt ends; None if it is done."""
        waits: Mapping[RetriedNature, Sequence[float]] = {
            RetriedNature.GOOD: [],
            RetriedNature.SOON: [self.small_s],
            RetriedNature.LATE: [self.large_s],
            RetriedNature.BOTH: [1.5 * self.small_s, self.large_s + 1.25 * self.small_s],
            RetriedNature.BAD: [self.small_s] * (RETRIES + 1),
        }
        return waits[nature][attempt - 1] if attempt <= len(waits[nature]) else None


class RetriedHandler:
    """The handler, and the journal.

    Args:
        settings: The settings.
    """

    def __init__(self, settings: RetriedSettings) -> None:
        self._settings = settings
        self._file = os.open(settings.journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def handle(self, value: bytes) -> None:
        """Handle a record."""
        self._note(RetriedStep.BEGINS)
        wait_s = self._settings.wait_s(RetriedNature(value.decode()), current_attempt().number)
        if wait_s is not None:
            self._note(RetriedStep.FAILS, wait_s)
            raise Retry("later", after=wait_s)
        self._note(RetriedStep.DONE)

    def _note(self, step: RetriedStep, wait_s: float = 0) -> None:
        attempt = current_attempt()
        self.write(step, attempt.record, attempt.origin, attempt.delivery_count, attempt.number, wait_s)

    def write(
        self, step: RetriedStep, record: Any, origin: RecordOrigin, delivery_count: int, attempt: int, wait_s: float = 0
    ) -> None:
        """Write a line. It is in the file when this returns, also if the process is killed then."""
        at_ms = SystemClock().wall_ms()
        place = f"{record.topic}-{record.partition}@{record.offset}"
        due_ms = at_ms + round(1_000 * wait_s) if step is RetriedStep.FAILS else 0
        entry = RetriedEntry(
            step, os.getpid(), (origin.partition, origin.offset), place, delivery_count, attempt, at_ms, due_ms
        )
        os.write(self._file, f"{entry.line}\n".encode())


def retried_worker_of(settings: RetriedSettings) -> Worker:
    """Return the worker."""
    worker = Worker(settings.group, bootstrap_servers=settings.servers, fetch_max_wait_ms=100, shutdown_timeout=5)
    handler = RetriedHandler(settings)
    _journal_turns(handler)
    if not settings.forwards:
        _plant(handler_members, "forward_from", lambda _policy: FAR_AWAY)
    worker.handler(
        settings.topic,
        name="handle",
        dead_letters=settings.dead,
        retries=Backoff(first=settings.small_s, most=settings.small_s, times=RETRIES),
        retry_topics=settings.topics,
    )(handler.handle)
    return worker


def _journal_turns(handler: RetriedHandler) -> None:
    """Journal the first decision of each kind about each delivery of a record in a retry topic."""
    judge, noted = delay_rules.DelayRules.judge, set[tuple[object, ...]]()

    def judged(rules: Any, record: Any, state: Any, delivery_count: int, wall_ms: int) -> Any:
        verdict = judge(rules, record, state, delivery_count, wall_ms)
        turn = verdict.turn.value
        mark = record.topic, record.partition, record.offset, delivery_count, turn
        if turn != "run" and mark not in noted:
            noted.add(mark)
            handler.write(RetriedStep(turn), record, state.origin, delivery_count, state.attempts)
        return verdict

    _plant(delay_rules.DelayRules, "judge", judged)


def _plant(owner: object, name: str, replacement: object) -> None:
    assert hasattr(owner, name)
    setattr(owner, name, replacement)


def begin_log() -> None:
    """Log to standard error."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(name)s %(levelname)s %(message)s")


if SETTINGS_VARIABLE in os.environ:
    # Each process that the worker starts imports this module, and finds its worker here.
    worker = retried_worker_of(RetriedSettings.of(os.environ[SETTINGS_VARIABLE]))

if __name__ == "__main__":
    begin_log()
    processes = int(sys.argv[1])
    worker.run(processes=processes) if processes > 1 else worker.run()
