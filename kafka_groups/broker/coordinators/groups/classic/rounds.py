"""The rounds of a classic group: it waits for its members, starts a generation, and waits for assignments."""

from kafka_groups.broker.coordinators.groups.classic.changes import ClassicChanges, TimerKind
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
    if group.state is _COMPLETING:
        _withdraw_assignments(group, changes)
    changes.stop_waiting(group, TimerKind.SYNC)
    group.pending_syncs.clear()
    was_empty = group.is_empty
    group.transition(ClassicGroupEvent.REBALANCE, changes.wall_ms)
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
    if group.state is _PREPARING and group.has_all_joined and group.initial_round is None:
        _complete(group, changes)


def end_join_wait(group: ClassicGroup, changes: ClassicChanges) -> None:
    """End the round because its time is over. The first one takes longer if members have just joined."""
    initial = group.initial_round
    if initial is None or not initial.has_newcomers or not initial.remaining_ms:
        _complete(group, changes)
        return
    delay_ms = min(changes.settings.initial_rebalance_delay_ms, initial.remaining_ms)
    group.initial_round = InitialRound(delay_ms, max(initial.remaining_ms - initial.delay_ms, 0))
    changes.wait(group, TimerKind.JOIN, delay_ms)


def end_sync_wait(group: ClassicGroup, changes: ClassicChanges) -> None:
    """Remove the members that have not asked for their assignments in time, and start another round."""
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
    if parked is not None:
        changes.reply(parked.token, join_refused(ErrorCode.UNKNOWN_MEMBER_ID, parked.version))
    # Kafka leaves such a SyncGroup without a response. Its client would wait until it times out.
    changes.reply(member.parked_sync, sync_refused(ErrorCode.UNKNOWN_MEMBER_ID))
    group.remove(member.member_id)


def members_left(group: ClassicGroup, changes: ClassicChanges) -> None:
    """Follow the departure of members that have left by themselves."""
    if not group.is_empty:
        rebalance_or_complete(group, changes)


def end_session(group: ClassicGroup, member_id: str, changes: ClassicChanges) -> None:
    """Remove a member whose session has expired, or a member id that was never used to join."""
    member = group.members.get(member_id)
    if member is not None and not member.may_be_silent:
        drop_member(group, member, changes)
    elif member_id in group.pending_joins:
        group.remove(member_id)
    else:
        return
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
    for member in [each for each in group.members.values() if each.parked_join is None and not each.is_static]:
        changes.end_session(group, member.member_id)
        group.remove(member.member_id)
    if group.members and not group.elect_joined_leader():
        # Nobody could assign partitions. The sessions of those that are gone will end.
        changes.wait(group, TimerKind.JOIN, group.rebalance_timeout_ms)
        return
    group.start_generation(changes.wall_ms)
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
        changes.start_session(group, member)
        member.is_new = False
        group.pending_syncs.add(member.member_id)
    changes.wait(group, TimerKind.SYNC, group.rebalance_timeout_ms)


def _withdraw_assignments(group: ClassicGroup, changes: ClassicChanges) -> None:
    for member in group.members.values():
        member.assignment = b""
        if member.parked_sync is not None:
            changes.reply(member.parked_sync, sync_refused(ErrorCode.REBALANCE_IN_PROGRESS))
            member.parked_sync = None
            changes.start_session(group, member)
