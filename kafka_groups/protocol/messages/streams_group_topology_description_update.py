"""StreamsGroupTopologyDescriptionUpdate (key 93), v0: a member describes its topology for people to read (KIP-1331)."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.topology_description import DescribedTopology


@frozen(kw_only=True)
class StreamsGroupTopologyDescriptionUpdateRequest:
    """The description of the topology with this epoch, from a member of the group."""

    group_id: str
    member_id: str
    topology_epoch: int
    topology_description: DescribedTopology


@frozen(kw_only=True)
class StreamsGroupTopologyDescriptionUpdateResponse:
    """UNKNOWN_MEMBER_ID if the sender is not a member; INVALID_REQUEST if the group has another topology epoch."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
