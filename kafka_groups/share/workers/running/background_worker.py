"""A worker inside a program that does other work, too: its consumers run in a thread of their own."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from attrs import evolve

from kafka_groups.errors import ClosedError
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.health import HAS_STOPPED, Health
from kafka_groups.share.workers.processes.kept_notes import NotesInDirectory
from kafka_groups.share.workers.processes.notes import RunningNotesLayout
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.share.workers.running.opened_dependencies import OpenedDependencies
from kafka_groups.share.workers.running.runtime import WorkerRuntime
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings
from kafka_groups.telemetry.workers import WorkerTelemetry

__all__ = ["BackgroundWorker"]

_ONLY_PART = 0
_STARTING = Health(is_ready=False, reasons=("the worker is starting",))
_STOPPED = Health(is_ready=False, reasons=(HAS_STOPPED,))


class BackgroundWorker:
    """The thread of a worker's consumers. Its methods block, so don't call them on a loop that must keep running.

    Args:
        settings: What the handlers share.
        specs: The handlers.
        telemetry: The metrics.
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
        self._kept: NotesInDirectory | None = None
        self._is_in_order = False

    def __repr__(self) -> str:
        return f"<BackgroundWorker {self._thread!r}>"

    @property
    def has_started(self) -> bool:
        """True once it handles records; False if it was stopped before."""
        return self._runtime is not None

    def start(self, handler_loop: asyncio.AbstractEventLoop | None, opened: OpenedDependencies) -> None:
        """Join the group and begin to handle records. Blocks until the group's settings are known.

        `begin_stop` ends a start, which then returns: the worker has stopped.

        Args:
            handler_loop: The loop of asynchronous handlers.
            opened: What this process has made for parameters that inject it.

        Raises:
            ConfigurationError: A topic for dead letters does not exist, a rule does not fit the group, or the notes
                cannot be kept.
        """
        self._settings = evolve(self._settings, opened=opened)
        self._keep_notes()
        self._thread.start()
        try:
            self._thread.run(self._start(handler_loop))
        finally:
            # A start that failed, or that `begin_stop` has ended, leaves neither a thread nor a locked directory
            # behind.
            if not self.has_started:
                self.close()

    def _keep_notes(self) -> None:
        """Keep notes in a directory if this process has no parent that does, and suspect what predecessors ran."""
        settings = self._settings
        if settings.state_dir is None or settings.notes is not None:
            return
        layout = RunningNotesLayout.of(self._specs)
        self._kept = kept = NotesInDirectory(settings.state_dir, settings.group_id, layout, processes=1)
        self._settings = evolve(
            settings, notes=lambda spec: kept.notes.notes_for(_ONLY_PART, spec.name), suspects=kept.suspects
        )

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
        # The stop may have come while the start had already ended on its loop, too late to cancel it.
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
            self._is_in_order = self._runtime.health.is_live  # no attempt hangs

    def close(self) -> None:
        """End the thread. What is still under way is abandoned. The second call does nothing."""
        self._thread.stop()
        if self._kept is not None:
            # Notes are forgotten only after an orderly end. Otherwise the successor must learn what was running.
            if self._is_in_order:
                self._kept.forget()
            self._kept.close()
            self._kept = None

    @property
    def health(self) -> Health:
        """The health of the handlers. Any thread may read it."""
        if self._runtime is not None:
            return self._runtime.health
        return _STARTING if self._grace_ms is None else _STOPPED
