"""JoinGroup: new members, members that join again, and static members that were restarted (KIP-345)."""

from collections.abc import Callable
from functools import partial
from uuid import UUID

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.groups.classic.classic_changes import ClassicChanges
from kafka_groups.broker.coordinators.groups.classic.group import ClassicGroup
from kafka_groups.broker.coordinators.groups.classic.members import ClassicMember, ParkedJoin
from kafka_groups.broker.coordinators.groups.classic.replies import (
    join_refused,
    joined,
    members_of,
    sync_refused,
)
from kafka_groups.broker.coordinators.groups.classic.rounds import rebalance_or_complete
from kafka_groups.broker.coordinators.groups.classic.states import ClassicGroupState
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.errors import error_for
from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata, GroupMetadataValue
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.join_group import (
    FIRST_WITH_MEMBER_ID_REQUIRED,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)

__all__ = ["ClassicSources", "JoinAttempt", "JoinResult"]

JoinResult = Result[JoinGroupResponse | None, ClassicGroupMetadata]
"""Without a response, the request is parked."""

_FIRST_WITH_SKIP_ASSIGNMENT = 9
_FENCED = ErrorCode.FENCED_INSTANCE_ID
_PREPARING = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING = ClassicGroupState.COMPLETING_REBALANCE
_STABLE = ClassicGroupState.STABLE


@frozen
class ClassicSources:
    """Sources of ids, tokens and time for operations.

    Attributes:
        new_token: Returns a number for a request that is parked. No two requests of a shard have the same.
        new_id: Returns a random id, for the ids of members.
        wall_ms: Returns the wall-clock time, for the records.
    """

    new_token: Callable[[], int]
    new_id: Callable[[], UUID]
    wall_ms: Callable[[], int]


@frozen
class JoinAttempt:
    """One JoinGroup request, and the group that it is for."""

    group: ClassicGroup
    request: JoinGroupRequest
    client: MemberClient
    version: int
    sources: ClassicSources
    changes: ClassicChanges

    def run(self) -> JoinResult:
        """Handle the request.

        Raises:
            BrokerError: The member cannot join. The response has its own id.
        """
        # The order of the checks is that of GroupMetadataManager.classicGroupJoinToClassicGroup in Kafka.
        if not self._has_room():
            self._kick_out()
            return self._respond(join_refused(ErrorCode.GROUP_MAX_SIZE_REACHED, self.version))
        if not self.group.supports(self.request):
            raise error_for(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "The group has another type, or no such protocol.")
        if self.request.member_id:
            return self._join_again(self.request.member_id)
        return self._join_first(self.request.group_instance_id)

    # --------------------------------------------------------------------------------------- group.max.size

    def _has_room(self) -> bool:
        """Return whether the group has room for the member.

        During a round, those that have joined count, so that the last ones stay out if the limit was lowered.
        """
        group, max_size = self.group, self.changes.settings.max_size
        member = group.members.get(self.request.member_id)
        # The cases are those of GroupMetadataManager.acceptJoiningMember in Kafka. An empty group takes the first
        # member anyway.
        if group.is_empty:
            return True
        if group.state is _PREPARING:
            has_joined = member is not None and member.parked_join is not None
            return has_joined or group.joins_waiting < max_size
        # Outside of a round, every member has joined, so the size of the group counts.
        return member is not None or len(group.members) < max_size

    def _kick_out(self) -> None:
        # The client may have been a member. It is not one any more: the others fill the group.
        self.changes.end_session(self.group, self.request.member_id)
        self.group.remove(self.request.member_id)

    # ---------------------------------------------------------------------------------------- the first time

    def _join_first(self, instance: str | None) -> JoinResult:
        member_id = f"{self.client.client_id if instance is None else instance}-{self.sources.new_id()}"
        # A dynamic member gets its id before it joins (KIP-394). Clients of older versions do not know the error, and
        # join at once (GroupMetadataManager.classicGroupJoinNewDynamicMember).
        if instance is None:
            if self.version < FIRST_WITH_MEMBER_ID_REQUIRED:
                return self._add(member_id)
            return self._require_id(member_id)
        # A static member never has to join twice, because its instance id already prevents duplicates (KIP-345, "Join
        # Group Logic Change"; GroupMetadataManager.classicGroupJoinNewStaticMember).
        old = self.group.static_members.get(instance)
        return self._add(member_id) if old is None else self._restart(self.group.members[old], member_id)

    def _require_id(self, member_id: str) -> JoinResult:
        """Give the member an id, and let it join again with it, so that a repeated request adds no member (KIP-394)."""
        self.group.pending_joins.add(member_id)
        self.changes.expect(self.group, member_id, self.request.session_timeout_ms)
        return self._respond(join_refused(ErrorCode.MEMBER_ID_REQUIRED, self.version, member_id))

    def _add(self, member_id: str) -> JoinResult:
        member = ClassicMember.joining(self.request, member_id, self.client.client_id, self.client.client_host)
        # The first round of a group waits on while members arrive, see `end_join_wait`.
        if self.group.initial_round is not None:
            self.group.initial_round.has_newcomers = True
        self.group.add(member, self.request.protocol_type)
        # It cannot send heartbeats before it knows its id. If its client is gone, this is how that is noticed.
        self.changes.start_session(self.group, member, self.changes.settings.new_member_join_timeout_ms)
        return self._wait_for_round(member)

    # ------------------------------------------------------------------------------- restarted static members

    def _restart(self, old: ClassicMember, member_id: str) -> JoinResult:
        new = old.successor(self.request, member_id)
        is_stable = self.group.state is _STABLE
        # There are three cases (GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin in Kafka). In a
        # stable group whose protocol stays, nobody needs to notice the restart. If its new list of protocols makes the
        # group choose another one, the assignments are not valid any more, and a round starts. And while a round is
        # under way or assignments are outstanding, the leader may know the old id: the round goes on, or starts again.
        if is_stable and self.group.elected_protocol(old=old, new=new) == self.group.protocol:
            return self._restart_quietly(old, new)
        # Two processes may use one instance id by mistake. The former one is fenced at once, not only with its next
        # request (ClassicGroup.replaceStaticMember).
        parked = self.group.take_join(old)
        if parked is not None:
            self.changes.reply(parked.token, join_refused(_FENCED, parked.version, old.member_id))
        self.changes.reply(old.parked_sync, sync_refused(_FENCED))
        self._replace(old, new)
        return self._wait_for_round(new)

    def _restart_quietly(self, old: ClassicMember, new: ClassicMember) -> JoinResult:
        """Give the member another id without a rebalance, once the record with it is stored."""
        group, old_leader = self.group, self.group.leader
        was_leader = old_leader == old.member_id
        value = group.current((*(each for each in group.members.values() if each is not old), new))
        # The leader's restart alone does not start a round either (KIP-345, "Non Goal"). The restarted process does not
        # know the members, which it needs if it has to watch their topics.
        if was_leader:
            value = evolve(value, leader=new.member_id)
        self.changes.write(group, value, partial(self._replace, old, new))
        # Version 9 brought SkipAssignment, with which a leader learns that it leads, but must not assign
        # (JoinGroupRequest.supportsSkippingAssignment in Kafka).
        if self.version < _FIRST_WITH_SKIP_ASSIGNMENT:
            # With the leader's old id, the new one takes itself for a follower, and asks for its old assignment.
            return self._respond(joined(group, new.member_id, leader=old_leader))
        members = _members_in(value) if was_leader else ()
        return self._respond(
            joined(group, new.member_id, leader=value.leader, members=members, skip_assignment=was_leader)
        )

    def _replace(self, old: ClassicMember, new: ClassicMember) -> None:
        self.changes.end_session(self.group, old.member_id)
        self.group.replace(old, new)
        self.changes.start_session(self.group, new)

    # ------------------------------------------------------------------------------------------------- again

    def _join_again(self, member_id: str) -> JoinResult:
        group, request = self.group, self.request
        # Second request of a dynamic member, now with the id that it was given
        # (GroupMetadataManager.classicGroupJoinExistingMember in Kafka, for all the cases that follow).
        if member_id in group.pending_joins:
            if request.group_instance_id is not None:
                # The id was given to a member without instance id. Kafka fails, and so its response lacks the id.
                return self._respond(join_refused(ErrorCode.UNKNOWN_SERVER_ERROR, self.version))
            return self._add(member_id)
        member = group.check_member(member_id, request.group_instance_id)
        is_leader = group.leader == member_id
        # There are four cases. In the first two the member only gets the current generation again: while assignments
        # are outstanding, and, in a stable group, if it does not lead. Third, a leader that joins a stable group always
        # starts a round: it has noticed something that only leaders see, such as new partitions. Fourth, a member with
        # other protocols, or any member during a round, takes part in the round or starts it.
        is_unchanged = member.supports_the_same(request)
        if group.state is _COMPLETING and is_unchanged:  # the response to its first request was lost
            return self._respond(joined(group, member_id, members=members_of(group) if is_leader else ()))
        if group.state is _STABLE and is_unchanged and not is_leader:
            return self._respond(joined(group, member_id))
        group.update(member, request)
        return self._wait_for_round(member)

    # ---------------------------------------------------------------------------------------------- responses

    def _respond(self, response: JoinGroupResponse) -> JoinResult:
        return self.changes.result(response)

    def _wait_for_round(self, member: ClassicMember) -> JoinResult:
        token = self.sources.new_token()
        replaced = self.group.park_join(member, ParkedJoin(token, self.version))
        # Kafka forgets the first request without a response. Its client would wait until its request times out.
        if replaced is not None:  # the client has repeated its request over another connection
            lost = join_refused(ErrorCode.REBALANCE_IN_PROGRESS, replaced.version, member.member_id)
            self.changes.reply(replaced.token, lost)
        rebalance_or_complete(self.group, self.changes)
        return self.changes.parked(token, JoinGroupResponse)


def _members_in(value: GroupMetadataValue) -> tuple[JoinGroupResponseMember, ...]:
    return tuple(
        JoinGroupResponseMember(
            member_id=member.member_id, group_instance_id=member.group_instance_id, metadata=member.subscription
        )
        for member in value.members
    )
