"""The thread of a worker in the caller's process."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from kafka_groups.errors import ApplicationShutdownError
from kafka_groups.net.clock import SystemClock
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.runtime.application_state import ApplicationLife, StreamsState
from kafka_groups.streams.runtime.metrics import StreamsMetric, WorkerSources, worker_metrics
from kafka_groups.streams.runtime.plane import DataPlane
from kafka_groups.streams.runtime.shared_engine import SharedEngine
from kafka_groups.streams.runtime.worker import StreamsWorker

__all__ = ["RunningWorker", "WorkerThread"]

_log = logging.getLogger(__name__)

_LONGEST_WAIT_MS = 100
"""The time after which a worker that waits for records learns that it has to stop."""


@frozen
class RunningWorker:
    """A worker, and the data plane that it waits on.

    Attributes:
        worker: The worker.
        plane: Its data plane.
        thread_id: Its name in metrics.
        member_metrics: Returns the metrics of its member of the group.
    """

    worker: StreamsWorker
    plane: DataPlane
    thread_id: str
    member_metrics: Callable[[], Mapping[str, float]]


class WorkerThread:
    """Runs a worker until it is told to stop or fails.

    Args:
        make: Makes the worker, on its thread.
        life: Is told how the application is.
        name: The thread's name.
    """

    def __init__(self, make: Callable[[], RunningWorker], life: ApplicationLife, name: str) -> None:
        self._make = make
        self._life = life
        self._stopping = threading.Event()
        self._shutdown_asked = threading.Event()
        self._paused = threading.Event()
        self._close: dict[str, Any] = {}
        self._worker: StreamsWorker | None = None
        self._running: RunningWorker | None = None
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
            self._thread.join(timeout_s)
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

    def engines(self, store: str) -> list[SharedEngine]:
        """Return the engines of the running tasks that have a store."""
        return [] if self._worker is None else self._worker.engines(store)

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of workers that are alive and that have failed."""
        return int(self._thread.is_alive()), int(self._life.state is StreamsState.ERROR)

    def metrics(self) -> tuple[StreamsMetric, ...]:
        """Return the metrics of the worker; none before it was made."""
        running = self._running
        if running is None:
            return ()
        return worker_metrics(
            WorkerSources(
                thread_id=running.thread_id,
                state=self._life.state,
                tasks=tuple(running.worker.tasks.values()),
                stores=running.worker.stores,
                figures=running.worker.figures,
                is_paused=running.worker.is_paused,
                member=running.member_metrics(),
                now_ms=SystemClock().now_ms(),
            )
        )

    def _main(self) -> None:
        try:
            asyncio.run(self._run())
        except ApplicationShutdownError as error:
            _log.warning("The application ends: %s", error)
            self._life.enter(StreamsState.PENDING_SHUTDOWN)
            self._life.enter(StreamsState.NOT_RUNNING)
        except BaseException as error:  # whatever it is, the application must not seem to run
            _log.exception("The application ends with an error")
            self._life.enter(StreamsState.ERROR, error)
        else:
            self._life.enter(StreamsState.NOT_RUNNING)

    async def _run(self) -> None:
        running = self._running = self._make()
        worker = running.worker
        try:
            await worker.start()
            self._worker = worker
            while not self._stopping.is_set():
                await self._turn(running)
        except BaseException:
            await self._abandon(worker)
            raise
        self._life.enter(StreamsState.PENDING_SHUTDOWN)
        await worker.close(**self._close)

    async def _turn(self, running: RunningWorker) -> None:
        if self._shutdown_asked.is_set():
            self._shutdown_asked.clear()
            await running.worker.request_shutdown()
        running.worker.is_paused = self._paused.is_set()
        wait_ms = await running.worker.turn()
        self._life.enter(StreamsState.RUNNING if running.worker.is_running else StreamsState.REBALANCING)
        if wait_ms:
            await running.plane.wait(min(wait_ms, _LONGEST_WAIT_MS))

    @staticmethod
    async def _abandon(worker: StreamsWorker) -> None:
        try:
            await worker.close(is_clean=False)
        except Exception:  # the first error is the one to report
            _log.exception("The worker could not be closed after an error")
