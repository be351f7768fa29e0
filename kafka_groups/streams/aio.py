"""`AsyncKafkaStreams`: an application that runs a topology in a program of asyncio."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self, Unpack

from kafka_groups.client.event_loop import check_loop
from kafka_groups.config.clients.keywords import StreamsKeywords
from kafka_groups.net.short_waits import LONGEST_PIECE_S
from kafka_groups.streams.application import _Application
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.runtime.restore_listeners import (
    RestoreListeners,
    StandbyUpdateListener,
    StateRestoreListener,
)
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.topology import Topology
from kafka_groups.streams.workers.application_state import StateListener, StreamsState

__all__ = ["AsyncKafkaStreams"]

_log = logging.getLogger(__name__)


class AsyncKafkaStreams(_Application):
    """Runs a topology as `KafkaStreams` does, for asyncio: waiting for it does not block the event loop.

    The workers run in a thread or in processes of their own, as those of `KafkaStreams` do, and the functions of the
    topology are called there. An application belongs to one event loop.

    ```python
    async with AsyncKafkaStreams(build, application_id="shop", bootstrap_servers="localhost:9092") as app:
        await app.wait_until_running(timeout=60)
        print(app.store(COUNTS).get("kafka"))
    ```

    Args:
        topology: The topology, or a function that returns it. With `num_workers` from 2 on, a function at the top level
            of a module, which each worker process imports.
        config: A dictionary of configuration keys by Kafka's dotted names.
        on_state: Called with the new state and the one before, on the event loop.
        state_restore_listener: Follows how stores are restored. With `num_workers` from 2 on, each worker process has a
            copy of it.
        standby_update_listener: Follows how standby and warm-up tasks keep up with their changelogs, in the same way.
        **keywords: Configuration keys by their Python names, such as `bootstrap_servers` and `application_id`. The
            configuration reference lists them all.

    Raises:
        TopologyError: The topology is empty or contradicts itself.
        ConfigurationError: A key is unknown, missing, invalid or not supported yet.
    """

    def __init__(
        self,
        topology: Topology | Callable[[], Topology],
        config: Mapping[str, object] | None = None,
        /,
        *,
        on_state: StateListener | None = None,
        state_restore_listener: StateRestoreListener | None = None,
        standby_update_listener: StandbyUpdateListener | None = None,
        **keywords: Unpack[StreamsKeywords],
    ) -> None:
        check_functions(type(self).__name__, on_state=on_state)
        self._on_state = on_state
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()
        listeners = RestoreListeners(restore=state_restore_listener, standby=standby_update_listener)
        super().__init__(topology, config, keywords, self._changes, listeners)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Start to work. Does not wait: `wait_until_running` does.

        Raises:
            IllegalStateError: It was started before, or on another event loop.
            ConfigurationError: With several workers or stores on disk: the application's folder in `state_dir` cannot
                be used. Or `probe_address` cannot.
        """
        self._use_loop()
        self._start()

    async def close(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - the worker gets it, too
        *,
        operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> bool:
        """Commit, close the tasks and leave the group. Waits until that is done. A second call has no effect.

        If the call is cancelled, the application closes nevertheless.

        Args:
            timeout: Longest wait, in seconds; None waits until it is done.
            operation: Whether the member leaves the group, or keeps its tasks until its session expires (KIP-1284).

        Returns:
            Whether the application has ended.
        """
        self._use_loop()
        if self._life.state is StreamsState.CREATED:
            self._life.enter(StreamsState.NOT_RUNNING)
            return True
        self._worker.tell_to_stop(timeout, operation)
        has_ended = await self._until(lambda _: self._life.has_ended, timeout)
        await asyncio.to_thread(self._close_probe)
        return has_ended

    async def clean_up(self) -> None:
        """Delete the stores on disk of this process: the next start restores them from their changelogs.

        Call it before `start` or after `close`, as after `kafka-groups streams offsets reset`. It returns when that
        is done.

        Raises:
            IllegalStateError: The application runs.
            ConfigurationError: Another process uses the folder of the application in `state_dir`, or it cannot be
                written.
        """
        await asyncio.to_thread(self._clean_up)

    async def run(self) -> None:
        """Start, and wait until this call is cancelled or the application ends by itself; then close.

        Ctrl-C cancels the main task of `asyncio.run`. For SIGTERM, let a handler of the event loop cancel the task.

        Raises:
            StreamsError: The application ended with an error, which is the cause.
        """
        await self.start()
        try:
            await self._until(lambda _: self._life.has_ended, None)
        finally:
            await self.close()
        self._raise_error()

    async def add_worker(self) -> str | None:
        """Start one more worker process. Does not wait until it runs.

        The worker has the lowest number that is free, and joins the group. `wait_until_running` waits for its tasks.

        Returns:
            The worker's name, such as `streams-shop-3`. None if the application is not `REBALANCING` or `RUNNING`.

        Raises:
            StreamsError: The application has no worker processes: `num_workers` is 1.
        """
        self._use_loop()
        return await asyncio.wrap_future(self._worker.add())

    async def remove_worker(self, timeout: float | None = None) -> str | None:  # noqa: ASYNC109 - as in KafkaStreams
        """Let the worker process with the highest number commit, close its tasks and leave the group.

        Waits until the worker has left. Static members leave, too; one that has died and waits for its replacement
        keeps its tasks until its session expires. The other workers take the tasks over. If you remove the last one,
        the application does nothing until you add one.

        Args:
            timeout: Longest wait, in seconds; None waits until it is done.

        Returns:
            The worker's name. None if there is no worker, or the application is not `REBALANCING` or `RUNNING`.

        Raises:
            OperationTimeoutError: The time is up. The worker leaves nevertheless, as soon as it can.
            StreamsError: The application has no worker processes: `num_workers` is 1.
        """
        self._use_loop()
        try:
            async with asyncio.timeout(timeout):
                return await asyncio.wrap_future(self._worker.remove())
        except TimeoutError:
            raise self._not_removed(timeout) from None

    async def wait_until_running(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as in KafkaStreams
        """Wait until all tasks of this process run.

        Args:
            timeout: Longest wait, in seconds; None waits indefinitely.

        Raises:
            StreamsError: The application ended with an error, which is the cause.
            ClosedError: The application was closed.
            OperationTimeoutError: The time is up.
        """
        self._use_loop()
        is_in_time = await self._until(self._has_come_to_run, timeout)
        self._check_runs(is_in_time=is_in_time, timeout=timeout)

    def _use_loop(self) -> None:
        check_loop(self, "an application", self._loop)
        self._loop = asyncio.get_running_loop()

    async def _until(self, wanted: Callable[[StreamsState], bool], timeout_s: float | None) -> bool:
        try:
            async with asyncio.timeout(timeout_s):
                while not wanted(self._life.state):
                    self._changed.clear()
                    with suppress(TimeoutError):  # Ctrl-C may come just before the loop waits (see `short_waits`)
                        async with asyncio.timeout(LONGEST_PIECE_S):
                            await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def _changes(self, state: StreamsState, before: StreamsState) -> None:
        """Tell the event loop of a new state, on the thread that changes it."""
        if self._loop is None:
            raise RuntimeError("an application changes its state before it has an event loop")
        try:
            self._loop.call_soon_threadsafe(self._hear, state, before)
        except RuntimeError:
            _log.debug("The event loop is closed and does not hear that the application is %s", state.name)

    def _hear(self, state: StreamsState, before: StreamsState) -> None:
        self._changed.set()
        if self._on_state is not None:
            self._on_state(state, before)
