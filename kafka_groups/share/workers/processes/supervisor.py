"""The parent of worker processes: it starts, watches, replaces and stops them."""

import logging
import signal
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from types import FrameType

from attrs import evolve

from kafka_groups.errors import ConfigurationError
from kafka_groups.net.signal_handlers import signals_handled
from kafka_groups.processes.supervisor import ProcessPoolSupervisor
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.processes.child import ChildProgram
from kafka_groups.share.workers.processes.exits import ChildExit, ExitOutcome, exit_outcome, health_of
from kafka_groups.share.workers.processes.kept_notes import NotesKeeper
from kafka_groups.share.workers.processes.messages import NameSuspects, StopChild
from kafka_groups.share.workers.processes.process_slot import ChildMain, ChildProcessSlot
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.telemetry.workers import WorkerTelemetry

__all__ = ["ChildSupervisor"]

_LOG = logging.getLogger("kafka_groups.worker")

_TIME_TO_CLOSE_MS = 4_000
"""A process that has not ended this long after its time to stop is killed."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class ChildSupervisor(ProcessPoolSupervisor[ChildProcessSlot, StopChild]):
    """Runs a worker in several processes, which are members of its group.

    Args:
        main: The program of a process.
        program: What the processes run.
        kept: The notes of the processes, with parts for each.
        telemetry: Gets the metrics of all.
        shutdown_ms: How long records in hand may run on when a signal stops the worker.
        close_ms: How long processes may take to end after that.
    """

    def __init__(
        self,
        main: ChildMain,
        program: ChildProgram,
        kept: NotesKeeper,
        telemetry: WorkerTelemetry,
        shutdown_ms: int,
        close_ms: int = _TIME_TO_CLOSE_MS,
    ) -> None:
        super().__init__(ChildProcessSlot(number + 1, telemetry) for number in range(kept.notes.processes))
        self._main = main
        self._program = program
        self._kept = kept
        self._telemetry = telemetry
        self._shutdown_ms = shutdown_ms
        self._close_ms = close_ms
        self._signals = 0
        self._has_losses = False

    def __repr__(self) -> str:
        return f"<ChildSupervisor of {len(self._slots)} processes of {self._program.address}>"

    def run(self) -> None:
        """Start the processes, and run until a signal or `stop` ends them, or an error does. Call it once.

        Raises:
            ConfigurationError: The worker cannot start.
            Exception: The error that ended a process.
        """
        with self._signals_handled():
            self._run()
        if self._error is not None:
            raise self._error
        # Without a start, the suspects of the predecessors have not been run yet. After losses during the stop, the
        # successor has to know them.
        if self.has_any_started and not self._has_losses:
            self._kept.forget()

    def stop(self, grace_ms: int) -> None:
        """Let all processes stop: records in hand may run on for this long. Does not wait; any thread may call it."""
        self._post(StopChild(grace_ms))

    def close(self) -> None:
        """Close the pipe that `stop` writes to. Call this after `run`."""
        self._close_pipe()

    @property
    def has_any_started(self) -> bool:
        """True once a process has handled records."""
        return any(slot.has_ever_started for slot in self._slots)

    @property
    def health(self) -> Health:
        """The health of all processes together. Any thread may read it."""
        now_ms = self._clock.now_ms()
        return health_of([slot.state(now_ms) for slot in self._slots])

    # ------------------------------------------------------------------------------------------ signals

    def _signals_handled(self) -> AbstractContextManager[None]:
        if threading.current_thread() is not threading.main_thread():
            return nullcontext()
        return signals_handled(_SIGNALS, self._signalled)

    def _signalled(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1
        self.stop(self._shutdown_ms if self._signals == 1 else 0)

    # ------------------------------------------------------------------------------------------ processes

    def _spawn(self, slot: ChildProcessSlot, now_ms: int) -> None:
        program = evolve(self._program, suspects=tuple(self._kept.suspects))
        slot.spawn(self._main, program, self._kept.notes, now_ms)

    def _obey(self, message: StopChild) -> None:
        self._stop_all(message.grace_ms)

    def _ended(self, slot: ChildProcessSlot, status: int) -> None:
        ended = slot.exit_of(status, self._kept.notes)
        outcome = exit_outcome(ended, is_stopping=self._is_stopping, has_any_started=self.has_any_started)
        # What a process was running when it died are suspects for all others, also during a stop: they may get its
        # records.
        if not ended.is_in_order and ended.running:
            self._name_suspects(ended.running)
            self._has_losses |= self._is_stopping
        if outcome is ExitOutcome.RESTART:
            self._restart(slot, ended)
        elif outcome is ExitOutcome.FAIL:
            self._fail(_error_of(ended))
        elif outcome is ExitOutcome.STOP:
            _LOG.info("%s was stopped by the program, so all others stop", slot)
            self._stop_all(self._shutdown_ms)
        elif not ended.is_in_order and ended.has_started:
            _LOG.warning("%s while the worker was stopping. Its records are delivered again", _sentence(ended))

    def _restart(self, slot: ChildProcessSlot, ended: ChildExit) -> None:
        wait_ms = slot.restart(self._clock.now_ms())
        self._telemetry.restarted(str(slot.number))
        words = ended.last_words
        reason = "" if words is None or words.error is None else f":\n{words.error.text}"
        _LOG.error("%s. It is started again in %s ms%s", _sentence(ended), wait_ms, reason)

    def _name_suspects(self, ranges: Sequence[RunningRange]) -> None:
        self._kept.name(ranges)
        for slot in self._slots:
            slot.tell(NameSuspects(tuple(ranges)))

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error
        self._stop_all(0)

    def _stop_all(self, grace_ms: int) -> None:
        self._tell_to_stop(StopChild(grace_ms))
        # A process whose handler hangs would keep the whole worker from ending.
        kill_ms = self._clock.now_ms() + grace_ms + self._close_ms
        for slot in self._slots:
            slot.kill_by(kill_ms)


def _error_of(ended: ChildExit) -> Exception:
    words = ended.last_words
    if words is not None and words.error is not None:
        return words.error.restored()
    return ConfigurationError(
        f"process {ended.number} did not start (exit status {ended.status}). Standard error has the reason. A script"
        ' that runs a worker in several processes needs the line `if __name__ == "__main__":` before worker.run()'
    )


def _sentence(ended: ChildExit) -> str:
    text = str(ended)
    return text[0].upper() + text[1:]
