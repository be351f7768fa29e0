"""The membership of an application's members, by the protocol of its group."""

from kafka_groups.config.clients.streams import StreamsConfig
from kafka_groups.streams.member.coordinated_membership import coordinated_membership
from kafka_groups.streams.member.membership_parts import MembershipOf

__all__ = ["membership_of"]


def membership_of(config: StreamsConfig) -> MembershipOf:
    """Return what makes the memberships of an application."""
    if not config.is_classic:
        return coordinated_membership
    # Imported only now, as streams groups need neither a leader nor assignors.
    from kafka_groups.streams.member.classic_membership import classic_membership  # noqa: PLC0415

    return classic_membership(config.classic_member, config.task_timeout_ms)
