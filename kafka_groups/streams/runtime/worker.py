"""One worker: a member of the streams group and the tasks that it has, stepped one turn at a time."""

import logging
from collections.abc import Iterable, Mapping

from kafka_groups.errors import (
    ApplicationShutdownError,
    DeliveryFailedError,
    KafkaGroupsError,
    TasksLostError,
    TransactionFailedError,
)
from kafka_groups.errors.texts import sentences, text_of
from kafka_groups.net.clock import Clock
from kafka_groups.records.interface import NOTHING, DataPlane, PolledRecords
from kafka_groups.streams.engines.interface import EngineFactory, TaskEngine
from kafka_groups.streams.engines.open_files import OpenFiles
from kafka_groups.streams.engines.questions import StoreQuestion, TaskAnswer, answers, token_of
from kafka_groups.streams.engines.shared_memory import MemoryEngines
from kafka_groups.streams.errors import StateFilesError
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation, is_shutdown
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.streams.runtime.assigned import OwnedTask, TaskPhase, TaskRole, noting_failure
from kafka_groups.streams.runtime.commits import Commits, may_begin_again
from kafka_groups.streams.runtime.purge import Purging
from kafka_groups.streams.runtime.running_watch import RunningWatch
from kafka_groups.streams.runtime.settings import WorkerSettings
from kafka_groups.streams.runtime.task_manager import TaskManager
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.runtime.transactional_commits import TransactionalCommits
from kafka_groups.streams.runtime.worker_membership import WorkerMembership
from kafka_groups.streams.runtime.worker_parts import WorkerParts
from kafka_groups.streams.tasks.record_choice import is_ready, still_idle_ms
from kafka_groups.streams.topology.internal_topics import topic_name
from kafka_groups.types import TaskId

__all__ = ["StreamsWorker"]

_log = logging.getLogger(__name__)

_LOOK_MS = 50
"""The longest time between two looks at the group while there are records."""

_LEFT_MS = 600_000
"""The time between two looks at the disk for state that belongs to no task. What is old there is deleted."""

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
        sensors: Counts and times, for metrics. Other threads may read them.
        stores: The stores of the topology, by name.
        is_paused: Whether it processes nothing from the next turn on. It keeps its tasks, and fetches and commits.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        plane: DataPlane,
        member: WorkerMembership,
        clock: Clock,
        engine_factory: EngineFactory | None = None,
    ) -> None:
        self.is_paused = False
        parts = WorkerParts(settings, plane, member, clock, engine_factory or MemoryEngines())
        self._settings, self._plane, self._member, self._clock = settings, plane, member, clock
        self.sensors, self.stores = parts.sensors, settings.tasks.topology.stores
        self._output, self._globals = parts.output, parts.global_stores
        self._progress, self._restoration, self._consuming = parts.progress, parts.restoration, parts.consuming
        self._manager = TaskManager(parts, self._is_committed_now)
        kind = TransactionalCommits if settings.is_exactly_once else Commits
        self._commits = kind(plane, member, self._output, clock, settings.task_timeout_ms)
        self._preparing = TaskTimeout(clock, settings.task_timeout_ms)
        tasks = settings.tasks
        repartitioned = [topic_name(tasks.topology, tasks.application_id, t) for t in tasks.topology.repartition_topics]
        self._purging = Purging(plane, repartitioned, settings.repartition_purge_interval_ms)
        self._restoring = TaskTimeout(clock, settings.task_timeout_ms)
        self._watch = RunningWatch(clock)
        self._looked_ms = self._committed_ms = 0
        self._is_committed = True  # whether the last commit succeeded
        self._left: dict[TaskId, TaskPosition] = {}
        self._left_ms = 0
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

    @property
    def partition_counts(self) -> Mapping[str, int]:
        """The numbers of partitions of topics, as the brokers told them last. Other threads may read it."""
        return self._manager.partition_counts

    def engines(self, store: str, *, allows_stale: bool = False) -> list[TaskEngine]:
        """Return the engines of the running tasks that have a store; for queries of other threads."""
        return [engine for _, engine in self._readable(store, allows_stale=allows_stale)]

    def _readable(self, store: str, *, allows_stale: bool) -> list[tuple[TaskId, TaskEngine]]:
        if (found := self._globals.engine_of(store)) is not None:
            return [found] if found[1].is_open else []
        having = self._having(store)
        return [(each.task_id, each.engine) for each in having if each.is_running or allows_stale]

    def _having(self, store: str) -> list[OwnedTask]:
        return [each for each in self.tasks.values() if store in each.task.states]

    def answers(self, question: StoreQuestion) -> list[TaskAnswer]:
        """Return what each task answers that has a store; for queries of other threads.

        Raises:
            InvalidStateStoreError: A task has just gone.
        """
        definition = self.stores[question.store].definition
        readable = self._readable(question.store, allows_stale=question.allows_stale)
        return answers(question, definition, readable, self._partitions(self._having(question.store)))

    def open_files(self) -> tuple[OpenFiles, ...]:
        """Return the files of the tasks and global stores that are on disk, for processes that read them."""
        found = (self._files_of(task) for task in self.tasks.values())
        return (*self._globals.open_files(), *(each for each in found if each is not None))

    @property
    def global_engine(self) -> TaskEngine | None:
        """The engine of the global stores; None before they are there, and if there are none."""
        return self._globals.engine

    def _files_of(self, task: OwnedTask) -> OpenFiles | None:
        if (place := task.engine.place) is None:
            return None
        stores = frozenset(name for name in task.task.states if self.stores[name].definition.persistent)
        return OpenFiles(task.task_id, *place, stores, self._partitions([task]), token_of(task.engine))

    def _partitions(self, tasks: Iterable[OwnedTask]) -> int:
        """Return how many partitions the stores of these tasks have."""
        # Topics that are merged may have fewer partitions than others.
        topics = {place.topic for task in tasks for place in task.inputs}
        return max((self.partition_counts.get(topic, 0) for topic in topics), default=0)

    def positions(self) -> dict[TaskId, TaskPosition]:
        """Return the positions of the tasks' stores; for the member's thread.

        For a streams group, state that lies on the disk and belongs to no task counts, too: the group assigns a task
        where its state is. A member of a classic group looks at the disk itself (`DormantState`).
        """
        if self._settings.is_classic:
            return {task_id: task.position() for task_id, task in self.tasks.items() if task.is_told_to_leader}
        # The group may learn of the tasks of a process that has ended in several steps, as sessions expire one by one.
        # A report without the rest would let it assign them elsewhere. Several workers of a process share the disk, and
        # do not know which tasks the others have opened since.
        left, opened = self._left, self._manager.opened  # the worker's thread replaces them
        if opened and not self._settings.is_alone:
            left = {}
        dormant = {task_id: position for task_id, position in left.items() if task_id not in opened}
        return dormant | {task_id: task.position() for task_id, task in self.tasks.items() if task.applied}

    def _read_left(self, now_ms: int) -> None:
        """Look for state that belongs to no task. What tasks have opened is not read."""
        self._left_ms = now_ms
        if not self._settings.is_classic:
            self._left, self._manager.opened = self._manager.positions_left(), frozenset()

    # ------------------------------------------------------------------------------------ the loop

    async def start(self) -> None:
        """Begin to load the global stores, if the brokers answer already, and join the group.

        Raises:
            StreamsError: The topic of a global store does not exist.
            KafkaGroupsError: The brokers refused something for good.
        """
        await self._globals.begin(self._clock.wall_ms())
        self._read_left(self._clock.now_ms())
        await self._member.join()

    async def turn(self) -> int:
        """Do what can be done now. Return how long there is nothing else to do, in ms.

        If its transaction fails, or records are not written for a reason that may pass, the tasks begin again from what
        was committed.

        Raises:
            ApplicationShutdownError: A member has asked all members to shut down. The tasks are committed.
            StreamsError: A record could not be processed.
            KafkaGroupsError: The group or the brokers refused something for good.
        """
        try:
            return await self._turn()
        except (DeliveryFailedError, TransactionFailedError) as error:
            # In Kafka Streams, a TaskCorruptedException or TaskMigratedException of one task has the same effect
            # (TaskManager.handleCorruption, StreamThread.handleTaskMigrated).
            if not may_begin_again(error):
                raise
            await self._commits.forget(error, self.tasks.values())
            await self._begin_again(error)
            return 0
        except TasksLostError as error:
            # Before they have what was committed, they wait until the group has the member again, or says that they are
            # lost.
            await self._commits.drop_pending()
            await self._begin_again(error)
            return 0
        except StateFilesError as error:
            # What a task has written since the last commit must not be committed without the changes of its stores.
            is_damaged = self._globals.is_damaged
            if not is_damaged and not any(task.failure is error for task in self.tasks.values()):
                raise
            await self._commits.drop_pending()
            if is_damaged:  # tasks hold what they read, so all of them begin again, with other global stores
                await self._manager.put_off()
                await self._globals.start_over(error)
            await self._begin_again(error)
            return 0

    async def _turn(self) -> int:
        now_ms, wall_ms = self._clock.now_ms(), self._clock.wall_ms()
        self._output.wall_ms = wall_ms
        # A worker without running tasks waits for its group, so it looks in every turn.
        if now_ms - self._looked_ms >= _LOOK_MS or not self._has_running:
            self._looked_ms = now_ms
            await self._manager.look()
            if self._settings.is_alone and now_ms - self._left_ms >= _LEFT_MS:
                self._read_left(now_ms)
            self._check_lost()
            self._watch.look(is_running=self.is_running, obstacles=self._obstacles)
        restored = await self._restore(wall_ms)
        polled_ms = self._clock.now_ms()
        # Records are fetched in every turn, also while the worker is paused: its queues fill, and then it pauses the
        # partitions.
        count = await self._consuming.read(self._settings.max_poll_records, wall_ms)
        self.sensors.polled(count, polled_ms, now_ms)
        processed = await self._work(now_ms) if self._may_work else 0
        await self._commit_if_due()
        self.sensors.end_turn()
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
            # After an error, the records since the last commit count as not processed, and another worker processes
            # them.
            if is_clean:
                await self._finish(timeout_s)
        finally:
            # Each step is taken even if the one before failed, because the group has to hear of the end, and
            # connections have to be closed.
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
            # The member says it once as a status, and raises it in the call after that.
            return True
        return any(map(is_shutdown, events))

    # ------------------------------------------------------------------------------------ transactions

    def _obstacles(self) -> list[str]:
        """Return what keeps the worker from running."""
        found = [*self._manager.obstacles, self._globals.obstacle, self._preparing.obstacle, self._restoring.obstacle]
        found += [task.beginning.obstacle for task in self._waiting(TaskPhase.CREATED)]
        found.append(self._progress.obstacle)
        if self.is_paused:
            found.append("it is paused: call resume")
        return [each for each in found if each is not None]

    def _check_lost(self) -> None:
        """Raise an error if the records of a task are in the transaction that the worker has lost."""
        if self._manager.forget_lost_work() and self._settings.is_exactly_once:
            raise TransactionFailedError("The worker has lost a task whose records are in its transaction.")

    async def _begin_again(self, error: KafkaGroupsError) -> None:
        """Let all tasks begin again from what was committed."""
        _log.warning(sentences(text_of(error), "The records since the last commit are processed again"))
        self._is_commit_due = False
        await self._plane.renew()
        await self._manager.revive()

    async def _finish(self, timeout_s: float | None) -> None:
        try:
            await self._commits.finish(self.tasks.values(), timeout_s)
        except TasksLostError as error:
            _log.warning("Not committed: %s", error)
        except (DeliveryFailedError, TransactionFailedError) as error:
            if not may_begin_again(error):
                raise
            _log.warning(sentences(text_of(error), "The records since the last commit will be processed again"))

    async def _is_prepared(self) -> bool:
        """Return whether the producer may write.

        Raises:
            TransactionFailedError: The transaction of the tasks that run is lost.
        """
        if not self._preparing.may_try:
            return False
        try:
            await self._plane.prepare()
        except KafkaGroupsError as error:
            # A producer that was fenced or failed cannot be used again. The next attempt begins with another one. If
            # records of running tasks are in its transaction, these have to begin again, too.
            if isinstance(error, TransactionFailedError):
                if self._has_running:
                    raise
                await self._plane.renew()
            self._preparing.note("The producer cannot begin yet", error)
            return False
        self._preparing.end()
        return True

    # ------------------------------------------------------------------------------------ the steps

    async def _restore(self, wall_ms: int) -> int:
        await self._globals.begin(wall_ms)
        # A paused application does not restore either, as in Kafka Streams
        # (StoreChangelogReader.pauseResumePartitions).
        await (self._restoration.pause() if self.is_paused else self._restoration.resume())
        await self._begin_created()
        polled = await self._poll_restoring()
        count = self._restoration.take(polled, is_beside=self._has_running)
        self._progress.look()
        await self._globals.skip_lost()
        self._globals.save_again()
        await self._restoration.follow_ends()
        if polled:
            self._globals.take(polled, wall_ms)
            for task, reason in self._restoration.lost(polled):
                await self._manager.wipe(task, reason)
        for task in self._waiting(TaskPhase.RESTORING):
            # A restored active task runs when the global stores are loaded and the producer has fenced the one before
            # it. Standby and warm-up tasks are never restored: they follow their changelogs.
            if task.role is TaskRole.ACTIVE and task.is_restored and self._may_run(task) and await self._is_prepared():
                await self._run(task, wall_ms)
                if not task.is_running:
                    break  # the attempt may have taken a second: the others have their turn
                count += 1
        return count + polled.count

    async def _poll_restoring(self) -> PolledRecords:
        try:
            # Fewer records while tasks run, so that restoration does not delay their processing.
            polled = await self._plane.poll_restoring(_RESTORED_BESIDE if self._has_running else _RESTORED_RECORDS)
            is_answered = bool(polled) or await self._restoration.is_answered(self._restoring)
        except KafkaGroupsError as error:
            self._restoring.note("Waiting for records of changelogs", error)
            return NOTHING
        if is_answered:
            self._restoring.end()
        if polled.count:
            self.sensors.restored.add(polled.count, self._clock.now_ms())
        return polled

    async def _begin_created(self) -> None:
        for task in self._waiting(TaskPhase.CREATED):
            if not await self._is_prepared():
                return  # the open transaction of an earlier worker would hide what it has committed
            if not task.beginning.may_try:
                continue
            try:
                if (reason := await self._restoration.begin(task)) is not None:
                    await self._manager.wipe(task, reason)
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
        self.sensors.processed(processed, begun_ms)
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
                # The sum is kept up to date with each slice. When it seems to be used up, it is counted anew, which
                # costs more.
                if room_bytes <= 0 and (room_bytes := self._room_bytes()) <= 0:
                    return count
                room_bytes += task.task.uncommitted_bytes
                wanted = task.slice.records
                done = self._process_slice(task)
                room_bytes -= task.task.uncommitted_bytes
                count += done
                # A requested commit comes before any other task's turn, as in StreamThread.maybeCommit, which looks for
                # requests after each iteration.
                if task.task.is_commit_requested or self._clock.now_ms() - begun_ms >= _TURN_MS:
                    return count
                # A task that has processed fewer records than it could has no more for now.
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
        with noting_failure(task):
            done = self._process_task(task)
            task.task.flush_large_caches()
        ended_ms = self._clock.now_ms()
        task.sensors.took(done, begun_ms, ended_ms)
        task.slice.took(done, ended_ms - begun_ms)
        if done:
            self._last_task = task.task_id
        return done

    def _process_task(self, task: OwnedTask) -> int:
        wall_ms, now_ms, wanted = self._clock.wall_ms(), self._clock.now_ms(), task.slice.records
        # With a single partition there is nothing to wait for, so the order of partitions needs no check.
        if len(task.inputs) == 1:
            done = task.task.process_slice(wall_ms, wanted)
            task.is_dirty |= done > 0
            return done
        for count in range(wanted):
            if not self._may_process(task, now_ms) or not task.task.process(wall_ms):
                return count
            task.is_dirty = True
            if task.task.is_commit_requested:
                return count + 1
        return wanted

    def _may_process(self, task: OwnedTask, now_ms: int) -> bool:
        queues = task.task.queues
        empty = [place for place in task.inputs if not queues[place.topic, place.partition]]
        # There are three cases: nothing to process; records in all partitions; and some partitions that are empty.
        # Whether to wait for these is the rule of max.task.idle.ms (StreamTask.isProcessable in Kafka Streams).
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
            with noting_failure(task):
                if task.is_running and task.task.punctuate_wall_clock(wall_ms):
                    task.is_dirty = True
                    count += 1
        self.sensors.punctuated(count, begun_ms)

    async def _commit_if_due(self) -> None:
        now_ms = self._clock.now_ms()
        is_asked = any(task.task.is_commit_requested for task in self.tasks.values())
        may_try = self._is_committed or self._commits.may_repeat
        is_pending = self._commits.is_pending or self._plane.has_failed
        # A pending commit goes on in each turn, as nothing is processed before it has ended.
        is_asked = is_asked or is_pending or self._commits.is_urgent or (may_try and not self._room_bytes())
        if is_asked or now_ms - self._committed_ms >= self._settings.commit_interval_ms:
            self._committed_ms = now_ms
            self._is_committed = await self._commit() or self._commits.is_held_back
            await self._purging.purge_if_due(self.tasks.values(), now_ms)

    def _room_bytes(self) -> int:
        """Return by how much the changes of the stores may grow; 0 if they need a commit before more is processed."""
        limit_bytes = self._settings.uncommitted_max_bytes
        if self._commits.is_held_back:  # nobody knows for how long, so there is more room, but not without end
            limit_bytes *= 2
        tasks = [task.task for task in self.tasks.values() if task.is_running]
        used_bytes = sum(task.uncommitted_bytes for task in tasks)
        # KIP-892 has this limit (statestore.uncommitted.max.bytes), which Kafka Streams 4.3 does not: state stores keep
        # uncommitted changes in memory, and a commit frees it.
        if not self._is_commit_due and used_bytes >= limit_bytes:
            for task in tasks:
                task.recount()
            used_bytes = sum(task.uncommitted_bytes for task in tasks)
            # Half of it is enough, so that keys that change again and again are not counted after every few records.
            self._is_commit_due = 2 * used_bytes >= limit_bytes
        return 0 if self._is_commit_due else limit_bytes - used_bytes

    async def _commit(self, *, is_urgent: bool = False) -> bool:
        begun_ms = self._clock.now_ms()
        changed = sum(task.is_running and task.is_dirty for task in self.tasks.values())
        is_committed = await self._commits.commit(self.tasks.values(), is_urgent=is_urgent)
        if is_committed or self._commits.is_held_back:
            self._is_commit_due = False
        if is_committed:
            self.sensors.committed(changed, begun_ms)
        for task in self.tasks.values():
            task.sensors.note_dropped(sum(task.task.dropped_records.values()), begun_ms)
        return is_committed

    async def _is_committed_now(self) -> bool:
        """Commit before some tasks end. Return False while the brokers or the group do not answer."""
        await self._commit(is_urgent=True)
        return not self._commits.is_repeated

    def _wait_ms(self) -> int:
        due_ms = self._committed_ms + self._settings.commit_interval_ms - self._clock.now_ms()
        return max(min(self._settings.poll_ms, due_ms), 1)
