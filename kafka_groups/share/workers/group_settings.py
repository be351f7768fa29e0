"""The settings of a share group that decide whether records may be lost."""

from collections.abc import Sequence

from attrs import frozen

from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.share.group import config_of
from kafka_groups.share.workers.group_queries import asked

__all__ = ["DEFAULT_DELIVERY_LIMIT", "GroupSettings", "group_settings", "notes_on"]

DEFAULT_DELIVERY_LIMIT = 5
"""Kafka's `group.share.delivery.count.limit`, used if the group's own value is unknown."""

_LIMIT = "share.delivery.count.limit"
_RESET = "share.auto.offset.reset"
_DEAD_LETTERS = "errors.deadletterqueue.topic.name"


@frozen
class GroupSettings:
    """The settings of a group; None if they are unknown.

    Attributes:
        delivery_limit: After how many deliveries a record is archived.
        auto_offset_reset: The start position of the group on a partition that it has not read yet.
        dead_letter_topic: The brokers' dead-letter topic for archived records; empty if there is none.
    """

    delivery_limit: int | None = None
    auto_offset_reset: str | None = None
    dead_letter_topic: str | None = None


def group_settings(config: ShareConsumerConfig) -> GroupSettings:
    """Ask for the settings of a consumer's group; blocks for milliseconds, at worst for ten seconds."""
    configs = asked(config, lambda ask: config_of(ask, config.group_id)) or {}
    limit = configs.get(_LIMIT)
    return GroupSettings(int(limit) if limit else None, configs.get(_RESET), configs.get(_DEAD_LETTERS))


def notes_on(
    settings: GroupSettings, group_id: str, dead_letter_topic: str | None, *, key: str = "dead_letter_topic"
) -> Sequence[str]:
    """Return warnings about settings that may lose records; empty if there are none, or the settings are unknown.

    Args:
        settings: The group's settings.
        group_id: The group.
        dead_letter_topic: The reader's own dead-letter topic.
        key: The name of its option, for the warnings.
    """
    notes = []
    if settings.auto_offset_reset == "latest":
        notes.append(
            f"The share group {group_id} starts at the latest offset ({_RESET}=latest): it skips what was produced"
            f" before it first read a partition. To get those records, set the group configuration {_RESET}=earliest."
        )
    if not settings.dead_letter_topic and dead_letter_topic is None:
        limit = settings.delivery_limit or DEFAULT_DELIVERY_LIMIT
        notes.append(
            f"The share group {group_id} has no dead-letter topic: Kafka archives a record that failed {limit} times,"
            f" and it is gone. Set {key}, or the group configuration {_DEAD_LETTERS} (Kafka 4.4)."
        )
    return notes
