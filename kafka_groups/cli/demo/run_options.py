"""The options that both versions of the demo share."""

import secrets

from attrs import field, frozen

__all__ = ["RunOptions"]


@frozen(kw_only=True)
class RunOptions:
    """The options of a run.

    Attributes:
        bootstrap_servers: A running Kafka; `None` starts an embedded broker.
        workers_per_partition: At least two, because a killed member keeps its partitions until its session times out.
        limit: How many flights to use; `None` for all.
        timeout_seconds: The run fails after this time.
        brokers: Number of embedded brokers.
        name: Name of the share group. The names of the topics start with it.
    """

    bootstrap_servers: str | None = None
    workers_per_partition: int = 2
    limit: int | None = None
    timeout_seconds: float = 300.0
    brokers: int = 1
    name: str = field(factory=lambda: f"kafka-groups-demo-{secrets.token_hex(4)}")
