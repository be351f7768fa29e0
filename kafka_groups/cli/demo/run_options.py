"""The options of a run of either demo."""

import secrets

from attrs import field, frozen

__all__ = ["RunOptions"]


@frozen(kw_only=True)
class RunOptions:
    """The options that both demos have.

    Attributes:
        bootstrap_servers: A running Kafka; `None` starts an embedded broker.
        workers_per_partition: At least two: a killed member keeps its partitions until its session times out.
        limit: How many flights; `None` for all.
        timeout_seconds: When the run gives up.
        brokers: Brokers of the embedded cluster.
        name: The share group; topics are named after it.
    """

    bootstrap_servers: str | None = None
    workers_per_partition: int = 2
    limit: int | None = None
    timeout_seconds: float = 300.0
    brokers: int = 1
    name: str = field(factory=lambda: f"kafka-groups-demo-{secrets.token_hex(4)}")
