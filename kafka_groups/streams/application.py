"""The parts of an application that its blocking and its asynchronous face share."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar, overload

from kafka_groups.errors import ClosedError, IllegalStateError, OperationTimeoutError
from kafka_groups.errors.texts import counted
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.wake_up import WakeUp
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.records.metrics import RECORDS_METRIC_GROUPS
from kafka_groups.streams.engines.left_folders import wipe_all
from kafka_groups.streams.errors import (
    StoreNotAvailableError,
    StreamsError,
    StreamsNotStartedError,
    UnknownStateStoreError,
    reason_of,
)
from kafka_groups.streams.member.rules.member_metrics import COORDINATOR_METRIC_GROUPS
from kafka_groups.streams.queries.bounds import Wait, check_bound, view_at_least
from kafka_groups.streams.queries.committed import committed_view
from kafka_groups.streams.queries.placement import (
    KeyQueryMetadata,
    StreamsMetadata,
    active_process,
    all_clients,
    input_topics,
    known_partitions,
    place_of_key,
)
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.state.key_value import KeyValueStore
from kafka_groups.streams.state.position import Position
from kafka_groups.streams.state.session_stores import SessionStore
from kafka_groups.streams.state.stores import (
    KeyValueDefinition,
    SessionDefinition,
    StoreDefinition,
    VersionedDefinition,
    WindowDefinition,
)
from kafka_groups.streams.state.versioned_stores import VersionedKeyValueStore
from kafka_groups.streams.state.window_stores import WindowStore
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.node_graph import TopologyStore
from kafka_groups.streams.topology.nodes import Partitioner
from kafka_groups.streams.topology.topology import Topology
from kafka_groups.streams.workers.application_metrics import (
    METRIC_GROUPS,
    ApplicationSources,
    StreamsMetric,
    application_metrics,
)
from kafka_groups.streams.workers.application_state import ApplicationLife, StateListener, StreamsState
from kafka_groups.streams.workers.assembly import assembled_worker
from kafka_groups.streams.workers.configured import configured_application
from kafka_groups.streams.workers.pickled import checked_program
from kafka_groups.streams.workers.probe import ProbeServer
from kafka_groups.streams.workers.state_directory import StateDirectory, claimed_directory, held_directory
from kafka_groups.streams.workers.supervisor import WorkerSupervisor
from kafka_groups.streams.workers.uncaught import UncaughtErrors
from kafka_groups.streams.workers.worker_thread import RunningWorker, WorkerThread, worker_name
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
        check_functions(type(self).__name__, on_state=listener)
        restore_listeners.check(type(self).__name__)
        self._topology = topology if isinstance(topology, Topology) else topology()
        self._application = application = configured_application(self._topology, config, keywords, restore_listeners)
        self._folder: StateDirectory | None = None
        self._life = ApplicationLife(listener)
        self._probe: ProbeServer | None = None
        self._is_paused = False
        self._application_id = application.config.application_id
        self._worker: WorkerThread | WorkerSupervisor
        if application.config.num_workers == 1:
            name = worker_name(self._application_id, 1)
            uncaught = UncaughtErrors(application.config.uncaught_exception_handler)
            self._worker = WorkerThread(self._assembled, self._life, name, uncaught, self._release_folder)
        else:
            program = checked_program(topology, config, keywords, restore_listeners)
            directory = partial(claimed_directory, application)
            stores = application.settings.tasks.topology.stores
            self._worker = WorkerSupervisor(program, application.config, directory, self._life, stores=stores)

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
            client_id=self._application.config.client_id,
            application_id=self._application_id,
            state=self.state,
            topology=self._topology.describe(),
            is_debugging=self._application.settings.is_debugging,
            alive=alive,
            failed=failed,
        )
        return (*application_metrics(sources), *self._worker.metrics())

    @property
    def telemetry(self) -> TelemetrySource:
        """The metrics for exporters; see `kafka_groups.telemetry`. Any thread may read this."""
        is_classic = self._application.config.is_classic
        return streams_application_source(
            {**METRIC_GROUPS, **RECORDS_METRIC_GROUPS, **(COORDINATOR_METRIC_GROUPS if is_classic else {})},
            self.metrics,
            application_id=self._application_id,
            client_id=self._application.config.client_id,
        )

    @overload
    def store(
        self,
        store: KeyValueDefinition[K, V],
        partition: int | None = None,
        *,
        allow_stale: bool = False,
        at_least: Position | None = None,
        timeout: float = 0.0,
    ) -> KeyValueStore[K, V]: ...
    @overload
    def store(
        self,
        store: WindowDefinition[K, V],
        partition: int | None = None,
        *,
        allow_stale: bool = False,
        at_least: Position | None = None,
        timeout: float = 0.0,
    ) -> WindowStore[K, V]: ...
    @overload
    def store(
        self,
        store: SessionDefinition[K, V],
        partition: int | None = None,
        *,
        allow_stale: bool = False,
        at_least: Position | None = None,
        timeout: float = 0.0,
    ) -> SessionStore[K, V]: ...
    @overload
    def store(
        self,
        store: VersionedDefinition[K, V],
        partition: int | None = None,
        *,
        allow_stale: bool = False,
        at_least: Position | None = None,
        timeout: float = 0.0,
    ) -> VersionedKeyValueStore[K, V]: ...
    @overload
    def store(
        self,
        store: StoreDefinition | str,
        partition: int | None = None,
        *,
        allow_stale: bool = False,
        at_least: Position | None = None,
        timeout: float = 0.0,
    ) -> Any: ...
    def store(
        self,
        store: StoreDefinition | str,
        partition: int | None = None,
        *,
        allow_stale: bool = False,
        at_least: Position | None = None,
        timeout: float = 0.0,
    ) -> Any:
        """Return a store to read what the tasks of this process have committed. Any thread may read it.

        The view covers the tasks that run when you read it, also those that come later. When one of them moves to
        another process or ends, also by `close` or because its worker has died, the view raises
        `StateStoreMigratedError`: ask again.

        `get` and `fetch` of a key ask all these tasks. If none has the key, the default partitioner decides: they
        return nothing if the key's partition is here, and raise `StateStoreMigratedError` if it is elsewhere, with the
        other process as `active`. If the stream that fills the store has a partitioner of its own, that may be wrong
        for a key which does not exist: ask `key_query_metadata` first, and pass the partition that it returns.

        An answer is what a task had committed at one moment; tasks have a moment each. Iterators read pages of up to
        1,000 rows, and each page of a task is of one moment. 30 seconds after an iterator has begun, it raises
        `InvalidStateStoreError`. With several workers, stores on disk are read from their files. For others, this
        method and each question block until all workers have answered, which takes a millisecond or two while they
        work. A view and this method block in a program of asyncio, too: ask in a thread there (`asyncio.to_thread`).

        Args:
            store: Its definition, which makes the result typed, or its name.
            partition: Read the task of this partition alone: a key that it does not have is not there. None: all tasks
                of the store.
            allow_stale: Also read standby and warm-up tasks, and tasks that are being restored: they may lack the last
                changes, or have those of another process. Of stores on disk, also what a worker has left that has died.
            at_least: Wait until the tasks of this process have committed these input records, such as one that you have
                just written: `Position({"orders": {partition: offset}})`. With `partition`, only its offset counts. A
                copy knows only what it had when it was active here.
            timeout: Longest wait in seconds until the store is there, and has reached `at_least`. Blocks until then.

        Raises:
            UnknownStateStoreError: The topology has no such store. It is a `LookupError`.
            StreamsNotStartedError: The application was not started.
            StoreNotAvailableError: No task of this process has it now, it has not reached `at_least` in time, or a
                worker has not answered for 30 seconds.
            StreamsError: It is the buffer of a suppressed table.
            TypeError: `at_least` is not a `Position`.
            ValueError: The partition is negative, or `at_least` names a topic that the store's tasks do not read.
        """
        place = self._place(store)
        name = place.definition.name
        if partition is not None and partition < 0:
            raise ValueError(f"partition={partition!r} is negative. Give the number of a partition, from 0, or None.")
        if self._life.state is StreamsState.CREATED:
            raise StreamsNotStartedError(f"{self!r} was not started. Call start, and wait_until_running.")
        if at_least is not None:
            check_bound(at_least, name, self._input_topics(name, at_least))
        wait = Wait(timeout, SystemClock(), WakeUp().wait, lambda: self._life.has_ended)
        return view_at_least(partial(self._view, place, partition, allow_stale), at_least, partition, wait)

    def _view(self, place: TopologyStore, partition: int | None, allows_stale: bool) -> Any:  # noqa: FBT001
        name = place.definition.name
        try:
            return committed_view(
                place,
                self._application_id,
                self._worker.ask,
                partition=partition,
                allows_stale=allows_stale,
                active_of=partial(self._active_process, name),
            )
        except StoreNotAvailableError as error:
            self._check_partition(place, partition)
            one = "" if partition is None else f" for partition {partition}"
            raise StoreNotAvailableError(
                f"No task of this process has store {name!r} now{one}: {self!r}. Call wait_until_running first; if "
                "other processes have all tasks, ask them."
            ) from error

    def _check_partition(self, place: TopologyStore, partition: int | None) -> None:
        if partition is None or place.is_global:
            return
        name = place.definition.name
        known = known_partitions(self._input_topics(name), self._worker.places)
        # Topics may grow, so that asking again may help.
        if 0 < known <= partition:
            raise StoreNotAvailableError(
                f"Store {name!r} has no partition {partition}: the topics that its tasks read have "
                f"{counted(known, 'partition')}, from 0. Give one of them."
            )

    def _input_topics(self, store: str, at_least: Position | None = None) -> list[str]:
        # A record may have been written to a topic that this process does not know yet, and that a pattern matches.
        named = at_least.offsets if isinstance(at_least, Position) else ()
        existing = {*self._worker.places.partition_counts, *named}
        return input_topics(self._topology.graph, self._application_id, store, existing)

    @property
    def stores(self) -> Mapping[str, StoreDefinition]:
        """The stores of the topology, by their names."""
        return {name: place.definition for name, place in self._topology.graph.stores.items()}

    def key_query_metadata(
        self, store: StoreDefinition | str, key: Any, partitioner: Partitioner | None = None
    ) -> KeyQueryMetadata:
        """Return which process has a key, by what the group told this one last. Does not wait. Any thread may call it.

        Give each process an address, `application_server`, at which it answers. With several workers, what their parent
        knows is up to a second old.

        Args:
            store: The definition of the store, or its name.
            key: The key; for a window or session store without the window.
            partitioner: The partitioner of the stream that fills the store, if it has one of its own. It gets None as
                the value.

        Raises:
            UnknownStateStoreError: The topology has no such store.
            StoreNotAvailableError: The topics of the store are not known yet.
            StreamsError: The store is a global one, or the partitioner chose no partition that there is.
        """
        place = self._place(store)
        return place_of_key(self._topology.graph, self._application_id, place, key, partitioner, self._worker.places)

    def streams_metadata_for_all_clients(self) -> tuple[StreamsMetadata, ...]:
        """Return the processes of the application that have an `application_server`, and what each of them has.

        It is what the group told this process last. Does not wait. Any thread may call it.
        """
        return all_clients(self._worker.places)

    def _active_process(self, store: str, partition: int) -> UserEndpoint | None:
        return active_process(self._topology.graph, self._application_id, store, partition, self._worker.places)

    def _place(self, store: StoreDefinition | str) -> TopologyStore:
        name = store if isinstance(store, str) else store.name
        place = self._topology.graph.stores.get(name)
        if place is None:
            known = ", ".join(sorted(self._topology.graph.stores)) or "none"
            raise UnknownStateStoreError(f"The topology has no store {name!r}. Its stores are: {known}.")
        return place

    def _start(self) -> None:
        if self._life.state is not StreamsState.CREATED:
            raise IllegalStateError(f"{self!r} was started before. Make another one to run the topology again.")
        self._life.enter(StreamsState.REBALANCING)
        try:
            if (address := self._application.config.probe_address) is not None:
                self._probe = ProbeServer(address, self._life)
            if isinstance(self._worker, WorkerThread) and self._application.persistent_stores:
                self._folder = claimed_directory(self._application)
            self._worker.start()
        except Exception as error:  # a port in use, for example: the state must not stay REBALANCING
            self._life.enter(StreamsState.ERROR, error)
            self._close_probe()
            raise

    def _assembled(self) -> RunningWorker:
        return assembled_worker(self._application, None if self._folder is None else self._folder.process_id)

    def _release_folder(self) -> None:
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.close()

    def _clean_up(self) -> None:
        if self._life.state is not StreamsState.CREATED and not self._life.has_ended:
            raise IllegalStateError(f"{self!r} uses its stores. Call clean_up before start, or after close.")
        with held_directory(self._application.config) as directory:
            wipe_all(directory.path)

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
            raise OperationTimeoutError(f"{self!r} is not running after {timeout} s. Its log says what it waits for.")

    def _has_come_to_run(self, state: StreamsState) -> bool:
        return state is StreamsState.RUNNING or self._life.has_ended

    def _raise_error(self) -> None:
        if self._life.error is not None:
            raise StreamsError(f"{self!r} ended: {reason_of(self._life.error)}") from self._life.error
