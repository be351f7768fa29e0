"""The topics of a run: some exist from the beginning, one comes later, and they grow."""

import random
from collections.abc import Collection

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.consumer.membership import GROUP, NOTHING, Partitions, Subscription
from tests.simulation.groups.topics import add_partition

__all__ = [
    "LATE_TOPIC",
    "TOPICS",
    "changed_subscription",
    "common_assignor",
    "disturb_topics",
    "partitions_of",
    "subscription",
]

TOPICS = {"jobs": 5, "news": 2}
LATE_TOPIC = "mail"
_MOST = 8
_NAMES = (("jobs",), ("jobs",), ("jobs", "news"), ("jobs", "news"), ("news",), ("jobs", "mail"))
_REGEXES = (("jobs|news", ("jobs", "news")), ("m.*l|jobs", ("jobs", "mail")))
_ASSIGNORS = (None, "uniform", "range")


def subscription(rng: random.Random, assignor: str | None) -> Subscription:
    """What a new member wants, by the names of topics. It prefers any assignor unless one is given."""
    return Subscription(rng.choice(_NAMES), assignor=assignor or rng.choice(_ASSIGNORS))


def common_assignor(seed: int) -> str:
    """The assignor that all static members of a run prefer.

    Without one that has several votes, the group epoch would increase with every heartbeat, as in Kafka.
    """
    return ("uniform", "range")[seed % 2]


def changed_subscription(rng: random.Random, assignor: str | None, *, may_be_regex: bool) -> Subscription:
    """What a member wants from now on, now and then by a regular expression."""
    if not may_be_regex or rng.random() < 0.5:
        return subscription(rng, assignor)
    regex, names = rng.choice(_REGEXES)
    return Subscription(names, regex, assignor or rng.choice(_ASSIGNORS))


async def disturb_topics(world: SimulatedWorld) -> None:
    """Create the late topic, or let one of the topics have another partition."""
    name = world.rng.choice((*TOPICS, LATE_TOPIC))
    topic = world.cluster.metadata.topic(name)
    if topic is None:
        world.cluster.create_topic(name, 2)
        world.struck["topic_created"] += 1
    elif topic.num_partitions < _MOST:
        await add_partition(world, GROUP, name)


def partitions_of(metadata: ClusterMetadata, names: Collection[str]) -> Partitions:
    """All partitions of those of these topics that exist."""
    found = [topic for topic in metadata.topics() if topic.name in names]
    return NOTHING.union((topic.topic_id, number) for topic in found for number in range(topic.num_partitions))
