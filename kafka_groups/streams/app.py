"""`KafkaStreams`: an application that runs a topology."""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

from kafka_groups.config.clients.keywords import StreamsKeywords
from kafka_groups.errors import ClosedError, ConfigurationError, IllegalStateError, OperationTimeoutError
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.queries.committed import committed_view
from kafka_groups.streams.runtime.application_state import ApplicationLife, StateListener, StreamsState
from kafka_groups.streams.runtime.assembly import assembled_worker
from kafka_groups.streams.runtime.configured import configured_application
from kafka_groups.streams.runtime.pickled import checked_program
from kafka_groups.streams.runtime.supervisor import WorkerSupervisor
from kafka_groups.streams.runtime.worker_thread import WorkerThread
from kafka_groups.streams.state.key_value import KeyValueStore
from kafka_groups.streams.state.sessions import SessionStore
from kafka_groups.streams.state.stores import KeyValueDefinition, SessionDefinition, StoreDefinition, WindowDefinition
from kafka_groups.streams.state.windows import WindowStore
from kafka_groups.streams.topology.topology import Topology

__all__ = ["KafkaStreams"]

K = TypeVar("K")
V = TypeVar("V")


class KafkaStreams:
    """Runs a topology: members of the application's streams group, in a thread or in processes of their own.

    Every process that runs the same topology with the same `application_id` takes part in the work. Records are
    processed at least once: after a failure, another process continues from the last commit.

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
        **keywords: Unpack[StreamsKeywords],
    ) -> None:
        self._topology = topology if isinstance(topology, Topology) else topology()
        application = configured_application(self._topology, config, keywords)
        self._life = ApplicationLife(on_state)
        self._application_id = application.config.application_id
        self._worker: WorkerThread | WorkerSupervisor
        if application.config.num_workers == 1:
            name = f"streams-{self._application_id}-1"
            self._worker = WorkerThread(lambda: assembled_worker(application), self._life, name)
        else:
            program = checked_program(topology, config, keywords)
            self._worker = WorkerSupervisor(program, application.config, self._life)

    def __repr__(self) -> str:
        return f"<KafkaStreams {self._application_id!r}: {self._life.state.name}>"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def state(self) -> StreamsState:
        """The state of the application."""
        return self._life.state

    @property
    def error(self) -> BaseException | None:
        """The error that ended the application, in the state ERROR."""
        return self._life.error

    def start(self) -> None:
        """Start to work. Does not wait: `wait_until_running` does.

        Raises:
            IllegalStateError: It was started before.
            ConfigurationError: With several workers: another process uses the application's folder in `state_dir`.
        """
        if self._life.state is not StreamsState.CREATED:
            raise IllegalStateError(f"{self!r} was started before. Make another one to run the topology again.")
        self._life.enter(StreamsState.REBALANCING)
        try:
            self._worker.start()
        except ConfigurationError as error:
            self._life.enter(StreamsState.ERROR, error)
            raise

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
        return self._worker.stop(timeout, operation)

    def run(self) -> None:
        """Start, and block until Ctrl-C or SIGTERM, or until the application ends by itself; then close.

        Call it on the main thread.

        Raises:
            StreamsError: The application ended with an error, which is the cause.
        """
        with _signals(self._worker_told_to_stop):
            self.start()
            self._life.wait_for(lambda state: self._life.has_ended or state is StreamsState.PENDING_SHUTDOWN, None)
        self.close()
        self._raise_error()

    def wait_until_running(self, timeout: float | None = None) -> None:
        """Block until all tasks of this process run.

        Args:
            timeout: Longest wait, in seconds; None waits indefinitely.

        Raises:
            StreamsError: The application ended with an error, which is the cause.
            ClosedError: The application was closed.
            OperationTimeoutError: The time is up.
        """
        wanted = self._life.wait_for(lambda state: state is StreamsState.RUNNING or self._life.has_ended, timeout)
        self._raise_error()
        if self._life.has_ended:
            raise ClosedError(f"{self!r} was closed.")
        if not wanted:
            raise OperationTimeoutError(f"{self!r} does not run after {timeout} s. Its log says what it waits for.")

    def request_shutdown(self) -> None:
        """Ask all processes of the application to shut down, this one included. Does not wait."""
        self._worker.request_shutdown()

    @overload
    def store(self, store: KeyValueDefinition[K, V]) -> KeyValueStore[K, V]: ...
    @overload
    def store(self, store: WindowDefinition[K, V]) -> WindowStore[K, V]: ...
    @overload
    def store(self, store: SessionDefinition[K, V]) -> SessionStore[K, V]: ...
    @overload
    def store(self, store: StoreDefinition | str) -> Any: ...
    def store(self, store: StoreDefinition | str) -> Any:
        """Return a store to read what the tasks of this process have committed. Any thread may read it.

        The view covers the tasks that run now: ask again after a rebalance.

        Args:
            store: Its definition, which makes the result typed, or its name.

        Raises:
            LookupError: The topology has no such store.
            StreamsError: No task of this process has it now, or it is the buffer of a suppressed table. Or there are
                several workers: their stores are in other processes.
        """
        name = store if isinstance(store, str) else store.name
        place = self._topology.graph.stores.get(name)
        if place is None:
            known = ", ".join(sorted(self._topology.graph.stores)) or "none"
            raise LookupError(f"The topology has no store {name!r}. Its stores are: {known}.")
        engines = self._worker.engines(name)
        if not engines:
            raise StreamsError(
                f"No task of this process has store {name!r} now: {self!r}. Call wait_until_running first; if other "
                "processes have all tasks, ask them."
            )
        return committed_view(place, self._application_id, engines)

    def _worker_told_to_stop(self) -> None:
        self._life.enter(StreamsState.PENDING_SHUTDOWN)

    def _raise_error(self) -> None:
        if self._life.error is not None:
            raise StreamsError(f"{self!r} ended: {self._life.error}") from self._life.error


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call a function at Ctrl-C and SIGTERM."""

    def told(_signal: int, _frame: FrameType | None) -> None:
        stop()

    before = {number: signal.signal(number, told) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
