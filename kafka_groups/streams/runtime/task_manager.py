"""The tasks that a worker has: the group assigns and revokes them, and they change their roles, one by one."""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from functools import reduce
from operator import or_

from kafka_groups.errors import BootstrapError, KafkaGroupsError, NetworkError, UnknownTopicOrPartitionError
from kafka_groups.streams.engines.interface import TaskEngine
from kafka_groups.streams.errors import CorruptedStateError, StateDiskError
from kafka_groups.streams.member.rules.member_events import (
    StatusesChanged,
    StreamsMembershipEvent,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
    assigned_only,
    is_shutdown,
)
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS, MemberTasks
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.streams.runtime.assigned import OwnedTask, TaskPhase, TaskRole, enter_status
from kafka_groups.streams.runtime.lost_changelogs import warn_of_replaced
from kafka_groups.streams.runtime.running_watch import MEMBER_OBSTACLES
from kafka_groups.streams.runtime.statuses import GroupStatuses
from kafka_groups.streams.runtime.task_openings import TaskOpenings
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.runtime.topic_watch import TopicWatch
from kafka_groups.streams.runtime.worker_parts import WorkerParts
from kafka_groups.streams.state.engine import EngineStatus
from kafka_groups.streams.tasks.stream_task import StreamTask
from kafka_groups.streams.topology.checks import check_partition_counts
from kafka_groups.streams.topology.internal_topics import internal_topics, topic_name
from kafka_groups.streams.topology.matched_topics import matching
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
        opened: The tasks whose state was opened since somebody looked for state that nobody has open. Replaced at each
            change, as other threads may read it.
        partition_counts: The numbers of partitions of topics, as the brokers told them last. Replaced at each change.
    """

    def __init__(self, parts: WorkerParts, commit: Callable[[], Awaitable[bool]]) -> None:
        self.tasks: Mapping[TaskId, OwnedTask] = {}
        self.opened: frozenset[TaskId] = frozenset()
        self.partition_counts: Mapping[str, int] = {}
        self._parts = parts
        self._commit = commit
        self._groups = parts.settings.groups()
        tasks = parts.settings.tasks
        self._statuses = GroupStatuses(internal_topics(tasks.topology, tasks.application_id))
        self._kept: dict[TaskId, OwnedTask] = {}
        self._openings = TaskOpenings(parts.engine_factory, parts.clock)
        self._waiting: dict[TaskId, tuple[TaskRole, Mapping[str, int]]] = {}
        self._events: deque[StreamsMembershipEvent] = deque()
        self._counting, self._reaching = (TaskTimeout(parts.clock, parts.settings.task_timeout_ms) for _ in range(2))
        # The client logs that brokers cannot be reached, so nothing is logged here before the time is up.
        self._absence = TaskTimeout(parts.clock, parts.settings.task_timeout_ms, parts.settings.task_timeout_ms)
        self._watch = TopicWatch(parts.plane, parts.member, parts.clock)
        self._grown_to: Mapping[str, int] = {}
        self._assigned_inputs: dict[TaskId, frozenset[TopicPartition]] = {}
        self._has_assignment = False
        self._has_lost_work = False

    def __repr__(self) -> str:
        return f"<TaskManager: {len(self.tasks)} tasks, {len(self._events)} events>"

    @property
    def is_settled(self) -> bool:
        """True if the worker has what the group wants it to have."""
        has_all = not self._events and not self._waiting
        return has_all and (self._has_assignment or self._parts.member.is_spare)

    @property
    def obstacles(self) -> list[str]:
        """The reasons why the worker does not have the tasks that the group wants it to have."""
        if self.is_settled:
            return []
        outages = (self._reaching.obstacle, self._counting.obstacle, MEMBER_OBSTACLES.get(self._parts.member.state))
        waiting = "the tasks that it has to give up wait for a commit" if any(map(_ends_tasks, self._events)) else None
        unopened = map(self._openings.obstacle, self._waiting)
        return [*self._statuses.obstacles, *(each for each in (*outages, waiting, *unopened) if each is not None)]

    async def look(self) -> None:
        """Take what the group has to say, as far as the brokers answer.

        Raises:
            ApplicationShutdownError: A member has asked all members to shut down. The tasks are committed.
            StreamsError: Source topics are missing for too long, or have wrong numbers of partitions.
            KafkaGroupsError: The group or the brokers refused something for good.
        """
        # Events that came before may still wait for a commit or for a broker, so new ones are queued behind them.
        if heard := await self._heard():
            self._events.extend(heard)
            self._forget_lost()
        self._check_reached()
        await self.reopen_failed()
        await self._handle_events()
        self._open_waiting()
        self._parts.engine_factory.tidy()
        # A task that is about to end or to begin need not begin again with more partitions.
        if not self._events:
            await self._follow_growth()
        self._statuses.check(self._parts.clock.now_ms())

    def positions_left(self) -> dict[TaskId, TaskPosition]:
        """Return how far the state is that the process before has left, by the tasks."""
        try:
            left = self._parts.engine_factory.positions_left()
        except StateDiskError as error:
            _log.warning("The group does not learn which tasks have state here: %s", error)
            return {}
        return {task_id: TaskPosition(offset) for task_id, offset in left.items()}

    async def wipe(self, task: OwnedTask, reason: str) -> None:
        """Forget the stores of a task that do not fit to its changelogs, for a reason in a sentence."""
        names = ", ".join(sorted(task.task.states))
        _log.warning("%s Its stores (%s) are emptied and restored from what there is.", reason, names)
        # As TaskManager.handleCorruption in Kafka Streams: the stores are of no use without the records that are
        # missing, so they are filled again from the beginning of what there is.
        self._parts.restoration.stop(task, None)
        await self._parts.restoration.end(task)
        self._parts.plane.forget_logs(task.task.changelog_partitions)
        await self._open_again(task, is_wiped=True)

    async def reopen_failed(self) -> None:
        """Let tasks whose files have failed begin again: from what their files have, or without them if damaged."""
        for task in [each for each in self.tasks.values() if each.failure is not None]:
            self._parts.restoration.stop(task, None)
            await self._parts.restoration.end(task)
            await self._parts.consuming.stop(task)
            task.close()
            self._parts.plane.forget_logs(task.task.changelog_partitions)
            await self._open_again(task, is_wiped=isinstance(task.failure, CorruptedStateError))

    async def _open_again(self, task: OwnedTask, *, is_wiped: bool) -> None:
        task.engine.close()
        try:
            if is_wiped:
                self._parts.engine_factory.wipe(task.task_id)
        except StateDiskError as error:
            task.failure = error
        if task.failure is not None:
            self._openings.note(task.task_id, task.failure)
        self.tasks = {task_id: each for task_id, each in self.tasks.items() if each is not task}
        self._waiting[task.task_id] = task.role, _counts_of(task)
        self._open_waiting()

    async def revive(self) -> None:
        """Let the tasks that run begin again from what was committed. Their stores keep what was committed, too."""
        # Tasks that are being restored have written nothing, so the failure is none of theirs.
        for task in [each for each in self.tasks.values() if each.is_running]:
            await self._begin_again(task, _counts_of(task))

    async def put_off(self) -> None:
        """End all tasks. They begin again, from what was committed, when the global stores are there again."""
        self._forget_kept()
        for task in self.tasks.values():
            self._parts.restoration.stop(task, None)
            await self._parts.restoration.end(task)
            await self._parts.consuming.stop(task)
            task.close()
            self._parts.plane.forget_logs(task.task.changelog_partitions)
            task.engine.close()
            self._waiting[task.task_id] = task.role, _counts_of(task)
        self.tasks = {}

    def forget_lost_work(self) -> bool:
        """Return whether tasks were lost that had processed something since the last commit, since the last call."""
        has_lost, self._has_lost_work = self._has_lost_work, False
        return has_lost

    def close(self) -> None:
        """Close all tasks, also if the code of the user fails in some. An error is raised in the end."""
        tasks, self.tasks = self.tasks, {}
        # In the reverse order of registration: the processors first, then their restoration, then the stores that both
        # use.
        with ExitStack() as stack:
            stack.callback(self._parts.global_stores.close)
            for task in reversed(list(tasks.values())):
                stack.callback(task.engine.close)
                stack.callback(self._parts.restoration.stop, task, None)
                stack.callback(task.close)

    # ------------------------------------------------------------------------------------ events

    async def _heard(self) -> Sequence[StreamsMembershipEvent]:
        try:
            return await self._parts.member.poll()
        except BootstrapError as error:  # raised now and then, until a broker has answered for the first time
            self._reaching.note("The group cannot be joined yet", error)
            return ()

    def _check_reached(self) -> None:
        """End a worker whose brokers are away for too long, also if it has nothing to ask them.

        Raises:
            NetworkError: They have been away for `task.timeout.ms`.
        """
        # A member without tasks asks the brokers for nothing but heartbeats, which are retried without end. This ends
        # it like all others.
        if self._parts.member.state is MembershipState.UNREACHABLE:
            self._absence.note("The group cannot be reached", NetworkError("No broker answers"))
        else:
            self._absence.end()

    async def _handle_events(self) -> None:
        while self._events:
            counts: Mapping[str, int] | None = {}
            event = self._events[0]
            # Tasks can be made only when the brokers know all topics of their sub-topologies.
            if isinstance(event, TasksAssigned):
                counts = await self._partition_counts(event)
            # A revocation commits before its tasks end, as TaskManager.handleRevocation does. If that times out, Java
            # revives the tasks and goes on with the revocation. Here the event waits, and with it the confirmation, so
            # that the next owner does not process the records again.
            if counts is None and self._forget_revoked():
                continue
            if counts is None or (_ends_tasks(event) and not await self._commit()):
                return  # later events refer to the tasks of this one
            await self._handle(self._events.popleft(), counts)

    def _forget_lost(self) -> None:
        """Take out of assignments what was lost before its task was made: the tasks of before must end at once."""
        ordered: list[StreamsMembershipEvent] = []
        for event in self._events:
            # Nothing must be committed or started for a lost task, and the member does not rejoin before the loss is
            # confirmed. So the event passes assignments that still wait, but no other events: revocations have tasks of
            # their own to end first.
            if isinstance(event, TasksLost):
                kept = [each for each in (_without(each, event.tasks) for each in ordered) if each is not None]
                others = [at for at, each in enumerate(kept) if not isinstance(each, TasksAssigned)]
                place = others[-1] + 1 if others else 0
                ordered = [*kept[:place], event, *kept[place:]]
            else:
                ordered.append(event)
        self._events = deque(ordered)

    def _forget_revoked(self) -> bool:
        """Take out of an assignment that waits what was revoked since. Return whether there was any.

        Its topics may have been deleted, so that it could wait for them until `task.timeout.ms` ends the application.
        """
        event = self._events[0]
        revoked = (each.tasks for each in self._events if isinstance(each, TasksRevoked))
        left = _without(event, reduce(or_, revoked, NO_TASKS))
        if left is event:
            return False
        self._counting.end()
        self._events.popleft()
        if left is not None:
            self._events.appendleft(left)
        # What was kept for them in this role is of no use either.
        kept = left.tasks.ids if isinstance(left, TasksAssigned) else frozenset[TaskId]()
        self._forget_kept(self._kept.keys() - kept)
        return True

    async def _handle(self, event: StreamsMembershipEvent, counts: Mapping[str, int]) -> None:
        # There are four kinds of events. The first three are DefaultStreamsRebalanceListener's callbacks in Java:
        # onTasksAssigned, onTasksRevoked and onAllTasksLost.
        if isinstance(event, TasksAssigned):
            self._add(event, counts)
        elif isinstance(event, TasksRevoked):
            await self._drop(event.tasks, event.then)
            await self._parts.member.confirm(event)
        elif isinstance(event, TasksLost):
            # With exactly-once, the records of these tasks are in the worker's transaction, together with those of
            # others. Java gets a new producer whenever tasks are lost (TaskManager.handleLostAll); the worker does it
            # if there is something to abort.
            self._has_lost_work |= any(self.tasks[each].is_dirty for each in event.tasks.ids & self.tasks.keys())
            self._forget_kept()
            await self._drop(event.tasks)
            self._has_assignment &= bool(self.tasks)  # a member that keeps a part of its tasks hears no more of them
            await self._parts.member.confirm(event)
        elif isinstance(event, StatusesChanged):
            # A status ends the worker or is logged (StreamThread.handleStreamsRebalanceData in Java).
            self._statuses.changed(event.statuses, self._parts.clock.now_ms(), is_final=event.is_final)
            if is_shutdown(event):
                self._events.extend(await self._parts.member.poll())  # leaves the group and raises an error

    async def _partition_counts(self, event: TasksAssigned) -> Mapping[str, int] | None:
        """Return the numbers of partitions, or None if the brokers do not know all topics yet, global ones included.

        Raises:
            StreamsError: Topics that are joined have different numbers.
        """
        # Processors may use global stores as soon as they begin.
        if not self._parts.global_stores.is_open or not self._counting.may_try:
            return None
        try:
            counts = await self._parts.plane.partition_counts()
            self._check_known(event, counts)
        except KafkaGroupsError as error:
            self._counting.note("Tasks cannot begin yet", error)
            return None
        self._counting.end()
        self.partition_counts = counts
        settings = self._parts.settings.tasks
        read = matching(settings.topology, settings.application_id, _topics_of(event))
        check_partition_counts(read, counts, lambda topic: topic_name(read, settings.application_id, topic))
        return counts

    def _check_known(self, event: TasksAssigned, counts: Mapping[str, int]) -> None:
        groups = [self._groups[number] for number in {task_id.subtopology_id for task_id in event.tasks.ids}]
        # Whoever assigns has checked that the topics exist, but another broker may not have heard of new ones yet, nor
        # of partitions that they have gained.
        unknown = sorted({topic for group in groups for topic in self._topics(group)} - counts.keys())
        inputs = sorted(place for its in event.inputs.values() for place in its)
        unknown += [str(place) for place in inputs if place.partition >= counts.get(place.topic, 0)]
        if unknown:
            raise UnknownTopicOrPartitionError(f"the brokers do not know {', '.join(unknown)} yet")

    # ------------------------------------------------------------------------------------ growth

    async def _follow_growth(self) -> None:
        """Let tasks whose topics have gained partitions begin again after a commit, and global stores read them."""
        globals_ = self._parts.global_stores
        # A member that is left without tasks tells which process has a key, too.
        if not globals_.is_open or not (self.tasks or globals_.states or self.is_settled):
            return
        # Growth that was found is kept until it was followed: the commit before may have to wait.
        counts = self._grown_to or await self._watch.counts()
        if counts is None:
            return
        self.partition_counts = counts
        await globals_.follow_growth(counts)
        grown = [task for task in self.tasks.values() if self._gains(task, counts)]
        self._grown_to = counts if grown else {}
        if grown and await self._commit():
            for task in grown:
                await self._grow(task, counts)

    def _gains(self, task: OwnedTask, counts: Mapping[str, int]) -> set[TopicPartition]:
        return set(self._inputs(task.task_id, counts)).difference(task.inputs)

    async def _grow(self, task: OwnedTask, counts: Mapping[str, int]) -> None:
        if task.is_running and task.is_dirty:
            return  # not committed, as the member has lost its tasks: the next event says so
        places = ", ".join(map(str, sorted(self._gains(task, counts))))
        _log.info("Task %s begins again with partitions that its topics have gained: %s", task.task_id, places)
        self._parts.restoration.load_gathered(task)
        self._parts.restoration.stop(task, None if task.role is TaskRole.ACTIVE else task.role)
        await self._parts.restoration.end(task)
        await self._begin_again(task, _largest(counts, _counts_of(task)))

    # ------------------------------------------------------------------------------------ tasks

    def _add(self, event: TasksAssigned, counts: Mapping[str, int]) -> None:
        self._has_assignment = True
        self._statuses.has_worked = True
        self._assigned_inputs |= event.inputs
        for ids, role in _roles(event.tasks):
            self._waiting.update(dict.fromkeys(sorted(ids), (role, counts)))
        self._open_waiting()
        # Stores that were kept open are for the assignment that follows their revocation. After that, nobody comes for
        # them.
        self._forget_kept()

    def _open_waiting(self) -> None:
        """Make the tasks whose engines can be opened now. The others are looked at again."""
        if not self._parts.global_stores.is_open:
            return  # processors may use global stores as soon as they begin
        found = {task_id: self._task(task_id, *wanted) for task_id, wanted in self._waiting.items()}
        made = {task_id: task for task_id, task in found.items() if task is not None}
        if made:
            self._waiting = {task_id: wanted for task_id, wanted in self._waiting.items() if task_id not in made}
            self.opened |= made.keys()
            self.tasks = {**self.tasks, **made}
            self._parts.sensors.created.add(len(made), self._parts.clock.now_ms())

    def _task(self, task_id: TaskId, role: TaskRole, counts: Mapping[str, int]) -> OwnedTask | None:
        # A task that changes its role keeps its stores open, as Java recycles tasks
        # (TaskManager.convertStandbyToActive).
        known = self._kept.get(task_id)
        if known is None:
            stores = [place.definition for place in self._groups[task_id.subtopology_id].stores]
            engine = self._openings.open(task_id, stores)
            return None if engine is None else self._made(task_id, role, counts, engine)
        # The processors of an active task are closed, and only its stores go on (TaskManager.convertActiveToStandby). A
        # task that followed its changelogs may have done so since before its sources grew.
        if known.role is TaskRole.ACTIVE or self._has_others(known, counts):
            return self._made_again(known, role, _largest(counts, _counts_of(known)))
        known.role, known.phase = role, TaskPhase.CREATED
        return known

    async def _begin_again(self, task: OwnedTask, counts: Mapping[str, int]) -> None:
        await self._parts.consuming.stop(task)
        task.close()
        changelogs = task.task.changelog_partitions
        replaced = self._parts.plane.replaced & set(changelogs)
        warn_of_replaced(task, replaced)
        self._parts.plane.forget_written(changelogs)
        fresh = self._made_again(task, task.role, counts)
        # Positions in the topic before say nothing about the new one, which may be longer by now. All of it is read.
        for place in replaced:
            fresh.applied.pop(place, None)
        self.tasks = {**self.tasks, task.task_id: fresh}

    def _made_again(self, task: OwnedTask, role: TaskRole, counts: Mapping[str, int]) -> OwnedTask:
        """Make a task again over what its stores have committed."""
        fresh = self._made(task.task_id, role, counts, task.engine)
        fresh.applied.update(task.applied)
        fresh.sensors = task.sensors
        return fresh

    def _made(self, task_id: TaskId, role: TaskRole, counts: Mapping[str, int], engine: TaskEngine) -> OwnedTask:
        parts, group = self._parts, self._groups[task_id.subtopology_id]
        inputs = self._inputs(task_id, counts)
        globals_ = parts.global_stores.states
        task = StreamTask(task_id, group, parts.settings.tasks, engine, parts.output, globals_, partitions=inputs)
        timeout = TaskTimeout(parts.clock, parts.settings.task_timeout_ms)
        # A store that is in memory now may have been on disk before.
        applied = dict(task.saved(engine.positions))
        assigned = OwnedTask(task, engine, role, timeout, applied=applied, inputs=inputs)
        if parts.settings.is_debugging:
            assigned.measure_records(parts.clock)
        return assigned

    def _inputs(self, task_id: TaskId, counts: Mapping[str, int]) -> tuple[TopicPartition, ...]:
        """Return a task's partition of each topic that has one. Topics that are merged may have fewer than others.

        In a classic group, the leader has named the partitions of active tasks, those of topics that match patterns
        among them. Others may not be read yet: only the next assignment says who reads them.
        """
        group = self._groups[task_id.subtopology_id]
        places = [TopicPartition(topic, task_id.partition) for topic in self._topics(group)]
        assigned = self._assigned_inputs.get(task_id)
        if assigned is not None:
            matched = sorted(place for place in assigned if any(each.matches(place.topic) for each in group.sources))
            return *(place for place in places if place in assigned), *matched
        return tuple(place for place in places if place.partition < counts.get(place.topic, 0))

    def _has_others(self, known: OwnedTask, counts: Mapping[str, int]) -> bool:
        """Return whether a task that followed its changelogs reads other partitions now than it would have then."""
        is_assigned = known.task_id in self._assigned_inputs
        others = set(self._inputs(known.task_id, counts)).symmetric_difference(known.inputs)
        return bool(others if is_assigned else self._gains(known, counts))

    def _topics(self, group: NodeGroup) -> list[str]:
        tasks = self._parts.settings.tasks
        names = [topic for source in group.sources for topic in source.topics]
        return [topic_name(tasks.topology, tasks.application_id, topic) for topic in names]

    async def _drop(self, tasks: MemberTasks, then: MemberTasks = NO_TASKS) -> None:
        for task_id in tasks.active:
            self._assigned_inputs.pop(task_id, None)
        for task_id in tasks.ids & self._waiting.keys():
            del self._waiting[task_id]
            self._openings.give_up(task_id)
        for task_id in sorted(tasks.ids & self.tasks.keys()):
            await self._end(self.tasks[task_id], _role_in(then, task_id))
        self.tasks = {task_id: task for task_id, task in self.tasks.items() if task_id not in tasks.ids}
        self._parts.sensors.closed.add(len(tasks.ids), self._parts.clock.now_ms())

    async def _end(self, task: OwnedTask, role: TaskRole | None) -> None:
        """End a task, but for the stores of one that has another role next."""
        if role is not None:
            self._parts.restoration.load_gathered(task)
        self._parts.restoration.remember(task)
        self._parts.restoration.stop(task, role)
        await self._parts.restoration.end(task)
        await self._parts.consuming.stop(task)
        self._parts.plane.forget_logs(task.task.changelog_partitions)
        if role is not None:
            # Now, and not when it begins in its other role: somebody else may be the active one as soon as this is
            # confirmed.
            enter_status(task, EngineStatus.RESTORING if role is TaskRole.ACTIVE else EngineStatus.STANDBY)
        if role is not None and task.failure is None:
            self._kept[task.task_id] = task
        else:
            task.engine.close()
        task.close()

    def _forget_kept(self, ids: AbstractSet[TaskId] | None = None) -> None:
        """Forget tasks that were kept for another role and did not come back: these, or all."""
        gone = self._kept.keys() if ids is None else ids
        for task_id in gone - self.tasks.keys():
            self._parts.restoration.stop(self._kept[task_id], None)
            self._kept[task_id].engine.close()
        self._kept = {task_id: task for task_id, task in self._kept.items() if task_id not in gone}


def _counts_of(task: OwnedTask) -> dict[str, int]:
    """Return numbers of partitions with which a task has the inputs that it has now."""
    return {place.topic: place.partition + 1 for place in task.inputs}


def _largest(counts: Mapping[str, int], others: Mapping[str, int]) -> dict[str, int]:
    """Return the larger numbers, so that no answer of a broker that is behind takes an input from a task."""
    return {topic: max(counts.get(topic, 0), others.get(topic, 0)) for topic in {*counts, *others}}


def _topics_of(event: TasksAssigned) -> set[str]:
    return {place.topic for its in event.inputs.values() for place in its}


def _without(event: StreamsMembershipEvent, lost: MemberTasks) -> StreamsMembershipEvent | None:
    """Return an event without tasks that were assigned by it and lost since; None if nothing is left of it."""
    if not isinstance(event, TasksAssigned) or not event.tasks.ids & lost.ids:
        return event
    rest = event.tasks.only(event.tasks.ids - lost.ids)
    return assigned_only(event, rest) if rest else None


def _ends_tasks(event: StreamsMembershipEvent) -> bool:
    return isinstance(event, TasksRevoked) or is_shutdown(event)


def _roles(tasks: MemberTasks) -> tuple[tuple[AbstractSet[TaskId], TaskRole], ...]:
    return (tasks.active, TaskRole.ACTIVE), (tasks.standby, TaskRole.STANDBY), (tasks.warmup, TaskRole.WARMUP)


def _role_in(then: MemberTasks, task_id: TaskId) -> TaskRole | None:
    return next((role for ids, role in _roles(then) if task_id in ids), None)
