"""The input of a simulated application: records of Python values that flow in, spread over the time of the faults."""

import asyncio
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import ConfigurationError, DeliveryFailedError
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.writer import EngineWriter
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import SourceNode
from kafka_groups.testing.simulation.streams.instance import partitions_in
from kafka_groups.testing.simulation.world import SimulatedWorld
from kafka_groups.types import Headers

__all__ = ["EncodedInput", "SimulatedInput", "encoded_inputs", "feed"]

_STEP_MS = 5_000


class SimulatedInput(NamedTuple):
    """A record for a topic that the topology reads.

    Attributes:
        key: Its key, for the serde of the source.
        value: Its value. None makes a tombstone.
        timestamp_ms: Its timestamp. None: the virtual time at which it is written.
        partition: Its partition. None: the default partitioner's.
    """

    key: Any
    value: Any
    timestamp_ms: int | None = None
    partition: int | None = None


class EncodedInput(NamedTuple):
    """The same, as bytes."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int | None
    partition: int | None


def encoded_inputs(topology: NodeGraph, inputs: Mapping[str, Iterable[Sequence[Any]]]) -> dict[str, list[EncodedInput]]:
    """Return the records by topic, encoded by the serdes of the sources.

    Raises:
        ConfigurationError: The topology does not read such a topic.
    """
    sources = {topic: node for node in topology.nodes.values() if isinstance(node, SourceNode) for topic in node.topics}
    readable = sources.keys() - topology.repartition_topics.keys()
    unknown = sorted(inputs.keys() - readable)
    if unknown:
        raise ConfigurationError(f"inputs: the topology does not read {unknown}. It reads: {sorted(readable)}.")
    return {
        topic: [_encoded(topic, sources[topic], SimulatedInput(*each)) for each in records]
        for topic, records in inputs.items()
    }


def _encoded(topic: str, source: SourceNode, record: SimulatedInput) -> EncodedInput:
    headers: list[tuple[str, bytes | None]] = []
    key = None if record.key is None else source.key.serializer(topic, is_key=True)(record.key, headers)
    value = None if record.value is None else source.value.serializer(topic, is_key=False)(record.value, headers)
    return EncodedInput(topic, key, value, tuple(headers), record.timestamp_ms, record.partition)


async def feed(world: SimulatedWorld, inputs: Iterable[Sequence[EncodedInput]], seconds: float) -> None:
    """Write the records, at times by chance within so many virtual seconds. Those of a topic keep their order."""
    client = RecordsClient(admin_config(bootstrap_servers=world.cluster.bootstrap_servers), world.environment())
    rng = random.Random(world.rng.random())
    writer = EngineWriter(client, lambda topic: partitions_in(world, topic), rng)
    begun_s = asyncio.get_running_loop().time()
    for at_s, record in _schedule(inputs, seconds, rng):
        await asyncio.sleep(max(begun_s + at_s - asyncio.get_running_loop().time(), 0))
        time_ms = world.clock.wall_ms() if record.timestamp_ms is None else record.timestamp_ms
        writer.write(record.topic, record.key, record.value, time_ms, record.headers, record.partition)
    await _flush(writer)
    await writer.close()
    await client.close()


def _schedule(
    inputs: Iterable[Sequence[EncodedInput]], seconds: float, rng: random.Random
) -> list[tuple[float, EncodedInput]]:
    timed = [zip(sorted(rng.uniform(0, seconds) for _ in records), records, strict=True) for records in inputs]
    return sorted((each for records in timed for each in records), key=lambda each: each[0])


async def _flush(writer: EngineWriter) -> None:
    while True:
        try:
            return await writer.flush(_STEP_MS)
        except DeliveryFailedError as error:
            if error.failed:
                raise
