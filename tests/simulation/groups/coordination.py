"""The coordinator of a group in a simulation: whether there is one, when it is lost, and how it is moved."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from kafka_groups.broker.metadata.placement import GROUP_TOPIC, partition_of_key
from kafka_groups.broker.runtime.coordinator_runtime import CoordinatorRuntime
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupRequestMember
from kafka_groups.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.groups.coordinator_link import CoordinatorLink

__all__ = [
    "is_coordinated",
    "is_steady",
    "link_to",
    "move_coordinator",
    "read_offsets",
    "remove_instance",
    "told_of_losses",
    "within",
]

_NEWEST_LEAVE, _FETCH_BY_NAME = 5, 9


def link_to(world: SimulatedWorld, group_id: str, client_id: str) -> CoordinatorLink:
    """A way to the coordinator of a group. It is not connected yet."""
    return CoordinatorLink(world._stage.network, world.cluster.bootstrap_servers, group_id, client_id)


def is_coordinated(world: SimulatedWorld, group_id: str) -> bool:
    """Whether a coordinator has loaded the group."""
    runtimes = [node._services.coordinators.groups.runtime for node in world.cluster._core.nodes.values()]
    return any(each.active_shard(each.index_of(group_id)) is not None for each in runtimes)


@contextmanager
def told_of_losses(group_id: str, tell: Callable[[], None]) -> Iterator[None]:
    """Call a function when the group's coordinator is gone."""
    resign = CoordinatorRuntime._resign

    def told(self: CoordinatorRuntime[Any], led: Any) -> None:
        if self._kind.topic == GROUP_TOPIC and led.address.index == self.index_of(group_id):
            tell()
        resign(self, led)

    with patch.object(CoordinatorRuntime, "_resign", told):
        yield


def move_coordinator(world: SimulatedWorld, group_id: str) -> None:
    """Let another broker coordinate the group."""
    topic = world.cluster.metadata.topic(GROUP_TOPIC)
    assert topic is not None
    partition = partition_of_key(group_id, topic.num_partitions)
    leader = topic.partitions[partition].leader_id
    others = [each for each in world.cluster.running_brokers if each != leader]
    world.cluster.move_leader(GROUP_TOPIC, partition, world.rng.choice(others))


async def remove_instance(world: SimulatedWorld, group_id: str, instance: str) -> None:
    """Remove an instance, as an administrator does."""
    leaving = LeaveGroupRequestMember(member_id="", group_instance_id=instance)
    link = link_to(world, group_id, "admin")
    try:
        await link.find(world.rng.randrange(3))
        await link.ask(LeaveGroupRequest(group_id=group_id, members=(leaving,)), _NEWEST_LEAVE)
        world.struck["removed"] += 1
    except KafkaGroupsError as error:
        world.note("admin met", type(error).__name__)
    finally:
        link.close()


async def read_offsets(world: SimulatedWorld, group_id: str) -> None:
    """Ask for all committed offsets, which a ledger compares with what was committed."""
    link = link_to(world, group_id, "reader")
    await link.find(0)
    request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group_id, topics=None),))
    [group] = (await link.ask(request, _FETCH_BY_NAME)).groups
    world.struck["offsets"] += sum(len(topic.partitions) for topic in group.topics)
    link.close()


async def is_steady(is_calm: Callable[[], bool], mark: Callable[[], int], steady_s: float, within_s: float) -> bool:
    """Wait until nothing has happened for so long that no session of an earlier member is left that may end.

    Args:
        is_calm: Whether all is as it should be.
        mark: What changes if something happens.
        steady_s: How long nothing may happen.
        within_s: The longest wait.
    """
    since = (asyncio.get_running_loop().time(), mark())

    def has_been_steady() -> bool:
        nonlocal since
        now_s, marked = asyncio.get_running_loop().time(), mark()
        if not is_calm() or marked != since[1]:
            since = now_s, marked
        return now_s - since[0] > steady_s

    return await within(within_s, has_been_steady)


async def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Wait for a condition, and return whether it came about within so many virtual seconds."""
    deadline_s = asyncio.get_running_loop().time() + seconds
    while not condition():
        if asyncio.get_running_loop().time() > deadline_s:
            return False
        await asyncio.sleep(0.2)
    return True
