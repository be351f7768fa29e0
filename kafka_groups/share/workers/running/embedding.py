"""A worker inside a program that does other work, too: its consumers run in a thread of their own."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from kafka_groups.errors import ClosedError
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.health import HAS_STOPPED, Health
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.share.workers.running.runtime import WorkerRuntime
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings
from kafka_groups.telemetry.workers import WorkerTelemetry

__all__ = ["BackgroundWorker"]

_STARTING = Health(is_ready=False, reasons=("the worker is starting",))
_STOPPED = Health(is_ready=False, reasons=(HAS_STOPPED,))


class BackgroundWorker:
    """The thread of a worker's consumers. Its methods block, so don't call them on a loop that must keep running.

    Args:
        settings: What the handlers share.
        specs: The handlers.
        telemetry: The figures.
        on_hang: Called on the consumers' loop when an attempt hangs and cannot be stopped.
    """

    def __init__(
        self,
        settings: RuntimeSettings,
        specs: Sequence[HandlerSpec],
        telemetry: WorkerTelemetry,
        on_hang: Callable[[], None] | None = None,
    ) -> None:
        self._thread = LoopThread(f"worker-{settings.group_id}")
        self._settings = settings
        self._specs = specs
        self._telemetry = telemetry
        self._on_hang = on_hang
        self._runtime: WorkerRuntime | None = None
        self._starting: asyncio.Task[None] | None = None
        self._grace_ms: int | None = None

    def __repr__(self) -> str:
        return f"<BackgroundWorker {self._thread!r}>"

    @property
    def has_started(self) -> bool:
        """True once it handles records; False if it was stopped before."""
        return self._runtime is not None

    def start(self, handler_loop: asyncio.AbstractEventLoop | None) -> None:
        """Join the group and begin to handle records. Blocks until the group's settings are known.

        `begin_stop` ends a start, which then returns: the worker has stopped.

        Args:
            handler_loop: The loop of asynchronous handlers.

        Raises:
            ConfigurationError: A topic for dead letters does not exist, or a rule does not fit the group.
        """
        self._thread.start()
        try:
            self._thread.run(self._start(handler_loop))
        finally:
            if not self.has_started:
                self._thread.stop()

    async def _start(self, handler_loop: asyncio.AbstractEventLoop | None) -> None:
        runtime = WorkerRuntime(self._settings, self._specs, handler_loop, self._telemetry, self._on_hang)
        starting = self._starting = asyncio.get_running_loop().create_task(runtime.start())
        if self._grace_ms is not None:  # from here on, `_stop` sees the task
            starting.cancel()
        await asyncio.wait([starting])
        if starting.cancelled():
            return
        starting.result()
        self._runtime = runtime
        if self._grace_ms is not None:
            runtime.stop(self._grace_ms)

    def begin_stop(self, grace_ms: int) -> None:
        """Stop fetching, run the held records for at most `grace_ms`, and release the rest. Does not wait."""
        self._grace_ms = grace_ms
        if self._thread.is_running:
            with suppress(ClosedError):  # a start that failed has just ended the thread
                self._thread.call_soon(self._stop, grace_ms)

    def _stop(self, grace_ms: int) -> None:
        if self._runtime is not None:
            self._runtime.stop(grace_ms)
        elif self._starting is not None:
            self._starting.cancel()

    def suspect(self, ranges: Sequence[RunningRange]) -> None:
        """Remember what another process of the worker was running when it was killed. Does not wait."""
        if self._runtime is not None and self._thread.is_running:
            self._thread.call_soon(self._runtime.suspect, ranges)

    def wait(self) -> None:
        """Block until all handlers have ended.

        Raises:
            Exception: The error that ended the worker.
        """
        if self._runtime is not None:
            self._thread.run(self._runtime.wait())

    def close(self) -> None:
        """End the thread. What is still under way is abandoned."""
        self._thread.stop()

    @property
    def health(self) -> Health:
        """The health of the handlers. Any thread may read it."""
        if self._runtime is not None:
            return self._runtime.health
        return _STARTING if self._grace_ms is None else _STOPPED
