"""Look at a group and its topics before the first fetch: what is missing, and what may lose records."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from kafka_groups.errors import ConfigurationError, KafkaGroupsError, UnknownTopicOrPartitionError
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.workers.handlers import HandlerSpec

__all__ = ["AnyConsumer", "HandlerGroup", "preflight"]

_LOG = logging.getLogger("kafka_groups.worker")

_LIMIT = "share.delivery.count.limit"
_LOCKS = "share.partition.max.record.locks"
_RESET = "share.auto.offset.reset"
_RENEWS = "share.renew.acknowledge.enable"
_DEAD_LETTERS = "errors.deadletterqueue.topic.name"
_DEFAULT_LIMIT = 5
_DEFAULT_LOCKS = 2_000
_TIMEOUT_S = 10.0

AnyConsumer = AsyncKafkaShareConsumer[Any, Any]


@frozen
class HandlerGroup:
    """A group as its handler has to know it.

    Attributes:
        delivery_limit: After how many deliveries a record is archived; Kafka's default if it is unknown.
        record_locks: How many offsets of a partition may be in flight; Kafka's default if it is unknown.
        dead_letter_topic: The brokers' own dead-letter topic of the group (Kafka 4.4); None without one.
        missing: The handler's topics that do not exist.
        notes: Warnings about settings.
    """

    delivery_limit: int
    record_locks: int
    dead_letter_topic: str | None
    missing: Sequence[str] = ()
    notes: Sequence[str] = ()


async def preflight(consumer: AnyConsumer, group_id: str, spec: HandlerSpec) -> HandlerGroup:
    """Ask the brokers for the group's settings and for the topics of a handler. Logs what needs attention.

    Raises:
        ConfigurationError: The topic for dead letters does not exist, or the group has one of its own as well.
    """
    configs = await _group_config(consumer, group_id)
    own = configs.get(_DEAD_LETTERS) or None
    check_group_letters(spec, group_id, own)
    if spec.dead_letters is not None and await _is_missing(consumer, spec.dead_letters):
        raise ConfigurationError(
            f"handler {spec.name}: the topic dead_letters={spec.dead_letters!r} does not exist. Create it"
        )
    missing = [topic for topic in spec.topics if await _is_missing(consumer, topic)]
    notes = _notes(configs, group_id, spec)
    for note in (*(f"The topic {topic} does not exist. The worker waits for it." for topic in missing), *notes):
        _LOG.warning("Handler %s: %s", spec.name, note)
    limit, locks = configs.get(_LIMIT), configs.get(_LOCKS)
    return HandlerGroup(int(limit or _DEFAULT_LIMIT), int(locks or _DEFAULT_LOCKS), own, missing, notes)


def check_group_letters(spec: HandlerSpec, group_id: str, own: str | None) -> None:
    """Check that records are not copied twice: by the worker, and by the brokers.

    Args:
        spec: The handler.
        group_id: The share group.
        own: The dead-letter topic of the group (Kafka 4.4), or None.

    Raises:
        ConfigurationError: Both have a topic for dead letters.
    """
    if own is not None and spec.dead_letters is not None:
        raise ConfigurationError(
            f"handler {spec.name}: dead_letters={spec.dead_letters!r}, and the brokers copy rejected records of the"
            f" share group {group_id} to {own} ({_DEAD_LETTERS}): each record would be copied twice. Remove one of them"
        )


async def _group_config(consumer: AnyConsumer, group_id: str) -> Mapping[str, str | None]:
    try:
        return await consumer.group_config(timeout=_TIMEOUT_S)
    except KafkaGroupsError as error:
        _LOG.warning(
            "The settings of the share group %s cannot be read (%s). Kafka's defaults are assumed: %d deliveries, and"
            " windows of %d records.",
            group_id,
            error,
            _DEFAULT_LIMIT,
            _DEFAULT_LOCKS,
        )
        return {}


async def _is_missing(consumer: AnyConsumer, topic: str) -> bool:
    try:
        await consumer.lag([topic], timeout=_TIMEOUT_S)
    except UnknownTopicOrPartitionError:
        return True
    except KafkaGroupsError as error:
        _LOG.debug("Whether the topic %s exists is not known: %s", topic, error)
    return False


def _notes(configs: Mapping[str, str | None], group_id: str, spec: HandlerSpec) -> list[str]:
    notes = []
    if configs.get(_RESET) == "latest":
        notes.append(
            f"The share group {group_id} starts at the latest offset ({_RESET}=latest): it skips what was produced"
            f" before it first read a partition. To get those records, set the group configuration {_RESET}=earliest."
        )
    if configs.get(_RENEWS) == "false":
        notes.append(
            f"The share group {group_id} cannot renew locks ({_RENEWS}=false): records that wait for a retry are"
            " released before their locks end, which spends deliveries."
        )
    locks = int(configs.get(_LOCKS) or _DEFAULT_LOCKS)
    if spec.retries.total_s > 0 and spec.buffer is not None and spec.buffer > locks:
        notes.append(f"buffer={spec.buffer} is more than a partition's window of {locks} records ({_LOCKS}).")
    return notes
