"""Groups that change their type: empty ones always, and those with members if `group.consumer.migration.policy` allows.

A classic group becomes a consumer group when the first member of that type joins. A consumer group becomes a classic
group when the last of those leaves, or when a classic member joins an empty group.
"""

from collections.abc import Iterator
from typing import TypeVar

from attrs import frozen

from kafka_groups.broker.coordinators.groups.classic.group import ClassicGroup
from kafka_groups.broker.coordinators.groups.classic.groups import ClassicGroups
from kafka_groups.broker.coordinators.groups.classic.replies import join_refused, sync_refused
from kafka_groups.broker.coordinators.groups.consumer.classic_conversion import BecomesClassic, from_classic
from kafka_groups.broker.coordinators.groups.consumer.classic_members import ClassicConsumers
from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerDraft
from kafka_groups.broker.coordinators.groups.consumer.groups import ConsumerGroups
from kafka_groups.broker.coordinators.groups.consumer.members import stored_protocols
from kafka_groups.broker.coordinators.groups.consumer.settings import ConsumerRules
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.records import GroupRecord
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.broker.coordinators.result import Effect, Reply, Result
from kafka_groups.errors import BrokerError, GroupIdNotFoundError, MemberDataError
from kafka_groups.protocol.coordinator_records.consumer_group import ClassicMemberMetadata
from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse

__all__ = ["GroupMigration"]

T = TypeVar("T")

_REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS


@frozen
class GroupMigration:
    """The groups of both types, and how one becomes the other.

    Attributes:
        classic: The classic groups.
        consumer: The consumer groups.
        members: The members of consumer groups that speak the classic protocol.
        rules: The settings of consumer groups.
        topics: The topics of the cluster.
    """

    classic: ClassicGroups
    consumer: ConsumerGroups
    members: ClassicConsumers
    rules: ConsumerRules
    topics: TopicsImage

    # ------------------------------------------------------------------------------------- to a consumer group

    def upgrade_and_beat(
        self, request: ConsumerGroupHeartbeatRequest, client: MemberClient, version: int, now_ms: int
    ) -> Result[ConsumerGroupHeartbeatResponse, GroupRecord]:
        """Let a member join a classic group, which becomes a consumer group.

        Raises:
            GroupIdNotFoundError: The group must not, or cannot.
            BrokerError: The group is full, or the member is unknown or fenced.
        """
        # There are two cases in Kafka's getOrMaybeCreateConsumerGroup as well: an empty classic group is replaced, and
        # one with members is converted with them.
        group = self.classic.group(request.group_id)
        draft = None if group.is_empty else self._upgraded(group)
        result = self.consumer.heartbeat(request, client, version, now_ms, draft)
        # The classic members get sessions in the consumer group. They learn of it only by REBALANCE_IN_PROGRESS and
        # join again.
        if draft is not None:
            for member_id in draft.group.members:
                self.consumer.extend_session(draft.group, member_id, now_ms)
        # The tombstone comes before the records of the consumer group, in the same batch, so no reader sees two groups
        # with the id.
        records = (ClassicGroupMetadata(request.group_id, None), *result.records)
        return Result(result.response, records, tuple(_replies(group)))

    def _upgraded(self, group: ClassicGroup) -> ConsumerDraft:
        # The conditions of GroupMetadataManager.validateOnlineUpgrade, in its order. A connect cluster, for example, is
        # a classic group with another protocol, which a consumer group cannot serve.
        if not group.is_of_consumers:
            raise _refusal(group, "the group does not use the consumer embedded protocol")
        if not self.rules.allows_upgrade:
            raise _refusal(group, "online upgrade is disabled")
        if len(group.members) > self.rules.max_size:
            raise _refusal(group, "the group size exceeds the consumer group maximum size")
        protocols = {
            member.member_id: ClassicMemberMetadata(
                session_timeout_ms=member.session_timeout_ms, supported_protocols=stored_protocols(member.protocols)
            )
            for member in group.members.values()
        }
        try:
            return from_classic(group.group_id, group.current(), protocols, self.topics)
        # convertToConsumerGroup in Kafka rejects the member that wants to join, and leaves the classic group as it is.
        except MemberDataError:
            raise _refusal(group, "the embedded consumer protocol is malformed") from None

    # -------------------------------------------------------------------------------------- to a classic group

    def join(
        self, request: JoinGroupRequest, client: MemberClient, version: int, now_ms: int
    ) -> Result[JoinGroupResponse | None, GroupRecord]:
        """Let a member join a consumer group by JoinGroup. An empty one becomes a classic group."""
        group_id = request.group_id
        # GroupMetadataManager.classicGroupJoin: an empty consumer group becomes a classic group under every migration
        # policy.
        if not self.consumer.group(group_id).members:
            joined = self.classic.join(request, client, version, now_ms)
            # The join may have failed, or is answered with MEMBER_ID_REQUIRED. Then the consumer group stays.
            deleted = self.consumer.delete(group_id) if group_id in self.classic.groups else ()
            return Result(joined.response, (*deleted, *joined.records), joined.effects, joined.parked)
        # GroupMetadataManager.throwIfClassicMemberCannotJoinConsumerGroup: with the policy "disabled", members of both
        # protocols are never in one group.
        if not (self.rules.allows_upgrade or self.rules.allows_downgrade):
            return Result(join_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, version))
        try:
            self.classic.check_session_timeout(request)
        except BrokerError as error:
            return Result(join_refused(ErrorCode(error.code), version, request.member_id))
        joined_consumers = self.members.join(request, client, version, now_ms)
        return self.settled(
            Result(joined_consumers.response, joined_consumers.records, joined_consumers.effects), now_ms
        )

    def settled(self, result: Result[T, GroupRecord], now_ms: int) -> Result[T, GroupRecord]:
        """Return the result of an operation on consumer groups, with the records of those that become classic ones."""
        if not result.effects:
            return result
        becoming = [each for each in result.effects if isinstance(each, BecomesClassic)]
        adopted = [
            self.classic.adopt(each.group_id, each.generation, now_ms, rebalances=each.rebalances) for each in becoming
        ]
        others = tuple(each for each in result.effects if not isinstance(each, BecomesClassic))
        return Result(result.response, (*result.records, *adopted), others, result.parked)


def _refusal(group: ClassicGroup, why: str) -> GroupIdNotFoundError:
    return GroupIdNotFoundError(f"Cannot upgrade classic group {group.group_id} to consumer group because {why}.")


def _replies(group: ClassicGroup) -> Iterator[Effect]:
    """Tell the members whose requests wait to join again."""
    for member in group.members.values():
        # Kafka completes waiting requests in convertToConsumerGroup with the same error. Members join again, now in the
        # consumer group.
        if member.parked_join is not None:
            version = member.parked_join.version
            yield Reply(member.parked_join.token, join_refused(_REBALANCING, version, member.member_id))
        if member.parked_sync is not None:
            yield Reply(member.parked_sync, sync_refused(_REBALANCING))
