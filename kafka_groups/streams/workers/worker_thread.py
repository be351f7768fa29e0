"""The thread of a worker in the caller's process."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from attrs import frozen

from kafka_groups.errors import ApplicationShutdownError
from kafka_groups.errors.log_tracebacks import cut_tracebacks, log_end
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.short_waits import joined
from kafka_groups.processes.garbage import fewer_collections
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.records.interface import DataPlane
from kafka_groups.records.metrics import RecordsMetric
from kafka_groups.streams.engines.open_files import OpenFiles
from kafka_groups.streams.engines.questions import StoreQuestion, TaskAnswer
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.member.rules.endpoints import EndpointPartitions
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.runtime.worker import StreamsWorker
from kafka_groups.streams.tasks.error_context import UncaughtErrorResponse
from kafka_groups.streams.workers.application_metrics import StreamsMetric, WorkerSources, worker_metrics
from kafka_groups.streams.workers.application_state import ApplicationLife, StreamsState
from kafka_groups.streams.workers.query_places import QueryPlaces
from kafka_groups.streams.workers.uncaught import UncaughtErrors

__all__ = ["RunningWorker", "WorkerThread", "worker_name"]

_log = logging.getLogger(__name__)
cut_tracebacks(_log)

_LONGEST_WAIT_MS = 100
"""The time after which a worker that waits for records learns that it has to stop."""

_NEW_OBJECTS = 50_000
"""The new objects after which Python looks for garbage: those of some thousand records."""

_LONGEST_ASK_S = 10.0
"""The longest wait until the group knows that all its members are asked to shut down."""

_ONE = (
    "The worker runs in a thread of this process, so {}_worker has no effect. Set num_workers to 2 or more to have "
    "worker processes, which can be added and removed."
)


def worker_name(application_id: str, number: int) -> str:
    """Return the name of a worker of an application, which its thread has."""
    return f"streams-{application_id}-{number}"


@frozen
class RunningWorker:
    """A worker, and the data plane that it waits on.

    Attributes:
        worker: The worker.
        plane: Its data plane.
        thread_id: Its name in metrics.
        member_metrics: Returns the metrics of its member of the group.
        endpoints: Returns the source partitions of each `application.server` of the group.
        plane_metrics: Returns the metrics of the data plane.
        assignor: The task assignor of a member of a classic group.
    """

    worker: StreamsWorker
    plane: DataPlane
    thread_id: str
    member_metrics: Callable[[], Mapping[str, float]]
    endpoints: Callable[[], Mapping[UserEndpoint, EndpointPartitions]] = dict
    plane_metrics: Callable[[], Iterable[RecordsMetric]] = tuple
    assignor: str = ""


class WorkerThread:
    """Runs a worker until it is stopped, or fails and is not replaced.

    Args:
        make: Makes the worker, on its thread, and again for each replacement.
        life: Receives the states of the application.
        name: The thread's name.
        uncaught: Decides about errors.
        at_end: Called when the last worker has ended, before the application shows it.
        on_files: Gets the files of the tasks and global stores whenever others have come or gone.
    """

    def __init__(
        self,
        make: Callable[[], RunningWorker],
        life: ApplicationLife,
        name: str,
        uncaught: UncaughtErrors,
        at_end: Callable[[], None] = lambda: None,
        on_files: Callable[[tuple[OpenFiles, ...]], object] = lambda _files: None,
    ) -> None:
        self._make = make
        self._at_end = at_end
        self._on_files = on_files
        self._told_of: tuple[object, object] = None, None
        self._uncaught = uncaught
        self._life = life
        self._stopping = threading.Event()
        self._shutdown_asked = threading.Event()
        self._paused = threading.Event()
        self._close: dict[str, Any] = {}
        self._worker: StreamsWorker | None = None
        self._running: RunningWorker | None = None
        self._replaced = 0
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)

    def __repr__(self) -> str:
        return f"<WorkerThread {self._thread.name!r}>"

    @property
    def is_alive(self) -> bool:
        """True if the thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout_s: float | None, operation: GroupMembershipOperation) -> bool:
        """Commit, close and leave. Blocks until that is done, or the time is up; return whether it is done."""
        self.tell_to_stop(timeout_s, operation)
        if self._thread.ident is not None:
            joined(self._thread, timeout_s)
        return not self._thread.is_alive()

    def tell_to_stop(self, timeout_s: float | None, operation: GroupMembershipOperation) -> None:
        """Commit, close and leave, as `stop` does. Does not wait: the application's state shows when that is done."""
        self._close = {"timeout_s": timeout_s, "operation": operation}
        self._stopping.set()

    def request_shutdown(self) -> None:
        """Ask all members of the group to shut down."""
        self._shutdown_asked.set()

    def pause(self) -> None:
        """Process nothing from the next turn on."""
        self._paused.set()

    def resume(self) -> None:
        """Process again."""
        self._paused.clear()

    def add(self) -> "Future[str | None]":
        """Refuse: a thread gains nothing from another one.

        Raises:
            StreamsError: Always.
        """
        raise StreamsError(_ONE.format("add"))

    def remove(self) -> "Future[str | None]":
        """Refuse: there is one worker.

        Raises:
            StreamsError: Always.
        """
        raise StreamsError(_ONE.format("remove"))

    def ask(self, question: StoreQuestion) -> list[TaskAnswer]:
        """Return what each task answers that has a store.

        Raises:
            InvalidStateStoreError: A task has just gone.
        """
        return [] if self._worker is None else self._worker.answers(question)

    @property
    def places(self) -> QueryPlaces:
        """The processes of the group, as far as this worker knows them."""
        running = self._running
        if running is None:
            return QueryPlaces()
        return QueryPlaces(dict(running.endpoints()), dict(running.worker.partition_counts))

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of workers that are alive and that have failed."""
        return int(self._thread.is_alive()), self._replaced + (self._life.state is StreamsState.ERROR)

    @property
    def replaced(self) -> int:
        """The number of workers that have failed and were replaced."""
        return self._replaced

    def metrics(self) -> tuple[StreamsMetric, ...]:
        """Return the metrics of the worker; none before it was made."""
        running = self._running
        if running is None:
            return ()
        of_worker = worker_metrics(
            WorkerSources(
                thread_id=running.thread_id,
                state=self._life.state,
                tasks=tuple(running.worker.tasks.values()),
                stores=running.worker.stores,
                sensors=running.worker.sensors,
                is_paused=running.worker.is_paused,
                member=running.member_metrics(),
                assignor=running.assignor,
                now_ms=SystemClock().now_ms(),
            )
        )
        return (*of_worker, *(StreamsMetric(*each) for each in running.plane_metrics()))

    def _main(self) -> None:
        try:
            self._run_workers()
        except ApplicationShutdownError as error:
            _log.warning("The application ends: %s", error)
            self._life.enter(StreamsState.PENDING_SHUTDOWN)
            self._life.enter(StreamsState.NOT_RUNNING)
        except BaseException as error:  # whatever it is, the application must not seem to run
            log_end(_log, "The application ends with an error", error)
            self._life.enter(StreamsState.ERROR, error)
        else:
            self._life.enter(StreamsState.NOT_RUNNING)

    def _run_workers(self) -> None:
        try:
            while (wait_ms := self._run_here()) is not None:
                self._replaced += 1
                self._life.enter(StreamsState.REBALANCING)
                self._stopping.wait(wait_ms / 1000)
        finally:
            self._at_end()

    def _run_here(self) -> int | None:
        with fewer_collections(_NEW_OBJECTS):
            return asyncio.run(self._run())

    async def _run(self) -> int | None:
        """Run one worker to its end. Return when to replace it, in ms from now; None if it was stopped."""
        if self._stopping.is_set():
            self._life.enter(StreamsState.PENDING_SHUTDOWN)
            return None
        running = self._running = self._make()
        worker = running.worker
        try:
            await worker.start()
            self._worker = worker
            while not self._stopping.is_set():
                await self._turn(running)
        except BaseException as error:  # also SystemExit: the worker leaves its tasks before it is raised
            self._worker = None
            return await self._failed(worker, error)
        self._life.enter(StreamsState.PENDING_SHUTDOWN)
        await worker.close(**self._close)
        return None

    async def _failed(self, worker: StreamsWorker, error: BaseException) -> int:
        """Close a worker that has failed, as the application's handler says. Return when to replace it."""
        try:
            response = self._response(error)
            if response is UncaughtErrorResponse.SHUTDOWN_APPLICATION:
                await self._ask_all(worker)
        finally:
            await self._abandon(worker)
        if response is not UncaughtErrorResponse.REPLACE_WORKER or not isinstance(error, Exception):
            raise error
        wait_ms = self._uncaught.replacement_wait_ms(error)
        _log.error("The worker has failed and is replaced in %d ms", wait_ms, exc_info=error)
        return wait_ms

    def _response(self, error: BaseException) -> UncaughtErrorResponse:
        if not isinstance(error, Exception) or isinstance(error, ApplicationShutdownError):
            return UncaughtErrorResponse.SHUTDOWN_CLIENT
        return self._uncaught.response(error)

    async def _turn(self, running: RunningWorker) -> None:
        if self._shutdown_asked.is_set():
            self._shutdown_asked.clear()
            await running.worker.request_shutdown()
        running.worker.is_paused = self._paused.is_set()
        wait_ms = await running.worker.turn()
        known = running.worker.tasks, running.worker.global_engine
        if any(each is not told for each, told in zip(known, self._told_of, strict=True)):
            self._told_of = known
            self._on_files(running.worker.open_files())
        self._life.enter(StreamsState.RUNNING if running.worker.is_running else StreamsState.REBALANCING)
        if wait_ms:
            await running.plane.wait(min(wait_ms, _LONGEST_WAIT_MS))

    @staticmethod
    async def _ask_all(worker: StreamsWorker) -> None:
        """Ask all members to shut down, and stay in the group until it knows."""
        try:
            async with asyncio.timeout(_LONGEST_ASK_S):
                await worker.request_shutdown()
                while not await worker.hears_of_shutdown():  # noqa: ASYNC110 - the group has to be asked
                    await asyncio.sleep(_LONGEST_WAIT_MS / 1000)
        except Exception:  # the first error is the one to report
            _log.exception("The other members of the group may not have heard that they have to shut down")

    @staticmethod
    async def _abandon(worker: StreamsWorker) -> None:
        try:
            await worker.close(is_clean=False)
        except Exception:  # the first error is the one to report
            _log.exception("The worker could not be closed after an error")
