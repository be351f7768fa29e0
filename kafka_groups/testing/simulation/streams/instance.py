"""An instance of a streams application in a simulated process: its workers, each with a member and a data plane."""

import asyncio
import random
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from attrs import define, evolve, field, frozen

from kafka_groups.errors import ApplicationShutdownError, OperationTimeoutError
from kafka_groups.records.engine_plane import EnginePlane
from kafka_groups.records.interface import DataPlane
from kafka_groups.streams.engines.interface import TaskEngine
from kafka_groups.streams.engines.questions import StoreQuestion, TaskAnswer
from kafka_groups.streams.member.aio import AsyncStreamsGroupMember
from kafka_groups.streams.member.leader_computation import BusyAssignors
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.streams.queries.committed import committed_view
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.runtime.worker import StreamsWorker
from kafka_groups.streams.topology.internal_topics import changelog_topic, group_topology
from kafka_groups.streams.topology.matched_topics import pattern_sources
from kafka_groups.streams.topology.topology import Topology
from kafka_groups.streams.workers.configured import ConfiguredApplication, configured_application
from kafka_groups.streams.workers.group_protocol import membership_of
from kafka_groups.testing.simulation.streams.kept_engines import DormantTasks, KeptEngines, SimulatedDisk
from kafka_groups.testing.simulation.streams.simulated_membership import AsyncMembership
from kafka_groups.testing.simulation.world import SimulatedWorld
from kafka_groups.types import TaskId, random_uuid

__all__ = ["Deployment", "Instance", "partitions_in"]

T = TypeVar("T")

_LONGEST_WAIT_MS = 1_000
_LONGEST_COMPUTING_S = 0.5
"""The longest time that something takes that a member computes on another thread."""
_CLOSE_S = 20.0
_LOOK_S = 1.0


@frozen
class Deployment:
    """An application that is deployed in a world: what its instances share.

    Attributes:
        world: Where they live.
        build: Returns the topology. Each worker calls it.
        config: The application's configuration, by dotted names.
        keywords: More of it, by the names of attributes.
        workers: The workers of each instance.
        running: The instances that run now, by the name of their process.
        disks: What processes have on disk, by their names.
    """

    world: SimulatedWorld
    build: Callable[[], Topology]
    config: Mapping[str, object]
    keywords: Mapping[str, object]
    workers: int
    running: dict[str, "Instance"] = field(factory=dict)
    disks: dict[str, SimulatedDisk] = field(factory=dict)

    def configured(self) -> ConfiguredApplication:
        """Return the application as its user configured it, with a topology of its own."""
        given = {"bootstrap_servers": self.world.cluster.bootstrap_servers, **self.keywords}
        return configured_application(self.build(), self.config, given, RestoreListeners())

    @cached_property
    def application(self) -> ConfiguredApplication:
        """The application, to look at. Workers have topologies of their own."""
        return self.configured()

    async def run(self, name: str) -> None:
        """Be an instance, until the process ends."""
        disk = self.disks.setdefault(name, SimulatedDisk())
        instance = self.running[name] = Instance(self, self.world.rng, disk)
        try:
            await instance.run()
        finally:
            del self.running[name]

    async def until_running(self, instances: int, within_s: float) -> list[str]:
        """Wait until so many instances and all their tasks run. Return what does not after so many virtual seconds."""
        loop = asyncio.get_running_loop()
        end_s = loop.time() + within_s
        while len(self.running) < instances or not self._is_complete():
            if loop.time() >= end_s:
                return [f"not all tasks run; there are the processes {', '.join(sorted(self.running)) or '(none)'}"]
            await asyncio.sleep(_LOOK_S)
        return []

    def _is_complete(self) -> bool:
        """Return whether all instances run, and have all tasks with stores: one may be on its way to another."""
        places, application_id = self.application.settings.tasks.topology.stores, self.application.config.application_id
        topics = {store: changelog_topic(place, application_id) for store, place in places.items()}
        counts = {store: partitions_in(self.world, topic) or 0 for store, topic in topics.items()}
        missing = [store for store, place in places.items() if not place.is_global and self._lacks(store, counts)]
        return not missing and all(each.is_running for each in self.running.values())

    def _lacks(self, store: str, counts: Mapping[str, int]) -> bool:
        return len(self.engines(store)) < counts[store]

    def engines(self, store: str) -> list[TaskEngine]:
        """Return the engines of the running tasks that have a store."""
        return [engine for instance in self.running.values() for engine in instance.engines(store)]

    def store(self, store: str) -> Any:
        """Return a view of what all instances have committed to a store."""
        place = self.application.settings.tasks.topology.stores[store]
        return committed_view(place, self.application.config.application_id, self._answers, clock=self.world.clock)

    def _answers(self, question: StoreQuestion) -> list[TaskAnswer]:
        return [answer for instance in self.running.values() for answer in instance.answers(question)]


@define(eq=False)
class Instance:
    """The workers of one process."""

    deployment: Deployment
    rng: random.Random
    disk: SimulatedDisk
    workers: list[StreamsWorker] = field(factory=list)
    claims: dict[TaskId, int] = field(factory=dict)
    busy: BusyAssignors = field(factory=BusyAssignors)
    _stopping: asyncio.Event = field(factory=asyncio.Event)

    @property
    def is_running(self) -> bool:
        """True if all workers have started, and all their tasks run."""
        return len(self.workers) == self.deployment.workers and all(each.is_running for each in self.workers)

    def engines(self, store: str) -> list[TaskEngine]:
        """Return the engines of the running tasks that have a store."""
        return [engine for worker in self.workers for engine in worker.engines(store)]

    def answers(self, question: StoreQuestion) -> list[TaskAnswer]:
        """Return what each task of this process answers that has a store.

        Raises:
            InvalidStateStoreError: A task has just gone.
        """
        return [answer for worker in self.workers for answer in worker.answers(question)]

    async def run(self) -> None:
        """Run the workers. When the process is stopped, they finish in good order."""
        process_id = str(random_uuid(self.rng))
        numbers = range(1, self.deployment.workers + 1)
        work = asyncio.gather(*(self._run_worker(process_id, number) for number in numbers))
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            self._stopping.set()
            await work

    async def _run_worker(self, process_id: str, number: int) -> None:
        worker, plane = self._assembled(process_id, number)
        self.workers.append(worker)
        try:
            await worker.start()
            while not self._stopping.is_set():
                wait_ms = await worker.turn()
                await plane.wait(min(wait_ms, _LONGEST_WAIT_MS))
        except ApplicationShutdownError:
            await worker.close(_CLOSE_S, is_clean=False)
        except BaseException:  # also a cancellation, which stands for a stop of the process
            await worker.close(_CLOSE_S, is_clean=False)
            raise
        else:
            await self._finish(worker)
        finally:
            self.workers.remove(worker)

    async def _finish(self, worker: StreamsWorker) -> None:
        """Close a worker. If no broker answers, the next owners of its tasks repeat what it had not committed."""
        try:
            await worker.close(_CLOSE_S)
        except OperationTimeoutError as error:
            self.deployment.world.note("closed without a last commit", str(error))

    def _assembled(self, process_id: str, number: int) -> tuple[StreamsWorker, DataPlane]:
        application, world = self.deployment.configured(), self.deployment.world
        config, settings = application.config, application.settings
        made: list[StreamsWorker] = []
        engines = KeptEngines(self.disk, number)

        def positions() -> Mapping[TaskId, TaskPosition]:
            return made[0].positions() if made else {}

        member = AsyncStreamsGroupMember(
            config.member,
            topology=group_topology(settings.tasks.topology, config.application_id, config.topic_configs),
            process_id=process_id,
            number=number,
            task_offsets=positions,
            environment=world.environment(),
            _membership_of=membership_of(
                config,
                self._in_turn,
                DormantTasks(engines, self.claims, number),
                pattern_sources(settings.tasks.topology, config.application_id, config.topic_configs),
                busy=self.busy,
            ),
        )
        plane = self._plane(application, application.transactional_id(process_id, number))
        worker = StreamsWorker(settings, plane, AsyncMembership(member), world.clock, engines)
        made.append(worker)
        return worker, plane

    async def _in_turn(self, function: Callable[[], T]) -> T:
        """Compute after a while: there are no threads here."""
        await asyncio.sleep(self.rng.uniform(0, _LONGEST_COMPUTING_S))
        return function()

    def _plane(self, application: ConfiguredApplication, transactional_id: str) -> DataPlane:
        """Return the plane that the application has in a real process, in this world."""
        world, config = self.deployment.world, application.engine_plane
        if application.config.is_exactly_once:
            config = evolve(config, transactional_id=transactional_id)
        return EnginePlane(config, world.environment(), lambda: _partition_counts(world))


def _partition_counts(world: SimulatedWorld) -> Mapping[str, int]:
    return {topic.name: topic.num_partitions for topic in world.cluster.metadata.topics()}


def partitions_in(world: SimulatedWorld, topic: str) -> int | None:
    """Return a topic's number of partitions, or None if there is no such topic."""
    known = world.cluster.metadata.topic(topic)
    return None if known is None else known.num_partitions
