"""Rates of a group from two looks at its partitions: records that arrive, and records that it finishes. Does no I/O."""

from collections.abc import Mapping

from attrs import frozen

from kafka_groups.types import TopicPartition

__all__ = ["GroupMoment", "GroupRates", "rates_between"]


@frozen
class GroupMoment:
    """The progress of a group at one moment.

    Attributes:
        at_s: The moment, in seconds of any clock.
        ends: The ends of its partitions.
        lags: The lags; None if one is unknown.
    """

    at_s: float
    ends: Mapping[TopicPartition, int]
    lags: Mapping[TopicPartition, int | None]


@frozen
class GroupRates:
    """Records in a second.

    Attributes:
        acknowledged: Those that the group has finished.
        arriving: Those that were written to its partitions.
    """

    acknowledged: float
    arriving: float


def rates_between(before: GroupMoment | None, now: GroupMoment) -> GroupRates | None:
    """Return the rates from one look to the next; None if they are unknown.

    Partitions count that both looks have with an end and a lag. A group that was moved back has finished nothing.
    """
    if before is None or now.at_s <= before.at_s:
        return None
    both = [
        place
        for place in now.ends.keys() & before.ends.keys()
        if now.lags.get(place) is not None and before.lags.get(place) is not None
    ]
    if not both:
        return None
    seconds = now.at_s - before.at_s
    arrived = sum(now.ends[place] - before.ends[place] for place in both)
    finished = arrived - sum((now.lags[place] or 0) - (before.lags[place] or 0) for place in both)
    return GroupRates(max(0, finished) / seconds, max(0, arrived) / seconds)
