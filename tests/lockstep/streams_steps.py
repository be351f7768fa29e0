"""Steps of members of streams groups (KIP-1071). The clients `one`, `two` and `three` are static members."""

import enum
from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.groups.streams.tasks import Tasks, listed_offsets, listed_tasks
from kafka_groups.protocol.messages.list_groups import ListGroupsRequest
from kafka_groups.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_groups.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_groups.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatTopology,
)
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, TaskOffset, UserEndpoint
from kafka_groups.types import TaskId
from tests.lockstep.epoch_members import STREAMS, instance_sent, remember
from tests.lockstep.offset_steps import CommitOffsets, FetchOffsets
from tests.lockstep.side import Side
from tests.lockstep.steps import GROUP, Change, Place, Question
from tests.lockstep.streams_members import StreamsState, Told
from tests.lockstep.streams_topologies import MALFORMED, TOPOLOGIES

_ALL: Tasks = frozenset(TaskId(subtopology_id, number) for subtopology_id in ("0", "1") for number in (0, 1))


class Owns(enum.Enum):
    """Which tasks a member says that it owns."""

    UNCHANGED = enum.auto()
    """It says nothing."""
    TOLD = enum.auto()
    """Those that it was told, so that it has revoked all others."""
    STILL = enum.auto()
    """Also those that it was told before."""
    NOTHING = enum.auto()
    EVERYTHING = enum.auto()
    """Also those of others, which no client would say."""
    SWAPPED = enum.auto()
    """Its active tasks as standby tasks, and the reverse."""
    UNKNOWN = enum.auto()
    """A task that the topology does not have."""
    ONLY_ACTIVE = enum.auto()
    """Only one of the three lists."""

    def __repr__(self) -> str:
        return f"Owns.{self.name}"


_OWNED: Mapping[Owns, Callable[[StreamsState], Told]] = {
    Owns.TOLD: lambda state: state.told,
    Owns.STILL: lambda state: Told(
        state.told.active | state.before.active, (state.told.standby | state.before.standby) - state.told.active
    ),
    Owns.NOTHING: lambda _state: Told(),
    Owns.EVERYTHING: lambda _state: Told(_ALL),
    Owns.SWAPPED: lambda state: Told(state.told.standby, state.told.active),
    Owns.UNKNOWN: lambda state: Told(state.told.active | {TaskId("7", 0)}, state.told.standby),
    Owns.ONLY_ACTIVE: lambda state: state.told,
}


@frozen(kw_only=True, repr=False)
class StreamsHeartbeat(Change):
    """StreamsGroupHeartbeat, with what the client remembers.

    Attributes:
        epoch: The member epoch, if it is not the one that the client remembers.
        shift: What to add to the epoch.
        fresh: Whether the client has been started again, with another member id.
        topology: The name of the topology that is sent.
        topology_epoch: The epoch of that topology.
        owns: Which tasks it says that it owns.
        process: The process, if it says which one.
        rack: The rack, if it says which one.
        tags: The client tags, if it says which ones.
        port: The port at which it answers queries, if it says which one.
        knows_endpoints: Whether it says which epoch of endpoints it knows.
        offsets: Offsets of the tasks of the first sub-topologies, if it reports them.
        ends: The ends of their changelogs, if it reports them.
        shutdown: Whether it asks all to shut down.
        instance: The instance id, if it is not that of the client; empty for none.
        of: Another client, whose member id is sent.
        rebalance_timeout_ms: As in the request.
        group: The group.
    """

    epoch: int | None = None
    shift: int = 0
    fresh: bool = False
    topology: str | None = None
    topology_epoch: int = 1
    owns: Owns = Owns.UNCHANGED
    process: str | None = None
    rack: str | None = None
    tags: tuple[str, ...] | None = None
    port: int | None = None
    knows_endpoints: bool = True
    offsets: tuple[tuple[str, int, int], ...] | None = None
    ends: tuple[tuple[str, int, int], ...] | None = None
    shutdown: bool = False
    instance: str | None = None
    of: str | None = None
    rebalance_timeout_ms: int = -1
    group: str = GROUP

    @property
    def is_odd(self) -> bool:
        """Whether a client would not send this, so that it remembers nothing of the response."""
        return self.instance is not None or self.of is not None or self.group != GROUP or self.is_malformed

    @property
    def is_malformed(self) -> bool:
        """Whether its topology contradicts itself in a way that Kafka does not check."""
        return self.topology in MALFORMED or self.topology_epoch < 0

    def member_id(self, side: Side) -> str:
        """The member id that is sent."""
        return STREAMS.id_of(side, self.by if self.of is None else self.of)

    def instance_id(self) -> str | None:
        """The instance id that is sent."""
        return instance_sent(self.by, self.instance)

    def request(self, side: Side) -> Any:
        """The request."""
        state = side.streams[self.by]
        if self.fresh and not self.is_odd:
            state = side.streams[self.by] = StreamsState(life=state.life + 1)
        return StreamsGroupHeartbeatRequest(
            group_id=side.group_id(self.group),
            member_id=self.member_id(side),
            member_epoch=(state.epoch if self.epoch is None else self.epoch) + self.shift,
            endpoint_information_epoch=state.endpoints_epoch if self.knows_endpoints else -1,
            instance_id=self.instance_id(),
            rack_id=self.rack,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            topology=None if self.topology is None else self._topology(side, self.topology),
            process_id=self.process,
            user_endpoint=None if self.port is None else UserEndpoint(host="host", port=self.port),
            client_tags=None if self.tags is None else tuple(KeyValue(key=key, value="x") for key in self.tags),
            task_offsets=_reported(self.offsets),
            task_end_offsets=_reported(self.ends),
            shutdown_application=self.shutdown,
            **self._owned(state),
        )

    def note(self, side: Side, response: Any) -> None:
        """Remember what the response says, as a client does."""
        if not self.is_odd:
            remember(side.streams[self.by], response)

    def _topology(self, side: Side, name: str) -> StreamsGroupHeartbeatTopology:
        subtopologies = TOPOLOGIES[name](side.topic_name)
        return StreamsGroupHeartbeatTopology(epoch=self.topology_epoch, subtopologies=subtopologies)

    def _owned(self, state: StreamsState) -> Mapping[str, Any]:
        if self.owns is Owns.UNCHANGED:
            return {}
        owned = _OWNED[self.owns](state)
        listed: dict[str, Any] = {"active_tasks": listed_tasks(owned.active)}
        if self.owns is not Owns.ONLY_ACTIVE:
            listed |= {"standby_tasks": listed_tasks(owned.standby), "warmup_tasks": ()}
        return listed


def _reported(offsets: tuple[tuple[str, int, int], ...] | None) -> tuple[TaskOffset, ...] | None:
    if offsets is None:
        return None
    if len({each[:2] for each in offsets}) == len(offsets):
        return listed_offsets({TaskId(subtopology_id, number): offset for subtopology_id, number, offset in offsets})
    return tuple(TaskOffset(subtopology_id=each, partition=number, offset=offset) for each, number, offset in offsets)


@frozen(kw_only=True, repr=False)
class RemoveStreams(Change):
    """LeaveGroup with members of the streams group, which Kafka refuses."""

    members: tuple[tuple[str, str | None], ...]

    def request(self, side: Side) -> Any:
        """The request."""
        return STREAMS.removing(side, self.members)


@frozen(kw_only=True, repr=False)
class StreamsCommit(CommitOffsets):
    """OffsetCommit from a member of a streams group."""

    def request(self, side: Side) -> Any:
        """The request."""
        places = _known(side, self.places)
        made: OffsetCommitRequest = CommitOffsets.request(evolve(self, places=places), side)
        return made if self.outside else STREAMS.committing(made, side, self.by, self.shift)


def _known(side: Side, places: tuple[Place, ...]) -> tuple[Place, ...]:
    """The places without those of a second unknown topic: all unknown ones have one id."""
    unknown = [name for name in dict.fromkeys(name for name, _ in places) if name not in side.topics]
    return tuple(place for place in places if place[0] not in unknown[1:])


@frozen(kw_only=True, repr=False)
class StreamsFetchOffsets(FetchOffsets):
    """OffsetFetch from a member of a streams group, which must know its epoch, or from outside."""

    shift: int = 0
    outside: bool = False
    version: int | None = 9

    def request(self, side: Side) -> Any:
        """The request."""
        made: OffsetFetchRequest = FetchOffsets.request(self, side)
        return made if self.outside else STREAMS.fetching(made, side, self.by, self.shift)


@frozen(kw_only=True, repr=False)
class DescribeStreamsGroup(Question):
    """StreamsGroupDescribe."""

    group: str = GROUP

    def request(self, side: Side) -> Any:
        """The request."""
        return StreamsGroupDescribeRequest(group_ids=(side.group_id(self.group),))


@frozen(kw_only=True, repr=False)
class ListStreamsGroups(Question):
    """ListGroups. Groups of other runs are not looked at."""

    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    def request(self, _side: Side) -> Any:
        """The request."""
        return ListGroupsRequest(states_filter=self.states, types_filter=self.types)
