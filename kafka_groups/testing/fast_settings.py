"""Settings of an embedded cluster that make tests fast."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["FAST_SETTINGS"]

FAST_SETTINGS: Mapping[str, object] = MappingProxyType({
    "group.share.assignment.interval.ms": 0,
    "group.share.min.heartbeat.interval.ms": 100,
    "group.share.min.record.lock.duration.ms": 1_000,
    "group.share.min.session.timeout.ms": 1_000,
    "group.streams.assignment.interval.ms": 0,
    "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.min.heartbeat.interval.ms": 100,
    "group.streams.min.session.timeout.ms": 1_000,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 100,
})  # fmt: skip
"""Settings for `EmbeddedCluster(settings=…)`: members get their partitions at once, and groups may have short times.

A new member gets its partitions with its second heartbeat, after about 0.1 s; Kafka's default lets a second pass
between two assignments, and the first member of a streams group wait three seconds for others. The bounds allow
a group record locks and session timeouts from 1 s and heartbeats from 0.1 s
(`alter_group_configs`); groups that set nothing have Kafka's defaults. Transactions
are aborted at most 0.1 s after their timeout, and not 10 s.
"""
