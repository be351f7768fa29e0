"""The membership of an application's members, by the protocol of its group."""

from functools import partial
from typing import TYPE_CHECKING

from kafka_groups.config.clients.classic_member import ClassicMemberConfig
from kafka_groups.config.clients.streams import StreamsConfig
from kafka_groups.streams.member.coordinated_membership import coordinated_membership
from kafka_groups.streams.member.membership_parts import MembershipOf

if TYPE_CHECKING:  # a streams group needs neither a leader nor assignors
    from kafka_groups.admin.rules.group_topology.pattern_sources import PatternSources
    from kafka_groups.streams.member.classic.dormant_state import DormantState
    from kafka_groups.streams.member.leader_computation import BusyAssignors, Elsewhere

__all__ = ["membership_of"]


def membership_of(
    config: StreamsConfig,
    elsewhere: "Elsewhere | None" = None,
    dormant: "DormantState | None" = None,
    sources: "PatternSources | None" = None,
    *,
    busy: "BusyAssignors | None" = None,
) -> MembershipOf:
    """Return what makes the memberships of an application.

    Args:
        config: The configuration of the application.
        elsewhere: Runs what a leader computes. None: on another thread.
        dormant: The state of tasks that no worker of the process has, for a classic group. None: there is none.
        sources: The patterns of the topology, which only classic groups have; None without any.
        busy: The assignors that run in the process. None: those of this one, which simulated processes share.
    """
    if not config.is_classic:
        return partial(coordinated_membership, may_be_classic=True)
    return _classic(config.classic_member, config.task_timeout_ms, elsewhere, dormant, sources, busy)


def _classic(
    config: ClassicMemberConfig,
    give_up_ms: int,
    elsewhere: "Elsewhere | None",
    dormant: "DormantState | None",
    sources: "PatternSources | None",
    busy: "BusyAssignors | None",
) -> MembershipOf:
    from kafka_groups.admin.rules.streams_leader.group_round import LeaderSettings  # noqa: PLC0415 - see above
    from kafka_groups.assignment import AssignmentConfigs  # noqa: PLC0415
    from kafka_groups.streams.member.classic.classic_settings import ClassicSettings  # noqa: PLC0415
    from kafka_groups.streams.member.classic_membership import classic_membership  # noqa: PLC0415
    from kafka_groups.streams.member.leader_computation import ASSIGNORS, in_thread  # noqa: PLC0415

    settings = ClassicSettings(
        session_ms=config.session_timeout_ms,
        heartbeat_ms=config.heartbeat_interval_ms,
        request_timeout_ms=config.request_timeout_ms,
        pause_ms=config.retry_backoff_max_ms,
        probing_interval_ms=config.probing_rebalance_interval_ms,
    )
    assignment = AssignmentConfigs(
        acceptable_recovery_lag=config.acceptable_recovery_lag,
        max_warmup_replicas=config.max_warmup_replicas,
        num_standby_replicas=config.num_standby_replicas,
        probing_rebalance_interval_ms=config.probing_rebalance_interval_ms,
        rack_aware_assignment_tags=config.rack_aware_assignment_tags,
        rack_aware_traffic_cost=config.rack_aware_assignment_traffic_cost,
        rack_aware_non_overlap_cost=config.rack_aware_assignment_non_overlap_cost,
        rack_aware_assignment_strategy=config.rack_aware_assignment_strategy,
    )
    leading = LeaderSettings(
        application_id=config.application_id,
        assignment=assignment,
        replication_factor=config.replication_factor,
        pause_ms=config.retry_backoff_max_ms,
        assignor=config.task_assignor_class,
    )
    return classic_membership(
        settings, leading, give_up_ms, elsewhere or in_thread, dormant, sources, busy=busy or ASSIGNORS
    )
