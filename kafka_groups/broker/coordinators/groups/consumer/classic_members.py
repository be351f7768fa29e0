"""Members of a consumer group that speak the classic protocol: JoinGroup, SyncGroup and Heartbeat (KIP-848).

They take part as all others do: joining again is how they say what they own, and how they get a new epoch, which they
take for a generation. Nobody leads them, and no request waits.
"""

from collections.abc import Mapping
from uuid import UUID

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.groups.classic.replies import join_refused
from kafka_groups.broker.coordinators.groups.consumer.classic_conversion import may_become_classic
from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerDraft, ConsumerGroup
from kafka_groups.broker.coordinators.groups.consumer.groups import ConsumerGroups
from kafka_groups.broker.coordinators.groups.consumer.members import (
    classic_of,
    new_member,
    store_member,
    stored_protocols,
)
from kafka_groups.broker.coordinators.groups.consumer.records import ConsumerGroupRecord
from kafka_groups.broker.coordinators.groups.consumer.settings import ConsumerRules
from kafka_groups.broker.coordinators.groups.consumer.states import ConsumerMemberState
from kafka_groups.broker.coordinators.groups.epochs.members import check_room, known_member, take_over
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.broker.coordinators.result import Effect, Result
from kafka_groups.errors import (
    BrokerError,
    FencedInstanceIdError,
    IllegalGenerationError,
    MemberDataError,
    UnknownMemberIdError,
    error_for,
)
from kafka_groups.protocol.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    subscription_version,
)
from kafka_groups.protocol.coordinator_records.consumer_group import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatTopicPartitions
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_groups.protocol.messages.join_group import (
    FIRST_WITH_MEMBER_ID_REQUIRED,
    JoinGroupRequest,
    JoinGroupResponse,
)
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

__all__ = ["ClassicConsumers"]

_CONSUMER = "consumer"
_REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS
_UNREVOKED = ConsumerMemberState.UNREVOKED_PARTITIONS
_UNRELEASED = ConsumerMemberState.UNRELEASED_PARTITIONS
_NOT_SET = -1


@frozen
class ClassicConsumers:
    """The operations of such members.

    Attributes:
        groups: The groups.
        topics: The topics of the cluster.
        rules: The settings.
    """

    groups: ConsumerGroups
    topics: TopicsImage
    rules: ConsumerRules

    def join(
        self, request: JoinGroupRequest, client: MemberClient, version: int, now_ms: int
    ) -> Result[JoinGroupResponse, ConsumerGroupRecord]:
        """Let a member join, or join again. Errors are in the response."""
        draft = ConsumerDraft(self.groups.group(request.group_id))
        try:
            # The checks are those of GroupMetadataManager.classicGroupJoinToConsumerGroup in Kafka, which looks at the
            # instance only after the size of the group and the protocols.
            owner = self._owner(draft.group, request)
            _check_protocols(draft.group, request)
            member_id = self._entered(draft, request, version, owner)
            subscription = _subscription(request)
        except _IdRequiredError as error:
            return Result(join_refused(ErrorCode.MEMBER_ID_REQUIRED, version, error.member_id))
        except BrokerError as error:
            return Result(join_refused(ErrorCode(error.code), version))
        replaces = owner is not None and owner != member_id
        # From here on a JoinGroup request is treated like a full heartbeat that lists what the member owns.
        before = draft.group.members.get(member_id)
        store_member(draft, member_id, before, _described(before, request, subscription, client))
        reached = self.groups.advance(draft, member_id, before, self._owned(subscription), now_ms)
        # The deadline for JoinGroup is replaced with one for SyncGroup (scheduleConsumerGroupSyncTimeout in Kafka).
        self.groups.expect_nothing_more(draft.group, member_id, now_ms)
        self.groups.expect_classic(draft.group, member_id, now_ms)
        # No member is the leader, because the broker assigns the partitions. The epoch takes the place of the
        # generation.
        response = JoinGroupResponse(
            generation_id=reached.member_epoch,
            protocol_type=_CONSUMER,
            protocol_name=request.protocols[0].name,
            leader="",
            member_id=member_id,
        )
        effects = self._settled(draft) if replaces else ()
        return Result(response, tuple(draft.records), effects)

    def sync(self, request: SyncGroupRequest, now_ms: int) -> Result[SyncGroupResponse, ConsumerGroupRecord]:
        """Give a member its partitions. Errors are in the response."""
        group = self.groups.group(request.group_id)
        try:
            member = _known(group, request.member_id, request.group_instance_id, request.generation_id)
            # The members' protocols only matter for the form of the data. Each member uses its own first one, as in
            # Kafka's throwIfClassicProtocolUnmatched.
            protocol = classic_of(member).supported_protocols[0]
            # Versions before 5 of SyncGroup do not have the two names, which are null then.
            if request.protocol_type not in (None, _CONSUMER) or request.protocol_name not in (None, protocol.name):
                raise error_for(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "The member has joined with another protocol.")
            current = group.current_of(request.member_id)
            # The member's assignment is out of date, so it has to join again. A member that has to revoke gets the
            # assignment first: it is how it learns what to revoke (GroupMetadataManager.throwIfRebalanceInProgress).
            if current.member_epoch < group.assignment_epoch and current.state is not _UNREVOKED:
                self.groups.expect_classic(group, request.member_id, now_ms)
                raise error_for(_REBALANCING, "The member has to join again.")
        except BrokerError as error:
            return Result(SyncGroupResponse(error_code=ErrorCode(error.code)))
        self.groups.expect_nothing_more(group, request.member_id, now_ms)
        # The member must be able to read the version, which is that of its subscription.
        version = subscription_version(protocol.metadata)
        data = ConsumerProtocolAssignment(self._named(current.assigned), version=version).encode()
        return Result(SyncGroupResponse(protocol_type=_CONSUMER, protocol_name=protocol.name, assignment=data))

    def heartbeat(self, request: HeartbeatRequest, now_ms: int) -> Result[HeartbeatResponse, ConsumerGroupRecord]:
        """Extend the session of a member. REBALANCE_IN_PROGRESS tells it to join again. Errors are in the response."""
        group = self.groups.group(request.group_id)
        try:
            _known(group, request.member_id, request.group_instance_id, request.generation_id)
        except BrokerError as error:
            return Result(HeartbeatResponse(error_code=ErrorCode(error.code)))
        # The session is extended even if the member has to join again, as in classicGroupHeartbeatToConsumerGroup.
        self.groups.extend_session(group, request.member_id, now_ms)
        if not _must_join(group, request.member_id):
            return Result(HeartbeatResponse(error_code=ErrorCode.NONE))
        self.groups.expect_classic(group, request.member_id, now_ms)
        return Result(HeartbeatResponse(error_code=_REBALANCING))

    def _owner(self, group: ConsumerGroup, request: JoinGroupRequest) -> str | None:
        """Return the member that an instance has been so far, if there is one."""
        instance, member_id = request.group_instance_id, request.member_id
        # There are three cases for a static member: another member has taken its instance, so it is fenced; the
        # instance is free; or the member has the instance itself, or comes without an id and takes the place of the one
        # that has it (KIP-345).
        owner = None if instance is None else group.instances.get(instance)
        if owner is not None and member_id not in ("", owner):
            raise FencedInstanceIdError(f"The instance {instance} has been started again.")
        # A static member that returns takes a place that is occupied already, so the group cannot be too full for it.
        if owner is None:
            check_room(group, member_id, self.rules.max_size, "consumer")
        # The coordinator has forgotten the instance, and with it the id that it had given out. The member has to join
        # without one.
        if owner is None and instance is not None and member_id:
            raise UnknownMemberIdError(f"Group {group.group_id} has no instance {instance}.")
        return owner

    def _entered(self, draft: ConsumerDraft, request: JoinGroupRequest, version: int, owner: str | None) -> str:
        member_id = request.member_id or self.groups.new_member_id()
        # KIP-394: the member gets its id before it is in the group. Otherwise a client whose response was lost would
        # leave a member behind that nobody is. Static members are recognised by their instance id.
        if not request.member_id and request.group_instance_id is None and version >= FIRST_WITH_MEMBER_ID_REQUIRED:
            raise _IdRequiredError(member_id)
        if owner is not None and owner != member_id:
            take_over(draft, owner, member_id)
            self.groups.stop_waiting(draft.group.group_id, owner)
        return member_id

    def _settled(self, draft: ConsumerDraft) -> tuple[Effect, ...]:
        """Let the group become a classic one if the last member of the other protocol was replaced. Nobody notices."""
        # GroupMetadataManager.validateOnlineDowngradeWithReplacedMember in Kafka: a classic consumer with the same
        # instance id has replaced the last member of the new protocol. It keeps its assignment, so no round is needed.
        if not may_become_classic(draft.group, self.rules):
            return ()
        return (self.groups.downgrade(draft, rebalances=False),)

    def _owned(self, subscription: ConsumerProtocolSubscription) -> tuple[ConsumerGroupHeartbeatTopicPartitions, ...]:
        # A topic that was deleted has no id. Nothing has to be revoked of it any more.
        known = ((self.topics.topic(name), numbers) for name, numbers in subscription.owned_partitions.items())
        return tuple(
            ConsumerGroupHeartbeatTopicPartitions(topic_id=topic.topic_id, partitions=numbers)
            for topic, numbers in known
            if topic is not None
        )

    def _named(self, partitions: Mapping[UUID, Mapping[int, int]]) -> dict[str, tuple[int, ...]]:
        # The classic protocol identifies topics by name, and a deleted topic has none any more.
        known = ((self.topics.topic_by_id(topic_id), numbers) for topic_id, numbers in partitions.items())
        return {topic.name: tuple(sorted(numbers)) for topic, numbers in known if topic is not None}


class _IdRequiredError(Exception):
    """The member has to join again with the id that it is given. This never leaves the module."""

    def __init__(self, member_id: str) -> None:
        super().__init__(member_id)
        self.member_id = member_id


def _check_protocols(group: ConsumerGroup, request: JoinGroupRequest) -> None:
    """Check that all members have one of the protocols in common. One that joins again counts as it was before."""
    offered = {each.name for each in request.protocols}
    for member in group.members.values():
        if member.classic_member_metadata is not None:
            # All classic members must have a protocol in common, because the group becomes a classic group when the
            # last member of the new protocol leaves (ConsumerGroup.supportsClassicProtocols). Members of the new
            # protocol have none.
            offered &= {each.name for each in member.classic_member_metadata.supported_protocols}
    if request.protocol_type != _CONSUMER or not offered:
        raise _inconsistent()


def _subscription(request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    try:
        # The first protocol is the preferred one, and the only one whose subscription counts, as in Kafka.
        return ConsumerProtocolSubscription.decode(request.protocols[0].metadata)
    except MemberDataError as error:
        raise _inconsistent() from error


def _inconsistent() -> BrokerError:
    return error_for(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "The members of the group have no protocol in common.")


def _described(
    known: ConsumerGroupMemberMetadataValue | None,
    request: JoinGroupRequest,
    subscription: ConsumerProtocolSubscription,
    client: MemberClient,
) -> ConsumerGroupMemberMetadataValue:
    timeout_ms = request.rebalance_timeout_ms
    classic = ClassicMemberMetadata(
        session_timeout_ms=request.session_timeout_ms,
        supported_protocols=stored_protocols(request.protocols),
    )
    said = known or new_member(client)
    return evolve(
        said,
        client_id=client.client_id,
        client_host=client.client_host,
        instance_id=said.instance_id if request.group_instance_id is None else request.group_instance_id,
        rack_id=said.rack_id if subscription.rack_id is None else subscription.rack_id,
        subscribed_topic_names=tuple(sorted(set(subscription.topics))),
        # Version 0 of JoinGroup has a session timeout only.
        rebalance_timeout_ms=request.session_timeout_ms if timeout_ms == _NOT_SET else timeout_ms,
        classic_member_metadata=classic,
    )


def _known(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> ConsumerGroupMemberMetadataValue:
    member = known_member(group, member_id, instance_id)
    classic_of(member)
    # The member epoch is the generation for classic members. There is no previous one: a member whose response was lost
    # joins again (GroupMetadataManager.throwIfGenerationIdUnmatched).
    if generation != group.current_of(member_id).member_epoch:
        raise IllegalGenerationError(f"Member {member_id} is in another generation.")
    return member


def _must_join(group: ConsumerGroup, member_id: str) -> bool:
    current = group.current_of(member_id)
    # The cases are those of GroupMetadataManager.classicGroupHeartbeatToConsumerGroup. A member of the new protocol
    # would learn all this from the response to its heartbeat; a classic one has to come by JoinGroup and SyncGroup for
    # it.
    if current.member_epoch < group.assignment_epoch or current.state is _UNREVOKED:
        return True
    # As long as other members own what it waits for, joining again would bring it nothing
    # (ConsumerGroup.waitingOnUnreleasedPartition).
    return current.state is _UNRELEASED and not _waits_for_others(group, member_id)


def _waits_for_others(group: ConsumerGroup, member_id: str) -> bool:
    return any(
        group.owners.get((topic, number), member_id) != member_id
        for topic, numbers in group.target.get(member_id, {}).items()
        for number in numbers
    )
