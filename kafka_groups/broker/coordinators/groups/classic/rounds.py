"""The rounds of a classic group: it waits for its members, starts a generation, and waits for assignments."""

from kafka_groups.broker.coordinators.groups.classic.classic_changes import ClassicChanges, TimerKind
from kafka_groups.broker.coordinators.groups.classic.group import ClassicGroup, InitialRound
from kafka_groups.broker.coordinators.groups.classic.members import ClassicMember
from kafka_groups.broker.coordinators.groups.classic.replies import (
    join_refused,
    joined,
    members_of,
    sync_refused,
)
from kafka_groups.broker.coordinators.groups.classic.states import ClassicGroupEvent, ClassicGroupState
from kafka_groups.protocol.error_codes import ErrorCode

__all__ = [
    "complete_if_joined",
    "drop_member",
    "end_join_wait",
    "end_session",
    "end_sync_wait",
    "members_left",
    "rebalance",
    "rebalance_or_complete",
    "sync_received",
]

_PREPARING = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING = ClassicGroupState.COMPLETING_REBALANCE


# --------------------------------------------------------------------------------------------- start and end


def rebalance(group: ClassicGroup, changes: ClassicChanges) -> None:
    """Start a round. All members must join it."""
    # Members that wait for the assignments of this generation would get those of a group that has changed meanwhile.
    # They are told to join again (GroupMetadataManager.prepareRebalance in Kafka).
    if group.state is _COMPLETING:
        _withdraw_assignments(group, changes)
    changes.stop_waiting(group, TimerKind.SYNC)
    group.pending_syncs.clear()
    was_empty = group.is_empty
    group.transition(ClassicGroupEvent.REBALANCE, changes.wall_ms)
    # Three cases: the first round waits for members that start at the same time, a round that everybody has joined ends
    # at once, and any other waits for as long as its slowest member may take
    # (GroupMetadataManager.maybeCompleteJoinElseSchedule).
    if was_empty:
        _wait_for_newcomers(group, changes)
    elif group.has_all_joined:
        _complete(group, changes)
    else:
        changes.wait(group, TimerKind.JOIN, group.rebalance_timeout_ms)


def rebalance_or_complete(group: ClassicGroup, changes: ClassicChanges) -> None:
    """Start a round, or end the current one if all members have joined."""
    if group.state is _PREPARING:
        complete_if_joined(group, changes)
    else:
        rebalance(group, changes)


def complete_if_joined(group: ClassicGroup, changes: ClassicChanges) -> None:
    """End the round if all members have joined. The first one after the group was empty waits in any case."""
    # See GroupMetadataManager.maybeCompleteJoinPhase in Kafka. `initial_round` stands for its previous state Empty.
    if group.state is _PREPARING and group.has_all_joined and group.initial_round is None:
        _complete(group, changes)


def end_join_wait(group: ClassicGroup, changes: ClassicChanges) -> None:
    """End the round because its time is over. The first one takes longer if members have just joined."""
    initial = group.initial_round
    # As long as members arrive, the first round is extended by one delay each time, up to the rebalance timeout in all.
    # So a group of many members that start one after the other has one round, not many
    # (GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule in Kafka).
    if initial is None or not initial.has_newcomers or not initial.remaining_ms:
        _complete(group, changes)
        return
    delay_ms = min(changes.settings.initial_rebalance_delay_ms, initial.remaining_ms)
    group.initial_round = InitialRound(delay_ms, max(initial.remaining_ms - initial.delay_ms, 0))
    changes.wait(group, TimerKind.JOIN, delay_ms)


def end_sync_wait(group: ClassicGroup, changes: ClassicChanges) -> None:
    """Remove the members that have not asked for their assignments in time, and start another round."""
    # A member that has joined the round and does not ask for its assignment would hold its partitions without
    # processing them, while its heartbeats keep its session (GroupMetadataManager.expirePendingSync in Kafka).
    if group.pending_syncs:
        for member_id in tuple(group.pending_syncs):
            changes.end_session(group, member_id)
            group.remove(member_id)
        rebalance(group, changes)


def sync_received(group: ClassicGroup, member_id: str, changes: ClassicChanges) -> None:
    """Note that a member has asked for its assignment."""
    group.pending_syncs.discard(member_id)
    if not group.pending_syncs:
        changes.stop_waiting(group, TimerKind.SYNC)


# --------------------------------------------------------------------------------------------- members that go


def drop_member(group: ClassicGroup, member: ClassicMember, changes: ClassicChanges) -> None:
    """Remove a member, and respond to its requests that wait."""
    changes.end_session(group, member.member_id)
    parked = group.take_join(member)
    # UNKNOWN_MEMBER_ID lets a client that is still there join again with a new id
    # (GroupMetadataManager.removeMemberAndUpdateClassicGroup in Kafka).
    if parked is not None:
        changes.reply(parked.token, join_refused(ErrorCode.UNKNOWN_MEMBER_ID, parked.version))
    # Kafka leaves such a SyncGroup without a response. Its client would wait until it times out.
    changes.reply(member.parked_sync, sync_refused(ErrorCode.UNKNOWN_MEMBER_ID))
    group.remove(member.member_id)


def members_left(group: ClassicGroup, changes: ClassicChanges) -> None:
    """Follow the departure of members that have left by themselves."""
    # In a round that only waited for them, the others can go on. Otherwise their partitions need new owners.
    if not group.is_empty:
        rebalance_or_complete(group, changes)


def end_session(group: ClassicGroup, member_id: str, changes: ClassicChanges) -> None:
    """Remove a member whose session has expired, or a member id that was never used to join."""
    member = group.members.get(member_id)
    # A member whose request waits here cannot send heartbeats, so its session does not end
    # (ClassicGroupMember.hasSatisfiedHeartbeat in Kafka). Its next session begins with the response.
    if member is not None and not member.may_be_silent:
        drop_member(group, member, changes)
    elif member_id in group.pending_joins:
        # A member id that was given out and never used (KIP-394). A round may only have waited for it.
        group.remove(member_id)
    else:
        return
    # Kafka ends even the first round here, without waiting for its delay
    # (GroupMetadataManager.removeMemberAndUpdateClassicGroup and removePendingMemberAndUpdateClassicGroup).
    if group.state is _PREPARING:
        if group.has_all_joined:
            _complete(group, changes)
    elif member is not None:
        rebalance(group, changes)


# --------------------------------------------------------------------------------------------------- inside


def _wait_for_newcomers(group: ClassicGroup, changes: ClassicChanges) -> None:
    delay_ms = changes.settings.initial_rebalance_delay_ms
    group.initial_round = InitialRound(delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
    changes.wait(group, TimerKind.JOIN, delay_ms)


def _complete(group: ClassicGroup, changes: ClassicChanges) -> None:
    """Continue with the members that have joined. Static ones stay, even if they have not (KIP-345)."""
    changes.stop_waiting(group, TimerKind.JOIN)
    # A dynamic member that misses the round is out. A static one is out only when its session ends, so that a restart
    # that takes longer than a round moves no partitions (KIP-345, "Rolling Bounce";
    # GroupMetadataManager.completeClassicGroupJoin in Kafka).
    for member in [each for each in group.members.values() if each.parked_join is None and not each.is_static]:
        changes.end_session(group, member.member_id)
        group.remove(member.member_id)
    if group.members and not group.elect_joined_leader():
        # Nobody could assign partitions. The sessions of those that are gone will end.
        changes.wait(group, TimerKind.JOIN, group.rebalance_timeout_ms)
        return
    group.start_generation(changes.wall_ms)
    # If nobody is left, no SyncGroup will write the generation, so it is written now.
    if group.members:
        _tell_members(group, changes)
    else:
        changes.write(group, group.current())


def _tell_members(group: ClassicGroup, changes: ClassicChanges) -> None:
    for member in group.members.values():
        parked = group.take_join(member)
        if parked is not None:
            is_leader = member.member_id == group.leader
            members = members_of(group) if is_leader else ()
            changes.reply(parked.token, joined(group, member.member_id, members=members))
        # While the request waited, no session ran. A member whose session had run out meanwhile gets a new one.
        changes.start_session(group, member)
        member.is_new = False
        # Static members that have not joined are expected, too. If they do not come within a rebalance timeout, they
        # are out (GroupMetadataManager.expirePendingSync).
        group.pending_syncs.add(member.member_id)
    changes.wait(group, TimerKind.SYNC, group.rebalance_timeout_ms)


def _withdraw_assignments(group: ClassicGroup, changes: ClassicChanges) -> None:
    for member in group.members.values():
        # The assignments of a generation that has not begun are void
        # (GroupMetadataManager.resetAndPropagateAssignmentWithError in Kafka).
        member.assignment = b""
        if member.parked_sync is not None:
            changes.reply(member.parked_sync, sync_refused(ErrorCode.REBALANCE_IN_PROGRESS))
            member.parked_sync = None
            # Its session may have ended unnoticed while the request waited.
            changes.start_session(group, member)
