"""Simulations of groups that our own simulation does not have: the verdict finds nothing wrong in them."""

import asyncio
import random
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.testing import SeededFaults, SimulatedWorld, simulate
from kafka_groups.testing.simulation.faults.seeded_faults import USUAL_FAULT_NAMES
from kafka_groups.types import AcknowledgeType

pytestmark = pytest.mark.simulation

_GROUPS = ("earliest", "earliest", "earliest", "latest", "latest")
_CONFIGS: tuple[Mapping[str, Any], ...] = (
    {},
    {"acknowledgement_mode": "explicit"},
    {"acknowledgement_mode": "explicit", "auto_renew": True},
    {"acquire_mode": "record_limit", "max_poll_records": 3},
)
_KINDS = (AcknowledgeType.ACCEPT,) * 8 + (AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.RENEW)


async def member(world: SimulatedWorld, group_id: str, topics: list[str], config: Mapping[str, Any]) -> None:
    """Works faster and slower than Kafka's lock of 30 seconds, with five deliveries of each record."""
    rng = random.Random(world.rng.random())
    async with world.consumer(group_id=group_id, **config) as consumer:
        await consumer.subscribe(topics)
        while True:
            batch = await consumer.poll(timeout=rng.choice((0.5, 5, 20)))
            await asyncio.sleep(rng.choice((0, 0.1, 2, 40 if world.is_faulty else 1)))
            for record in batch if "acknowledgement_mode" in config else ():
                consumer.acknowledge(record, rng.choice(_KINDS if world.is_faulty else _KINDS[:1]))
            if rng.random() < 0.5:
                await consumer.commit()


async def two_groups(world: SimulatedWorld) -> None:
    """Two groups on the same topics; one of them starts at the latest records."""
    for topic in ("a", "b"):
        world.cluster.create_topic(topic, partitions=world.rng.choice((1, 3)))
    world.cluster.alter_group_configs("earliest", {"share.auto.offset.reset": "earliest"})
    for number, group_id in enumerate(_GROUPS):
        topics, config = ["a", "b"] if number % 2 else ["a"], world.rng.choice(_CONFIGS)
        world.start(partial(member, world, group_id, topics, config), name=group_id, restart_on=KafkaGroupsError)
    while world.is_faulty:
        await world.produce(world.rng.choice("ab"), ["record"] * world.rng.choice((1, 1, 5, 30)))
        await asyncio.sleep(world.rng.uniform(0, 6))
    await world.settle()


@pytest.mark.parametrize(
    ("seed", "brokers", "weight"),
    [
        (200, 1, 2),
        (2, 3, 1),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in [(232, 1, 2), (5, 2, 1), (121, 4, 4)]),
    ],
)
def test_nothing_wrong_is_found(seed: int, brokers: int, weight: float) -> None:
    faults = SeededFaults(seconds=240, **dict.fromkeys(USUAL_FAULT_NAMES, weight))
    report = simulate(two_groups, seed, faults=faults, brokers=brokers)
    assert report.accepted > 100
