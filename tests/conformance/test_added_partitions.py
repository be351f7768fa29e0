"""Where share groups begin in partitions that a topic gains after they have subscribed to it."""

import pytest

from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.members.consuming import consume, values, values_of
from tests.support.targets import Target, everywhere

ADDED = values(4, "added")


@everywhere
@pytest.mark.parametrize("is_read", [True, False])
async def test_added_partitions_are_read_from_their_first_record_whatever_the_reset(
    target: Target, is_read: bool
) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={"share.auto.offset.reset": "latest"})
    await target.cluster.produce(topic, values(3, "before"))
    if not is_read:
        await grow(target, topic)
    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        if is_read:
            await until(lambda: consumer.poll(timeout=0.1), lambda records: bool(consumer.assignment()) and not records)
            await grow(target, topic)
        assert values_of(await consume(consumer, 4)) == ADDED
        assert not await consumer.poll(timeout=0.2), "in a partition of before it begins at the end"


async def grow(target: Target, topic: Topic) -> None:
    """Add a partition, and write to it before the group can know it."""
    await target.cluster.add_partitions(topic, 2)
    await target.cluster.produce(topic, ADDED, 1)
