"""The settings of a share group that decide whether records may be lost."""

from collections.abc import Mapping, Sequence
from typing import Self

from attrs import frozen

from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.share.group import config_of
from kafka_groups.share.workers.group_queries import asked
from kafka_groups.share.workers.start_option import RESET

__all__ = [
    "COPIES_RECORDS",
    "DEAD_LETTERS",
    "DEFAULT_DELIVERY_LIMIT",
    "DEFAULT_RECORD_LOCKS",
    "RECORD_LOCKS",
    "RENEWS",
    "GroupSettings",
    "group_settings",
    "notes_on",
    "start_note",
]

DEFAULT_DELIVERY_LIMIT = 5
"""Kafka's `group.share.delivery.count.limit`, used if the group's own value is unknown."""
DEFAULT_RECORD_LOCKS = 2_000
"""Kafka's `group.share.partition.max.record.locks`, used if the group's own value is unknown."""

DEAD_LETTERS = "errors.deadletterqueue.topic.name"
RECORD_LOCKS = "share.partition.max.record.locks"
COPIES_RECORDS = "errors.deadletterqueue.copy.record.enable"
RENEWS = "share.renew.acknowledge.enable"
_LIMIT = "share.delivery.count.limit"


@frozen
class GroupSettings:
    """The settings of a group; None if they are unknown.

    Attributes:
        delivery_limit: After how many deliveries a record is archived.
        auto_offset_reset: The start position of the group on a partition that it has not read yet.
        dead_letter_topic: The brokers' dead-letter topic for archived records; empty if there is none.
        record_locks: How many offsets of a partition may be in flight.
        renews: Whether locks can be renewed.
        copies_records: Whether brokers copy keys and values to their dead-letter topic, and not headers alone.
    """

    delivery_limit: int | None = None
    auto_offset_reset: str | None = None
    dead_letter_topic: str | None = None
    record_locks: int | None = None
    renews: bool | None = None
    copies_records: bool | None = None

    @classmethod
    def of(cls, configs: Mapping[str, str | None]) -> Self:
        """Read the settings from the configuration of a group."""
        limit, locks, renews = configs.get(_LIMIT), configs.get(RECORD_LOCKS), configs.get(RENEWS)
        return cls(
            delivery_limit=int(limit) if limit else None,
            auto_offset_reset=configs.get(RESET),
            dead_letter_topic=configs.get(DEAD_LETTERS),
            record_locks=int(locks) if locks else None,
            renews=None if renews is None else renews == "true",
            copies_records=None if (copies := configs.get(COPIES_RECORDS)) is None else copies == "true",
        )


def group_settings(config: ShareConsumerConfig) -> GroupSettings:
    """Ask for the settings of a consumer's group; blocks for milliseconds, at worst for ten seconds."""
    return GroupSettings.of(asked(config, lambda ask: config_of(ask, config.group_id)) or {})


def start_note(settings: GroupSettings, group_id: str, remedy: str = "") -> Sequence[str]:
    """Return a warning if a new group skips the existing records; else nothing. It may name a remedy of the reader."""
    # Only `latest` skips records. If the value is unknown, a warning could be wrong.
    if settings.auto_offset_reset != "latest":
        return ()
    note = (
        f"The share group {group_id} starts at the latest offset ({RESET}=latest): it skips what was produced before"
        f" it first read a partition. To get those records, {remedy and f'{remedy}, or '}set the group configuration"
        f" {RESET}=earliest."
    )
    return (note,)


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
    notes = [*start_note(settings, group_id)]
    if not settings.dead_letter_topic and dead_letter_topic is None:
        limit = settings.delivery_limit or DEFAULT_DELIVERY_LIMIT
        notes.append(
            f"The share group {group_id} has no dead-letter topic: Kafka archives a record that failed {limit} times,"
            f" and it is gone. Set {key}, or the group configuration {DEAD_LETTERS} (Kafka 4.4)."
        )
    return notes
