"""An instance that joins others runs its tasks as soon in a classic group as in a streams group, in virtual time.

Nothing takes time here but the protocols. Members heartbeat every three seconds.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import mean
from typing import Literal

import pytest
from attrs import define, field

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder, Topology
from kafka_groups.testing.simulation import SeededFaults, SimulatedWorld, simulate
from kafka_groups.testing.simulation.streams import instance
from kafka_groups.testing.simulation.streams.instance import Deployment

pytestmark = [pytest.mark.simulation, pytest.mark.slow]

Protocol = Literal["classic", "streams"]
PARTITIONS = 4
TASKS = 2 * PARTITIONS
HEARTBEAT_MS, HEARTBEAT_S = 3_000, 3.0
NO_FAULTS = SeededFaults.only(seconds=0)
KEYS: Mapping[Protocol, Mapping[str, object]] = {
    "streams": {}, "classic": {"group.protocol": "classic", "heartbeat.interval.ms": HEARTBEAT_MS}
}  # fmt: skip
SETTINGS = {
    "group.initial.rebalance.delay.ms": 0, "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.min.heartbeat.interval.ms": HEARTBEAT_MS, "group.streams.heartbeat.interval.ms": HEARTBEAT_MS,
}  # fmt: skip
REST_S = 3 * HEARTBEAT_S
PHASES = [HEARTBEAT_S * (part + 0.5) / 4 for part in range(4)]
LOOK_S, PATIENCE_S = 0.02, 60.0


def word_count() -> Topology:
    builder = StreamsBuilder()
    lines = builder.stream("lines", key=serdes.string, value=serdes.string)
    words = lines.flat_map(lambda _key, text: [(word, word) for word in text.split()])
    counts = words.group_by_key(key=serdes.string, value=serdes.string).count(store="words")
    counts.to_stream().to("counts", key=serdes.string, value=serdes.int64)
    return builder.build()


@define
class Joins:
    """Instances join one after the other. Each begins when the ones before share all tasks, or some time after that.

    Attributes:
        protocol: The protocol of the group.
        instances: How many there are in the end.
        rest_s: How long each waits.
        last_s: How long it took until all instances ran all tasks after the last one had begun.
    """

    protocol: Protocol
    instances: int
    rest_s: float
    last_s: float = field(default=0.0)

    async def __call__(self, world: SimulatedWorld) -> None:
        for topic in ("lines", "counts"):
            world.cluster.create_topic(topic, partitions=PARTITIONS)
        deployment = Deployment(world, word_count, KEYS[self.protocol], {"application_id": "words"}, workers=1)
        loop = asyncio.get_running_loop()
        for number in range(1, self.instances + 1):
            await asyncio.sleep(self.rest_s if number > 1 else 0)
            began_s = loop.time()
            world.start(deployment.run, f"instance-{number}", name=f"instance-{number}")
            await _until(partial(_is_shared, deployment, number))
            self.last_s = loop.time() - began_s


async def _until(condition: Callable[[], bool]) -> None:
    for _ in range(round(PATIENCE_S / LOOK_S)):
        if condition():
            return
        await asyncio.sleep(LOOK_S)
    pytest.fail("The tasks are not shared.")


def _is_shared(deployment: Deployment, instances: int) -> bool:
    """Whether so many instances run all tasks, each its share."""
    workers = [worker for each in deployment.running.values() for worker in each.workers]
    counts = [sum(task.is_running for task in worker.tasks.values()) for worker in workers]
    return len(counts) == instances and sum(counts) == TASKS and min(counts) == TASKS // instances


@pytest.fixture(autouse=True)
def _leader_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance, "_LONGEST_COMPUTING_S", 0.0)


def seconds(protocol: Protocol, instances: int = 2, rests_s: Sequence[float] = (0.0,)) -> list[float]:
    """How long the last of the instances took, for each time of rest."""
    found = []
    for rest_s in rests_s:
        joins = Joins(protocol, instances, rest_s)
        simulate(joins, 1, faults=NO_FAULTS, settings=SETTINGS)
        found.append(joins.last_s)
    return found


def test_one_that_starts_after_another_does_not_wait_for_a_heartbeat_interval() -> None:
    [classic], [streams] = seconds("classic"), seconds("streams")
    assert classic <= streams < HEARTBEAT_S


def test_at_any_other_time_it_waits_for_one_heartbeat_as_in_a_streams_group() -> None:
    rests_s = [REST_S + each for each in PHASES]
    classic, streams = seconds("classic", rests_s=rests_s), seconds("streams", rests_s=rests_s)
    assert mean(classic) <= mean(streams) + HEARTBEAT_S / len(PHASES)  # the times of heartbeats are not the same
    assert max(classic) < HEARTBEAT_S + 0.5


def test_the_second_round_does_not_wait_for_members_that_keep_their_tasks() -> None:
    [classic] = seconds("classic", 6, [REST_S])
    assert classic < HEARTBEAT_S + 0.5
