"""One classic group: its members, the generation that they are in, and the checks of requests against it.

Only `replay` sets the hard state, which is the last record. Everything else is what the group is doing now: members of
a round, requests that wait. The next coordinator starts again from the record.
"""

from collections.abc import Callable, Iterable

from attrs import define, field, frozen

from kafka_groups.broker.coordinators.groups.classic.members import ClassicMember, ParkedJoin
from kafka_groups.broker.coordinators.groups.classic.states import (
    ClassicGroupEvent,
    ClassicGroupState,
    next_classic_group_state,
)
from kafka_groups.broker.coordinators.groups.classic.supported_protocols import SupportedProtocols, elected
from kafka_groups.errors import FencedInstanceIdError, MemberDataError, UnknownMemberIdError
from kafka_groups.protocol.consumer_protocol import subscribed_topics
from kafka_groups.protocol.coordinator_records.offsets import GroupMetadataValue
from kafka_groups.protocol.messages.join_group import JoinGroupRequest

__all__ = ["NO_TIMESTAMP", "ClassicGroup", "InitialRound"]

NO_TIMESTAMP = -1
"""In place of the time of the last change of a group's state, in old records."""

_CONSUMER = "consumer"
"""The protocol type of consumers. The coordinator reads the metadata of no other type."""


@define
class InitialRound:
    """The first round after a group was empty: it waits for members that start at the same time.

    Attributes:
        delay_ms: The length of the current wait.
        remaining_ms: The part of the rebalance timeout that is left after it.
        has_newcomers: Whether members have joined during the current wait.
    """

    delay_ms: int
    remaining_ms: int
    has_newcomers: bool = False


@frozen
class _Announced:
    """A record that an operation has returned, and what happens once it is stored."""

    value: GroupMetadataValue
    stored: Callable[[], None]


@define(eq=False)
class ClassicGroup:
    """One classic group.

    Attributes:
        stored: The hard state: the last record. None if there is no record, because consumers that do not join have
            committed offsets, or because the first record is on its way.
        state_timestamp_ms: Wall-clock time of the last change of the state, or `NO_TIMESTAMP` if it is not known.
        protocol_type: The group's type, or None if no member ever joined.
        protocol: The protocol of the current generation.
        leader: Member id of the leader.
        members: The members by id.
        static_members: Member ids by instance id.
        pending_joins: Ids that were given to members which have to join again with them (KIP-394).
        pending_syncs: Ids of members that have not sent SyncGroup in this generation.
        joins_waiting: The number of members with a waiting JoinGroup request.
        initial_round: Set while the first round after the group was empty waits for members.
    """

    group_id: str
    stored: GroupMetadataValue | None = None
    state: ClassicGroupState = ClassicGroupState.EMPTY
    state_timestamp_ms: int = NO_TIMESTAMP
    protocol_type: str | None = None
    protocol: str | None = None
    generation: int = 0
    leader: str | None = None
    members: dict[str, ClassicMember] = field(factory=dict)
    static_members: dict[str, str] = field(factory=dict)
    pending_joins: set[str] = field(factory=set)
    pending_syncs: set[str] = field(factory=set)
    joins_waiting: int = 0
    initial_round: InitialRound | None = None
    _supported_protocols: SupportedProtocols = field(factory=SupportedProtocols)
    _announced: _Announced | None = None
    _topics: frozenset[str] | None = None

    # ----------------------------------------------------------------------------------------- questions

    @property
    def is_empty(self) -> bool:
        """True if the group is in the state Empty."""
        return self.state is ClassicGroupState.EMPTY

    @property
    def is_of_consumers(self) -> bool:
        """True if the members are consumers, whose subscriptions the coordinator can read."""
        return self.protocol_type == _CONSUMER

    @property
    def has_all_joined(self) -> bool:
        """True if all members wait for the end of the round and every assigned member id has been used to join."""
        # A member id that was given out (KIP-394) counts as a member that is yet to join, so that the round waits for
        # it (ClassicGroup.hasAllMembersJoined in Kafka).
        return self.joins_waiting == len(self.members) and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        """The duration of a round: the longest rebalance timeout of any member."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def is_subscribed(self, topic: str) -> bool:
        """Return whether a member of the current generation subscribes to a topic, or may do so."""
        # Three cases, as in ClassicGroup.isSubscribedToTopic in Kafka. Members of other types have no topics that a
        # coordinator knows of. If the subscriptions of consumers cannot be read, they may have any topic.
        if not self.is_of_consumers:
            return False
        return self._topics is None or topic in self._topics

    @property
    def knows_subscriptions(self) -> bool:
        """True if the subscriptions of all members could be read."""
        return self.is_of_consumers and self._topics is not None

    def supports(self, request: JoinGroupRequest) -> bool:
        """Return whether a member with this protocol type and these protocols may join the group."""
        # The first member decides what an empty group is for, so any type will do, but none is not enough
        # (ClassicGroup.supportsProtocols in Kafka).
        if self.is_empty:
            return bool(request.protocol_type and request.protocols)
        # Otherwise all members must have a protocol in common with the new one, or no protocol could be chosen.
        is_same_type = self.protocol_type == request.protocol_type
        return is_same_type and self._supported_protocols.has_common(request.protocols, len(self.members))

    def check_member(self, member_id: str, group_instance_id: str | None) -> ClassicMember:
        """Return a member after checking its ids.

        Raises:
            UnknownMemberIdError: The group has no such instance or member.
            FencedInstanceIdError: The instance has another member id, because it was started again.
        """
        # The instance is checked before the member, so that the former process of a restarted static member learns that
        # it is fenced, and not that it is unknown, which would let it join again (KIP-345, "Join Group Logic Change";
        # ClassicGroup.validateMember in Kafka).
        if group_instance_id is not None:
            current = self.static_members.get(group_instance_id)
            if current is None:
                raise UnknownMemberIdError(f"Group {self.group_id} has no instance {group_instance_id}.")
            if current != member_id:
                raise FencedInstanceIdError(f"The instance {group_instance_id} has been started again.")
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberIdError(f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    # ------------------------------------------------------------------------------------------- members

    def add(self, member: ClassicMember, protocol_type: str) -> None:
        """Add a member. The first one leads, and says what the group is for."""
        if not self.members:
            self.protocol_type = protocol_type
        # The first member leads until it leaves or misses a round (ClassicGroup.add in Kafka).
        self.leader = self.leader or member.member_id
        self._put(member)
        self.pending_joins.discard(member.member_id)

    def remove(self, member_id: str) -> ClassicMember | None:
        """Remove a member, or an id that was given to one that is yet to join. If it led, another member leads."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._supported_protocols.remove(member.protocols)
            self.joins_waiting -= member.parked_join is not None
            if member.group_instance_id is not None:
                del self.static_members[member.group_instance_id]
        # Kafka also appoints any other member at once, even between two rounds (ClassicGroup.remove).
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending_joins.discard(member_id)
        return member

    def replace(self, old: ClassicMember, new: ClassicMember) -> None:
        """Let a restarted static member take the place of the one that it was.

        As in Kafka, a SyncGroup that is due from the old one stays due.
        """
        del self.members[old.member_id]
        self._supported_protocols.remove(old.protocols)
        self.joins_waiting -= old.parked_join is not None
        self._put(new)
        # The restarted member leads in place of the old one (ClassicGroup.replaceStaticMember in Kafka).
        if self.leader == old.member_id:
            self.leader = new.member_id

    def park_join(self, member: ClassicMember, parked: ParkedJoin) -> ParkedJoin | None:
        """Let the JoinGroup request of a member wait for the end of the round. Returns one that it replaces."""
        before, member.parked_join = member.parked_join, parked
        self.joins_waiting += before is None
        return before

    def take_join(self, member: ClassicMember) -> ParkedJoin | None:
        """Return the JoinGroup request of a member that waits. It no longer does."""
        parked, member.parked_join = member.parked_join, None
        self.joins_waiting -= parked is not None and member.member_id in self.members
        return parked

    def update(self, member: ClassicMember, request: JoinGroupRequest) -> None:
        """Take over what a member says about itself when it joins again."""
        self._supported_protocols.remove(member.protocols)
        member.follow(request)
        self._supported_protocols.add(member.protocols)

    def elect_joined_leader(self) -> bool:
        """Let a member lead that has joined the round, and return whether there is one."""
        if self.leader is None:
            return False
        # A leader that has not joined the round could not assign partitions in it. It may still be a member: a static
        # one stays until its session ends (ClassicGroup.maybeElectNewJoinedLeader in Kafka).
        if self.members[self.leader].parked_join is not None:
            return True
        joined = next((member for member in self.members.values() if member.parked_join is not None), None)
        if joined is not None:
            self.leader = joined.member_id
        return joined is not None

    def elected_protocol(self, *, old: ClassicMember | None = None, new: ClassicMember | None = None) -> str:
        """Return the protocol that the members choose. If given, one member is replaced with another."""
        members = (member if member is not old else new for member in self.members.values())
        return elected([[each.name for each in member.protocols] for member in members if member is not None])

    # -------------------------------------------------------------------------------------------- states

    def transition(self, event: ClassicGroupEvent, wall_ms: int) -> None:
        """Change the state."""
        self.state = next_classic_group_state(self.state, event)
        self.state_timestamp_ms = wall_ms

    def start_generation(self, wall_ms: int) -> None:
        """Start the next generation with the members that are there, or without members."""
        # A generation without members increases the number, too, so that members of the one before get
        # ILLEGAL_GENERATION (ClassicGroup.initNextGeneration in Kafka).
        self.generation += 1
        self.initial_round = None
        self.protocol = self.elected_protocol() if self.members else None
        self._read_subscriptions()
        self.transition(ClassicGroupEvent.JOINED if self.members else ClassicGroupEvent.EMPTIED, wall_ms)

    # ---------------------------------------------------------------------------------------- hard state

    def current(self, members: Iterable[ClassicMember] | None = None) -> GroupMetadataValue:
        """Return the current generation as a record contains it, with these members, or those of the group."""
        chosen = self.members.values() if members is None else members
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            current_state_timestamp_ms=self.state_timestamp_ms,
            members=tuple(member.stored(self.protocol, member.assignment) for member in chosen),
        )

    def announce(self, value: GroupMetadataValue, stored: Callable[[], None]) -> None:
        """Note that an operation returns this record, and what happens when it is replayed."""
        self._announced = _Announced(value, stored)

    def replay(self, value: GroupMetadataValue) -> None:
        """Apply a record: finish the operation that has returned it, or start from what another coordinator stored."""
        # There are two cases. If this shard has written the record, the operation that returned it goes on. If the
        # record comes from another coordinator, nothing is under way here, and the group begins with what was stored.
        announced, self._announced, self.stored = self._announced, None, value
        if announced is not None and announced.value == value:
            announced.stored()
        else:
            self._restore(value)

    def adopt(self, value: GroupMetadataValue) -> None:
        """Start with the members of a group that was of another type."""
        self._restore(value)

    def _restore(self, value: GroupMetadataValue) -> None:
        # Records are written when a generation has its assignments, or has no members. So a group that is loaded is
        # either Stable or Empty. A round that was under way is lost, and its members start it again.
        self.state = ClassicGroupState.STABLE if value.members else ClassicGroupState.EMPTY
        self.state_timestamp_ms = value.current_state_timestamp_ms
        self.protocol_type, self.protocol = value.protocol_type or None, value.protocol
        self.generation, self.leader = value.generation, value.leader if value.members else None
        self.members, self.static_members, self._supported_protocols = {}, {}, SupportedProtocols()
        self.pending_joins, self.pending_syncs = set(), set()
        self.joins_waiting, self.initial_round = 0, None
        for member in value.members:
            self._put(ClassicMember.loaded(member, value.protocol))
        self._read_subscriptions()

    def _put(self, member: ClassicMember) -> None:
        self.members[member.member_id] = member
        self._supported_protocols.add(member.protocols)
        self.joins_waiting += member.parked_join is not None
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id

    def _read_subscriptions(self) -> None:
        self._topics = None
        if self.is_of_consumers:
            self._topics = _subscribed_topics(member.metadata(self.protocol) for member in self.members.values())


# ---------------------------------------------------------------------------------------- subscriptions


def _subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Return the topics that members subscribe to, or None if one of the subscriptions cannot be read."""
    try:
        return frozenset(topic for each in subscriptions for topic in subscribed_topics(each))
    except MemberDataError:
        # A client wrote these bytes, and the protocol does not make it keep to the form. Kafka treats such
        # subscriptions as unknown, too (ClassicGroup.computeSubscribedTopics).
        return None
