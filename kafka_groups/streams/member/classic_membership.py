"""Makes the membership of a classic group, whose leader is one of its members."""

from kafka_groups.admin.rules.group_topology.pattern_sources import PatternSources
from kafka_groups.admin.rules.streams_leader.group_round import LeaderSettings
from kafka_groups.client.calls.asker import QuestionAsker
from kafka_groups.config.clients.streams_member import StreamsMemberConfig
from kafka_groups.streams.member.classic.classic_settings import ClassicSettings, ClassicSurroundings
from kafka_groups.streams.member.classic.dormant_state import DormantState, NoDormantState
from kafka_groups.streams.member.classic.member_refusals import ClassicGroupRefusals
from kafka_groups.streams.member.classic.membership import ClassicMembership
from kafka_groups.streams.member.classic.pattern_watch import PatternWatch, WatchPace
from kafka_groups.streams.member.group_leader import GroupLeader, LeaderParts, LeadingTimes
from kafka_groups.streams.member.leader_computation import ASSIGNORS, BusyAssignors, Elsewhere, in_thread
from kafka_groups.streams.member.membership_parts import MadeMembership, MembershipOf, MembershipParts

__all__ = ["classic_membership"]


def classic_membership(  # noqa: PLR0913 - most have defaults
    settings: ClassicSettings,
    leading: LeaderSettings,
    give_up_ms: int,
    elsewhere: Elsewhere = in_thread,
    dormant: DormantState | None = None,
    sources: PatternSources | None = None,
    *,
    busy: BusyAssignors = ASSIGNORS,
) -> MembershipOf:
    """Return what makes the membership of a classic group.

    Args:
        settings: The member's configuration.
        leading: What it needs if it leads.
        give_up_ms: How long it tries to lead after failures (`task.timeout.ms`).
        elsewhere: Runs the leader's computations, on another thread by default.
        dormant: The state of tasks that no member of its process has. None: there is none.
        sources: The patterns of the topology; None without any.
        busy: The assignors that run in the member's process.
    """

    def made(parts: MembershipParts) -> MadeMembership:
        membership = _membership(settings, dormant or NoDormantState(), sources, parts)
        asker = QuestionAsker(parts.assembly, parts.config.request_timeout_ms, parts.engine)
        times = _times(settings, give_up_ms, parts.config)
        leader = GroupLeader(membership, leading, times, _leader_parts(asker, elsewhere, busy, sources, parts))
        watches = () if sources is None else (_watch(membership, sources, parts),)
        return MadeMembership(membership, ClassicGroupRefusals(), (asker.manager, *watches), leader)

    return made


def _membership(
    settings: ClassicSettings, dormant: DormantState, sources: PatternSources | None, parts: MembershipParts
) -> ClassicMembership:
    assembly = parts.assembly
    return ClassicMembership(
        parts.description,
        settings=settings,
        coordinator=parts.coordinator,
        errors=assembly.errors,
        surroundings=ClassicSurroundings(
            parts.positions, assembly.clock.wall_ms, assembly.backoff, assembly.rng, dormant, sources
        ),
    )


def _times(settings: ClassicSettings, give_up_ms: int, config: StreamsMemberConfig) -> LeadingTimes:
    return LeadingTimes(
        round_ms=config.max_poll_interval_ms // 2,
        offsets_ms=config.default_api_timeout_ms,
        watch_ms=config.metadata_max_age_ms,
        give_up_ms=give_up_ms,
        slow_ms=settings.session_ms // 2,
        pause_ms=settings.pause_ms,
    )


def _leader_parts(
    asker: QuestionAsker,
    elsewhere: Elsewhere,
    busy: BusyAssignors,
    sources: PatternSources | None,
    parts: MembershipParts,
) -> LeaderParts:
    return LeaderParts(
        within=asker.within,
        elsewhere=elsewhere,
        busy=busy,
        clock=parts.assembly.clock,
        errors=parts.assembly.errors,
        turn=lambda: parts.engine().turn(),
        sources=sources,
    )


def _watch(membership: ClassicMembership, sources: PatternSources, parts: MembershipParts) -> PatternWatch:
    assembly, config = parts.assembly, parts.config
    return PatternWatch(
        membership,
        sources,
        assembly.metadata,
        assembly.errors,
        pace=WatchPace(config.metadata_max_age_ms, config.request_timeout_ms),
        backoff=assembly.backoff(),
    )
