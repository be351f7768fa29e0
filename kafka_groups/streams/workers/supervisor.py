"""The worker processes of an application: they are started, watched, replaced, added, removed and stopped."""

import logging
import pickle
import threading
from collections import deque
from concurrent.futures import Future
from itertools import count
from multiprocessing.connection import wait

from attrs import evolve

from kafka_groups.config.clients.streams import StreamsConfig
from kafka_groups.errors import IllegalStateError
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.spawned_process import SPAWN
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.runtime.shared_engine import SharedEngine
from kafka_groups.streams.workers.application_state import ApplicationLife, StreamsState
from kafka_groups.streams.workers.metrics import StreamsMetric
from kafka_groups.streams.workers.pickled import WorkerProgram
from kafka_groups.streams.workers.process_end import LONGEST_CLOSE_S
from kafka_groups.streams.workers.state_directory import StateDirectory
from kafka_groups.streams.workers.worker_messages import (
    AddWorker,
    AskShutdown,
    OrderToWorker,
    PauseWorker,
    RemoveWorker,
    ResumeWorker,
    StopWorker,
)
from kafka_groups.streams.workers.worker_place import WorkerPlace, WorkProgram
from kafka_groups.streams.workers.worker_process import work
from kafka_groups.streams.workers.worker_thread import worker_name

__all__ = ["WorkerSupervisor"]

_log = logging.getLogger(__name__)

_LOOK_MS = 1_000
"""The time between two looks at the processes. Pipes alone are not enough: forks of a worker hold them open."""


class WorkerSupervisor:
    """Runs the workers of an application as processes, and watches them in a thread.

    Args:
        program: What they run.
        config: The keys of the application.
        life: Gets the state of the application.
        work: The program of a worker process.
        exit_s: How long a process may take to exit after its worker has ended, in seconds.
    """

    def __init__(
        self,
        program: WorkerProgram,
        config: StreamsConfig,
        life: ApplicationLife,
        work: WorkProgram = work,
        exit_s: float = LONGEST_CLOSE_S,
    ) -> None:
        self._program = program
        self._config = config
        self._places = [self._place(number) for number in range(1, config.num_workers + 1)]
        self._life = life
        self._work = work
        self._exit_ms = round(exit_s * 1000)
        self._clock = SystemClock()
        self._inbox, self._outbox = SPAWN.Pipe(duplex=False)
        self._messages: deque[OrderToWorker | AddWorker | RemoveWorker] = deque()
        self._sending = threading.Lock()
        self._is_over = False
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
            ConfigurationError: The directory is in use, or cannot be used.
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

    def tell_to_stop(self, timeout_s: float | None, operation: GroupMembershipOperation) -> None:
        """Stop all workers. Does not wait: the application's state shows when that is done."""
        if self._thread.is_alive():
            self._send(StopWorker(timeout_s, operation))

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

    def add(self) -> "Future[str | None]":
        """Start one more worker. The future gets its name; None before the start, and when the workers are stopped."""
        message = AddWorker(_promise())
        if threading.current_thread() is self._thread:  # of a listener, for which nobody else could add it
            self._add(message)
        else:
            self._send(message)
        return message.added

    def remove(self) -> "Future[str | None]":
        """Let the worker with the highest number leave. The future gets its name when it has ended, or None.

        Raises:
            IllegalStateError: The caller is a listener of the state, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            raise IllegalStateError("remove_worker was called by on_state, which must not wait. Use another thread.")
        message = RemoveWorker(_promise())
        self._send(message)
        return message.removed

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
        places = tuple(self._places)
        replaced = sum(place.replaced for place in places)
        return sum(place.process is not None for place in places), self._failed + replaced

    def metrics(self) -> tuple[StreamsMetric, ...]:
        """Return the metrics that the workers sent last, which they do once a second."""
        return tuple(metric for place in tuple(self._places) for metric in place.metrics)

    def _send(self, message: OrderToWorker | AddWorker | RemoveWorker) -> None:
        with self._sending:
            if self._is_over or (self._thread.ident is None and isinstance(message, AddWorker | RemoveWorker)):
                _answer_none(message)
                return
            self._messages.append(message)
            self._outbox.send_bytes(b"")

    def _place(self, number: int) -> WorkerPlace:
        return WorkerPlace(number, worker_name(self._config.application_id, number))

    # ------------------------------------------------------------------------------------ the thread

    def _main(self) -> None:
        try:
            while self._stop is None or not all(place.is_empty for place in self._places):
                self._turn()
        except Exception as error:
            _log.exception("The supervisor of the workers failed")
            self._error = StreamsError(f"The supervisor of the workers failed: {error}")
            for place in self._places:
                place.kill()
        finally:
            self._end()

    def _end(self) -> None:
        self._directory.close()
        self._answer_all()
        if self._error is not None:
            self._life.enter(StreamsState.ERROR, self._error)
        self._life.enter(StreamsState.PENDING_SHUTDOWN)
        self._life.enter(StreamsState.NOT_RUNNING)

    def _answer_all(self) -> None:
        with self._sending:
            self._is_over = True
        for message in self._messages:
            _answer_none(message)
        for place in self._places:
            _remove(place)

    def _turn(self) -> None:
        now_ms = self._clock.now_ms()
        for place in self._places:
            if place.start_ms is not None and place.start_ms <= now_ms:
                self._spawn(place, now_ms)
            place.kill_if_late(now_ms)
        ready = wait([self._inbox, *(each for place in self._places for each in place.watched)], self._wait_s(now_ms))
        if self._inbox in ready:
            self._inbox.recv_bytes()
            self._obey(self._messages.popleft())
        for place in tuple(self._places):
            status = place.hear(self._clock.now_ms() + self._exit_ms)
            if status is not None:
                self._bury(place, status)
        self._show()

    def _spawn(self, place: WorkerPlace, now_ms: int) -> None:
        try:
            place.spawn(self._work, pickle.dumps(self._program), is_paused=self._is_paused)
        except OSError as error:
            place.start_ms = place.replacements.died(now_ms)
            if place.start_ms is None:
                self._fail(f"Worker {place.number} cannot be started: {error}")
            else:
                _log.warning("Worker %d cannot be started yet: %s", place.number, error)

    def _wait_s(self, now_ms: int) -> float:
        times = [time for place in self._places for time in (place.start_ms, place.exit_by_ms) if time is not None]
        return max(min([*times, now_ms + _LOOK_MS]) - now_ms, 0) / 1000

    def _obey(self, message: OrderToWorker | AddWorker | RemoveWorker) -> None:
        if isinstance(message, StopWorker):
            self._stop_all(message)
        elif isinstance(message, AddWorker):
            self._add(message)
        elif isinstance(message, RemoveWorker):
            self._let_leave(message)
        else:
            for place in self._places:
                place.tell(message)

    def _add(self, message: AddWorker) -> None:
        if self._stop is not None:
            message.added.set_result(None)
            return
        used = {place.number for place in self._places}
        place = self._place(next(number for number in count(1) if number not in used))
        self._places.append(place)
        self._show()  # who waits for the application to run now waits for this worker, too
        message.added.set_result(place.name)

    def _let_leave(self, message: RemoveWorker) -> None:
        staying = [place for place in self._places if place.removal is None]
        if self._stop is not None or not staying:
            message.removed.set_result(None)
            return
        place = max(staying, key=lambda each: each.number)
        place.removal, place.start_ms = message.removed, None
        place.tell(StopWorker(None, GroupMembershipOperation.LEAVE_GROUP))
        if place.is_empty:
            self._forget(place)

    def _forget(self, place: WorkerPlace) -> None:
        self._places.remove(place)
        _remove(place)

    def _stop_all(self, message: StopWorker) -> None:
        if self._stop is not None:
            return
        self._stop = message
        self._life.enter(StreamsState.PENDING_SHUTDOWN)
        for place in self._places:
            place.start_ms = None
            place.tell(message)

    def _bury(self, place: WorkerPlace, status: int) -> None:
        said = place.said
        is_done = said is not None and said.state is StreamsState.NOT_RUNNING and status <= 0
        self._failed += place.replaced + (not is_done)
        place.metrics, place.replaced = (), 0
        if not is_done and (self._stop is not None or place.removal is not None):
            _log.warning(
                "Worker %d died with exit status %d while it stopped. What it had not committed is processed again",
                place.number,
                status,
            )
        if said is not None and said.state is StreamsState.ERROR:
            self._fail(f"Worker {place.number} ended: {said.error}")
        elif self._stop is not None:
            return
        elif place.removal is not None:
            self._forget(place)
        elif is_done:
            self._stop_all(StopWorker(None, GroupMembershipOperation.DEFAULT))
        elif said is None and status > 0:
            self._fail(
                f"Worker {place.number} did not start (exit status {status}). Standard error has the reason. A script "
                'that makes the application needs the line `if __name__ == "__main__":` around that.'
            )
        else:
            self._replace(place, status)

    def _replace(self, place: WorkerPlace, status: int) -> None:
        place.said = None
        place.start_ms = place.replacements.died(self._clock.now_ms())
        if place.start_ms is None:
            self._fail(f"Worker {place.number} died again and again, at last with exit status {status}.")
        else:
            _log.warning("Worker %d died with exit status %d and is replaced", place.number, status)

    def _fail(self, reason: str) -> None:
        self._error = self._error or StreamsError(reason)
        self._stop_all(StopWorker(None, GroupMembershipOperation.DEFAULT))
        # The others may commit. Code of theirs that never returns must not keep the error from being seen.
        exit_by_ms = self._clock.now_ms() + self._exit_ms + self._config.task_timeout_ms
        for place in self._places:
            if place.process is not None and place.exit_by_ms is None:
                place.exit_by_ms = exit_by_ms

    def _show(self) -> None:
        is_running = all(place.is_running for place in self._places if place.removal is None)
        self._life.enter(StreamsState.RUNNING if is_running else StreamsState.REBALANCING)


def _promise() -> "Future[str | None]":
    """Return a future that callers who wait no longer cannot cancel."""
    made: Future[str | None] = Future()
    made.set_running_or_notify_cancel()
    return made


def _remove(place: WorkerPlace) -> None:
    if place.removal is not None:
        _log.info("Worker %d is removed", place.number)
        place.removal.set_result(place.name)


def _answer_none(message: OrderToWorker | AddWorker | RemoveWorker) -> None:
    if isinstance(message, AddWorker):
        message.added.set_result(None)
    elif isinstance(message, RemoveWorker):
        message.removed.set_result(None)
