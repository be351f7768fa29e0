"""The parent of worker processes: it starts, watches, replaces and stops them."""

import logging
import os
import signal
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from multiprocessing.connection import wait
from types import FrameType

from attrs import evolve

from kafka_groups.errors import ConfigurationError
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.signal_handlers import signals_handled
from kafka_groups.net.spawned_process import SPAWN
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.processes.child import ChildProgram
from kafka_groups.share.workers.processes.fates import ChildExit, ChildFate, fate_of, health_of
from kafka_groups.share.workers.processes.messages import NameSuspects, StopChild
from kafka_groups.share.workers.processes.notes import SharedNotes
from kafka_groups.share.workers.processes.place import ChildMain, ChildPlace
from kafka_groups.share.workers.rules.named_suspects import MOST_NAMED, RunningRange
from kafka_groups.telemetry.workers import WorkerTelemetry

__all__ = ["ChildSupervisor"]

_LOG = logging.getLogger("kafka_groups.worker")

_LOOK_MS = 1_000
"""The time between two looks at the processes. Pipes alone are not enough: forks of a child hold them open."""
_TIME_TO_CLOSE_MS = 4_000
"""A process that has not ended this long after its time to stop is killed."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class ChildSupervisor:
    """Runs a worker in several processes, which are members of its group.

    Args:
        main: The program of a process.
        program: What the processes run.
        count: How many there are.
        telemetry: Gets the figures of all.
        shutdown_ms: How long records in hand may run on when a signal stops the worker.
        close_ms: How long processes may take to end after that.
    """

    def __init__(
        self,
        main: ChildMain,
        program: ChildProgram,
        count: int,
        telemetry: WorkerTelemetry,
        shutdown_ms: int,
        close_ms: int = _TIME_TO_CLOSE_MS,
    ) -> None:
        self._main = main
        self._program = program
        self._places = [ChildPlace(number) for number in range(1, count + 1)]
        self._notes = SharedNotes(program.layout, SPAWN.RawArray("B", SharedNotes.size(program.layout, count)))
        self._telemetry = telemetry
        self._shutdown_ms = shutdown_ms
        self._close_ms = close_ms
        self._clock = SystemClock()
        self._suspects: deque[RunningRange] = deque(maxlen=MOST_NAMED)
        self._stops: deque[int] = deque()
        self._signals = 0
        self._is_stopping = self._has_any_started = False
        self._error: Exception | None = None
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)

    def __repr__(self) -> str:
        return f"<ChildSupervisor of {len(self._places)} processes of {self._program.address}>"

    def run(self) -> None:
        """Start the processes, and run until a signal or `stop` ends them, or an error does. Call it once.

        Raises:
            ConfigurationError: The worker cannot start.
            Exception: The error that ended a process.
        """
        try:
            with self._signals_handled():
                while not all(place.is_empty for place in self._places):
                    self._turn(self._clock.now_ms())
        finally:
            for place in self._places:
                place.kill()
        if self._error is not None:
            raise self._error

    def stop(self, grace_ms: int) -> None:
        """Let all processes stop: records in hand may run on for this long. Does not wait; any thread may call it."""
        self._stops.append(grace_ms)
        self._wake()

    def close(self) -> None:
        """Close the pipe that `stop` writes to. Call this after `run`."""
        waker, self._waker = self._waker, -1
        for end in (waker, self._woken):
            os.close(end)

    @property
    def has_any_started(self) -> bool:
        """True once a process has handled records."""
        return self._has_any_started

    @property
    def health(self) -> Health:
        """The health of all processes together. Any thread may read it."""
        now_ms = self._clock.now_ms()
        return health_of([place.state(now_ms) for place in self._places])

    # ------------------------------------------------------------------------------------------ signals

    def _signals_handled(self) -> AbstractContextManager[None]:
        if threading.current_thread() is not threading.main_thread():
            return nullcontext()
        return signals_handled(_SIGNALS, self._signalled)

    def _signalled(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1
        self.stop(self._shutdown_ms if self._signals == 1 else 0)

    def _wake(self) -> None:
        with suppress(BlockingIOError, OSError):  # the pipe is full, or the worker has ended
            os.write(self._waker, b"\0")

    # ------------------------------------------------------------------------------------------ one turn

    def _turn(self, now_ms: int) -> None:
        for place in self._places:
            if place.start_ms is not None and place.start_ms <= now_ms:
                self._spawn(place, now_ms)
            place.kill_if_late(now_ms)
        watched = [self._woken, *(each for place in self._places for each in place.watched)]
        if self._woken in wait(watched, self._wait_s(now_ms)):
            os.read(self._woken, len(self._places) + 1)
        while self._stops:
            self._stop_all(self._stops.popleft())
        for place in self._places:
            self._hear(place)

    def _wait_s(self, now_ms: int) -> float:
        times = [time for place in self._places for time in (place.start_ms, place.kill_ms) if time is not None]
        return max(0, min([*times, now_ms + _LOOK_MS]) - now_ms) / 1000

    def _spawn(self, place: ChildPlace, now_ms: int) -> None:
        try:
            place.spawn(self._main, evolve(self._program, suspects=tuple(self._suspects)), self._notes, now_ms)
        except OSError as error:
            place.start_ms = place.waits.died(now_ms)
            _LOG.warning("Process %d cannot be started yet: %s", place.number, error)

    def _hear(self, place: ChildPlace) -> None:
        status = place.hear(self._clock.now_ms())
        self._has_any_started = self._has_any_started or place.has_started
        if (figures := place.take_figures()) is not None:
            self._telemetry.received(str(place.number), figures)
        if place.process is not None and status is not None:
            self._ended(place, place.bury(status, self._notes))

    # ------------------------------------------------------------------------------------------ the end of a process

    def _ended(self, place: ChildPlace, ended: ChildExit) -> None:
        fate = fate_of(ended, is_stopping=self._is_stopping, has_any_started=self._has_any_started)
        if not ended.is_in_order and ended.running:
            self._name_suspects(ended.running)
        if fate is ChildFate.RESTART:
            self._restart(place, ended)
        elif fate is ChildFate.FAIL:
            self._fail(ended)
        elif fate is ChildFate.STOP:
            _LOG.info("Process %d was stopped by the program, so all others stop", place.number)
            self._stop_all(self._shutdown_ms)
        elif not ended.is_in_order and ended.has_started:
            _LOG.warning("%s while the worker was stopping. Its records are delivered again", _sentence(ended))

    def _restart(self, place: ChildPlace, ended: ChildExit) -> None:
        now_ms = self._clock.now_ms()
        place.start_ms = place.waits.died(now_ms)
        self._telemetry.restarted(str(place.number))
        words = ended.last_words
        reason = "" if words is None or words.error is None else f":\n{words.error.text}"
        _LOG.error("%s. It is started again in %d ms%s", _sentence(ended), place.start_ms - now_ms, reason)

    def _name_suspects(self, ranges: Sequence[RunningRange]) -> None:
        self._suspects.extend(ranges)
        for place in self._places:
            place.tell(NameSuspects(tuple(ranges)))

    def _fail(self, ended: ChildExit) -> None:
        words = ended.last_words
        if words is not None and words.error is not None:
            error = words.error.restored()
        else:
            error = ConfigurationError(
                f"process {ended.number} did not start (exit status {ended.status}). Standard error has the reason. A"
                ' script that runs a worker in several processes needs the line `if __name__ == "__main__":` before'
                " worker.run()"
            )
        self._error = self._error or error
        self._stop_all(0)

    def _stop_all(self, grace_ms: int) -> None:
        self._is_stopping = True
        kill_ms = self._clock.now_ms() + grace_ms + self._close_ms
        for place in self._places:
            place.start_ms = None
            place.tell(StopChild(grace_ms))
            if place.process is not None:
                place.kill_ms = kill_ms if place.kill_ms is None else min(place.kill_ms, kill_ms)


def _sentence(ended: ChildExit) -> str:
    text = str(ended)
    return text[0].upper() + text[1:]
