"""The states of streams groups (KIP-1071): every row of the coordinator's table, seen by StreamsGroupDescribe."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType

import pytest

from kafka_groups.broker.coordinators.groups.streams.states import (
    STREAMS_GROUP_TRANSITIONS,
    StreamsGroupEvent,
    StreamsGroupState,
)
from kafka_groups.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatTopology, StreamsStatus
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.raw_streams_group import A, B, C, RawStreamsGroup, has_status, new_group
from tests.support.members.streams_member import StreamsMember
from tests.support.members.streams_topologies import sent, subtopology
from tests.support.streams_brokers import everywhere_at_once
from tests.support.targets import Target

DEAD_IS = "GROUP_ID_NOT_FOUND"
_S, _E = StreamsGroupState, StreamsGroupEvent
_A_MINUTE, _LONGEST_INTERVAL = "60000", "15000"
MISSING = StreamsStatus.MISSING_SOURCE_TOPICS


class Scene:
    """A group whose topology reads two topics; one of them comes and goes."""

    def __init__(self, group: RawStreamsGroup) -> None:
        self.group = group
        self.coming = unique("coming")
        self._topic: Topic | None = None
        self.first, self.second, self.third = (group.member(each) for each in (A, B, C))

    @property
    def topology(self) -> StreamsGroupHeartbeatTopology:
        """The topology."""
        return sent(subtopology("0", sources=(self.group.topic.name, self.coming)))

    # --------------------------------------------------------------------------------------------- members

    async def join(self, *members: StreamsMember) -> None:
        """Let members join."""
        for member in members:
            assert (await member.join(self.topology)).error == "NONE"

    async def beat(self, member: StreamsMember) -> None:
        """Let a member send a heartbeat."""
        assert (await member.beat()).error == "NONE"

    async def beat_with(self, status: StreamsStatus) -> None:
        """Let the first member send heartbeats until it is told something: coordinators hear late of topics."""
        await until(self.first.beat, partial(has_status, status))

    async def beat_without_status(self) -> None:
        """Let the first member send heartbeats until the topology works."""
        await until(self.first.beat, lambda beat: MISSING not in beat.statuses)

    # ---------------------------------------------------------------------------------------------- topics

    async def make_topic(self) -> None:
        """Create the topic that is missing."""
        self._topic = await self.group.target.cluster.create_topic(2, name=self.coming)
        await self.group.until_coordinators_know(self.topology)

    async def drop_topic(self) -> None:
        """Delete the topic again."""
        assert self._topic is not None
        await self.group.target.cluster.delete_topic(self._topic)
        await self.group.until_coordinators_know(self.topology, [MISSING])

    # ---------------------------------------------------------------------------------------------- states

    async def become_empty(self) -> None:
        """The only member has left."""
        await self.become_stable()
        await self.first.leave()

    async def become_not_ready(self) -> None:
        """A member is there, and a source topic is not."""
        await self.join(self.first)

    async def become_assigning(self) -> None:
        """Of two members, the second has left, and the first has not heartbeated since."""
        await self.become_reconciling()
        await self.second.leave()

    async def become_reconciling(self) -> None:
        """A second member has joined, and the first has not heartbeated since."""
        await self.become_stable()
        await self.join(self.second)

    async def become_stable(self) -> None:
        """The only member has all tasks."""
        await self.make_topic()
        await self.join(self.first)

    # ---------------------------------------------------------------------------------------------- events

    async def empty_breaks(self) -> None:
        """A member joins, and a source topic is gone."""
        await self.drop_topic()
        await self.join(self.second)

    async def empty_changes(self) -> None:
        """A member joins, and the group waits for more."""
        await self.group.configure({"initial.rebalance.delay.ms": _A_MINUTE})
        await self.join(self.second)

    async def delete(self) -> None:
        """The group is deleted."""
        coordinator = await self.group.target.cluster.coordinator_of(self.group.group_id)
        deleted = await coordinator.ask(DeleteGroupsRequest(groups_names=(self.group.group_id,)))
        assert deleted.results[0].error_code.name == "NONE"

    async def not_ready_changes(self) -> None:
        """The missing topic comes, before the next assignment is due."""
        await self.group.configure({"assignment.interval.ms": _LONGEST_INTERVAL})
        await self.beat(self.first)
        await self.make_topic()
        await self.beat_without_status()

    async def not_ready_is_assigned(self) -> None:
        """The missing topic comes, and one of two members hears of its tasks."""
        await self.join(self.second)
        await self.make_topic()
        await self.beat(self.first)

    async def not_ready_is_reconciled(self) -> None:
        """The missing topic comes, and the only member gets its tasks."""
        await self.make_topic()
        await self.beat(self.first)

    async def breaks(self) -> None:
        """A source topic goes."""
        await self.drop_topic()
        await self.beat_with(MISSING)

    async def assigning_is_assigned(self) -> None:
        """The first member gets its part of an assignment for two."""
        await self.first.beat()
        await self.join(self.third)  # this is assigned at once
        await self.join(self.second)
        await self.third.leave()
        assert await self.group.state_name() == _S.ASSIGNING
        await self.beat(self.first)

    async def first_heartbeats(self) -> None:
        """The first member, which is the only one, has all tasks again."""
        await self.beat(self.first)

    async def second_leaves(self) -> None:
        """One of two members leaves."""
        await self.second.leave()

    async def reconciling_is_reconciled(self) -> None:
        """The first member gives up its tasks, and the second gets them."""
        await self.group.balanced(self.first, self.second)

    async def reconciling_is_emptied(self) -> None:
        """A static member, which the group waits for, leaves for good."""
        await self.first.leave()
        await self.second.leave()
        static = self.group.member(C, "i")
        await self.join(static)
        await static.leave_for_a_while()
        assert await self.group.state_name() == _S.RECONCILING
        await static.leave()

    async def second_joins(self) -> None:
        """A second member joins."""
        await self.join(self.second)

    async def second_joins_and_leaves(self) -> None:
        """A second member joins, has its tasks, and leaves."""
        await self.join(self.second)
        await self.group.balanced(self.first, self.second)
        await self.second.leave()

    async def first_leaves(self) -> None:
        """The only member leaves."""
        await self.first.leave()


Step = Callable[[Scene], Awaitable[None]]

BECOME: Mapping[StreamsGroupState, Step] = MappingProxyType({
    _S.EMPTY: Scene.become_empty,
    _S.NOT_READY: Scene.become_not_ready,
    _S.ASSIGNING: Scene.become_assigning,
    _S.RECONCILING: Scene.become_reconciling,
    _S.STABLE: Scene.become_stable,
})  # fmt: skip
"""How a group gets into each state."""

HAPPEN: Mapping[tuple[StreamsGroupState, StreamsGroupEvent], Step] = MappingProxyType({
    (_S.EMPTY, _E.BROKEN): Scene.empty_breaks,
    (_S.EMPTY, _E.CHANGED): Scene.empty_changes,
    (_S.EMPTY, _E.RECONCILED): Scene.second_joins,
    (_S.EMPTY, _E.DELETED): Scene.delete,
    (_S.NOT_READY, _E.CHANGED): Scene.not_ready_changes,
    (_S.NOT_READY, _E.ASSIGNED): Scene.not_ready_is_assigned,
    (_S.NOT_READY, _E.RECONCILED): Scene.not_ready_is_reconciled,
    (_S.NOT_READY, _E.EMPTIED): Scene.first_leaves,
    (_S.ASSIGNING, _E.BROKEN): Scene.breaks,
    (_S.ASSIGNING, _E.ASSIGNED): Scene.assigning_is_assigned,
    (_S.ASSIGNING, _E.RECONCILED): Scene.first_heartbeats,
    (_S.ASSIGNING, _E.EMPTIED): Scene.first_leaves,
    (_S.RECONCILING, _E.BROKEN): Scene.breaks,
    (_S.RECONCILING, _E.CHANGED): Scene.second_leaves,
    (_S.RECONCILING, _E.RECONCILED): Scene.reconciling_is_reconciled,
    (_S.RECONCILING, _E.EMPTIED): Scene.reconciling_is_emptied,
    (_S.STABLE, _E.BROKEN): Scene.breaks,
    (_S.STABLE, _E.CHANGED): Scene.second_joins_and_leaves,
    (_S.STABLE, _E.ASSIGNED): Scene.second_joins,
    (_S.STABLE, _E.EMPTIED): Scene.first_leaves,
})  # fmt: skip
"""What happens then. Some events come from another way into the state, and look at it themselves."""

ROWS = [pytest.param(*row, id=f"{row[0].value}-{row[1].value}") for row in STREAMS_GROUP_TRANSITIONS]


@everywhere_at_once
@pytest.mark.parametrize(("state", "event"), ROWS)
async def test_a_row_of_the_table(target: Target, state: StreamsGroupState, event: StreamsGroupEvent) -> None:
    scene = Scene(await new_group(target))
    await BECOME[state](scene)
    assert await scene.group.state_name() == state
    await HAPPEN[state, event](scene)
    after = STREAMS_GROUP_TRANSITIONS[state, event]
    assert await scene.group.state_name() == (DEAD_IS if after is _S.DEAD else after)
