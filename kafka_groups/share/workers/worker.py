"""The handler worker: functions that run for the records of topics, with retries, dead letters and concurrency."""

import asyncio
import logging
import signal
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

from attrs import evolve, frozen

from kafka_groups.config.clients.share import share_consumer_config
from kafka_groups.config.clients.timeouts import checked_seconds
from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.processes.garbage import collect_less_often
from kafka_groups.share.workers.declarations import HandlerDeclarations
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.keywords import (
    WorkerKeywords,
    check_producer_keys,
    check_worker_keys,
    split_producer_keys,
)
from kafka_groups.share.workers.lifespans import enter_lifespan
from kafka_groups.share.workers.running.attempts import Middleware
from kafka_groups.share.workers.running.opened_dependencies import OpenedDependencies, open_dependencies
from kafka_groups.share.workers.running.own_threads import HandlerExecutor, in_own_thread
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings
from kafka_groups.share.workers.start_option import Start, checked_start
from kafka_groups.share.workers.surroundings import (
    Lifespan,
    check_middleware,
    checked_lifespan,
    checked_middleware,
    checked_processes,
    checked_state_dir,
)
from kafka_groups.telemetry.sources import TelemetrySource
from kafka_groups.telemetry.workers import WorkerTelemetry

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from kafka_groups.client.assembly import Environment
    from kafka_groups.share.workers.processes.child import ChildControls, ChildProgram, ParentLink
    from kafka_groups.share.workers.processes.supervisor import ChildSupervisor
    from kafka_groups.share.workers.running.background_worker import BackgroundWorker
    from kafka_groups.share.workers.running.checks.handler_checks import HandlerCheck
    from kafka_groups.share.workers.running.stop_signals import StopSignals

__all__ = ["DeclaredWorker", "Lifespan", "Worker", "has_handled", "parts_of"]

EXIT_HUNG = 70
"""The status of a process that ends because an attempt hangs and cannot be stopped."""

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_TIME_TO_EXIT_S = 5.0
_NEW_OBJECTS = 10_000  # after which Python looks for garbage


class Worker(HandlerDeclarations):
    """Handles the records of a share group with functions (KIP-932).

    ```python
    worker = Worker("invoices", bootstrap_servers="localhost:9092")


    @worker.handler("orders", value=serdes.json(Order), dead_letters="orders.dead")
    def invoice(order: Order) -> None: ...


    worker.run()
    ```

    A record is accepted when its handler returns. If it raises, the worker keeps the record's lock and retries it
    after a while. A record that has failed too often is copied to the topic for dead letters. A function declared with
    `def` runs in threads, one declared with `async def` on the program's event loop.

    Args:
        group_id: The share group.
        config: A dictionary of a share consumer's configuration keys, by Kafka's dotted names, and of
            `producer.compression.type` and `producer.batch.size`, for the records that the worker writes.
        middleware: Context managers around each attempt, the first outermost: functions of the `Attempt`. They are
            called for each attempt, several at the same time. What they return may be shared, such as a lock.
        lifespan: A context manager around the whole run, for the connections that handlers share. The function is
            called for each run, and in each worker process.
        shutdown_timeout: How long records in hand may run on when the worker stops, in seconds. The rest is released.
        state_dir: A directory of this worker alone, in which it notes what it runs. If it is killed, its successor
            reads the notes, and runs those records alone. None for no notes.
        start: Where the group begins in partitions that it has not read yet: "earliest", "latest", or a timedelta
            before now. The worker sets the group's `share.auto.offset.reset` before its first member joins, and does
            not start if the group has another value. That needs the rights DescribeConfigs and AlterConfigs on the
            group. None leaves it to the group, which begins at the end of its topics by default.
        environment: Another network or clock, for tests.
        **keywords: Configuration keys by their Python names, such as `bootstrap_servers`.

    Raises:
        ConfigurationError: A key is unknown, or the worker decides it itself; or a value is invalid.
    """

    def __init__(  # noqa: PLR0913 - all but the first two by keyword
        self,
        group_id: str,
        config: Mapping[str, object] | None = None,
        /,
        *,
        middleware: Sequence[Middleware] = (),
        lifespan: Lifespan | None = None,
        shutdown_timeout: float = 25.0,
        state_dir: str | PathLike[str] | None = None,
        start: Start | None = None,
        environment: "Environment | None" = None,
        **keywords: Unpack[WorkerKeywords],
    ) -> None:
        super().__init__()
        given: dict[str, object] = {**(config or {}), **keywords}
        check_worker_keys(given)
        given, producer = split_producer_keys(given)
        # Consumers are made when the worker runs. Checking the keys now makes a mistake fail where it is written.
        check_producer_keys(producer, share_consumer_config(given, group_id=group_id))
        self._shutdown_ms = round(1000 * checked_seconds(shutdown_timeout, "shutdown_timeout"))
        self._settings = RuntimeSettings(
            group_id=group_id,
            given=given,
            producer=producer,
            middleware=checked_middleware(middleware),
            start=checked_start(start, group_id),
            environment=environment,
            shutdown_ms=self._shutdown_ms,
            state_dir=checked_state_dir(state_dir),
        )
        self._lifespan = checked_lifespan(lifespan)
        self._telemetry = WorkerTelemetry(group_id)
        self._running: BackgroundWorker | None = None
        self._supervisor: ChildSupervisor | None = None
        self._exit_stack: AsyncExitStack | None = None
        self._background: LoopThread | None = None
        self._stop_signals: StopSignals | None = None
        self._signals = 0
        self._is_hung = self._exits_when_hung = self._has_handled = False

    def __repr__(self) -> str:
        handlers = ", ".join(spec.name for spec in self._specs)
        return f"<Worker of group {self._settings.group_id}: {handlers or 'no handlers'}>"

    def _check_may_declare(self, name: str) -> None:
        if self._running is not None:
            raise IllegalStateError(f"handler {name}: declare handlers before the worker runs")

    # ------------------------------------------------------------------------------------------ running

    def run(
        self,
        processes: int = 1,
        probe_address: str | None = None,
        *,
        state_dir: str | PathLike[str] | None = None,
    ) -> None:
        """Run until SIGTERM, SIGINT or `stop`. Blocks; call it in the main thread.

        The first signal stops the worker: it fetches no more, runs what it holds for `shutdown_timeout`, and releases
        the rest. A second signal releases at once. A signal during the start ends the start. Handlers declared with
        `async def` run on a loop of this thread. As the process is the worker's, garbage is collected less often than
        by Python's default (`gc.set_threshold`).

        With several processes, this one only watches them. It starts another process for one that dies, and a record
        that ran in the dead process runs alone when it is redelivered. Each process imports the worker and enters its
        lifespan, so the worker needs a name at the top level of a module, and a script that calls `run` needs the line
        `if __name__ == "__main__":` before that.

        Args:
            processes: How many processes run handlers. Each is a member of the group.
            probe_address: Where to answer HTTP requests for `/live`, `/ready`, `/metrics` and `/status`, and for a page
                at `/`: `host:port`, or `:port` for all addresses of this machine. None for nowhere.
            state_dir: Overrides the worker's `state_dir` for this run. With several processes, the parent keeps the
                notes of all there.

        Raises:
            ConfigurationError: There is no handler, a handler does not fit the group, the address or the directory
                cannot be used, or other processes cannot import the worker.
            IllegalStateError: The worker is running already, or this thread runs an event loop.
            Exception: The error of a handler whose rule is `OnError.STOP`.
            SystemExit: With status 70, if an attempt exceeded its timeout and could not be stopped. With several
                processes, only the process of that attempt is replaced.
        """
        count, declared = checked_processes(processes), self._settings
        chosen = checked_state_dir(state_dir) or declared.state_dir
        _check_may_block("run", "`async with worker`")
        self._check_may_begin()
        self._has_handled = False
        # Imported here: programs import workers to declare and to test them as well.
        from kafka_groups.share.workers.running.observation.probe import answering_probes  # noqa: PLC0415

        self._settings = evolve(declared, state_dir=chosen)
        try:
            with answering_probes(probe_address, self, self._telemetry):
                if count == 1:
                    asyncio.run(self._serve())
                else:
                    self._supervise(count)
        finally:
            self._settings = declared

    async def _serve(self, link: "ParentLink | None" = None) -> None:
        from kafka_groups.share.workers.running.left_tasks import end_tasks  # noqa: PLC0415 - as in `run`
        from kafka_groups.share.workers.running.stop_signals import StartInterrupted, StopSignals  # noqa: PLC0415

        self._exits_when_hung = True
        collect_less_often(_NEW_OBJECTS)
        asyncio.get_running_loop().set_default_executor(HandlerExecutor())
        try:
            # A child of a worker handles SIGTERM alone: Ctrl-C reaches its parent, too, which then stops all processes.
            with StopSignals(_SIGNALS if link is None else _SIGNALS[:1], lambda: self._signalled(link)) as signals:
                self._stop_signals = signals
                if link is not None:
                    link.starting()
                with suppress(StartInterrupted):
                    async with self:
                        await self._serve_started(link, signals)
        finally:
            await end_tasks()
        if self._is_hung:
            self._exit_hung()

    async def _serve_started(self, link: "ParentLink | None", signals: "StopSignals") -> None:
        try:
            self._has_handled = self._current.has_started
            if link is not None and self._has_handled:
                link.begin(self._controls())
            await self.wait()
        finally:
            signals.close()

    def _exit_hung(self) -> NoReturn:
        from kafka_groups.processes.parent import exit_at_the_latest  # noqa: PLC0415 - as in `run`

        exit_at_the_latest(EXIT_HUNG, _TIME_TO_EXIT_S)  # a task that ignores its cancellation keeps the loop open
        raise SystemExit(EXIT_HUNG)

    def _supervise(self, count: int) -> None:
        from kafka_groups.share.workers.processes.address import address_of  # noqa: PLC0415 - as in `run`
        from kafka_groups.share.workers.processes.child import ChildProgram  # noqa: PLC0415
        from kafka_groups.share.workers.processes.kept_notes import keeping_notes  # noqa: PLC0415
        from kafka_groups.share.workers.processes.notes import RunningNotesLayout  # noqa: PLC0415
        from kafka_groups.share.workers.processes.supervisor import ChildSupervisor  # noqa: PLC0415

        settings, level = self._settings, logging.getLogger().getEffectiveLevel()
        program = ChildProgram(address_of(self), RunningNotesLayout.of(self._specs), level, processes=count)
        with keeping_notes(settings.state_dir, settings.group_id, program.layout, count) as kept:
            supervisor = ChildSupervisor(_run_child, program, kept, self._telemetry, self._shutdown_ms)
            self._supervisor = supervisor
            try:
                if self._begin_groups(settings):
                    supervisor.run()
            finally:
                self._has_handled = supervisor.has_any_started
                self._supervisor = None
                supervisor.close()

    def _begin_groups(self, settings: RuntimeSettings) -> bool:
        """Set where the worker's groups begin, if it says it. Returns False if a signal has ended the start."""
        if settings.start is None and all(spec.retry_topics is None for spec in self._specs):
            return True  # the parent loads no client
        from kafka_groups.share.workers.running.group_beginning import begin_groups  # noqa: PLC0415 - as in `run`

        return asyncio.run(begin_groups(settings, self._specs, _SIGNALS))

    def _controls(self) -> "ChildControls":
        from kafka_groups.share.workers.processes.child import ChildControls  # noqa: PLC0415 - as in `run`

        return ChildControls(self.stop, self._current.suspect, self._telemetry.snapshot, self.health)

    def _signalled(self, link: "ParentLink | None") -> None:
        if link is not None:  # the parent says how long records may run on, also if all processes got the signal
            link.terminated()
            self.stop()
            return
        self._signals += 1
        self.stop() if self._signals == 1 else self.stop(timeout=0)

    def check(self) -> "Sequence[HandlerCheck]":
        """Check the handlers against the group and its topics, without joining the group. Blocks; asks the brokers.

        Returns:
            The result for each handler. Missing topics, retry topics that do not fit, two dead-letter topics, and
            brokers that cannot be reached are errors. Warnings name settings that may lose records or spend deliveries.

        Raises:
            ConfigurationError: There is no handler.
            IllegalStateError: The worker is running already, or this thread runs an event loop.
        """
        _check_may_block("check", "`await asyncio.to_thread(worker.check)`")
        self._check_may_begin()
        from kafka_groups.share.workers.running.checks.handler_checks import check_handlers  # noqa: PLC0415 - as in `run`

        return asyncio.run(check_handlers(self._settings, self._specs))

    def create_topics(self) -> Sequence[str]:
        """Create the topics for retries, dead letters and outputs that do not exist. Blocks; asks the brokers.

        Each has as many partitions as the first topic of its handler, and the brokers' default number of replicas.
        Retry topics have `message.timestamp.type=LogAppendTime`, and keep records for a week or four times their delay,
        whichever is longer.

        Returns:
            The names of the topics that were created.

        Raises:
            ConfigurationError: There is no handler, the first topic of a handler does not exist, or you may not create
                topics.
            IllegalStateError: The worker is running already, or this thread runs an event loop.
            KafkaGroupsError: The brokers cannot be reached.
        """
        _check_may_block("create_topics", "`await asyncio.to_thread(worker.create_topics)`")
        self._check_may_begin()
        from kafka_groups.share.workers.running.checks.worker_topics import create_worker_topics  # noqa: PLC0415 - as in `run`

        return asyncio.run(create_worker_topics(self._settings, self._specs))

    def stop(self, timeout: float | None = None) -> None:
        """Begin to stop; does not wait. Any thread and any handler may call it. Ends a start that is under way, too.

        Args:
            timeout: How long records in hand may run on, in seconds; None is `shutdown_timeout`.
        """
        grace_ms = self._shutdown_ms if timeout is None else round(1000 * checked_seconds(timeout, "timeout"))
        if self._supervisor is not None:
            self._supervisor.stop(grace_ms)
        if self._running is not None:
            self._running.begin_stop(grace_ms)

    async def wait(self) -> None:
        """Wait until the worker has stopped.

        Raises:
            Exception: The error that stopped it.
        """
        await in_own_thread(self._current.wait)

    @property
    def _current(self) -> "BackgroundWorker":
        if self._running is None:
            raise IllegalStateError(f"{self!r} is not running: use `with worker`, `async with worker` or worker.run()")
        return self._running

    def health(self) -> Health:
        """Return whether the worker is live and ready, and why not. Any thread may call this."""
        if self._supervisor is not None:
            return self._supervisor.health
        if self._running is None:
            return Health(is_ready=False, reasons=("the worker is not running",))
        return self._running.health

    @property
    def telemetry(self) -> TelemetrySource:
        """The metrics of the worker, for exporters such as `kafka_groups.telemetry.prometheus`."""
        return self._telemetry.telemetry

    # ------------------------------------------------------------------------------------------ embedding

    async def __aenter__(self) -> Self:
        self._begin()
        try:
            async with AsyncExitStack() as stack:
                await enter_lifespan(stack, self._lifespan, self._stop_signals)
                opened = await open_dependencies(stack, self._specs, self._stop_signals)
                await self._start(self._current, opened)
                self._exit_stack = stack.pop_all()
        except BaseException:
            # Cancellations and signals end a start as well as errors. The worker may be started again afterwards, so it
            # must not appear to run.
            self._running = None
            raise
        finally:
            self._stop_signals = None
        return self

    async def _start(self, running: "BackgroundWorker", opened: OpenedDependencies) -> None:
        """Start in another thread. If this is cancelled, the start ends before the lifespan is left."""
        starting = asyncio.ensure_future(in_own_thread(partial(running.start, asyncio.get_running_loop(), opened)))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            running.begin_stop(0)
            await asyncio.wait([starting])
            await in_own_thread(running.close)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        running, stack = self._current, self._exit_stack
        self.stop()
        try:
            await in_own_thread(running.wait)
        finally:
            # The handlers have ended before dependencies and the lifespan are left, because they use what was opened.
            await in_own_thread(running.close)
            self._running = self._exit_stack = None
            if stack is not None:
                await stack.__aexit__(kind, error, trace)

    def __enter__(self) -> Self:
        """Run in the background: handlers declared with `async def` get a loop on a thread of their own."""
        background = LoopThread(f"worker-handlers-{self._settings.group_id}")
        background.start()
        try:
            background.run(self._enter_background())
        except BaseException:
            # The thread must not outlive a start that failed or that Ctrl-C has ended: nobody could stop it any more.
            background.stop()
            raise
        self._background = background
        return self

    async def _enter_background(self) -> None:
        asyncio.get_running_loop().set_default_executor(HandlerExecutor())
        await self.__aenter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from kafka_groups.share.workers.running.left_tasks import end_tasks  # noqa: PLC0415 - as in `run`

        background, self._background = self._background, None
        assert background is not None  # noqa: S101 - `with` has entered
        try:
            background.run(self.__aexit__(kind, error, trace))
        finally:
            background.stop(end_tasks())

    def _check_may_begin(self) -> None:
        if self._running is not None or self._supervisor is not None:
            raise IllegalStateError(f"{self!r} is running already")
        if not self._specs:
            raise ConfigurationError(f"{self!r}: declare a handler with @worker.handler(topic) before the worker runs")
        check_middleware(self._settings.middleware, self._specs)

    def _begin(self) -> None:
        self._check_may_begin()
        # Imported here: this loads most of a client, and programs import workers to declare and to test them as well.
        from kafka_groups.share.workers.running.background_worker import BackgroundWorker  # noqa: PLC0415

        self._signals, self._is_hung = 0, False
        self._running = BackgroundWorker(
            self._settings, self._specs, self._telemetry, self._hangs if self._exits_when_hung else None
        )

    def _hangs(self) -> None:
        self._is_hung = True


@frozen
class DeclaredWorker:
    """The parts of a worker that a test driver runs.

    Attributes:
        settings: The settings that all handlers share.
        handlers: The handlers, in the order of their declaration.
        lifespan: The context manager around the whole run, or None.
    """

    settings: RuntimeSettings
    handlers: Sequence[HandlerSpec]
    lifespan: Lifespan | None


def parts_of(worker: Worker) -> DeclaredWorker:
    """Return the parts of a worker. For other parts of this package only."""
    return DeclaredWorker(worker._settings, worker.handlers, worker._lifespan)


def has_handled(worker: Worker) -> bool:
    """Return whether the last `run` of a worker got past its start. For other parts of this package only."""
    return worker._has_handled


def _run_child(program: "ChildProgram", pipe: "Connection", memory: Any) -> None:
    """Run a worker process; the parent starts it with this function."""
    from kafka_groups.share.workers.processes.child import ParentLink  # noqa: PLC0415 - as in `run`
    from kafka_groups.share.workers.processes.notes import RunningNotes  # noqa: PLC0415

    link = ParentLink(program, pipe)
    with link.ending():
        worker = link.load(Worker, lambda found: found.handlers)
        notes = RunningNotes(program.layout, memory)
        worker._settings = evolve(
            worker._settings,
            sets_start=False,  # the parent has set it
            processes=program.processes,
            notes=lambda spec: notes.notes_for(program.part, spec.name),
            suspects=program.suspects,
            others=partial(notes.others, program.part),
        )
        asyncio.run(worker._serve(link))


def _check_may_block(method: str, instead: str) -> None:
    """Check that this thread runs no event loop.

    Raises:
        IllegalStateError: It does.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise IllegalStateError(f"worker.{method}() blocks, and this thread runs an event loop: use {instead}")
