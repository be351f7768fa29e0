"""Runs a streams application in a simulated world: inputs flow, faults strike, and the end is looked at."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, Unpack

from attrs import define, field, frozen

from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.config.clients.keywords import StreamsKeywords
from kafka_groups.serdes import Serde
from kafka_groups.streams.state.stores import SuppressDefinition
from kafka_groups.streams.topology.internal_topics import topic_name
from kafka_groups.streams.topology.matched_topics import matching
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import SinkNode, SourceNode
from kafka_groups.streams.topology.topology import Topology
from kafka_groups.testing.fast_settings import FAST_SETTINGS
from kafka_groups.testing.simulation.checks.visible import visible_records
from kafka_groups.testing.simulation.faults.seeded_faults import SeededFaults
from kafka_groups.testing.simulation.report import SimulationReport
from kafka_groups.testing.simulation.run import simulate
from kafka_groups.testing.simulation.streams.inputs import encoded_inputs, feed
from kafka_groups.testing.simulation.streams.instance import Deployment
from kafka_groups.testing.simulation.streams.progress import ApplicationProgress
from kafka_groups.testing.simulation.world import SimulatedWorld
from kafka_groups.testing.topology_driver.topics import CapturedRecord, OutputRecord, TestOutputTopic

__all__ = ["StreamsSimulation", "simulate_streams"]

K = TypeVar("K")
V = TypeVar("V")

_ALL_FAULTS = SeededFaults()
_SETTLING_S = 300.0
_RUNNING_S = _RESTORING_S = 120.0
_NO_TIMESTAMP = -1
_APPLICATION_ID = "application"
_SETTINGS: Mapping[str, object] = {
    **FAST_SETTINGS,
    "group.streams.heartbeat.interval.ms": 1_000,
    "group.streams.session.timeout.ms": 6_000,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1_000,
}


DeploymentWatch = Callable[[Deployment, asyncio.Event], Awaitable[Iterable[str]]]
"""Looks at a deployment until the event is set, and returns what was wrong."""


@frozen
class StreamsSimulation:
    """The end of a simulated application: what it has committed.

    Attributes:
        report: The seed, the faults that struck, and a digest of all events.
        topics: The committed records of each topic, sorted by partition and offset: of those that the application reads
            and writes, of its repartition topics, and of its changelogs.
        stores: What the application has committed to each of its stores, by key.
        restored: The stores as a new process restores them from their changelogs.
        trace: All events, each as a line: connections, frames, and changes in the cluster.
    """

    report: SimulationReport
    topics: Mapping[str, tuple[CapturedRecord, ...]]
    stores: Mapping[str, Mapping[Any, Any]]
    restored: Mapping[str, Mapping[Any, Any]]
    trace: Sequence[str] = field(repr=False)

    def output(self, topic: str, key: Serde[K], value: Serde[V]) -> list[OutputRecord[K, V]]:
        """Return the committed records of a topic, partition by partition."""
        return TestOutputTopic(topic, key, value, list(self.topics.get(topic, ()))).read_all()


def simulate_streams(  # noqa: PLR0913 - all but the first three by keyword
    build: Callable[[], Topology],
    inputs: Mapping[str, Iterable[Sequence[Any]]],
    seed: int,
    *,
    faults: SeededFaults = _ALL_FAULTS,
    instances: int = 2,
    workers: int = 1,
    partitions: int | Mapping[str, int] = 2,
    brokers: int = 3,
    settings: Mapping[str, object] | None = None,
    write_event: Callable[[str], object] = lambda _line: None,
    watch: DeploymentWatch | None = None,
    config: Mapping[str, object] | None = None,
    **keywords: Unpack[StreamsKeywords],
) -> StreamsSimulation:
    """Run a streams application in virtual time, with a cluster and faults drawn from a seed.

    The inputs flow in over the period of the faults. Afterwards the application processes the rest. Then all its
    processes are stopped, and a new one restores the stores from their changelogs. With exactly_once_v2 these must be
    the same, unless logs were truncated. Blocks until the end.

    The workers are those that `KafkaStreams` runs, with their producers and readers.

    Args:
        build: Returns the topology. Its functions must not block, and get randomness from `random` alone.
        inputs: For each topic that the topology reads, its records: tuples of key, value and perhaps a timestamp in ms
            and a partition (see `SimulatedInput`). The serdes of the sources encode keys and values.
        seed: The seed. The same seed makes the same run, also in another process.
        faults: The faults, their frequency and period. By default all of them, for five virtual minutes.
        instances: The number of processes of the application.
        workers: The number of workers of each process.
        partitions: The number of partitions of the topics that the topology reads and writes, or of each by name.
        brokers: The number of brokers.
        settings: The brokers' settings, by Kafka's dotted names.
        write_event: Called with a line for each event, such as `sys.stderr.write`.
        watch: Looks at the instances while they run.
        config: The application's configuration by Kafka's dotted names, such as `{"producer.linger.ms": 50}`.
        **keywords: More of it, such as `processing_guarantee`.

    Returns:
        Outputs, stores and trace. There are no violations.

    Raises:
        ConfigurationError: A key is invalid, or the topology does not read a topic of the inputs.
        SimulationFailedError: Records were not processed in time, or changelogs restore something else than the stores.
        SimulationUnsupportedError: The topology used a thread or a socket, or blocked with `time.sleep`.
        Exception: An error that ended one of the processes.
    """
    if "application.id" not in (config or {}):
        keywords.setdefault("application_id", _APPLICATION_ID)
    play = _Play(build, inputs, faults.seconds, instances, workers, partitions, config or {}, keywords, watch)
    trace: list[str] = []

    def note(line: str) -> None:
        trace.append(line)
        write_event(line)

    given = {**_SETTINGS, **(settings or {})}
    report = simulate(play, seed, faults=faults, brokers=brokers, settings=given, write_event=note)
    return StreamsSimulation(report, play.topics, play.stores, play.restored, trace)


@define(eq=False, repr=False)
class _Play:
    """The program of the simulation."""

    build: Callable[[], Topology]
    inputs: Mapping[str, Iterable[Sequence[Any]]]
    seconds: float
    instances: int
    workers: int
    partitions: int | Mapping[str, int]
    config: Mapping[str, object]
    keywords: StreamsKeywords
    watch: DeploymentWatch | None = None
    topics: dict[str, tuple[CapturedRecord, ...]] = field(factory=dict)
    stores: dict[str, dict[Any, Any]] = field(factory=dict)
    restored: dict[str, dict[Any, Any]] = field(factory=dict)

    def __repr__(self) -> str:
        return f"<simulate_streams of {getattr(self.build, '__qualname__', self.build)}>"

    async def __call__(self, world: SimulatedWorld) -> None:
        deployment = Deployment(world, self.build, self.config, self.keywords, self.workers)
        application_id = deployment.application.config.application_id
        topology = matching(self.build().graph, application_id, self.inputs)
        inputs = encoded_inputs(topology, self.inputs)
        self._create_topics(world, topology)
        names = [f"instance-{number + 1}" for number in range(self.instances)]
        processes = [world.start(deployment.run, name, name=name) for name in names]
        over = asyncio.Event()
        watching = None if self.watch is None else asyncio.ensure_future(self.watch(deployment, over))
        await feed(world, inputs.values(), self.seconds)
        await world.settle()
        world.violations.extend(await _progress(world, topology, application_id).until_done(_SETTLING_S))
        world.violations.extend(await deployment.until_running(self.instances, _RUNNING_S))
        over.set()
        if watching is not None:
            world.violations.extend(await watching)
        self.stores = _stores(deployment, topology)
        for process in processes:
            await process.stop()
        await self._restore(deployment, topology)
        self.topics = {each.name: tuple(_records(world, each)) for each in _user_topics(world)}

    def _create_topics(self, world: SimulatedWorld, topology: NodeGraph) -> None:
        for topic in dict.fromkeys(_topics_of(topology)):
            count = self.partitions if isinstance(self.partitions, int) else self.partitions.get(topic, 1)
            world.cluster.create_topic(topic, partitions=count, configs={"retention.ms": "-1"})

    async def _restore(self, deployment: Deployment, topology: NodeGraph) -> None:
        """Start a new process, and check that its stores become the same, as far as that is promised."""
        world = deployment.world
        # A process that was cut off may write to a changelog after its successor if no transaction fences it.
        is_promised = deployment.application.config.is_exactly_once and not world.struck["log_truncated"]
        process = world.start(deployment.run, "restored", name="restored")
        world.violations.extend(await deployment.until_running(1, _RESTORING_S))
        self.restored = _stores(deployment, topology)
        if is_promised:
            world.violations.extend(_differences(self.restored, self.stores))
        await process.stop()


def _topics_of(topology: NodeGraph) -> Iterator[str]:
    """Yield the topics that the topology reads and writes, without repartition topics."""
    for node in topology.nodes.values():
        named = node.topics if isinstance(node, SourceNode) else ()
        if isinstance(node, SinkNode) and isinstance(node.topic, str):
            named = (node.topic,)
        yield from (topic for topic in named if topic not in topology.repartition_topics)


def _progress(world: SimulatedWorld, topology: NodeGraph, application_id: str) -> ApplicationProgress:
    sources = [node for node in topology.nodes.values() if isinstance(node, SourceNode)]
    read = {topic_name(topology, application_id, topic) for node in sources for topic in node.topics}
    return ApplicationProgress(world, application_id, sorted(read))


def _stores(deployment: Deployment, topology: NodeGraph) -> dict[str, dict[Any, Any]]:
    kept = [name for name, place in topology.stores.items() if not isinstance(place.definition, SuppressDefinition)]
    return {name: dict(deployment.store(name).all()) if deployment.engines(name) else {} for name in kept}


def _differences(restored: Mapping[str, dict[Any, Any]], were: Mapping[str, dict[Any, Any]]) -> Iterator[str]:
    for store, rows in were.items():
        for key in [*rows, *(key for key in restored[store] if key not in rows)]:
            now, before = restored[store].get(key), rows.get(key)
            if now != before:
                yield f"store {store} had {before!r} for {key!r}, and its changelog restores {now!r}"


def _user_topics(world: SimulatedWorld) -> list[TopicMetadata]:
    return [topic for topic in world.cluster.metadata.topics() if not topic.is_internal]


def _records(world: SimulatedWorld, topic: TopicMetadata) -> Iterator[CapturedRecord]:
    for led in topic.partitions:
        for each in visible_records(world.cluster.logs.get(topic.topic_id, led.partition)):
            time_ms = _NO_TIMESTAMP if each.timestamp is None else each.timestamp
            yield CapturedRecord(topic.name, led.partition, each.key, each.value, time_ms, tuple(each.headers))
