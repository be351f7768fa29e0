"""The description of a member of an application's group."""

from collections.abc import Mapping

from attrs import field, frozen

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, UserEndpoint

__all__ = ["MemberDescription"]


def _tags(given: Mapping[str, str] | tuple[KeyValue, ...]) -> tuple[KeyValue, ...]:
    if isinstance(given, tuple):  # those of a description of which something else changes
        return given
    return tuple(KeyValue(key=key, value=value) for key, value in sorted(given.items()))


@frozen(kw_only=True)
class MemberDescription:
    """The description that a member sends to its group. Its id is the membership's: in a classic group it may change.

    Attributes:
        group_id: The application's id.
        process_id: The id of the process, which members of one process share. It survives restarts if the state does.
        topology: The application's topology.
        rebalance_timeout_ms: How long the coordinator waits for the member to give up tasks.
        instance_id: The id of a static member, or None.
        rack_id: The member's rack, or None.
        user_endpoint: Where the process answers interactive queries, or None.
        client_tags: The process's tags for rack-aware assignment; give a mapping.
    """

    group_id: str
    process_id: str
    topology: GroupTopology
    rebalance_timeout_ms: int = 300_000
    instance_id: str | None = None
    rack_id: str | None = None
    user_endpoint: UserEndpoint | None = None
    client_tags: tuple[KeyValue, ...] = field(factory=dict, converter=_tags)
