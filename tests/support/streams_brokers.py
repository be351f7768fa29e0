"""Brokers for tests of streams groups: they assign tasks as soon as something has changed."""

from tests.support.targets import everywhere_with

__all__ = ["everywhere_at_once"]

everywhere_at_once = everywhere_with({
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.max.size": "3",
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.min.heartbeat.interval.ms": "100",
})  # fmt: skip
"""Everywhere, on brokers that do not wait before they assign tasks."""
