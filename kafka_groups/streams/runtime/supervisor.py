"""The worker processes of an application: they are started, watched, replaced and stopped."""

import logging
import multiprocessing
import threading
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from attrs import define, evolve, field

from kafka_groups.config.clients.streams import StreamsConfig
from kafka_groups.net.clock import SystemClock
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.runtime.application_state import ApplicationLife, StreamsState
from kafka_groups.streams.runtime.metrics import StreamsMetric
from kafka_groups.streams.runtime.pickled import WorkerProgram
from kafka_groups.streams.runtime.replacing import Replacements
from kafka_groups.streams.runtime.shared_engine import SharedEngine
from kafka_groups.streams.runtime.state_directory import StateDirectory
from kafka_groups.streams.runtime.worker_messages import (
    AskShutdown,
    PauseWorker,
    ResumeWorker,
    StopWorker,
    WorkerChanged,
    WorkerMeasured,
)
from kafka_groups.streams.runtime.worker_process import work

__all__ = ["WorkerSupervisor"]

_log = logging.getLogger(__name__)

_SPAWN = multiprocessing.get_context("spawn")
_ENDED = (StreamsState.ERROR, StreamsState.NOT_RUNNING)
_ToWorkers = AskShutdown | PauseWorker | ResumeWorker | StopWorker


@define(eq=False)
class _Place:
    """The place of a worker: its process, if it has one now, and what it said last."""

    number: int
    replacements: Replacements = field(factory=Replacements)
    process: BaseProcess | None = None
    pipe: Connection | None = None
    said: WorkerChanged | None = None
    start_ms: int | None = 0
    metrics: tuple[StreamsMetric, ...] = ()


class WorkerSupervisor:
    """Runs the workers of an application as processes, and watches them in a thread.

    Args:
        program: What they run.
        config: The keys of the application.
        life: Gets the state of the application.
    """

    def __init__(self, program: WorkerProgram, config: StreamsConfig, life: ApplicationLife) -> None:
        self._program = program
        self._places = [_Place(number) for number in range(1, config.num_workers + 1)]
        self._life = life
        self._config = config
        self._clock = SystemClock()
        self._inbox, self._outbox = _SPAWN.Pipe(duplex=False)
        self._sending = threading.Lock()
        self._stop: StopWorker | None = None
        self._is_paused = False
        self._failed = 0
        self._error: StreamsError | None = None
        self._thread = threading.Thread(target=self._main, name="streams-supervisor", daemon=True)

    def __repr__(self) -> str:
        return f"<WorkerSupervisor of {len(self._places)} workers>"

    def start(self) -> None:
        """Lock the directory, and start the workers. Does not wait for them.

        Raises:
            ConfigurationError: The directory is in use.
        """
        self._directory = StateDirectory(self._config.state_dir, self._config.application_id)
        self._program = evolve(self._program, process_id=self._directory.process_id)
        self._thread.start()

    def stop(self, timeout_s: float | None, operation: GroupMembershipOperation) -> bool:
        """Stop all workers. Blocks until they have ended, or the time is up; return whether they have ended."""
        self.tell_to_stop(timeout_s, operation)
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def tell_to_stop(self, _timeout_s: float | None, operation: GroupMembershipOperation) -> None:
        """Stop all workers. Does not wait: the application's state shows when that is done."""
        if self._thread.is_alive():
            self._send(StopWorker(operation))

    def request_shutdown(self) -> None:
        """Ask all members of the group to shut down."""
        self._send(AskShutdown())

    def pause(self) -> None:
        """Let the workers process nothing, also those that are started later."""
        self._is_paused = True
        self._send(PauseWorker())

    def resume(self) -> None:
        """Let the workers process again."""
        self._is_paused = False
        self._send(ResumeWorker())

    def engines(self, store: str) -> list[SharedEngine]:
        """Refuse: the stores are in other processes.

        Raises:
            StreamsError: Always.
        """
        raise StreamsError(
            f"Store {store!r} is in the {len(self._places)} worker processes, which this process cannot read. "
            "Use num_workers=1 to read stores."
        )

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of workers that are alive and that have failed."""
        return sum(place.process is not None for place in self._places), self._failed

    def metrics(self) -> tuple[StreamsMetric, ...]:
        """Return the metrics that the workers sent last, which they do once a second."""
        return tuple(metric for place in self._places for metric in place.metrics)

    def _send(self, message: _ToWorkers) -> None:
        with self._sending:
            self._outbox.send(message)

    # ------------------------------------------------------------------------------------ the thread

    def _main(self) -> None:
        try:
            while any(place.process is not None or place.start_ms is not None for place in self._places):
                self._turn()
        except Exception as error:
            _log.exception("The supervisor of the workers failed")
            self._error = StreamsError(f"The supervisor of the workers failed: {error}")
            self._kill_all()
        self._directory.close()
        if self._error is not None:
            self._life.enter(StreamsState.ERROR, self._error)
        self._life.enter(StreamsState.PENDING_SHUTDOWN)
        self._life.enter(StreamsState.NOT_RUNNING)

    def _turn(self) -> None:
        now_ms = self._clock.now_ms()
        for place in self._places:
            if place.start_ms is not None and place.start_ms <= now_ms:
                self._spawn(place)
        due = [place.start_ms for place in self._places if place.start_ms is not None]
        pipes = {place.pipe: place for place in self._places if place.pipe is not None}
        for ready in wait([self._inbox, *pipes], (min(due) - now_ms) / 1000 if due else None):
            if ready is self._inbox:
                self._obey(self._inbox.recv())
            else:
                self._hear(pipes[ready])  # type: ignore[index]
        self._show()

    def _spawn(self, place: _Place) -> None:
        ours, theirs = _SPAWN.Pipe()
        name = f"streams-worker-{place.number}"
        arguments = (self._program, place.number, theirs, self._is_paused)
        place.process = _SPAWN.Process(target=work, args=arguments, name=name, daemon=True)
        place.process.start()
        theirs.close()
        place.pipe, place.said, place.start_ms = ours, None, None
        _log.info("Worker %d has process id %s", place.number, place.process.pid)

    def _obey(self, message: _ToWorkers) -> None:
        if isinstance(message, StopWorker):
            self._stop_all(message)
        else:
            for place in self._places:
                self._tell(place, message)

    def _stop_all(self, message: StopWorker) -> None:
        if self._stop is not None:
            return
        self._stop = message
        self._life.enter(StreamsState.PENDING_SHUTDOWN)
        for place in self._places:
            place.start_ms = None
            self._tell(place, message)

    @staticmethod
    def _tell(place: _Place, message: _ToWorkers) -> None:
        try:
            if place.pipe is not None:
                place.pipe.send(message)
        except OSError:
            _log.debug("Worker %d has ended", place.number)  # its end of the pipe is read next

    def _hear(self, place: _Place) -> None:
        try:
            said = place.pipe.recv()  # type: ignore[union-attr]
        except (EOFError, OSError):
            self._bury(place)
            return
        if isinstance(said, WorkerMeasured):
            place.metrics = said.metrics
            return
        place.said = said
        if said.state in _ENDED:
            self._tell(place, self._stop or StopWorker(GroupMembershipOperation.DEFAULT))

    def _bury(self, place: _Place) -> None:
        status = self._ended(place)
        self._failed += status != 0
        place.metrics = ()
        said = place.said
        if said is not None and said.state is StreamsState.ERROR:
            self._fail(f"Worker {place.number} ended: {said.error}")
        elif self._stop is not None:
            return
        elif said is not None and said.state is StreamsState.NOT_RUNNING and status == 0:
            self._stop_all(StopWorker(GroupMembershipOperation.DEFAULT))
        elif said is None and status > 0:
            self._fail(
                f"Worker {place.number} did not start (exit status {status}). Standard error has the reason. A script "
                'that makes the application needs the line `if __name__ == "__main__":` around that.'
            )
        else:
            self._replace(place, status)

    @staticmethod
    def _ended(place: _Place) -> int:
        if place.process is None or place.pipe is None:
            raise RuntimeError(f"worker {place.number} has no process")
        place.process.join()
        place.pipe.close()
        status = place.process.exitcode
        place.process = place.pipe = None
        return 0 if status is None else status

    def _replace(self, place: _Place, status: int) -> None:
        place.said = None
        place.start_ms = place.replacements.died(self._clock.now_ms())
        if place.start_ms is None:
            self._fail(f"Worker {place.number} died again and again, at last with exit status {status}.")
        else:
            _log.warning("Worker %d died with exit status %d and is replaced", place.number, status)

    def _fail(self, reason: str) -> None:
        self._error = self._error or StreamsError(reason)
        self._stop_all(StopWorker(GroupMembershipOperation.DEFAULT))

    def _kill_all(self) -> None:
        for place in self._places:
            if place.process is not None:
                place.process.kill()
                place.process.join()

    def _show(self) -> None:
        is_running = all(place.said is not None and place.said.state is StreamsState.RUNNING for place in self._places)
        self._life.enter(StreamsState.RUNNING if is_running else StreamsState.REBALANCING)
