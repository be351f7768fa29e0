"""SyncGroup: the leader of a classic group distributes the assignments of its members."""

from functools import partial

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.groups.classic.classic_changes import ClassicChanges
from kafka_groups.broker.coordinators.groups.classic.group import ClassicGroup
from kafka_groups.broker.coordinators.groups.classic.joining import ClassicSources
from kafka_groups.broker.coordinators.groups.classic.members import ClassicMember
from kafka_groups.broker.coordinators.groups.classic.replies import sync_refused, synced
from kafka_groups.broker.coordinators.groups.classic.rounds import sync_received
from kafka_groups.broker.coordinators.groups.classic.states import ClassicGroupEvent, ClassicGroupState
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.errors import IllegalGenerationError, error_for
from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

__all__ = ["SyncAttempt", "SyncResult"]

SyncResult = Result[SyncGroupResponse | None, ClassicGroupMetadata]
"""Without a response, the request is parked."""


@frozen
class SyncAttempt:
    """One SyncGroup request, and the group that it is for."""

    group: ClassicGroup
    request: SyncGroupRequest
    sources: ClassicSources
    changes: ClassicChanges

    def run(self) -> SyncResult:
        """Handle the request.

        Raises:
            BrokerError: The member does not get an assignment.
        """
        # The checks and the cases by state are those of GroupMetadataManager.classicGroupSyncToClassicGroup in Kafka.
        member = self._check()
        if self.group.state is ClassicGroupState.PREPARING_REBALANCE:
            raise error_for(ErrorCode.REBALANCE_IN_PROGRESS, "Another round has started.")
        # The leader was faster, or the member repeats its request, or it was restarted: the assignment is there.
        if self.group.state is ClassicGroupState.STABLE:
            sync_received(self.group, member.member_id, self.changes)
            return self.changes.result(synced(self.group, member))
        # Only the leader's assignments count. Those that other members send are ignored.
        if member.member_id == self.group.leader:
            return self._assign(member)
        sync_received(self.group, member.member_id, self.changes)
        return self._wait_for_leader(member)

    def _check(self) -> ClassicMember:
        group, request = self.group, self.request
        member = group.check_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation:
            raise IllegalGenerationError(f"Group {group.group_id} is in generation {group.generation}.")
        # Only clients from version 5 on send type and protocol, so null is not compared
        # (GroupMetadataManager.validateSyncGroup in Kafka).
        is_same_type = request.protocol_type in (None, group.protocol_type)
        if not is_same_type or request.protocol_name not in (None, group.protocol):
            raise error_for(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "The group has chosen another protocol.")
        return member

    def _wait_for_leader(self, member: ClassicMember) -> SyncResult:
        # If there is one before, the client has repeated its request over another connection.
        self.changes.reply(member.parked_sync, sync_refused(ErrorCode.REBALANCE_IN_PROGRESS))
        member.parked_sync = self.sources.new_token()
        return self.changes.parked(member.parked_sync, SyncGroupResponse)

    def _assign(self, leader: ClassicMember) -> SyncResult:
        """Store the assignments, and give them to the members. Those that the leader left out get an empty one."""
        # The leader may leave out a member, and name one that is gone. The members of the group decide who gets what
        # (GroupMetadataManager.setAndPropagateAssignment in Kafka).
        assignments = {each.member_id: each.assignment for each in self.request.assignments}
        value = self.group.current()
        members = tuple(evolve(each, assignment=assignments.get(each.member_id, b"")) for each in value.members)
        self.changes.write(self.group, evolve(value, members=members), partial(self._assigned, assignments))
        for member in self.group.members.values():
            self.changes.reply(member.parked_sync, synced(self.group, member, assignments.get(member.member_id, b"")))
        return self.changes.result(synced(self.group, leader, assignments.get(leader.member_id, b"")))

    def _assigned(self, assignments: dict[str, bytes]) -> None:
        sync_received(self.group, self.request.member_id, self.changes)
        for member in self.group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            if member.parked_sync is not None:
                member.parked_sync = None
                # The end of a session is ignored while a request waits, so a new one begins with the response
                # (GroupMetadataManager.propagateAssignment in Kafka).
                self.changes.start_session(self.group, member)
        self.changes.start_session(self.group, self.group.members[self.request.member_id])
        self.group.transition(ClassicGroupEvent.SYNCED, self.changes.wall_ms)
