"""The leader of a partition: parts that the responses of several APIs share (KIP-951)."""

from typing import Final

from attrs import frozen

NO_LEADER_EPOCH: Final = -1
"""Leader epoch in a request if the client does not know it."""


@frozen(kw_only=True)
class LeaderIdAndEpoch:
    """The current leader according to the responding broker. -1 means unknown or not included."""

    leader_id: int = -1
    leader_epoch: int = -1


@frozen(kw_only=True)
class NodeEndpoint:
    """Address of a broker whose id is one of the leader ids in the response."""

    node_id: int
    host: str
    port: int
    rack: str | None = None
