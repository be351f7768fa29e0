"""Where a partition's leader is: parts that the responses of several APIs share (KIP-951)."""

from attrs import frozen


@frozen(kw_only=True)
class LeaderIdAndEpoch:
    """The current leader as the answering broker knows it; -1 means that it does not know, or need not say."""

    leader_id: int = -1
    leader_epoch: int = -1


@frozen(kw_only=True)
class NodeEndpoint:
    """Address of a broker that one of the response's leader ids names."""

    node_id: int
    host: str
    port: int
    rack: str | None = None
