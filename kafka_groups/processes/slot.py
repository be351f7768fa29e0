"""The slot of a process in its parent: the process, if there is one now, and when one is started or killed."""

import logging
from abc import ABC, abstractmethod
from collections import deque
from multiprocessing.connection import Connection
from typing import Any, ClassVar, Generic, TypeVar

from attrs import define, field

from kafka_groups.net.spawned_process import SpawnedProcess

__all__ = ["ProcessSlot", "RestartRule"]

_LONGEST_WAIT_MS = 30_000
_WINDOW_MS = 600_000
_MOST_DOUBLINGS = 20

T = TypeVar("T")


@define
class RestartRule:
    """The deaths in one slot. The wait for the next process doubles with each one of the last ten minutes, up to 30 s.

    Attributes:
        first_wait_ms: The wait after the first of them.
        most_deaths: After more deaths than these there is no next process; None for no limit.
    """

    first_wait_ms: int
    most_deaths: int | None = None
    _deaths_ms: deque[int] = field(factory=deque, init=False)

    def died(self, now_ms: int) -> int | None:
        """Note a death. Return when to start the next process, in ms; None if too many have died."""
        deaths = self._deaths_ms
        while deaths and deaths[0] <= now_ms - _WINDOW_MS:
            deaths.popleft()
        deaths.append(now_ms)
        if self.most_deaths is not None and len(deaths) > self.most_deaths:
            return None
        # A program that dies at once would otherwise be started many times a second. Deaths of more than ten minutes
        # ago do not count, so a process that crashes once a day is replaced at once.
        doublings = min(len(deaths) - 1, _MOST_DOUBLINGS)
        return now_ms + min(self.first_wait_ms << doublings, _LONGEST_WAIT_MS)


@define(eq=False)
class ProcessSlot(ABC, Generic[T]):
    """The slot of a process, which gets messages of type `T`. A subclass spawns the process, and takes its messages.

    Attributes:
        log: The logger of everything about the process.
        title: What the log calls a slot, before its number.
        process_title: What it calls the process of a slot.
        number: Its number, from 1.
        restarts: When the process is replaced.
        process: The process; None if there is none now.
        start_ms: When to start a process; None for never.
        kill_ms: When to kill the process, which should have ended; None for never.
    """

    log: ClassVar[logging.Logger]
    title: ClassVar[str]
    process_title: ClassVar[str]

    number: int
    restarts: RestartRule = field(init=False)
    process: SpawnedProcess | None = field(default=None, init=False)
    start_ms: int | None = field(default=0, init=False)
    kill_ms: int | None = field(default=None, init=False)

    def __str__(self) -> str:
        return f"{self.title} {self.number}"

    @property
    def is_empty(self) -> bool:
        """True if no process runs or will be started."""
        return self.process is None and self.start_ms is None

    @property
    def watched(self) -> list[Connection | int]:
        """Objects to wait for: one becomes ready when the process sends a message or exits."""
        return [] if self.process is None else self.process.watched

    def _spawned(self, process: SpawnedProcess) -> None:
        self.process, self.start_ms = process, None
        self.log.info("%s has process id %s", self, process.pid)

    def restart(self, now_ms: int) -> int | None:
        """Start another process after a while, in place of one that has died. Return the wait in ms; None for never."""
        self.start_ms = self.restarts.died(now_ms)
        return None if self.start_ms is None else self.start_ms - now_ms

    def tell(self, message: T) -> None:
        """Send a message to the process, which may have ended."""
        if self.process is not None and not self.process.send(message):
            self.log.debug("%s has ended", self)

    def hear(self, now_ms: int) -> int | None:
        """Receive the messages of the process. If it has exited, reap it and return its exit status."""
        if self.process is None:
            return None
        status = self.process.exit_status  # first, as it may send more before it exits
        for message in self.process.received():
            self._take(message, now_ms)
        if status is not None:
            self.process.close()
            self.process = self.kill_ms = None
        return status

    @abstractmethod
    def _take(self, message: Any, now_ms: int) -> None: ...

    def kill_by(self, kill_ms: int) -> None:
        """Kill the process then, or when it was to be killed before that, unless it has ended by itself."""
        # A later order must not give it more time.
        if self.process is not None:
            self.kill_ms = kill_ms if self.kill_ms is None else min(self.kill_ms, kill_ms)

    def kill_if_late(self, now_ms: int) -> None:
        """Kill the process if it should have ended."""
        if self.process is not None and self.kill_ms is not None and self.kill_ms <= now_ms:
            self.log.warning("%s %d has not ended in time, and is killed", self.process_title, self.number)
            self.process.kill()
            self.kill_ms = None

    def kill(self) -> None:
        """Kill the process, and wait until it has exited."""
        if self.process is not None:
            self.process.kill(wait=True)
