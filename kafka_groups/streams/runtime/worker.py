"""One worker: a member of the streams group and the tasks that it has, stepped one turn at a time."""

import logging
from collections.abc import Collection, Mapping

from kafka_groups.data_plane.polled import NOTHING, PolledRecords
from kafka_groups.errors import ApplicationShutdownError, KafkaGroupsError, TasksLostError, TransactionFailedError
from kafka_groups.net.clock import Clock
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.member.rules.task_offsets import TaskPosition
from kafka_groups.streams.runtime.assigned import OwnedTask, TaskPhase, TaskRole
from kafka_groups.streams.runtime.committing import Commits
from kafka_groups.streams.runtime.plane import DataPlane, WorkerMembership
from kafka_groups.streams.runtime.purging import Purging
from kafka_groups.streams.runtime.settings import WorkerSettings
from kafka_groups.streams.runtime.shared_engine import SharedEngine
from kafka_groups.streams.runtime.statuses import is_shutdown
from kafka_groups.streams.runtime.task_manager import TaskManager
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.runtime.transactional_commits import TransactionalCommits
from kafka_groups.streams.runtime.worker_parts import WorkerParts
from kafka_groups.streams.tasks.readiness import is_ready, still_idle_ms
from kafka_groups.streams.topology.internal_topics import topic_name
from kafka_groups.types import TaskId

__all__ = ["StreamsWorker"]

_log = logging.getLogger(__name__)

_LOOK_MS = 50
"""The longest time between two looks at the group while there are records."""

_TURN_MS = 100
"""The length of a worker's turn. Nothing is committed within it."""

_RESTORED_RECORDS, _RESTORED_BESIDE = 10_000, 1_000
"""The changelog records of a turn: with nothing to process, and while tasks run."""


class StreamsWorker:
    """Runs the tasks of one member.

    Call `start`, then `turn` again and again, and `plane.wait` for as long as a turn says; `close` at the end. Any
    exception of a turn ends the worker: call `close` with `is_clean=False`. Nothing here waits for longer than the
    data plane and the member do.

    Attributes:
        figures: Counts and times, for metrics. Other threads may read them.
        stores: The stores of the topology, by name.
        is_paused: Whether it processes nothing from the next turn on. It keeps its tasks, and fetches and commits.
    """

    def __init__(self, settings: WorkerSettings, plane: DataPlane, member: WorkerMembership, clock: Clock) -> None:
        self.is_paused = False
        parts = WorkerParts(settings, plane, member, clock)
        self._settings, self._plane, self._member, self._clock = settings, plane, member, clock
        self.figures, self.stores = parts.figures, settings.tasks.topology.stores
        self._output, self._globals = parts.output, parts.global_stores
        self._restoration, self._consuming = parts.restoration, parts.consuming
        self._manager = TaskManager(parts, self._is_committed_now)
        kind = TransactionalCommits if settings.is_exactly_once else Commits
        self._commits = kind(plane, member, self._output, clock, settings.task_timeout_ms)
        self._preparing = TaskTimeout(clock, settings.task_timeout_ms)
        tasks = settings.tasks
        repartitioned = [topic_name(tasks.topology, tasks.application_id, t) for t in tasks.topology.repartition_topics]
        self._purging = Purging(plane, repartitioned, settings.repartition_purge_interval_ms)
        self._restoring = TaskTimeout(clock, settings.task_timeout_ms)
        self._looked_ms = self._committed_ms = 0
        self._is_committed = True  # whether the last commit succeeded
        self._last_task: TaskId | None = None  # the one that has processed last
        self._is_commit_due = False  # whether the changes of the stores need one before anything else is processed

    def __repr__(self) -> str:
        return f"<StreamsWorker: {len(self.tasks)} tasks>"

    @property
    def tasks(self) -> Mapping[TaskId, OwnedTask]:
        """The tasks that it has, by id. Other threads may read it."""
        return self._manager.tasks

    @property
    def is_running(self) -> bool:
        """True if the global stores are loaded and all active tasks run. A member without tasks counts as running."""
        active = [task for task in self.tasks.values() if task.role is TaskRole.ACTIVE]
        return self._manager.is_settled and self._globals.is_loaded and all(task.is_running for task in active)

    def engines(self, store: str) -> list[SharedEngine]:
        """Return the engines of the running tasks that have a store; for queries of other threads."""
        if (engine := self._globals.engine_of(store)) is not None:
            return [engine]
        return [each.engine for each in self.tasks.values() if each.is_running and store in each.task.states]

    def positions(self) -> dict[TaskId, TaskPosition]:
        """Return the positions of the tasks' stores; for the member's thread."""
        return {task_id: task.position() for task_id, task in self.tasks.items() if task.applied}

    # ------------------------------------------------------------------------------------ the loop

    async def start(self) -> None:
        """Begin to load the global stores, if the brokers answer already, and join the group.

        Raises:
            StreamsError: The topic of a global store does not exist.
            KafkaGroupsError: The brokers refused something for good.
        """
        await self._globals.begin(self._clock.wall_ms())
        await self._member.join()

    async def turn(self) -> int:
        """Do what can be done now. Return how long there is nothing else to do, in ms.

        If its transaction fails, the tasks begin again from what was committed.

        Raises:
            ApplicationShutdownError: A member has asked all members to shut down. The tasks are committed.
            StreamsError: A record could not be processed.
            KafkaGroupsError: The group or the brokers refused something for good.
        """
        try:
            return await self._turn()
        except TransactionFailedError as error:
            await self._begin_again(error)
            return 0

    async def _turn(self) -> int:
        now_ms, wall_ms = self._clock.now_ms(), self._clock.wall_ms()
        self._output.wall_ms = wall_ms
        if now_ms - self._looked_ms >= _LOOK_MS or not self._has_running:
            self._looked_ms = now_ms
            await self._manager.look()
            self._check_lost()
        restored = await self._restore(wall_ms)
        polled_ms = self._clock.now_ms()
        count = await self._consuming.read(self._settings.max_poll_records, wall_ms)
        self.figures.polled(count, polled_ms, now_ms)
        processed = await self._work(now_ms) if self._may_work else 0
        await self._commit_if_due()
        self.figures.end_turn()
        is_busy = restored or count or processed
        return 0 if is_busy else self._wait_ms()

    async def close(
        self,
        timeout_s: float | None = None,
        operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
        *,
        is_clean: bool = True,
    ) -> None:
        """Commit, close the tasks, leave the group and close all connections.

        Args:
            timeout_s: Longest wait for the last commit, and for the group, in seconds.
            operation: Whether the member leaves.
            is_clean: Whether to commit; no after an error.
        """
        try:
            if is_clean:
                await self._finish(timeout_s)
        finally:
            try:
                self._manager.close()
            finally:
                try:
                    await self._member.close(timeout_s, operation)
                finally:
                    await self._plane.close()

    async def request_shutdown(self) -> None:
        """Ask all members of the group to shut down."""
        await self._member.request_shutdown()

    async def hears_of_shutdown(self) -> bool:
        """Return whether the group has told its members to shut down. For a worker that has failed: no task changes.

        Raises:
            KafkaGroupsError: The group has refused the member.
        """
        try:
            events = await self._member.poll()
        except ApplicationShutdownError:
            return True
        return any(map(is_shutdown, events))

    # ------------------------------------------------------------------------------------ transactions

    def _check_lost(self) -> None:
        """Raise an error if the records of a task are in the transaction that the worker has lost."""
        if self._manager.forget_lost_work() and self._settings.is_exactly_once:
            raise TransactionFailedError("The worker has lost a task whose records are in its transaction.")

    async def _begin_again(self, error: TransactionFailedError) -> None:
        """Forget the transaction that has failed, and let its tasks begin again from what was committed."""
        _log.warning("%s. The records since the last commit are processed again.", str(error).rstrip("."))
        self._commits.forget(error, self.tasks.values())
        self._is_commit_due = False
        await self._plane.renew()
        await self._manager.revive()

    async def _finish(self, timeout_s: float | None) -> None:
        try:
            await self._commits.finish(self.tasks.values(), timeout_s)
            await self._commits.hand_over(self.tasks.values())
        except TransactionFailedError as error:
            _log.warning("%s. The records since the last commit will be processed again.", str(error).rstrip("."))

    async def _is_prepared(self) -> bool:
        if not self._preparing.may_try:
            return False
        try:
            await self._plane.prepare()
        except KafkaGroupsError as error:
            if isinstance(error, TransactionFailedError):
                await self._plane.renew()
            self._preparing.note("The producer cannot begin yet", error)
            return False
        self._preparing.end()
        return True

    # ------------------------------------------------------------------------------------ the steps

    async def _restore(self, wall_ms: int) -> int:
        await self._globals.begin(wall_ms)
        await (self._restoration.pause() if self.is_paused else self._restoration.resume())
        await self._begin_created()
        polled = await self._poll_restoring()
        count = self._restoration.take(polled)
        await self._globals.skip_lost()
        await self._restoration.follow_ends()
        if polled:
            self._globals.take(polled, wall_ms)
            for task in self._restoration.lost(polled):
                await self._manager.wipe(task)
        for task in self._waiting(TaskPhase.RESTORING):
            if task.role is TaskRole.ACTIVE and task.is_restored and self._may_run(task) and await self._is_prepared():
                await self._run(task, wall_ms)
                if not task.is_running:
                    break  # the attempt may have taken a second: the others have their turn
                count += 1
        return count + polled.count

    async def _poll_restoring(self) -> PolledRecords:
        try:
            polled = await self._plane.poll_restoring(_RESTORED_BESIDE if self._has_running else _RESTORED_RECORDS)
            is_answered = bool(polled) or await self._restoration.is_answered(self._restoring)
        except KafkaGroupsError as error:
            self._restoring.note("Waiting for records of changelogs", error)
            return NOTHING
        if is_answered:
            self._restoring.end()
        if polled.count:
            self.figures.restored.add(polled.count, self._clock.now_ms())
        return polled

    async def _begin_created(self) -> None:
        for task in self._waiting(TaskPhase.CREATED):
            if not await self._is_prepared():
                return  # the open transaction of an earlier worker would hide what it has committed
            if not task.beginning.may_try:
                continue
            try:
                if not await self._restoration.begin(task):
                    await self._manager.wipe(task)
            except TasksLostError:
                return  # the next event says so
            except KafkaGroupsError as error:
                task.beginning.note(f"Task {task.task_id} cannot begin yet", error)
                return  # the attempt may have taken a second: the others have their turn
            task.beginning.end()

    async def _run(self, task: OwnedTask, wall_ms: int) -> None:
        try:
            await self._consuming.start(task, wall_ms)
        except KafkaGroupsError as error:
            task.beginning.note(f"Task {task.task_id} cannot begin yet", error)
            return
        task.beginning.end()
        await self._restoration.end(task)
        task.is_initialised = True
        task.task.init(wall_ms)

    def _may_run(self, task: OwnedTask) -> bool:
        return self._globals.is_loaded and task.beginning.may_try

    def _waiting(self, phase: TaskPhase) -> list[OwnedTask]:
        return [task for task in self.tasks.values() if task.phase is phase]

    @property
    def _has_running(self) -> bool:
        return any(task.is_running for task in self.tasks.values())

    @property
    def _may_work(self) -> bool:
        return not self.is_paused and not self._commits.is_pending and self._plane.has_room

    async def _work(self, now_ms: int) -> int:
        begun_ms = self._clock.now_ms()
        processed = self._process(now_ms) if self._globals.is_loaded else 0
        self.figures.processed(processed, begun_ms)
        if processed or any(task.paused for task in self.tasks.values()):
            await self._consuming.resume_emptied()
        self._punctuate()
        return processed

    def _process(self, begun_ms: int) -> int:
        count, more = 0, self._in_turn()
        room_bytes = self._room_bytes()
        while more and self._plane.has_room:
            rest = []
            for task in more:
                if room_bytes <= 0 and (room_bytes := self._room_bytes()) <= 0:
                    return count
                room_bytes += task.task.uncommitted_bytes
                wanted = task.slice.records
                done = self._process_slice(task)
                room_bytes -= task.task.uncommitted_bytes
                count += done
                if task.task.is_commit_requested or self._clock.now_ms() - begun_ms >= _TURN_MS:
                    return count
                if done == wanted:
                    rest.append(task)
            more = rest
        return count

    def _in_turn(self) -> list[OwnedTask]:
        """Return the running tasks, the one first that comes after the last one that has processed."""
        running = [task for task in self.tasks.values() if task.is_running]
        last = next((at for at, task in enumerate(running, 1) if task.task_id == self._last_task), 0)
        return running[last:] + running[:last]

    def _process_slice(self, task: OwnedTask) -> int:
        begun_ms = self._clock.now_ms()
        done = self._process_task(task)
        task.task.flush_large_caches()
        ended_ms = self._clock.now_ms()
        task.figures.took(done, begun_ms, ended_ms)
        task.slice.took(done, ended_ms - begun_ms)
        if done:
            self._last_task = task.task_id
        return done

    def _process_task(self, task: OwnedTask) -> int:
        wall_ms, now_ms, process = self._clock.wall_ms(), self._clock.now_ms(), task.task.process
        single, wanted = len(task.inputs) == 1, task.slice.records
        for count in range(wanted):
            if not (single or self._may_process(task, now_ms)) or not process(wall_ms):
                return count
            task.is_dirty = True
            if task.task.is_commit_requested:
                return count + 1
        return wanted

    def _may_process(self, task: OwnedTask, now_ms: int) -> bool:
        queues = task.task.queues
        empty = [place for place in task.inputs if not queues[place.topic, place.partition]]
        if len(empty) == len(task.inputs):
            return False
        waits = task.read_to_end.issuperset(empty)
        task.idle_since_ms = (task.idle_since_ms or now_ms) if empty and waits else None
        idle_ms = still_idle_ms(task.idle_since_ms, now_ms)
        ready = is_ready(empty, task.read_to_end, idle_ms, self._settings.max_task_idle_ms)
        if ready:
            task.idle_since_ms = None
        return ready

    def _punctuate(self) -> None:
        wall_ms, begun_ms, count = self._clock.wall_ms(), self._clock.now_ms(), 0
        for task in self.tasks.values():
            if task.is_running and task.task.punctuate_wall_clock(wall_ms):
                task.is_dirty = True
                count += 1
        self.figures.punctuated(count, begun_ms)

    async def _commit_if_due(self) -> None:
        now_ms = self._clock.now_ms()
        is_asked = any(task.task.is_commit_requested for task in self.tasks.values())
        may_try = self._is_committed or self._commits.may_repeat
        is_pending = self._commits.is_pending or self._plane.has_failed
        is_asked = is_asked or is_pending or (may_try and not self._room_bytes())
        if is_asked or now_ms - self._committed_ms >= self._settings.commit_interval_ms:
            self._committed_ms = now_ms
            self._is_committed = await self._commit()
            await self._purging.purge_if_due(self.tasks.values(), now_ms)

    def _room_bytes(self) -> int:
        """Return by how much the changes of the stores may grow; 0 if they need a commit before more is processed."""
        limit_bytes = self._settings.uncommitted_max_bytes
        tasks = [task.task for task in self.tasks.values() if task.is_running]
        used_bytes = sum(task.uncommitted_bytes for task in tasks)
        if not self._is_commit_due and used_bytes >= limit_bytes:
            for task in tasks:
                task.recount()
            used_bytes = sum(task.uncommitted_bytes for task in tasks)
            # Half of it is enough, so that keys that change again and again are not counted after every few records.
            self._is_commit_due = 2 * used_bytes >= limit_bytes
        return 0 if self._is_commit_due else limit_bytes - used_bytes

    async def _commit(self) -> bool:
        begun_ms = self._clock.now_ms()
        changed = sum(task.is_running and task.is_dirty for task in self.tasks.values())
        is_committed = await self._commits.commit(self.tasks.values())
        if is_committed:
            self._is_commit_due = False
            self.figures.committed(changed, begun_ms)
        for task in self.tasks.values():
            task.figures.note_dropped(sum(task.task.dropped_records.values()), begun_ms)
        return is_committed

    async def _is_committed_now(self, ending: Collection[OwnedTask]) -> bool:
        """Commit before some tasks end. Return False while the brokers or the group do not answer."""
        if await self._commit():
            await self._commits.hand_over(ending)
        return not self._commits.is_repeated

    def _wait_ms(self) -> int:
        due_ms = self._committed_ms + self._settings.commit_interval_ms - self._clock.now_ms()
        return max(min(self._settings.poll_ms, due_ms), 1)
