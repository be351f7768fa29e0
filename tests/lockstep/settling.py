"""What takes its time in a real Kafka: assignments, configs, metadata. Later steps come when both sides are there."""

import asyncio
from typing import Any

from kafka_groups.protocol.error_codes import ErrorCode
from tests.lockstep.differences import Difference, differences
from tests.lockstep.side import Side, Sides
from tests.lockstep.steps import AddPartitions, AlterGroupConfig, CreateTopic, DeleteTopic, Heartbeat, Step
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique

_ROUNDS_ALIKE = 2
_PATIENCE_S = 4.0
_PAUSE_S = 0.02


async def settle(sides: Sides, step: Step, response: Any) -> list[Difference]:
    """Wait until both clusters have done all that follows from a step; what differs even then."""
    has_changed = await settle_metadata(sides, step, response)
    if has_changed or (isinstance(step, Heartbeat) and response.error_code is ErrorCode.NONE):
        return await members_alike(sides)
    return []


async def settle_metadata(sides: Sides, step: Step, response: Any) -> bool:
    """Wait until a change of metadata is known everywhere in both clusters. Returns whether the step made one."""
    match step:
        case AlterGroupConfig() if response.responses[0].error_code is ErrorCode.NONE:
            await asyncio.gather(*(in_force(side) for side in sides))
        case AddPartitions() if response.results[0].error_code is ErrorCode.NONE:
            await asyncio.gather(*(_led(side, step.topic, step.count) for side in sides))
        case CreateTopic() if response.topics[0].error_code is ErrorCode.NONE:
            await asyncio.gather(*(_led(side, step.topic, step.partitions) for side in sides))
        case DeleteTopic() if response.responses[0].error_code is ErrorCode.NONE:
            await asyncio.gather(*(_gone(side, step) for side in sides))
        case _:
            return False
    return True


async def members_alike(sides: Sides) -> list[Difference]:
    """Heartbeat for all members until both groups have told them the same twice in a row."""
    deadline, alike = asyncio.get_running_loop().time() + _PATIENCE_S, 0
    while alike < _ROUNDS_ALIKE:
        real, embedded = await _told(sides.real), await _told(sides.embedded)
        found = [] if real == embedded else differences(real, embedded)
        alike = 0 if found else alike + 1
        if found and asyncio.get_running_loop().time() > deadline:
            return found
        await asyncio.sleep(_PAUSE_S if found else 0)
    return []


async def _told(side: Side) -> dict[str, object]:
    """What the members of the group are told: their epochs, how much is assigned to one, and all of that together.

    Which member gets which partition follows from hashes of ids, which differ between the clusters. The assignor is
    compared with Kafka's on equal ids elsewhere.
    """
    told: dict[str, object] = {}
    sizes: list[int] = []
    together: list[tuple[str, int]] = []
    for name, member in sorted(side.members.items()):
        if member.epoch > 0:
            heartbeat = Heartbeat(by=name, topics=member.topics)  # with topics, so that the answer has the assignment
            response = await side.client(name).ask(heartbeat.request(side))
            heartbeat.note(side, response)
            assigned = _assigned(response, side)
            told[f"settled {name}"] = (response.error_code.name, response.member_epoch)
            sizes.append(len(assigned))
            together += assigned
    subscriptions = {member.topics for member in side.members.values() if member.epoch > 0}
    shares = sorted(sizes) if len(subscriptions) == 1 else "depend on the order, too, where subscriptions differ"
    return {**told, "settled shares": shares, "settled together": sorted(set(together))}


def _assigned(response: Any, side: Side) -> list[tuple[str, int]]:
    listed = response.assignment.topic_partitions if response.assignment else ()
    return [(side.names_of_ids[each.topic_id], index) for each in listed for index in each.partitions]


async def in_force(side: Side) -> None:
    """Wait until a change of metadata is known to the coordinators, too.

    Kafka applies changes one after the other: once it shows a later one, this one is in force everywhere.
    """
    await side.cluster.set_group_config(unique("after"), {"share.session.timeout.ms": "44000"})


async def _led(side: Side, topic: str, partitions: int) -> None:
    await in_force(side)
    name = side.topic_name(topic)
    await until(
        lambda: side.cluster.describe_topic(name),
        lambda it: len(it.partitions) == partitions and all(p.leader_id >= 0 for p in it.partitions),
    )


async def _gone(side: Side, step: DeleteTopic) -> None:
    await in_force(side)
    name = side.topic_name(step.topic)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    await until(lambda: side.cluster.describe_topic(name), lambda it: it.error_code is unknown)
