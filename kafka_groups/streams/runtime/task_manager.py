"""The tasks that a worker has: the group assigns and revokes them, and they change their roles, one by one."""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack

from attrs import evolve

from kafka_groups.errors import BootstrapError, KafkaGroupsError, UnknownTopicOrPartitionError
from kafka_groups.streams.member.rules.member_events import (
    StatusesChanged,
    StreamsMembershipEvent,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.member.rules.tasks import NO_TASKS, MemberTasks
from kafka_groups.streams.runtime.assigned import OwnedTask, TaskPhase, TaskRole
from kafka_groups.streams.runtime.shared_engine import SharedEngine
from kafka_groups.streams.runtime.statuses import GroupStatuses, is_shutdown
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.runtime.worker_parts import WorkerParts
from kafka_groups.streams.tasks.task import StreamTask
from kafka_groups.streams.topology.internal_topics import topic_name
from kafka_groups.streams.topology.subtopologies import NodeGroup
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["TaskManager"]

_log = logging.getLogger(__name__)


class TaskManager:
    """Makes and ends the tasks of a worker as the events of its group demand.

    Args:
        parts: The parts of the worker.
        commit: Commits all tasks, before some of them end. Returns False while the brokers or the group do not answer,
            so that the event for which they had to be committed has to wait.

    Attributes:
        tasks: The tasks, by id. Replaced at each change, so that other threads may read it.
    """

    def __init__(self, parts: WorkerParts, commit: Callable[[Collection[OwnedTask]], Awaitable[bool]]) -> None:
        self.tasks: Mapping[TaskId, OwnedTask] = {}
        self._parts = parts
        self._commit = commit
        self._groups = parts.settings.groups()
        self._statuses = GroupStatuses()
        self._kept: dict[TaskId, OwnedTask] = {}
        self._events: deque[StreamsMembershipEvent] = deque()
        self._counting, self._reaching = (TaskTimeout(parts.clock, parts.settings.task_timeout_ms) for _ in range(2))
        self._has_assignment = False
        self._has_lost_work = False

    def __repr__(self) -> str:
        return f"<TaskManager: {len(self.tasks)} tasks, {len(self._events)} events>"

    @property
    def is_settled(self) -> bool:
        """True if the worker has what the group wants it to have."""
        return not self._events and (self._has_assignment or self._parts.member.is_spare)

    async def look(self) -> None:
        """Take what the group has to say, as far as the brokers answer.

        Raises:
            ApplicationShutdownError: A member has asked all members to shut down. The tasks are committed.
            StreamsError: Source topics are missing for too long, or have wrong numbers of partitions.
            KafkaGroupsError: The group or the brokers refused something for good.
        """
        self._events.extend(await self._heard())
        self._forget_lost()
        await self._handle_events()
        self._statuses.check(self._parts.clock.now_ms())

    async def wipe(self, task: OwnedTask) -> None:
        """Forget the stores of a task whose changelog has lost records that they need."""
        _log.warning(
            "The changelogs of task %s do not have the next records any more. Its stores are emptied and "
            "restored from what there is.",
            task.task_id,
        )
        self._parts.restoration.stop(task, None)
        await self._parts.restoration.end(task)
        fresh = self._made(task.task_id, task.role, {place.topic: place.partition + 1 for place in task.inputs})
        self.tasks = {**self.tasks, task.task_id: fresh}

    async def revive(self) -> None:
        """Let the tasks that run begin again from what was committed. Their stores keep what was committed, too."""
        for task in [each for each in self.tasks.values() if each.is_running]:
            await self._parts.consuming.stop(task)
            task.close()
            fresh = self._made(
                task.task_id, task.role, {each.topic: each.partition + 1 for each in task.inputs}, task.engine
            )
            fresh.applied.update(task.applied)
            fresh.figures = task.figures
            self.tasks = {**self.tasks, task.task_id: fresh}

    def forget_lost_work(self) -> bool:
        """Return whether tasks were lost that had processed something since the last commit, since the last call."""
        has_lost, self._has_lost_work = self._has_lost_work, False
        return has_lost

    def close(self) -> None:
        """Close all tasks, also if the code of the user fails in some. An error is raised in the end."""
        tasks, self.tasks = self.tasks, {}
        with ExitStack() as stack:
            stack.callback(self._parts.global_stores.close)
            for task in reversed(list(tasks.values())):
                stack.callback(self._parts.restoration.stop, task, None)
                stack.callback(task.close)

    # ------------------------------------------------------------------------------------ events

    async def _heard(self) -> Sequence[StreamsMembershipEvent]:
        try:
            return await self._parts.member.poll()
        except BootstrapError as error:  # raised now and then, until a broker has answered for the first time
            self._reaching.note("The group cannot be joined yet", error)
            return ()

    async def _handle_events(self) -> None:
        while self._events:
            counts: Mapping[str, int] | None = {}
            event = self._events[0]
            if isinstance(event, TasksAssigned):
                counts = await self._partition_counts(event.tasks)
            if counts is None or (_ends_tasks(event) and not await self._commit(self._ended_by(event))):
                return  # later events refer to the tasks of this one
            await self._handle(self._events.popleft(), counts)

    def _ended_by(self, event: StreamsMembershipEvent) -> list[OwnedTask]:
        ids = event.tasks.ids if isinstance(event, TasksRevoked) else self.tasks.keys()
        return [task for task_id, task in self.tasks.items() if task_id in ids]

    def _forget_lost(self) -> None:
        """Take out of assignments what was lost before its task was made: the tasks of before must end at once."""
        ordered: list[StreamsMembershipEvent] = []
        for event in self._events:
            if isinstance(event, TasksLost):
                kept = [each for each in (_without(each, event.tasks) for each in ordered) if each is not None]
                others = [at for at, each in enumerate(kept) if not isinstance(each, TasksAssigned)]
                place = others[-1] + 1 if others else 0
                ordered = [*kept[:place], event, *kept[place:]]
            else:
                ordered.append(event)
        self._events = deque(ordered)

    async def _handle(self, event: StreamsMembershipEvent, counts: Mapping[str, int]) -> None:
        if isinstance(event, TasksAssigned):
            self._add(event.tasks, counts)
        elif isinstance(event, TasksRevoked):
            await self._drop(event.tasks, event.then)
            await self._parts.member.confirm(event)
        elif isinstance(event, TasksLost):
            self._has_lost_work |= any(self.tasks[each].is_dirty for each in event.tasks.ids & self.tasks.keys())
            self._forget_kept()
            await self._drop(event.tasks)
            self._has_assignment &= bool(self.tasks)  # a member that keeps a part of its tasks hears no more of them
            await self._parts.member.confirm(event)
        elif isinstance(event, StatusesChanged):
            self._statuses.changed(event.statuses, self._parts.clock.now_ms())
            if is_shutdown(event):
                self._events.extend(await self._parts.member.poll())  # leaves the group and raises an error

    async def _partition_counts(self, tasks: MemberTasks) -> Mapping[str, int] | None:
        """Return the numbers of partitions, or None if the brokers do not know all topics yet, global ones included."""
        if not self._parts.global_stores.is_open or not self._counting.may_try:
            return None
        try:
            counts = await self._parts.plane.partition_counts()
            self._check_known(tasks, counts)
        except KafkaGroupsError as error:
            self._counting.note("Tasks cannot begin yet", error)
            return None
        self._counting.end()
        return counts

    def _check_known(self, tasks: MemberTasks, counts: Mapping[str, int]) -> None:
        groups = [self._groups[number] for number in {task_id.subtopology_id for task_id in tasks.ids}]
        unknown = sorted({topic for group in groups for topic in self._topics(group)} - counts.keys())
        if unknown:
            raise UnknownTopicOrPartitionError(f"the brokers do not know {', '.join(unknown)} yet")

    # ------------------------------------------------------------------------------------ tasks

    def _add(self, tasks: MemberTasks, counts: Mapping[str, int]) -> None:
        self._has_assignment = True
        added = {task_id: self._task(task_id, role, counts) for ids, role in _roles(tasks) for task_id in sorted(ids)}
        self.tasks = {**self.tasks, **added}
        self._parts.figures.created.add(len(added), self._parts.clock.now_ms())
        self._forget_kept()

    def _task(self, task_id: TaskId, role: TaskRole, counts: Mapping[str, int]) -> OwnedTask:
        known = self._kept.get(task_id)
        if known is None:
            return self._made(task_id, role, counts)
        known.role, known.phase = role, TaskPhase.CREATED
        return known

    def _made(
        self, task_id: TaskId, role: TaskRole, counts: Mapping[str, int], engine: SharedEngine | None = None
    ) -> OwnedTask:
        parts, engine, group = self._parts, engine or SharedEngine(), self._groups[task_id.subtopology_id]
        places = (TopicPartition(topic, task_id.partition) for topic in self._topics(group))
        inputs = tuple(place for place in places if place.partition < counts.get(place.topic, 0))
        globals_ = parts.global_stores.states
        task = StreamTask(task_id, group, parts.settings.tasks, engine, parts.output, globals_, partitions=inputs)
        timeout = TaskTimeout(parts.clock, parts.settings.task_timeout_ms)
        assigned = OwnedTask(task, engine, role, timeout, inputs=inputs)
        if parts.settings.is_debugging:
            assigned.measure_records(parts.clock)
        return assigned

    def _topics(self, group: NodeGroup) -> list[str]:
        tasks = self._parts.settings.tasks
        names = [topic for source in group.sources for topic in source.topics]
        return [topic_name(tasks.topology, tasks.application_id, topic) for topic in names]

    async def _drop(self, tasks: MemberTasks, then: MemberTasks = NO_TASKS) -> None:
        for task_id in sorted(tasks.ids & self.tasks.keys()):
            await self._end(self.tasks[task_id], _role_in(then, task_id))
        self.tasks = {task_id: task for task_id, task in self.tasks.items() if task_id not in tasks.ids}
        self._parts.figures.closed.add(len(tasks.ids), self._parts.clock.now_ms())

    async def _end(self, task: OwnedTask, role: TaskRole | None) -> None:
        """End a task, but for the stores of one that follows its changelogs and has another role next."""
        self._parts.restoration.stop(task, role)
        await self._parts.restoration.end(task)
        await self._parts.consuming.stop(task)
        if role is not None and task.role is not TaskRole.ACTIVE:
            self._kept[task.task_id] = task
        task.close()

    def _forget_kept(self) -> None:
        """Forget the tasks that were kept for another role and did not come back."""
        for task_id in self._kept.keys() - self.tasks.keys():
            self._parts.restoration.stop(self._kept[task_id], None)
        self._kept = {}


def _without(event: StreamsMembershipEvent, lost: MemberTasks) -> StreamsMembershipEvent | None:
    """Return an event without tasks that were assigned by it and lost since; None if nothing is left of it."""
    if not isinstance(event, TasksAssigned) or not event.tasks.ids & lost.ids:
        return event
    rest = event.tasks.only(event.tasks.ids - lost.ids)
    return evolve(event, tasks=rest) if rest else None


def _ends_tasks(event: StreamsMembershipEvent) -> bool:
    return isinstance(event, TasksRevoked) or is_shutdown(event)


def _roles(tasks: MemberTasks) -> tuple[tuple[AbstractSet[TaskId], TaskRole], ...]:
    return (tasks.active, TaskRole.ACTIVE), (tasks.standby, TaskRole.STANDBY), (tasks.warmup, TaskRole.WARMUP)


def _role_in(then: MemberTasks, task_id: TaskId) -> TaskRole | None:
    return next((role for ids, role in _roles(then) if task_id in ids), None)
