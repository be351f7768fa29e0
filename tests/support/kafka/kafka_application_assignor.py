"""Kafka's own task assignors of classic groups, run on our inputs by a small Java program.

A question is a line of JSON, and so is its answer:

    question        name of the method below, with "standby" for both of the standby ones
    sorts           whether maps and sets are in order, instead of in the order of hashes
    configs         {lag, warmups, standbys, probingMs, tags, traffic, nonOverlap, strategy}; costs may be null
    processes       [{id, host, tags, rack, active, standby, lags: {task: lag}, members: {member: [task]}}]
    tasks           [{id, stateful, stores, partitions: [{topic, partition, source, changelog, racks}]}]
    given           [{process, active, standby, followup}], an assignment that a method changes or looks at
    public          whether an assignor of KIP-924 has assigned the given tasks, instead of an internal one
    preserve        whether a sticky assignor keeps all previous active tasks
    chosen          tasks to optimise: null, "stateful", "stateless" or [task]
    traffic         a cost, or null
    nonOverlap      a cost, or null

The answer is one of {assignment: {process: [active, standby]}, followup}, {members: {member: [stateful, stateless,
standby]}}, {error}, {states, racks} and {exception, at}, with "ms" for the time that Kafka's class took.
"""

import json
import subprocess
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from attrs import frozen

from kafka_groups.assignment.application.assignments import AssignedTask, KafkaStreamsAssignment
from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ApplicationState, KafkaStreamsState
from kafka_groups.assignment.application.task_assignor import AssignmentError
from kafka_groups.assignment.application.tasks import TaskInfo, TaskTopicPartition
from kafka_groups.types import TaskId
from tests.support.kafka.java_program import LineProgram

__all__ = [
    "ChosenTasks",
    "JavaExceptionError",
    "KafkaApplicationAssignors",
    "KafkaAssignment",
    "MemberTasks",
    "OptimizedAssignment",
    "ProcessTasks",
    "tasks_of",
]

ProcessTasks = tuple[frozenset[TaskId], frozenset[TaskId]]
"""The active and the standby tasks of a process."""

ChosenTasks = Collection[TaskId] | Literal["stateful", "stateless"] | None
"""The tasks that rack-aware optimisation may move. None stands for all."""

_JAVA: Final = Path(__file__).parent / "java"
_SOURCES: Final = ("ApplicationAssignorDriver", "AssignorAccess")
_MAIN: Final = "org.apache.kafka.streams.processor.internals.ApplicationAssignorDriver"
_COMPILING_S: Final = 120
_QUIET: Final = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"

_Given = Mapping[ProcessId, ProcessTasks] | Iterable[KafkaStreamsAssignment]


class JavaExceptionError(Exception):
    """Kafka's class threw an exception."""


@frozen
class KafkaAssignment:
    """What an assignor of Kafka's assigns.

    Attributes:
        tasks: The active and standby tasks of each process, in the order of Java's map.
        follows_up: Whether the group is to rebalance again: a probing rebalance, or a deadline in any process.
        ms: How long Kafka's class took.
    """

    tasks: Mapping[ProcessId, ProcessTasks]
    follows_up: bool
    ms: float


@frozen
class OptimizedAssignment:
    """What the internal rack-aware optimisation makes of an assignment.

    Attributes:
        tasks: The active and standby tasks of each process.
        is_enabled: Whether the strategy and the racks permit the optimisation. Without, nothing changes.
        cost_before: The cost of the tasks as given; 0 if it is not enabled.
        cost: The cost of the tasks afterwards; 0 if it is not enabled.
        ms: How long Kafka's class took.
    """

    tasks: Mapping[ProcessId, ProcessTasks]
    is_enabled: bool
    cost_before: int
    cost: int
    ms: float


@frozen
class MemberTasks:
    """What a member of a process gets, in the order in which Kafka's leader gives it.

    Attributes:
        stateful: Active tasks with changelogs.
        stateless: Active tasks without.
        standby: Standby tasks.
    """

    stateful: tuple[TaskId, ...]
    stateless: tuple[TaskId, ...]
    standby: tuple[TaskId, ...]

    @property
    def active(self) -> tuple[TaskId, ...]:
        """All active tasks, stateful ones first."""
        return self.stateful + self.stateless


class KafkaApplicationAssignors(LineProgram):
    """Kafka's assignors, with a method for each question. Use it as a context manager.

    Args:
        directory: Where the compiled program goes.
        classpath: Kafka Streams and what it needs, such as `streams_classpath` returns.
        sorts: Whether Kafka's classes get sorted maps and sets. Otherwise they get hash maps, as in the leader.
    """

    def __init__(self, directory: Path, classpath: str, *, sorts: bool = False) -> None:
        self.sorts = sorts
        sources = [str(_JAVA / f"{name}.java") for name in _SOURCES]
        subprocess.run(["javac", "-cp", classpath, "-d", str(directory), *sources], check=True, timeout=_COMPILING_S)
        super().__init__(["java", "-ea", _QUIET, "-cp", f"{directory}:{classpath}", _MAIN])

    def high_availability(self, state: ApplicationState) -> KafkaAssignment:
        """What HighAvailabilityTaskAssignor assigns, the default of Kafka Streams."""
        return self._assignment("high_availability", state)

    def legacy_sticky(self, state: ApplicationState, *, must_preserve_active: bool = False) -> KafkaAssignment:
        """What LegacyStickyTaskAssignor assigns."""
        return self._assignment("legacy_sticky", state, preserve=must_preserve_active)

    def fallback_prior(self, state: ApplicationState) -> KafkaAssignment:
        """What FallbackPriorTaskAssignor assigns."""
        return self._assignment("fallback_prior", state)

    def public_sticky(self, state: ApplicationState, *, must_preserve_active: bool = False) -> KafkaAssignment:
        """What the StickyTaskAssignor of KIP-924 assigns."""
        return self._assignment("public_sticky", state, preserve=must_preserve_active)

    def standby_by_load(self, state: ApplicationState, given: _Given) -> KafkaAssignment:
        """What TaskAssignmentUtils.defaultStandbyTaskAssignment makes of an assignment if no tags are configured."""
        return self._assignment("standby", state, given, tags=())

    def standby_by_tags(self, state: ApplicationState, given: _Given) -> KafkaAssignment:
        """What TaskAssignmentUtils.defaultStandbyTaskAssignment makes of an assignment with the tags of the configs."""
        return self._assignment("standby", state, given)

    def optimize_rack_aware_active(
        self,
        state: ApplicationState,
        given: _Given,
        *,
        chosen: ChosenTasks = None,
        traffic_cost: int | None = None,
        non_overlap_cost: int | None = None,
    ) -> KafkaAssignment:
        """What TaskAssignmentUtils.optimizeRackAwareActiveTasks makes of an assignment. Costs are overrides."""
        costs = _costs(traffic_cost, non_overlap_cost)
        return self._assignment("rack_aware_active", state, given, chosen=_chosen(chosen), **costs)

    def optimize_rack_aware_standby(
        self,
        state: ApplicationState,
        given: _Given,
        *,
        chosen: ChosenTasks = None,
        traffic_cost: int | None = None,
        non_overlap_cost: int | None = None,
    ) -> KafkaAssignment:
        """What TaskAssignmentUtils.optimizeRackAwareStandbyTasks makes of an assignment. Costs are overrides."""
        costs = _costs(traffic_cost, non_overlap_cost)
        return self._assignment("rack_aware_standby", state, given, chosen=_chosen(chosen), **costs)

    def identity(self, state: ApplicationState) -> KafkaAssignment:
        """What TaskAssignmentUtils.identityAssignment returns."""
        return self._assignment("identity", state)

    def validate(self, state: ApplicationState, given: _Given) -> AssignmentError:
        """What TaskAssignmentUtils.validateTaskAssignment says of an assignment."""
        return AssignmentError[self._answer("validate", state, given)["error"]]

    def threads(self, state: ApplicationState, given: _Given, *, is_public: bool = False) -> dict[str, MemberTasks]:
        """How the leader spreads the tasks of each process over its members: stateful, standby, then stateless ones.

        Args:
            state: The application.
            given: The tasks of its processes.
            is_public: Whether an assignor of KIP-924 has assigned them. Then the leader goes over standby tasks in the
                order of hashes.
        """
        members = self._answer("threads", state, given, public=is_public)["members"]
        return {member: MemberTasks(*map(_read_tasks, lists)) for member, lists in members.items()}

    def internal_standby(self, state: ApplicationState, given: _Given) -> KafkaAssignment:
        """What the internal standby assignors add to an assignment.

        They go by tags if some are configured, otherwise by racks if every process has one, otherwise by load.
        """
        return self._assignment("internal_standby", state, given)

    def internal_rack_aware_active(
        self,
        state: ApplicationState,
        given: _Given,
        chosen: Collection[TaskId],
        traffic_cost: int,
        non_overlap_cost: int,
    ) -> OptimizedAssignment:
        """What RackAwareTaskAssignor.optimizeActiveTasks makes of an assignment."""
        costs = _costs(traffic_cost, non_overlap_cost)
        return _optimized(self._answer("internal_rack_aware_active", state, given, chosen=_chosen(chosen), **costs))

    def internal_rack_aware_standby(
        self, state: ApplicationState, given: _Given, traffic_cost: int, non_overlap_cost: int
    ) -> OptimizedAssignment:
        """What RackAwareTaskAssignor.optimizeStandbyTasks makes of an assignment, if every move is allowed."""
        costs = _costs(traffic_cost, non_overlap_cost)
        plans = _plans(given)
        chosen = sorted({task for plan in plans for task in plan["standby"]})
        return _optimized(self._answer("internal_rack_aware_standby", state, given, chosen=chosen, **costs))

    def states(self, state: ApplicationState) -> dict[str, Any]:
        """What Kafka's ApplicationState tells an assignor of the same application, as Java's values in JSON."""
        return self._answer("states", state)

    def _assignment(self, question: str, state: ApplicationState, given: _Given = (), **more: Any) -> KafkaAssignment:
        answer = self._answer(question, state, given, **more)
        return KafkaAssignment(_read_plans(answer["assignment"]), answer.get("followup", False), answer["ms"])

    def _answer(
        self,
        question: str,
        state: ApplicationState,
        given: _Given = (),
        *,
        tags: tuple[str, ...] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        asked = {"question": question, "sorts": self.sorts, **_application(state, tags), "given": _plans(given), **more}
        answer: dict[str, Any] = json.loads(self.ask_line(json.dumps(asked)))
        if "exception" in answer:
            raise JavaExceptionError(f"{question}: {answer['exception']} {answer['at']}")
        return answer


def tasks_of(assignments: Iterable[KafkaStreamsAssignment]) -> dict[ProcessId, ProcessTasks]:
    """Return the assignments of processes as plain values, as `KafkaAssignment` has them."""
    return {
        each.process_id: (
            frozenset(id_ for id_, task in each.tasks.items() if task.is_active),
            frozenset(id_ for id_, task in each.tasks.items() if not task.is_active),
        )
        for each in assignments
    }


def _application(state: ApplicationState, tags: tuple[str, ...] | None) -> dict[str, Any]:
    processes = state.kafka_streams_states(compute_task_lags=True).values()
    return {
        "configs": _configs(state.assignment_configs, tags),
        "processes": [_process(each) for each in processes],
        "tasks": [_task(each) for each in state.all_tasks.values()],
    }


def _configs(configs: AssignmentConfigs, tags: tuple[str, ...] | None) -> dict[str, Any]:
    return {
        "lag": configs.acceptable_recovery_lag,
        "warmups": configs.max_warmup_replicas,
        "standbys": configs.num_standby_replicas,
        "probingMs": configs.probing_rebalance_interval_ms,
        "tags": configs.rack_aware_assignment_tags if tags is None else tags,
        "traffic": configs.rack_aware_traffic_cost,
        "nonOverlap": configs.rack_aware_non_overlap_cost,
        "strategy": configs.rack_aware_assignment_strategy.value,
    }


def _process(process: KafkaStreamsState) -> dict[str, Any]:
    members = process.consumer_client_ids
    return {
        "id": str(process.process_id),
        "host": process.host_info and ":".join(map(str, process.host_info)),
        "tags": dict(process.client_tags),
        "rack": process.rack_id,
        "active": _words(process.previous_active_tasks),
        "standby": _words(process.previous_standby_tasks),
        "lags": {str(task): lag for task, lag in process.stateful_tasks_to_lag_sums().items()},
        "members": {member: _words(process.prev_tasks_by_lag(member)) for member in members},
    }


def _task(task: TaskInfo) -> dict[str, Any]:
    return {
        "id": str(task.id),
        "stateful": task.is_stateful,
        "stores": sorted(task.state_store_names),
        "partitions": [_partition(each) for each in task.topic_partitions],
    }


def _partition(partition: TaskTopicPartition) -> dict[str, Any]:
    racks = partition.rack_ids
    return {
        "topic": partition.topic_partition.topic,
        "partition": partition.topic_partition.partition,
        "source": partition.is_source,
        "changelog": partition.is_changelog,
        "racks": None if racks is None else sorted(racks),
    }


def _plans(given: _Given) -> list[dict[str, Any]]:
    if isinstance(given, Mapping):
        assignments = [_assignment_of(id_, *tasks) for id_, tasks in given.items()]
        return [_plan(each) for each in assignments]
    return [_plan(each) for each in given]


def _assignment_of(
    process_id: ProcessId, active: Iterable[TaskId], standby: Iterable[TaskId]
) -> KafkaStreamsAssignment:
    tasks = [*map(AssignedTask.active, active), *map(AssignedTask.standby, standby)]
    return KafkaStreamsAssignment.of(process_id, tasks)


def _plan(assignment: KafkaStreamsAssignment) -> dict[str, Any]:
    tasks = assignment.tasks.values()
    return {
        "process": str(assignment.process_id),
        "active": [str(task.id) for task in tasks if task.is_active],
        "standby": [str(task.id) for task in tasks if not task.is_active],
        "followup": assignment.followup_rebalance_deadline is not None,
    }


def _chosen(chosen: Iterable[TaskId] | str | None) -> list[str] | str | None:
    return chosen if chosen is None or isinstance(chosen, str) else _words(chosen)


def _costs(traffic: int | None, non_overlap: int | None) -> dict[str, Any]:
    return {"traffic": traffic, "nonOverlap": non_overlap}


def _words(tasks: Iterable[TaskId]) -> list[str]:
    return list(map(str, tasks))


def _optimized(answer: Mapping[str, Any]) -> OptimizedAssignment:
    tasks = _read_plans(answer["assignment"])
    return OptimizedAssignment(tasks, answer["enabled"], answer["before"], answer["after"], answer["ms"])


def _read_plans(plans: Mapping[str, list[list[str]]]) -> dict[ProcessId, ProcessTasks]:
    return {
        ProcessId(id_): (frozenset(map(TaskId.parse, active)), frozenset(map(TaskId.parse, standby)))
        for id_, (active, standby) in plans.items()
    }


def _read_tasks(words: Iterable[str]) -> tuple[TaskId, ...]:
    return tuple(map(TaskId.parse, words))
