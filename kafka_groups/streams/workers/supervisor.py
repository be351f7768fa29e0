"""The worker processes of an application: they are started, watched, replaced, added, removed and stopped."""

import logging
import pickle
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from itertools import count

from attrs import evolve

from kafka_groups.config.clients.streams import StreamsConfig
from kafka_groups.errors import IllegalStateError
from kafka_groups.errors.log_tracebacks import cut_tracebacks
from kafka_groups.net.short_waits import joined
from kafka_groups.processes.supervisor import ProcessPoolSupervisor
from kafka_groups.streams.engines.left_folders import condemn_left_open
from kafka_groups.streams.engines.questions import StoreQuestion, TaskAnswer
from kafka_groups.streams.engines.state_readers import StateReaders
from kafka_groups.streams.errors import StoreNotAvailableError, StreamsError, reason_of
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.streams.topology.node_graph import TopologyStore
from kafka_groups.streams.workers.application_metrics import StreamsMetric
from kafka_groups.streams.workers.application_state import ApplicationLife, StreamsState
from kafka_groups.streams.workers.open_questions import OpenQuestions
from kafka_groups.streams.workers.pickled import WorkerProgram
from kafka_groups.streams.workers.process_slot import WorkerProcessSlot, WorkProgram
from kafka_groups.streams.workers.query_places import QueryPlaces
from kafka_groups.streams.workers.state_directory import StateDirectory
from kafka_groups.streams.workers.worker_messages import (
    AddWorker,
    AskShutdown,
    AskStore,
    AskWorkers,
    OrderToWorker,
    PauseWorker,
    RemoveWorker,
    ResumeWorker,
    StopWorker,
)
from kafka_groups.streams.workers.worker_process import LONGEST_CLOSE_S, work
from kafka_groups.streams.workers.worker_thread import worker_name

__all__ = ["WorkerSupervisor"]

_log = logging.getLogger(__name__)
cut_tracebacks(_log)

_LONGEST_ANSWER_S = 30.0
_DAMAGE = frozenset({signal.SIGABRT, signal.SIGBUS, signal.SIGSEGV})
"""The signals by which a process ends that reads damaged files of LMDB."""


_Message = OrderToWorker | AddWorker | RemoveWorker | AskWorkers


class WorkerSupervisor(ProcessPoolSupervisor[WorkerProcessSlot, _Message]):
    """Runs the workers of an application as processes, and watches them in a thread.

    Args:
        program: What they run.
        config: The keys of the application.
        directory: Takes the folder of the application.
        life: Gets the state of the application.
        work: The program of a worker process.
        stores: The stores of the application, by name.
        exit_s: How long a process may take to exit after its worker has ended, in seconds.
    """

    _error_class = StreamsError

    def __init__(  # noqa: PLR0913 - the last two by keyword
        self,
        program: WorkerProgram,
        config: StreamsConfig,
        directory: Callable[[], StateDirectory],
        life: ApplicationLife,
        work: WorkProgram = work,
        *,
        stores: Mapping[str, TopologyStore],
        exit_s: float = LONGEST_CLOSE_S,
    ) -> None:
        self._program = program
        self._config = config
        self._take_directory = directory
        self._exit_ms = round(exit_s * 1000)
        super().__init__(map(self._slot, range(1, config.num_workers + 1)))
        self._life = life
        self._work = work
        self._sending = threading.Lock()
        self._questions = OpenQuestions()
        self._stores = stores
        self._readers = StateReaders()
        self._is_over = False
        self._is_paused = False
        self._failed = 0
        self._thread = threading.Thread(target=self._main, name="streams-supervisor", daemon=True)

    def __repr__(self) -> str:
        return f"<WorkerSupervisor of {len(self._slots)} workers>"

    def start(self) -> None:
        """Lock the directory, and start the workers. Does not wait for them.

        Raises:
            ConfigurationError: The directory is in use, or cannot be used.
        """
        self._directory = self._take_directory()
        self._program = evolve(self._program, process_id=self._directory.process_id)
        self._thread.start()

    def stop(self, timeout_s: float | None, operation: GroupMembershipOperation) -> bool:
        """Stop all workers. Blocks until they have ended, or the time is up; return whether they have ended."""
        self.tell_to_stop(timeout_s, operation)
        if self._thread.ident is not None:
            joined(self._thread, timeout_s)
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
        return message.answer

    def remove(self) -> "Future[str | None]":
        """Let the worker with the highest number leave. The future gets its name when it has ended, or None.

        Raises:
            IllegalStateError: The caller is a listener of the state, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            raise IllegalStateError("remove_worker was called by on_state, which must not wait. Use another thread.")
        message = RemoveWorker(_promise())
        self._send(message)
        return message.answer

    def ask(self, question: StoreQuestion) -> list[TaskAnswer]:
        """Return what each task answers that has a store.

        Stores on disk are read from their files. For others, it blocks until all workers have answered.

        Raises:
            InvalidStateStoreError: A task has just gone, or a worker does not answer.
            IllegalStateError: The caller is a listener of the state, which would wait for itself.
        """
        place = self._stores.get(question.store)
        if place is not None and place.definition.persistent:
            return self._read(question, place.definition)
        if threading.current_thread() is self._thread:
            raise IllegalStateError("A store was read by on_state, which must not wait. Use another thread.")
        message = AskWorkers(question, Future())
        self._send(message)
        try:
            return message.answer.result(_LONGEST_ANSWER_S)
        except TimeoutError:
            raise StoreNotAvailableError(
                f"A worker has not answered within {_LONGEST_ANSWER_S:g} s what store {question.store!r} has. Its log "
                "says what it waits for. Ask again later."
            ) from None

    def _read(self, question: StoreQuestion, definition: StoreDefinition) -> list[TaskAnswer]:
        slots = tuple(self._slots)
        told = [files for slot in slots for files in slot.files]
        left = [files for slot in slots for files in slot.left_files]
        return self._readers.answers(question, definition, told, left)

    @property
    def places(self) -> QueryPlaces:
        """The processes of the group, as a worker told them last, which each does once a second."""
        known = [slot.places for slot in tuple(self._slots) if slot.process is not None]
        return max(known, key=lambda each: (len(each.endpoints), len(each.partition_counts)), default=QueryPlaces())

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of workers that are alive and that have failed."""
        slots = tuple(self._slots)
        replaced = sum(slot.replaced for slot in slots)
        return sum(slot.process is not None for slot in slots), self._failed + replaced

    def metrics(self) -> tuple[StreamsMetric, ...]:
        """Return the metrics that the workers sent last, which they do once a second."""
        return tuple(metric for slot in tuple(self._slots) for metric in slot.metrics)

    def _send(self, message: _Message) -> None:
        with self._sending:
            if self._is_over or (self._thread.ident is None and not isinstance(message, OrderToWorker)):
                _answer_nothing(message)
            else:
                self._post(message)

    def _slot(self, number: int) -> WorkerProcessSlot:
        return WorkerProcessSlot(number, worker_name(self._config.application_id, number), self._exit_ms)

    # ------------------------------------------------------------------------------------ the thread

    def _main(self) -> None:
        try:
            self._run()
        except Exception as error:  # whatever it is, the application must not seem to run
            _log.exception("The supervisor of the workers failed")
            self._error = StreamsError(f"The supervisor of the workers failed: {reason_of(error)}")
        finally:
            self._end()

    def _end(self) -> None:
        self._readers.close()  # another process may have the folder from now on
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
            _answer_nothing(message)
        for slot in self._slots:
            _remove(slot)

    def _turn(self) -> None:
        super()._turn()
        for slot in self._slots:
            answered, slot.answered = slot.answered, []
            for message in answered:
                self._questions.answered(slot.number, message)
        self._readers.keep([files for slot in self._slots for files in (*slot.files, *slot.left_files)])
        self._show()

    def _spawn(self, slot: WorkerProcessSlot, now_ms: int) -> None:
        slot.spawn(self._work, pickle.dumps(self._program), now_ms, is_paused=self._is_paused)

    def _obey(self, message: _Message) -> None:
        if isinstance(message, StopWorker):
            self._stop_all(message)
        elif isinstance(message, AddWorker):
            self._add(message)
        elif isinstance(message, RemoveWorker):
            self._let_leave(message)
        elif isinstance(message, AskWorkers):
            self._ask(message)
        else:
            for slot in self._slots:
                slot.tell(message)

    def _ask(self, message: AskWorkers) -> None:
        # A worker that has said nothing yet has no tasks.
        asked = [slot for slot in self._slots if slot.process is not None and slot.said is not None]
        number = self._questions.add(message.answer, {slot.number for slot in asked})
        for slot in asked:
            slot.tell(AskStore(number, message.question))

    def _add(self, message: AddWorker) -> None:
        if self._is_stopping:
            message.answer.set_result(None)
            return
        used = {slot.number for slot in self._slots}
        slot = self._slot(next(number for number in count(1) if number not in used))
        self._slots.append(slot)
        self._show()  # who waits for the application to run now waits for this worker, too
        message.answer.set_result(slot.name)

    def _let_leave(self, message: RemoveWorker) -> None:
        staying = [slot for slot in self._slots if slot.removal is None]
        if self._is_stopping or not staying:
            message.answer.set_result(None)
            return
        slot = max(staying, key=lambda each: each.number)
        slot.removal, slot.start_ms = message.answer, None
        slot.tell(StopWorker(None, GroupMembershipOperation.LEAVE_GROUP))
        if slot.is_empty:
            self._forget(slot)

    def _forget(self, slot: WorkerProcessSlot) -> None:
        self._slots.remove(slot)
        _remove(slot)

    def _stop_all(self, message: StopWorker) -> None:
        if not self._is_stopping:
            self._is_stopping = True  # before the listener of the state hears of it, and perhaps adds a worker
            self._life.enter(StreamsState.PENDING_SHUTDOWN)
            self._tell_to_stop(message)

    def _ended(self, slot: WorkerProcessSlot, status: int) -> None:
        self._questions.died(slot.number)
        slot.leave_files(are_readable=-status not in _DAMAGE)
        if -status in _DAMAGE:
            self._condemn()
        said = slot.said
        is_done = said is not None and said.state is StreamsState.NOT_RUNNING and status <= 0
        self._failed += slot.replaced + (not is_done)
        slot.metrics, slot.replaced = (), 0
        if not is_done and (self._is_stopping or slot.removal is not None):
            _log.warning(
                "Worker %d died with exit status %d while it stopped. What it had not committed is processed again",
                slot.number,
                status,
            )
        if said is not None and said.state is StreamsState.ERROR:
            self._fail(StreamsError(f"Worker {slot.number} ended: {said.error}"))
        elif self._is_stopping:
            return
        elif slot.removal is not None:
            self._forget(slot)
        elif is_done:
            self._stop_all(StopWorker(None, GroupMembershipOperation.DEFAULT))
        elif said is None and status > 0:
            self._fail(
                StreamsError(
                    f"Worker {slot.number} did not start (exit status {status}). Standard error has the reason. A "
                    'script that makes the application needs the line `if __name__ == "__main__":` around that.'
                )
            )
        else:
            self._replace(slot, status)

    def _condemn(self) -> None:
        """Let the store files that the dead process had open be restored: they may be why it died."""
        try:
            condemn_left_open(self._directory.path)
        except OSError as error:
            _log.warning("The store files of a dead worker cannot be marked as damaged: %s", error)

    def _replace(self, slot: WorkerProcessSlot, status: int) -> None:
        slot.said = None
        if slot.restart(self._clock.now_ms()) is None:
            self._fail(StreamsError(f"Worker {slot.number} died again and again, at last with exit status {status}."))
        else:
            _log.warning("Worker %d died with exit status %d and is replaced", slot.number, status)

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error
        self._stop_all(StopWorker(None, GroupMembershipOperation.DEFAULT))
        # The others may commit. Code of theirs that never returns must not keep the error from being seen.
        kill_ms = self._clock.now_ms() + self._exit_ms + self._config.task_timeout_ms
        for slot in self._slots:
            slot.kill_by(kill_ms)

    def _show(self) -> None:
        is_running = all(slot.is_running for slot in self._slots if slot.removal is None)
        self._life.enter(StreamsState.RUNNING if is_running else StreamsState.REBALANCING)


def _promise() -> "Future[str | None]":
    """Return a future that callers who wait no longer cannot cancel."""
    made: Future[str | None] = Future()
    made.set_running_or_notify_cancel()
    return made


def _remove(slot: WorkerProcessSlot) -> None:
    if slot.removal is not None:
        _log.info("%s is removed", slot)
        slot.removal.set_result(slot.name)


def _answer_nothing(message: _Message) -> None:
    if isinstance(message, AddWorker | RemoveWorker):
        message.answer.set_result(None)
    elif isinstance(message, AskWorkers):
        message.answer.set_result([])
