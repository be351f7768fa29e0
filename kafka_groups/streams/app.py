"""`KafkaStreams`: an application that runs a topology."""

import signal
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self, Unpack

from kafka_groups.config.clients.keywords import StreamsKeywords
from kafka_groups.net.short_waits import result_of
from kafka_groups.net.signal_handlers import signals_handled
from kafka_groups.streams.application import _Application
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.runtime.restore_listeners import (
    RestoreListeners,
    StandbyUpdateListener,
    StateRestoreListener,
)
from kafka_groups.streams.topology.topology import Topology
from kafka_groups.streams.workers.application_state import StateListener, StreamsState

__all__ = ["KafkaStreams"]


class KafkaStreams(_Application):
    """Runs a topology: members of the application's streams group, in a thread or in processes of their own.

    Every process that runs the same topology with the same `application_id` takes part in the work. Records are
    processed at least once: after a failure, another process continues from the last commit. Records with the time 0
    are written with the time 1 ms.

    ```python
    with KafkaStreams(build, application_id="shop", bootstrap_servers="localhost:9092") as app:
        app.wait_until_running(timeout=60)
        print(app.store(COUNTS).get("kafka"))
    ```

    Args:
        topology: The topology, or a function that returns it. With `num_workers` from 2 on, a function at the top level
            of a module, which each worker process imports.
        config: A dictionary of configuration keys by Kafka's dotted names.
        on_state: Called with the new state and the one before, on the thread that changes it. It must return at once.
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
        listeners = RestoreListeners(restore=state_restore_listener, standby=standby_update_listener)
        super().__init__(topology, config, keywords, on_state, listeners)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start to work. Does not wait: `wait_until_running` does.

        Raises:
            IllegalStateError: It was started before.
            ConfigurationError: With several workers or stores on disk: the application's folder in `state_dir` cannot
                be used. Or `probe_address` cannot.
        """
        self._start()

    def close(
        self, timeout: float | None = None, *, operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT
    ) -> bool:
        """Commit, close the tasks and leave the group. Blocks until that is done. A second call has no effect.

        Args:
            timeout: Longest wait, in seconds; None waits until it is done.
            operation: Whether the member leaves the group, or keeps its tasks until its session expires (KIP-1284).

        Returns:
            Whether the application has ended.
        """
        if self._life.state is StreamsState.CREATED:
            self._life.enter(StreamsState.NOT_RUNNING)
            return True
        has_ended = self._worker.stop(timeout, operation)
        self._close_probe()
        return has_ended

    def clean_up(self) -> None:
        """Delete the stores on disk of this process: the next start restores them from their changelogs.

        Call it before `start` or after `close`, as after `kafka-groups streams offsets reset`. It returns when that
        is done.

        Raises:
            IllegalStateError: The application runs.
            ConfigurationError: Another process uses the folder of the application in `state_dir`, or it cannot be
                written.
        """
        self._clean_up()

    def run(self) -> None:
        """Start, and block until Ctrl-C or SIGTERM, or until the application ends by itself; then close.

        Call it on the main thread.

        Raises:
            StreamsError: The application ended with an error, which is the cause.
        """
        with signals_handled((signal.SIGINT, signal.SIGTERM), lambda *_: self._life.ask_to_end()):
            self.start()
            self._life.wait_to_end()
        self._life.enter(StreamsState.PENDING_SHUTDOWN)
        self.close()
        self._raise_error()

    def add_worker(self) -> str | None:
        """Start one more worker process. Does not wait until it runs. Any thread may call it.

        The worker has the lowest number that is free, and joins the group. `wait_until_running` waits for its tasks.

        Returns:
            The worker's name, such as `streams-shop-3`. None if the application is not `REBALANCING` or `RUNNING`.

        Raises:
            StreamsError: The application has no worker processes: `num_workers` is 1.
        """
        return result_of(self._worker.add())

    def remove_worker(self, timeout: float | None = None) -> str | None:
        """Let the worker process with the highest number commit, close its tasks and leave the group.

        Blocks until the worker has left. Any thread may call it, but not `on_state`. Static members leave, too; one
        that has died and waits for its replacement keeps its tasks until its session expires. The other workers take
        the tasks over. If you remove the last one, the application does nothing until you add one.

        Args:
            timeout: Longest wait, in seconds; None waits until it is done.

        Returns:
            The worker's name. None if there is no worker, or the application is not `REBALANCING` or `RUNNING`.

        Raises:
            OperationTimeoutError: The time is up. The worker leaves nevertheless, as soon as it can.
            StreamsError: The application has no worker processes: `num_workers` is 1.
        """
        try:
            return result_of(self._worker.remove(), timeout)
        except TimeoutError:
            raise self._not_removed(timeout) from None

    def wait_until_running(self, timeout: float | None = None) -> None:
        """Block until all tasks of this process run.

        Args:
            timeout: Longest wait, in seconds; None waits indefinitely.

        Raises:
            StreamsError: The application ended with an error, which is the cause.
            ClosedError: The application was closed.
            OperationTimeoutError: The time is up.
        """
        is_in_time = self._life.wait_for(self._has_come_to_run, timeout)
        self._check_runs(is_in_time=is_in_time, timeout=timeout)
