"""Checks before the first record: missing topics, and settings of the group that may lose records."""

import logging
import threading
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import frozen

from kafka_groups.admin.rules.topics import partitions_of_topics
from kafka_groups.client.calls.questions import Asking
from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import UnknownTopicOrPartitionError
from kafka_groups.share.workers.group_queries import asked
from kafka_groups.share.workers.group_settings import GroupSettings, group_settings, notes_on

__all__ = ["Preflight", "check_topics", "preflight"]

_LOG = logging.getLogger(__name__)
_LOOKS: Final = 3
_PAUSE_S: Final = 0.5
_SAID: Final[set[str]] = set()


@frozen
class Preflight:
    """The result of the checks.

    Attributes:
        settings: The settings of the group.
        notes: Warnings for the user; logged already.
    """

    settings: GroupSettings
    notes: Sequence[str]


def preflight(
    config: ShareConsumerConfig, topics: Iterable[str], dead_letter_topic: str | None, *, key: str = "dead_letter_topic"
) -> Preflight:
    """Check the topics and the group, and log each warning once; blocks for milliseconds, or some seconds per broker.

    Problems with reaching the brokers are left to the consumer, which reports them.

    Args:
        config: The configuration of the consumer.
        topics: The topics to subscribe to.
        dead_letter_topic: The reader's own dead-letter topic.
        key: The name of its option, for the warnings.

    Raises:
        UnknownTopicOrPartitionError: A topic does not exist.
    """
    check_topics(config, topics)
    settings = group_settings(config)
    notes = notes_on(settings, config.group_id, dead_letter_topic, key=key)
    for note in notes:
        _say_once(note)
    return Preflight(settings, notes)


def _say_once(note: str) -> None:
    """Log a warning, once in the life of this process: a job may drain the same group every minute."""
    if note not in _SAID:
        _SAID.add(note)
        _LOG.warning(note)


def check_topics(config: ShareConsumerConfig, topics: Iterable[str]) -> None:
    """Make sure that the topics exist, unless the consumer may create them.

    Raises:
        UnknownTopicOrPartitionError: A topic does not exist.
    """
    wanted = tuple(sorted(topics))
    # A topic that the consumer may create does not have to exist. If the brokers do not answer, nothing counts as
    # missing, because the consumer reports that.
    missing = () if config.allow_auto_create_topics else _missing(config, wanted)
    for _ in range(_LOOKS - 1):  # one that has just been created may not be known to all brokers yet
        if not missing:
            return
        threading.Event().wait(_PAUSE_S)
        missing = _missing(config, wanted)
    if missing:
        names = ", ".join(map(repr, missing))
        raise UnknownTopicOrPartitionError(
            f"No topic {names} on this cluster: correct the name, create the topic, or set"
            " allow.auto.create.topics=true to have it created"
        )


def _missing(config: ShareConsumerConfig, topics: Sequence[str]) -> Sequence[str]:
    return asked(config, lambda ask: _unknown(ask, topics)) or ()


async def _unknown(ask: Asking, topics: Sequence[str]) -> Sequence[str]:
    found = await partitions_of_topics(ask, topics)
    return [topic for topic, error in found.errors.items() if isinstance(error, UnknownTopicOrPartitionError)]
