"""Counts and times of a group member, for its metrics."""

from attrs import define, field

from kafka_groups.client.windows import Windows

__all__ = ["MemberSensors"]


@define
class MemberSensors:
    """Counts and times of heartbeats and rebalances.

    Attributes:
        heartbeats: How many heartbeats were answered.
        sent_ms: When the last heartbeat was sent; None before the first.
        response_times: How long the responses took, in milliseconds.
        rebalances: How often the assignment changed.
        rebalance_times: One value for each change.
    """

    heartbeats: int = 0
    sent_ms: int | None = None
    response_times: Windows = field(factory=Windows)
    rebalances: int = 0
    rebalance_times: Windows = field(factory=Windows)

    def answered(self, latency_ms: int, now_ms: int) -> None:
        """Note that the coordinator answered a heartbeat."""
        self.heartbeats += 1
        self.response_times.record(latency_ms, now_ms)

    def rebalanced(self, now_ms: int) -> None:
        """Note that the assignment changed."""
        self.rebalances += 1
        self.rebalance_times.record(1, now_ms)
