"""The parts of an application that its blocking and its asynchronous face share."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from kafka_groups.errors import ClosedError, IllegalStateError, OperationTimeoutError
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.queries.committed import committed_view
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.state.key_value import KeyValueStore
from kafka_groups.streams.state.sessions import SessionStore
from kafka_groups.streams.state.stores import KeyValueDefinition, SessionDefinition, StoreDefinition, WindowDefinition
from kafka_groups.streams.state.windows import WindowStore
from kafka_groups.streams.topology.topology import Topology
from kafka_groups.streams.workers.application_state import ApplicationLife, StateListener, StreamsState
from kafka_groups.streams.workers.assembly import assembled_worker
from kafka_groups.streams.workers.configured import configured_application
from kafka_groups.streams.workers.metrics import METRIC_GROUPS, ApplicationSources, StreamsMetric, application_metrics
from kafka_groups.streams.workers.pickled import checked_program
from kafka_groups.streams.workers.probe import ProbeServer
from kafka_groups.streams.workers.supervisor import WorkerSupervisor
from kafka_groups.streams.workers.uncaught import UncaughtErrors
from kafka_groups.streams.workers.worker_thread import WorkerThread, worker_name
from kafka_groups.telemetry.sources import TelemetrySource, streams_application_source

K = TypeVar("K")
V = TypeVar("V")


class _Application:
    """A topology, its worker or workers, and their state."""

    def __init__(
        self,
        topology: Topology | Callable[[], Topology],
        config: Mapping[str, object] | None,
        keywords: Mapping[str, object],
        listener: StateListener | None,
        restore_listeners: RestoreListeners,
    ) -> None:
        self._topology = topology if isinstance(topology, Topology) else topology()
        application = configured_application(self._topology, config, keywords, restore_listeners)
        self._life = ApplicationLife(listener)
        self._probe_address = application.config.probe_address
        self._probe: ProbeServer | None = None
        self._is_paused = False
        self._application_id = application.config.application_id
        self._client_id = application.config.client_id
        self._is_debugging = application.settings.is_debugging
        self._worker: WorkerThread | WorkerSupervisor
        if application.config.num_workers == 1:
            name = worker_name(self._application_id, 1)
            uncaught = UncaughtErrors(application.config.uncaught_exception_handler)
            self._worker = WorkerThread(lambda: assembled_worker(application), self._life, name, uncaught)
        else:
            program = checked_program(topology, config, keywords, restore_listeners)
            self._worker = WorkerSupervisor(program, application.config, self._life)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._application_id!r}: {self._life.state.name}>"

    @property
    def state(self) -> StreamsState:
        """The state of the application."""
        return self._life.state

    @property
    def error(self) -> BaseException | None:
        """The error that ended the application, in the state ERROR."""
        return self._life.error

    @property
    def is_paused(self) -> bool:
        """True after `pause`, until `resume`."""
        return self._is_paused

    def pause(self) -> None:
        """Process nothing until `resume` (KIP-834), from the workers' next turn on. Does not wait.

        This process keeps its tasks and its place in the group. It still fetches records until its buffers are full,
        commits what it has processed, and follows global tables. It neither punctuates nor restores stores, and its
        standby tasks stay as they are: tasks that are not restored yet run after `resume`. Other processes are not
        paused. Before `start`, it lets the application start paused. Any thread may call it.
        """
        self._is_paused = True
        self._worker.pause()

    def resume(self) -> None:
        """Process again after `pause`. Does not wait. Any thread may call it."""
        self._is_paused = False
        self._worker.resume()

    def request_shutdown(self) -> None:
        """Ask all processes of the application to shut down, this one included. Does not wait."""
        self._worker.request_shutdown()

    def metrics(self) -> tuple[StreamsMetric, ...]:
        """Return the metrics of this process, its workers and their tasks by Kafka's names. Any thread may call it.

        Does not wait. With several workers, theirs are up to a second old, and missing in the second after their start.
        The reference lists them all.
        """
        alive, failed = self._worker.counts
        sources = ApplicationSources(
            client_id=self._client_id,
            application_id=self._application_id,
            state=self.state,
            topology=self._topology.describe(),
            is_debugging=self._is_debugging,
            alive=alive,
            failed=failed,
        )
        return (*application_metrics(sources), *self._worker.metrics())

    @property
    def telemetry(self) -> TelemetrySource:
        """The metrics for exporters; see `kafka_groups.telemetry`. Any thread may read this."""
        return streams_application_source(
            METRIC_GROUPS, self.metrics, application_id=self._application_id, client_id=self._client_id
        )

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

    def _start(self) -> None:
        if self._life.state is not StreamsState.CREATED:
            raise IllegalStateError(f"{self!r} was started before. Make another one to run the topology again.")
        self._life.enter(StreamsState.REBALANCING)
        try:
            if self._probe_address is not None:
                self._probe = ProbeServer(self._probe_address, self._life)
            self._worker.start()
        except Exception as error:
            self._life.enter(StreamsState.ERROR, error)
            self._close_probe()
            raise

    def _not_removed(self, timeout: float | None) -> OperationTimeoutError:
        return OperationTimeoutError(
            f"The worker of {self!r} has not left within {timeout} s. It will leave when your code returns."
        )

    def _close_probe(self) -> None:
        """Let the port go. Blocks for a moment."""
        probe, self._probe = self._probe, None
        if probe is not None:
            probe.close()

    def _check_runs(self, *, is_in_time: bool, timeout: float | None) -> None:
        self._raise_error()
        if self._life.has_ended:
            raise ClosedError(f"{self!r} was closed.")
        if not is_in_time:
            raise OperationTimeoutError(f"{self!r} does not run after {timeout} s. Its log says what it waits for.")

    def _has_come_to_run(self, state: StreamsState) -> bool:
        return state is StreamsState.RUNNING or self._life.has_ended

    def _raise_error(self) -> None:
        if self._life.error is not None:
            raise StreamsError(f"{self!r} ended: {self._life.error}") from self._life.error
