"""An application in a classic group reads topics by a pattern, while much fails, and topics come and go."""

import asyncio
import random
import re
from collections import Counter

import pytest

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder, Topology
from kafka_groups.streams.topology.matched_topics import matching
from kafka_groups.testing.simulation.streams.inputs import encoded_inputs, feed
from kafka_groups.testing.simulation.streams.instance import Deployment
from kafka_groups.testing.simulation.streams.progress import ApplicationProgress
from kafka_groups.testing.simulation.streams.simulated_application import simulate_streams
from tests.simulation.applications.counting import FAULTS, PARTITIONS, Guarantee

pytestmark = pytest.mark.slow

KEYS = ("a", "b", "c", "d")
APPLICATION, ADDED = "matching", "lines-added"
PATIENCE_S = 600
SEEDS = [*range(2), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 40))]
TIMES = {
    "group.protocol": "classic",
    "session.timeout.ms": 6_000,
    "heartbeat.interval.ms": 1_000,
    "max.poll.interval.ms": 30_000,
    "metadata.max.age.ms": 3_000,
}


def build() -> Topology:
    builder = StreamsBuilder()
    lines = builder.stream(re.compile("lines-.*"), key=serdes.string, value=serdes.string)
    lines.group_by_key().count(store="counts").to_stream().to("counts", value=serdes.int64)
    return builder.build()


@pytest.mark.parametrize("seed", SEEDS)
def test_each_record_of_each_topic_counts(seed: int) -> None:
    rng = random.Random(seed)
    guarantee: Guarantee = "exactly_once_v2" if seed % 2 else "at_least_once"
    inputs = {f"lines-{number}": [(rng.choice(KEYS), "x") for _ in range(40)] for number in (1, 2)}

    async def watch(deployment: Deployment, over: asyncio.Event) -> list[str]:
        """Create and delete topics that have no records."""
        for number in range(3, 8):
            name, cluster = f"lines-{number}", deployment.world.cluster
            await asyncio.sleep(rng.uniform(1, 10))
            cluster.create_topic(name, rng.randint(1, PARTITIONS))
            await asyncio.sleep(rng.uniform(0, 10))
            if rng.random() < 0.7:
                cluster.delete_topic(name)
        await over.wait()
        return []

    async def add_topic(deployment: Deployment, over: asyncio.Event) -> list[str]:
        """Create a topic with records, too."""
        others = asyncio.ensure_future(watch(deployment, over))
        world = deployment.world
        await asyncio.sleep(rng.uniform(0, 40))
        world.cluster.create_topic(ADDED, PARTITIONS)
        graph = matching(build().graph, APPLICATION, [ADDED])
        lines = [(rng.choice(KEYS), "x") for _ in range(40)]
        await feed(world, encoded_inputs(graph, {ADDED: lines}).values(), 20)
        found = await ApplicationProgress(world, APPLICATION, [ADDED]).until_done(PATIENCE_S)
        return [*found, *(await others)]

    left = simulate_streams(
        build, inputs, seed, faults=FAULTS, partitions=PARTITIONS, application_id=APPLICATION, config=TIMES,
        watch=add_topic, settings={"group.min.session.timeout.ms": 1_000, "group.initial.rebalance.delay.ms": 100},
        processing_guarantee=guarantee, commit_interval_ms=400, poll_ms=400,
        default_dsl_store="lmdb" if seed % 3 else "in_memory",
    )  # fmt: skip
    written = Counter((record.key or b"").decode() for name in (*inputs, ADDED) for record in left.topics[name])
    counted = left.stores["counts"]
    if guarantee == "exactly_once_v2":
        assert counted == written
    else:
        assert all(counted[key] >= count for key, count in written.items())
