"""The writer with outcomes on a real Kafka, and on the embedded broker over TCP."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import MessageTooLargeError, UnknownTopicOrPartitionError
from tests.support.kafka.kafka_trio import TrioNode, kafka_trio
from tests.support.kafka.real_kafka import unique
from tests.support.producing.confirming_program import ConfirmingProgram
from tests.support.standing_still import standing_still

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SESSION_MS = "20000"
"""The time until a broker that stands still is no replica in sync any more."""


class Scene:
    """A program, and an admin client for its cluster."""

    def __init__(self, servers: str) -> None:
        self.program = ConfirmingProgram(**{"bootstrap.servers": servers})
        self._admin = AdminClient({"bootstrap.servers": servers})

    async def create(self, topic: str, replicas: list[list[int]] | None = None, **configs: str) -> str:
        config = {name.replace("_", "."): value for name, value in configs.items()}
        if replicas is None:
            new = NewTopic(topic, 1, 1, config=config)
        else:
            new = NewTopic(topic, len(replicas), replica_assignment=replicas, config=config)
        await asyncio.to_thread(self._admin.create_topics([new])[topic].result, 30)
        return topic

    async def delete(self, topic: str) -> None:
        await asyncio.to_thread(self._admin.delete_topics([topic])[topic].result, 30)


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=[pytest.mark.real_kafka, pytest.mark.long])])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "kafka":
        yield request.getfixturevalue("real_kafka").bootstrap_servers
        return
    with EmbeddedCluster() as cluster:
        yield cluster.bootstrap_servers


@pytest.fixture
async def scene(servers: str) -> AsyncIterator[Scene]:
    made = Scene(servers)
    async with made.program:
        yield made


async def test_the_topic_decides_how_large_a_record_may_be(scene: Scene) -> None:
    program = scene.program
    small, large = await scene.create(unique("small")), await scene.create(unique("large"), max_message_bytes="9000000")
    values = [b"a", b"v" * 5_000_000, b"b"]
    program.write(large, *values)
    program.write(small, b"c", b"w" * 2_000_000, b"d")
    await program.settled()
    assert sorted(program.confirmed) == sorted([*values, b"c", b"d"])  # type: ignore[type-var]
    [(token, outcome)] = program.refused.items()
    assert token == b"w" * 2_000_000
    assert isinstance(outcome.error, MessageTooLargeError)
    assert not outcome.may_be_written
    assert await program.found(large) == {0: values}
    assert await program.found(small) == {0: [b"c", b"d"]}


async def test_records_wait_for_topics_that_are_missing_and_for_those_that_are_made_again(scene: Scene) -> None:
    program = scene.program
    late, other = unique("late"), await scene.create(unique("other"))
    program.write(late, b"first")
    await program.until(lambda: bool(program.holds))
    [(topic, error)] = program.holds
    assert topic == late
    assert isinstance(error, UnknownTopicOrPartitionError)
    program.write(other, b"o")
    await program.until(lambda: program.confirmed == [b"o"])
    await scene.create(late)
    await program.settled()
    await program.until(lambda: program.holds[1:] == [(late, None)])
    await scene.delete(late)
    program.write(late, b"second")
    await program.until(lambda: len(program.holds) == 3)
    await scene.create(late)
    await program.settled()
    await program.until(lambda: len(program.holds) == 4)
    assert program.confirmed == [b"o", b"first", b"second"]
    assert await program.found(late) == {0: [b"second"]}


# ------------------------------------------------------------------------------------------ three nodes


@pytest.fixture(scope="module")
def nodes(real_kafka: object) -> Iterator[dict[int, TrioNode]]:
    with kafka_trio({"broker.session.timeout.ms": SESSION_MS, "replica.lag.time.max.ms": SESSION_MS}) as started:
        yield started


@pytest.fixture
async def trio(nodes: dict[int, TrioNode]) -> AsyncIterator[Scene]:
    made = Scene(",".join(node.bootstrap_servers for node in nodes.values()))
    async with made.program:
        yield made


@pytest.mark.real_kafka
@pytest.mark.long
async def test_a_topic_whose_follower_stands_still_delays_no_other_topic(
    nodes: dict[int, TrioNode], trio: Scene
) -> None:
    """They have the same leader, which answers nothing more on a connection on which a request waits for replicas."""
    program = trio.program
    slow = await trio.create(unique("slow"), [[1, 2]], min_insync_replicas="1")
    fast = await trio.create(unique("fast"), [[1]])
    program.write(slow, b"slow 0")
    program.write(fast, b"fast 0")
    await program.settled()
    with standing_still(nodes[2].process_id):
        program.write(slow, b"slow 1")
        for number in range(1, 30):
            program.write(fast, b"fast %d" % number)
            program.write(slow, b"slow %d" % (number + 1))
            await program.until(lambda number=number: b"fast %d" % number in program.confirmed)  # type: ignore[misc]
            assert b"slow 1" not in program.confirmed
    await program.settled()
    assert len(program.confirmed) == 61
    assert await program.found(slow) == {0: [b"slow %d" % number for number in range(31)]}


@pytest.mark.real_kafka
@pytest.mark.long
async def test_each_record_is_written_once_and_in_order_while_nodes_are_killed(
    nodes: dict[int, TrioNode], trio: Scene
) -> None:
    program, topic = trio.program, await trio.create(unique("topic"), [[1, 2, 3], [2, 3, 1]], min_insync_replicas="2")
    written: list[list[bytes]] = [[], []]
    actions = {10: nodes[1].kill, 20: nodes[1].restart, 30: nodes[2].kill, 40: nodes[2].restart}
    for step in range(60):
        for partition, values in enumerate(written):
            new = [b"%d.%d.%d" % (partition, step, each) for each in range(10)]
            values.extend(new)
            program.write(topic, *new, partition=partition)
        if (action := actions.get(step)) is not None:
            await asyncio.to_thread(action)
        await program.until(lambda: program.room.unconfirmed < 200)
    await program.settled()
    assert program.refused == {}
    assert sorted(program.confirmed) == sorted(written[0] + written[1])  # type: ignore[type-var]
    assert await program.found(topic, 2) == dict(enumerate(written))
