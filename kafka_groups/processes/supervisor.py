"""The parent of processes: it starts them, hears them, and kills those that do not end in time."""

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any, ClassVar, Generic, TypeVar

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.spawned_process import SPAWN
from kafka_groups.processes.slot import ProcessSlot

__all__ = ["ProcessPoolSupervisor"]

_LOOK_MS = 1_000
"""The time between two looks at the processes. Pipes alone are not enough: forks of a process hold them open."""
_AT_ONCE = 4_096

S = TypeVar("S", bound=ProcessSlot[Any])
M = TypeVar("M")


class ProcessPoolSupervisor(ABC, Generic[S, M]):
    """Runs processes in slots. A subclass spawns them, obeys its own messages, and decides what ends and errors mean.

    Args:
        slots: The slots. A subclass may add and remove some.
    """

    _error_class: ClassVar[type[KafkaGroupsError]] = KafkaGroupsError

    def __init__(self, slots: Iterable[S]) -> None:
        self._slots = list(slots)
        self._clock = SystemClock()
        self._messages: deque[M] = deque()
        self._woken, self._waker = SPAWN.Pipe(duplex=False)
        self._wake_fd = self._waker.fileno()
        os.set_blocking(self._wake_fd, False)
        self._is_stopping = False
        self._error: Exception | None = None

    def _post(self, message: M) -> None:
        """Let the next turn obey a message. Does not wait; any thread may call it, and handlers of signals."""
        self._messages.append(message)
        with suppress(OSError):  # the pipe is full, or closed
            os.write(self._wake_fd, b"\0")

    def _close_pipe(self) -> None:
        """Let go of the pipe to the turns, which have ended. Messages may still be posted; nobody obeys them."""
        self._wake_fd = -1  # first: once it is closed, its number may stand for another file
        self._waker.close()
        self._woken.close()

    def _run(self) -> None:
        """Take turns until all processes have ended after an order to stop. An error kills those that are left."""
        try:
            while not (self._is_stopping and all(slot.is_empty for slot in self._slots)):
                self._turn()
        finally:
            # Processes that are left, because of an error of this package or Ctrl-C, must not run on without a parent.
            for slot in self._slots:
                slot.kill()

    def _turn(self) -> None:
        now_ms = self._clock.now_ms()
        for slot in self._slots:
            if slot.start_ms is not None and slot.start_ms <= now_ms:
                self._start(slot, now_ms)
            slot.kill_if_late(now_ms)
        watched = [self._woken, *(each for slot in self._slots for each in slot.watched)]
        if self._woken in wait(watched, self._wait_s(now_ms)):
            os.read(self._woken.fileno(), _AT_ONCE)
        # Orders come before the ends of processes, so that the end of a process after an order to stop counts as one.
        while self._messages:
            self._obey(self._messages.popleft())
        for slot in tuple(self._slots):
            if (status := slot.hear(self._clock.now_ms())) is not None:
                self._ended(slot, status)

    def _start(self, slot: S, now_ms: int) -> None:
        try:
            self._spawn(slot, now_ms)
        except OSError as error:
            # The system may lack memory or processes for a moment. It is tried again like the start after a death, and
            # counts as one.
            if slot.restart(now_ms) is None:
                self._fail(self._error_class(f"{slot} cannot be started: {error}"))
            else:
                slot.log.warning("%s cannot be started yet: %s", slot, error)

    def _wait_s(self, now_ms: int) -> float:
        times = [time for slot in self._slots for time in (slot.start_ms, slot.kill_ms) if time is not None]
        return max(0, min([*times, now_ms + _LOOK_MS]) - now_ms) / 1000

    def _tell_to_stop(self, order: M) -> None:
        """Start no more processes, and let those that run stop."""
        self._is_stopping = True
        for slot in self._slots:
            slot.start_ms = None
            slot.tell(order)

    @abstractmethod
    def _spawn(self, slot: S, now_ms: int) -> None: ...

    @abstractmethod
    def _obey(self, message: M) -> None: ...

    @abstractmethod
    def _ended(self, slot: S, status: int) -> None: ...

    @abstractmethod
    def _fail(self, error: Exception) -> None: ...
