"""Makes the membership of a classic group, whose leader is one of its members."""

from functools import partial

from kafka_groups.admin.rules.streams_leader.group_round import LeaderSettings
from kafka_groups.client.calls.asker import QuestionAsker
from kafka_groups.streams.member.classic.classic_settings import ClassicSettings, ClassicSurroundings
from kafka_groups.streams.member.classic.dormant_state import DormantState, NoDormantState
from kafka_groups.streams.member.classic.member_refusals import ClassicGroupRefusals
from kafka_groups.streams.member.classic.membership import ClassicMembership
from kafka_groups.streams.member.group_leader import GroupLeader, LeaderParts, LeadingTimes
from kafka_groups.streams.member.leader_computation import Elsewhere, in_thread
from kafka_groups.streams.member.membership_parts import MadeMembership, MembershipOf, MembershipParts

__all__ = ["classic_membership"]


def classic_membership(
    settings: ClassicSettings,
    leading: LeaderSettings,
    give_up_ms: int,
    elsewhere: Elsewhere = in_thread,
    dormant: DormantState | None = None,
) -> MembershipOf:
    """Return what makes the membership of a classic group.

    Args:
        settings: The member's configuration.
        leading: What it needs if it leads.
        give_up_ms: How long it tries to lead after failures (`task.timeout.ms`).
        elsewhere: Runs the leader's computations, on another thread by default.
        dormant: The state of tasks that no member of its process has. None: there is none.
    """
    return partial(_made, settings, leading, give_up_ms, elsewhere, dormant or NoDormantState())


def _made(
    settings: ClassicSettings,
    leading: LeaderSettings,
    give_up_ms: int,
    elsewhere: Elsewhere,
    dormant: DormantState,
    parts: MembershipParts,
) -> MadeMembership:
    assembly, config = parts.assembly, parts.config
    membership = ClassicMembership(
        parts.description,
        settings=settings,
        coordinator=parts.coordinator,
        errors=assembly.errors,
        surroundings=ClassicSurroundings(
            parts.positions, assembly.clock.wall_ms, assembly.backoff, assembly.rng, dormant
        ),
    )
    asker = QuestionAsker(assembly, config.request_timeout_ms, parts.engine)
    times = LeadingTimes(
        round_ms=config.max_poll_interval_ms // 2,
        offsets_ms=config.default_api_timeout_ms,
        watch_ms=config.metadata_max_age_ms,
        give_up_ms=give_up_ms,
        slow_ms=settings.session_ms // 2,
        pause_ms=settings.pause_ms,
    )
    leader = GroupLeader(
        membership,
        leading,
        times,
        LeaderParts(
            within=asker.within,
            elsewhere=elsewhere,
            clock=assembly.clock,
            errors=assembly.errors,
            turn=lambda: parts.engine().turn(),
        ),
    )
    return MadeMembership(membership, ClassicGroupRefusals(), (asker.manager,), leader)
