"""Every metric of a streams application: Kafka's names, groups and tags, what they mean, and how they are read."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from attrs import field, frozen

from kafka_groups.client.windows import Windows
from kafka_groups.streams.engines.interface import TaskEngine
from kafka_groups.streams.member.rules.member_metrics import COORDINATOR_METRIC_GROUPS, ROUND_METRICS, TASK_ASSIGNOR
from kafka_groups.streams.runtime.assigned import OwnedTask, TaskPhase, TaskRole
from kafka_groups.streams.runtime.record_sensors import RecordSensors
from kafka_groups.streams.runtime.worker_sensors import StepSensors, WorkerSensors
from kafka_groups.streams.state.stores import KeyValueDefinition, SessionDefinition, WindowDefinition
from kafka_groups.streams.tasks.queues import PartitionQueue
from kafka_groups.streams.topology.node_graph import TopologyStore
from kafka_groups.streams.workers.application_state import StreamsState
from kafka_groups.version import __version__

__all__ = [
    "APPLICATION_METRICS",
    "METRIC_GROUPS",
    "NODE_METRICS",
    "STORE_METRICS",
    "TASK_METRICS",
    "TOPIC_METRICS",
    "UPDATER_METRICS",
    "WORKER_METRICS",
    "ApplicationSources",
    "MetricDefinition",
    "StreamsMetric",
    "WorkerSources",
    "application_metrics",
    "worker_metrics",
]

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)


@frozen
class StreamsMetric:
    """A metric of an application at one moment.

    Attributes:
        group: Its group, such as `stream-thread-metrics`.
        name: Its name, such as `process-rate`. The reference has the meaning of each.
        tags: What it is about, by names such as `thread-id` and `task-id`.
        value: Its value. An average or maximum without any value in the last minute is NaN.
    """

    group: str
    name: str
    tags: Mapping[str, str] = field(hash=False)
    value: float | str


@frozen
class MetricDefinition(Generic[S_contra]):
    """One metric.

    Attributes:
        name: Its name.
        unit: What it counts or measures.
        doc: What it means.
        read: Computes the value.
    """

    name: str
    unit: str
    doc: str
    read: Callable[[S_contra], float | str]


@frozen(kw_only=True)
class ApplicationSources:
    """The sources of the metrics of a process as a whole.

    Attributes:
        client_id: Its `client.id`.
        application_id: Its `application.id`.
        state: Its state.
        topology: What `describe` returns.
        is_debugging: Whether its `metrics.recording.level` is DEBUG.
        alive: How many workers work, or prepare for it.
        failed: How many workers have failed since the start.
    """

    client_id: str
    application_id: str
    state: StreamsState
    topology: str
    is_debugging: bool
    alive: int
    failed: int


@frozen(kw_only=True)
class WorkerSources:
    """The sources of the metrics of one worker.

    Attributes:
        thread_id: Its name.
        state: The state of its part of the application.
        tasks: Its tasks.
        stores: The stores of the topology, by name.
        sensors: Its metrics.
        is_paused: Whether the application is paused.
        member: The metrics of its member of the group.
        assignor: The task assignor of a member of a classic group.
        now_ms: When they are read.
    """

    thread_id: str
    state: StreamsState
    tasks: tuple[OwnedTask, ...]
    stores: Mapping[str, TopologyStore]
    sensors: WorkerSensors
    is_paused: bool
    member: Mapping[str, float]
    assignor: str = ""
    now_ms: int

    def share(self, step: StepSensors) -> float:
        """Return the part of the time that a step takes."""
        return _part(step.spent, self.sensors.turns, self.now_ms)

    def tasks_in(self, *, is_active: bool, is_paused: bool) -> int:
        """Return the number of tasks that are restored or follow their changelogs."""
        waiting = [each for each in self.tasks if each.phase is not TaskPhase.RUNNING]
        return sum((each.role is TaskRole.ACTIVE) is is_active for each in waiting) * (self.is_paused is is_paused)


@frozen
class _StoreSources:
    name: str
    engine: TaskEngine

    @property
    def keys(self) -> int:
        """The number of rows that are committed."""
        return self.engine.count(self.name)


@frozen
class _SourceSources:
    queue: PartitionQueue
    sensors: RecordSensors
    now_ms: int


@frozen
class _TaskSources:
    worker: WorkerSources
    task: OwnedTask

    @property
    def now_ms(self) -> int:
        return self.worker.now_ms

    @property
    def remaining(self) -> int:
        """The changelog records that are still to be restored."""
        if self.task.role is not TaskRole.ACTIVE or self.task.is_running:
            return 0
        applied = self.task.applied
        return sum(max(0, end - applied.get(place, 0)) for place, end in list(self.task.ends.items()))


def _part(part: Windows, whole: Windows, now_ms: int) -> float:
    total = whole.per_second(now_ms)
    return min(1.0, part.per_second(now_ms) / total) if total else 0.0


_STATE_NUMBERS = {state: float(number) for number, state in enumerate(StreamsState)} | {StreamsState.ERROR: 6.0}
"""As in Java, which has PENDING_ERROR as 5."""

_THREAD_STATES: Mapping[StreamsState, tuple[str, float]] = {
    StreamsState.CREATED: ("CREATED", 0.0),
    StreamsState.REBALANCING: ("PARTITIONS_ASSIGNED", 3.0),
    StreamsState.RUNNING: ("RUNNING", 4.0),
    StreamsState.PENDING_SHUTDOWN: ("PENDING_SHUTDOWN", 5.0),
    StreamsState.NOT_RUNNING: ("DEAD", 6.0),
    StreamsState.ERROR: ("DEAD", 6.0),
}
"""The states of Java's threads, and their numbers."""

_DEBUG = "Level DEBUG."

_A = MetricDefinition[ApplicationSources]
_W = MetricDefinition[WorkerSources]
_T = MetricDefinition[_TaskSources]
_R = MetricDefinition[_SourceSources]

APPLICATION_METRICS: tuple[MetricDefinition[ApplicationSources], ...] = (
    _A("version", "text", "The version of kafka-groups.", lambda _: __version__),
    _A("application-id", "text", "The `application.id`.", lambda s: s.application_id),
    _A("topology-description", "text", "What `Topology.describe()` returns.", lambda s: s.topology),
    _A("state", "text", "`app.state` by name.", lambda s: s.state.name),
    _A("client-state", "number", "`app.state` as Java's number: 2 is RUNNING.", lambda s: _STATE_NUMBERS[s.state]),
    _A("recording-level", "number", "0: INFO, 1: DEBUG.", lambda s: s.is_debugging),
    _A("alive-stream-threads", "workers", "Workers that work, or prepare for it.", lambda s: s.alive),
    _A("failed-stream-threads", "workers", "Workers that failed since the start.", lambda s: s.failed),
)
"""Of the process, in the group `stream-metrics`, with the tag `client-id`."""


def _step(name: str, unit: str, what: str, of: Callable[[WorkerSensors], StepSensors]) -> Iterator[_W]:
    each = unit.removesuffix("s")
    yield _W(
        f"{name}-latency-avg", "ms", f"Average time of one {each}.", lambda s: of(s.sensors).latencies.average(s.now_ms)
    )
    yield _W(
        f"{name}-latency-max", "ms", f"Longest time of one {each}.", lambda s: of(s.sensors).latencies.largest(s.now_ms)
    )
    yield _W(f"{name}-rate", f"{unit}/s", what, lambda s: of(s.sensors).done.recent.per_second(s.now_ms))
    yield _W(f"{name}-total", unit, what, lambda s: of(s.sensors).done.total)
    yield _W(
        f"{name}-ratio", "0 to 1", "Part of the time that the worker spends on that.", lambda s: s.share(of(s.sensors))
    )


def _events(name: str, unit: str, what: str, of: Callable[[WorkerSensors], Any]) -> Iterator[_W]:
    yield _W(f"{name}-rate", f"{unit}/s", what, lambda s: of(s.sensors).recent.per_second(s.now_ms))
    yield _W(f"{name}-total", unit, what, lambda s: of(s.sensors).total)


def _of_member(name: str, doc: str) -> Iterator[_W]:
    for suffix, which in (("avg", "Average"), ("max", "Longest")):
        full = f"{name}-{suffix}"
        yield _W(full, "ms", f"{which} {doc}", lambda s, full=full: s.member.get(full, math.nan))  # type: ignore[misc]


WORKER_METRICS: tuple[MetricDefinition[WorkerSources], ...] = (
    _W("state", "text", "The worker's state, with Java's names.", lambda s: _THREAD_STATES[s.state][0]),
    _W("thread-state", "number", "The same as Java's number: 4 is RUNNING.", lambda s: _THREAD_STATES[s.state][1]),
    _W("thread-start-time", "ms since 1970", "When the worker started.", lambda s: s.sensors.start_ms),
    *_step("poll", "polls", "Polls of source topics, with the wait for records.", lambda f: f.poll),
    _W(
        "poll-records-avg",
        "records",
        "Average number of records of a poll.",
        lambda s: s.sensors.poll_records.average(s.now_ms),
    ),
    _W("poll-records-max", "records", "Most records of a poll.", lambda s: s.sensors.poll_records.largest(s.now_ms)),
    *_step("process", "records", "Records that were processed.", lambda f: f.process),
    _W(
        "process-records-avg",
        "records",
        "Average number of records of a turn that processed any.",
        lambda s: s.sensors.process.done.recent.average(s.now_ms),
    ),
    _W(
        "process-records-max",
        "records",
        "Most records of a turn.",
        lambda s: s.sensors.process.done.recent.largest(s.now_ms),
    ),
    *_step("punctuate", "punctuations", "Tasks that punctuated by wall-clock time.", lambda f: f.punctuate),
    *_step("commit", "commits", "Commits of the worker's tasks, if any had changed.", lambda f: f.commit),
    *_events("task-created", "tasks", "Tasks that the worker got.", lambda f: f.created),
    *_events("task-closed", "tasks", "Tasks that the worker gave up.", lambda f: f.closed),
    *_of_member("tasks-assigned-latency", "time until the worker had made tasks that it got."),
    *_of_member("tasks-revoked-latency", "time until the worker had closed tasks that another member gets."),
    *_of_member("tasks-lost-latency", "time until the worker had closed tasks that it lost."),
)
"""Of a worker, in the group `stream-thread-metrics`, with the tag `thread-id`."""

UPDATER_METRICS: tuple[MetricDefinition[WorkerSources], ...] = (
    _W(
        "active-restoring-tasks",
        "tasks",
        "Active tasks whose stores are restored.",
        lambda s: s.tasks_in(is_active=True, is_paused=False),
    ),
    _W(
        "active-paused-tasks",
        "tasks",
        "Active tasks that are not restored while the application is paused.",
        lambda s: s.tasks_in(is_active=True, is_paused=True),
    ),
    _W(
        "standby-updating-tasks",
        "tasks",
        "Standby and warm-up tasks that follow their changelogs.",
        lambda s: s.tasks_in(is_active=False, is_paused=False),
    ),
    _W(
        "standby-paused-tasks",
        "tasks",
        "Standby and warm-up tasks while the application is paused.",
        lambda s: s.tasks_in(is_active=False, is_paused=True),
    ),
    _W(
        "restore-records-rate",
        "records/s",
        "Records read from changelogs and global topics.",
        lambda s: s.sensors.restored.recent.per_second(s.now_ms),
    ),
)
"""About changelogs, in the group `stream-state-updater-metrics`, with the tag `thread-id`."""

TASK_METRICS: tuple[MetricDefinition[_TaskSources], ...] = (
    _T(
        "active-process-ratio",
        "0 to 1",
        "Part of the processing time that this task takes.",
        lambda s: _part(s.task.sensors.spent, s.worker.sensors.process.spent, s.now_ms),
    ),
    _T(
        "dropped-records-rate",
        "records/s",
        "Records that operators and handlers of errors dropped.",
        lambda s: s.task.sensors.dropped.recent.per_second(s.now_ms),
    ),
    _T(
        "dropped-records-total",
        "records",
        "Records that operators and handlers of errors dropped.",
        lambda s: s.task.sensors.dropped.total,
    ),
    _T(
        "restore-remaining-records-total",
        "records",
        "Changelog records that are not restored yet.",
        lambda s: s.remaining,
    ),
    _T(
        "record-lateness-avg",
        "ms",
        f"How far records were behind stream time, on average. {_DEBUG}",
        lambda s: s.task.sensors.lateness.average(s.now_ms),
    ),
    _T(
        "record-lateness-max",
        "ms",
        f"How far a record was behind stream time. {_DEBUG}",
        lambda s: s.task.sensors.lateness.largest(s.now_ms),
    ),
    _T(
        "process-latency-avg", "ms", "Average time of one record.", lambda s: s.task.sensors.latencies.average(s.now_ms)
    ),
    _T(
        "process-latency-max",
        "ms",
        "Longest time of one record, averaged over those processed together.",
        lambda s: s.task.sensors.latencies.largest(s.now_ms),
    ),
    _T(
        "process-rate",
        "records/s",
        "Records that were processed.",
        lambda s: s.task.sensors.processed.recent.per_second(s.now_ms),
    ),
    _T("process-total", "records", "Records that were processed.", lambda s: s.task.sensors.processed.total),
    _T(
        "active-buffer-count",
        "records",
        "Records that were fetched and not processed yet.",
        lambda s: sum(map(len, s.task.task.queues.values())),
    ),
)
"""Of a task, in the group `stream-task-metrics`, with the tags `thread-id` and `task-id`."""

TOPIC_METRICS: tuple[MetricDefinition[_SourceSources], ...] = (
    _R("records-consumed-total", "records", "Records that a source node took.", lambda s: s.queue.taken),
    _R("bytes-consumed-total", "bytes", f"Their size. {_DEBUG}", lambda s: s.sensors.bytes_total),
)
"""Of a source topic of a task, in the group `stream-topic-metrics`, with its node."""

NODE_METRICS: tuple[MetricDefinition[_SourceSources], ...] = (
    _R("record-e2e-latency-avg", "ms", f"Average age of records. {_DEBUG}", lambda s: s.sensors.ages.average(s.now_ms)),
    _R("record-e2e-latency-min", "ms", f"Lowest age. {_DEBUG}", lambda s: -s.sensors.minus_ages.largest(s.now_ms)),
    _R("record-e2e-latency-max", "ms", f"Highest age. {_DEBUG}", lambda s: s.sensors.ages.largest(s.now_ms)),
)
"""Of a source node, in the group `stream-processor-node-metrics`. An age is that by the wall clock."""

STORE_METRICS: tuple[MetricDefinition[_StoreSources], ...] = (
    MetricDefinition("num-keys", "rows", "Rows of the store, as of the last commit.", lambda s: s.keys),
)
"""Of a store, in the group `stream-state-metrics`, with a tag that has the name of the store."""

_STORE_TAGS = {
    SessionDefinition: "in-memory-session-state-id",
    WindowDefinition: "in-memory-window-state-id",
    KeyValueDefinition: "in-memory-state-id",
}


METRIC_GROUPS: Mapping[str, tuple[MetricDefinition[Any], ...]] = {
    "stream-metrics": APPLICATION_METRICS,
    "stream-thread-metrics": WORKER_METRICS,
    "stream-state-updater-metrics": UPDATER_METRICS,
    "stream-task-metrics": TASK_METRICS,
    "stream-processor-node-metrics": NODE_METRICS,
    "stream-topic-metrics": TOPIC_METRICS,
    "stream-state-metrics": STORE_METRICS,
}
"""All metrics by their groups, in the order of the reference."""


def application_metrics(sources: ApplicationSources) -> tuple[StreamsMetric, ...]:
    """Return the metrics of the process as a whole."""
    return tuple(_values("stream-metrics", APPLICATION_METRICS, sources, {"client-id": sources.client_id}))


def worker_metrics(sources: WorkerSources) -> tuple[StreamsMetric, ...]:
    """Return the metrics of a worker and its tasks."""
    return tuple(_of_worker(sources))


def _of_worker(sources: WorkerSources) -> Iterator[StreamsMetric]:
    tags = {"thread-id": sources.thread_id}
    yield from _values("stream-thread-metrics", WORKER_METRICS, sources, tags)
    updater = sources.thread_id.replace("-StreamThread-", "-StateUpdater-")
    yield from _values("stream-state-updater-metrics", UPDATER_METRICS, sources, {"thread-id": updater})
    yield from _of_coordinator(sources)
    for task in sources.tasks:
        if task.role is TaskRole.ACTIVE:
            yield from _of_task(_TaskSources(sources, task), {**tags, "task-id": str(task.task_id)})
        yield from _of_stores(task, sources.stores, {**tags, "task-id": str(task.task_id)})


def _of_coordinator(sources: WorkerSources) -> Iterator[StreamsMetric]:
    """Yield the metrics of a member of a classic group."""
    if ROUND_METRICS[0].name not in sources.member:
        return
    tags = {"client-id": f"{sources.thread_id}-consumer"}
    values: dict[str, float | str] = {**sources.member, TASK_ASSIGNOR.name: sources.assignor}
    for group, metrics in COORDINATOR_METRIC_GROUPS.items():
        yield from (StreamsMetric(group, each.name, tags, values[each.name]) for each in metrics)


def _of_task(sources: _TaskSources, tags: dict[str, str]) -> Iterator[StreamsMetric]:
    yield from _values("stream-task-metrics", TASK_METRICS, sources, tags)
    for queue in sources.task.task.queues.values():
        of_topic = {**tags, "processor-node-id": queue.node, "topic": queue.topic}
        source = _SourceSources(queue, sources.task.sources[queue.partition], sources.now_ms)
        yield from _values("stream-topic-metrics", TOPIC_METRICS, source, of_topic)
        of_node = {**tags, "processor-node-id": queue.node}
        yield from _values("stream-processor-node-metrics", NODE_METRICS, source, of_node)


def _of_stores(task: OwnedTask, stores: Mapping[str, TopologyStore], tags: dict[str, str]) -> Iterator[StreamsMetric]:
    for name in task.task.states:
        kind = next((tag for each, tag in _STORE_TAGS.items() if isinstance(stores[name].definition, each)), None)
        if kind is not None:
            sources = _StoreSources(name, task.engine)
            yield from _values("stream-state-metrics", STORE_METRICS, sources, {**tags, kind: name})


def _values(
    group: str, definitions: Iterable[MetricDefinition[S]], sources: S, tags: Mapping[str, str]
) -> Iterator[StreamsMetric]:
    for each in definitions:
        value = each.read(sources)
        yield StreamsMetric(group, each.name, tags, value if isinstance(value, str) else float(value))
