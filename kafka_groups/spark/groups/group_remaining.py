"""Asks the brokers how many records a share group may have left; `spark/rules/remaining.py` reckons."""

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve

from kafka_groups.admin.rules.group_configs import describe_configs
from kafka_groups.admin.rules.returned_values import ShareOffset
from kafka_groups.admin.rules.share_offsets import describe_offsets
from kafka_groups.admin.rules.topics import partitions_of_topics
from kafka_groups.client.calls.partition_offsets import EARLIEST, LATEST, offsets_at, offsets_at_or_ends
from kafka_groups.client.calls.questions import Asking
from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.config.readers import offset_reset_duration_ms
from kafka_groups.errors import BrokerError, is_retriable
from kafka_groups.net.clock import SystemClock
from kafka_groups.share.group import GroupConfig
from kafka_groups.share.workers.group_queries import UNANSWERED, answer_of, asked
from kafka_groups.spark.rules.remaining import (
    DEFAULT_PATIENCE_MS,
    GroupPositions,
    Remaining,
    remaining_of,
    unread_starts,
)
from kafka_groups.types import TopicPartition

__all__ = ["group_positions", "group_remaining", "group_unread"]

_LOCK = "share.record.lock.duration.ms"
_SESSION = "share.session.timeout.ms"


def group_remaining(
    config: ShareConsumerConfig, topics: Iterable[str], unread: Mapping[TopicPartition, int]
) -> Remaining:
    """Return how many records of these topics the group may have left.

    Blocks for milliseconds, at worst for some seconds.

    Args:
        config: The configuration of the group's consumer.
        topics: All topics that count.
        unread: What `group_unread` returned before the group's members began.
    """
    wanted, wall_ms = sorted(topics), SystemClock().wall_ms()
    try:
        told = answer_of(config, lambda ask: group_positions(ask, config.group_id, wanted, wall_ms))
    except UNANSWERED as error:
        return Remaining.unanswered(config.group_id, error)
    return remaining_of(evolve(told, unread=unread))


def group_unread(config: ShareConsumerConfig, topics: Iterable[str]) -> Mapping[TopicPartition, int]:
    """Return where the group begins at the earliest in partitions that no member has had yet; empty if that is unknown.

    Blocks for milliseconds, at worst for some seconds.
    """
    wanted, wall_ms = sorted(topics), SystemClock().wall_ms()
    told = asked(config, lambda ask: group_positions(ask, config.group_id, wanted, wall_ms, ends_first=True))
    return {} if told is None else unread_starts(told)


async def group_positions(
    ask: Asking, group_id: str, topics: Sequence[str], wall_ms: int, *, ends_first: bool = False
) -> GroupPositions:
    """Ask for everything that tells how far a group is with all partitions of some topics.

    Args:
        ask: Asks the brokers.
        group_id: The group.
        topics: The topics.
        wall_ms: The time since the epoch, from which `by_duration:` counts back.
        ends_first: Whether records that are appended in between are left out, rather than counted.
    """
    found = (await partitions_of_topics(ask, topics)).checked()
    partitions = [each for some in found.values.values() for each in some]
    config = await _config_or_none(ask, group_id)
    is_committed = config.get("share.isolation.level") == "read_committed"
    # The order of the questions matters, because records are produced and finished in between, and none may be missed.
    # Normally the ends are asked for last, so that later records count as left. With `ends_first`, they are asked for
    # before the state: what has no state by then began at these ends at the earliest.
    early = await _ends(ask, partitions, is_committed=is_committed) if ends_first else None
    # The lag counts records of open transactions, which a group that reads committed records does not get. Their number
    # is taken from before the offsets, so that no more are subtracted than the lag can have.
    high_watermarks = await _ends(ask, partitions, is_committed=False) if is_committed else {}
    offsets, refusal = await _offsets_or_refusal(ask, group_id)
    ends = await _ends(ask, partitions, is_committed=is_committed) if early is None else early
    reset = config.get("share.auto.offset.reset")
    age_ms = None if reset is None else offset_reset_duration_ms(reset)
    return GroupPositions(
        group_id=group_id,
        begins=(await offsets_at(ask, partitions, EARLIEST)).checked().values,
        ends=ends,
        offsets=offsets,
        refusal=refusal,
        reset=reset,
        high_watermarks=high_watermarks,
        since={} if age_ms is None else (await offsets_at_or_ends(ask, partitions, wall_ms - age_ms)).checked().values,
        patience_ms=_patience_ms(config),
    )


async def _ends(
    ask: Asking, partitions: Sequence[TopicPartition], *, is_committed: bool
) -> Mapping[TopicPartition, int]:
    return (await offsets_at(ask, partitions, LATEST, committed=is_committed)).checked().values


async def _config_or_none(ask: Asking, group_id: str) -> GroupConfig:
    """Return the configuration of the group; empty if the brokers refuse to describe it."""
    try:
        configs = (await describe_configs(ask, [group_id]))[group_id]
    except BrokerError as error:
        # There are two kinds of refusals. One that passes, such as a coordinator that moves, makes the answer unknown.
        # A missing right stays, and what can be told without the configuration is told.
        if is_retriable(error):
            raise
        return {}
    return {name: each.value for name, each in configs.items()}


async def _offsets_or_refusal(ask: Asking, group_id: str) -> tuple[Mapping[TopicPartition, ShareOffset] | None, str]:
    """Return the offsets of all partitions for which the group has state, or why the brokers do not tell them."""
    try:
        return (await describe_offsets(ask, {group_id: None}))[group_id].checked().values, ""
    except BrokerError as error:
        # The same as for the configuration.
        if is_retriable(error):
            raise
        return None, str(error)


def _patience_ms(config: GroupConfig) -> int:
    values = [value for name in (_LOCK, _SESSION) if (value := config.get(name))]
    return max(map(int, values), default=DEFAULT_PATIENCE_MS)
