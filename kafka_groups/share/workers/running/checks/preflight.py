"""Look at a group and its topics before the first fetch: what is missing, and what may lose records."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import evolve

from kafka_groups.client.events import listed
from kafka_groups.errors import BrokerError, ConfigurationError, KafkaGroupsError, UnknownTopicOrPartitionError
from kafka_groups.errors.texts import counted, sentences
from kafka_groups.share.aio import AsyncKafkaShareConsumer, hooks_of
from kafka_groups.share.workers.group_settings import (
    COPIES_RECORDS,
    DEAD_LETTERS,
    DEFAULT_DELIVERY_LIMIT,
    DEFAULT_RECORD_LOCKS,
    RECORD_LOCKS,
    RENEWS,
    GroupSettings,
    start_note,
)
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.running.checks.retry_topic_checks import checked_retry_topics
from kafka_groups.share.workers.running.handler_group import HandlerGroup
from kafka_groups.share.workers.running.members.handler_members import HandlerMember

__all__ = ["AnyConsumer", "check_group_dead_letters", "member_preflight", "preflight", "written_topics"]

_LOG = logging.getLogger("kafka_groups.worker")

_TOPIC_ENABLED = "errors.deadletterqueue.group.enable"
_TIMESTAMPS = "message.timestamp.type"
_TIMEOUT_S = 30.0

AnyConsumer = AsyncKafkaShareConsumer[Any, Any]


async def preflight(
    consumer: AnyConsumer, group_id: str, spec: HandlerSpec, *, has_start: bool = False
) -> HandlerGroup:
    """Ask the brokers for the group's settings and for the topics of a handler. Logs what needs attention.

    Args:
        consumer: The consumer of the handler, which has not joined the group.
        group_id: The share group.
        spec: The handler.
        has_start: Whether the worker declares where the group begins, so that it skips nothing by mistake.

    Raises:
        ConfigurationError: The topic for dead letters, an output or a retry topic does not exist or does not fit, or
            the group has a topic for dead letters of its own as well.
        KafkaGroupsError: No broker answers. If the brokers only refuse to show the settings, Kafka's defaults apply.
    """
    settings, unreadable = await _settings(consumer, group_id)
    own = settings.dead_letter_topic or None
    check_group_dead_letters(spec, group_id, own)
    if own is not None:
        await _check_own_dead_letters(consumer, group_id, own)
    # A missing topic that the worker writes to is an error, because records that succeed or are given up could only be
    # held. Missing topics of the handler are a warning, because they may be created later.
    for option, topic in written_topics(spec):
        if await _is_missing(consumer, topic):
            raise ConfigurationError(
                f"handler {spec.name}: the topic {option}={topic!r} does not exist. Create it, or start the worker with"
                " `kafka-groups worker --create-topics`"
            )
    kept = await checked_retry_topics(consumer, spec)
    missing = [topic for topic in spec.topics if await _is_missing(consumer, topic)]
    begins = () if has_start else start_note(settings, group_id, 'declare Worker(..., start="earliest")')
    order = await _order_note(consumer, group_id, spec)
    delayed = await _delay_note(consumer, spec)
    notes = [*unreadable, *_notes(settings, group_id, spec), *begins, *order, *kept, *delayed]
    for note in (*(f"The topic {topic} does not exist. The worker waits for it." for topic in missing), *notes):
        _LOG.warning("Handler %s: %s", spec.name, note)
    limit = settings.delivery_limit or DEFAULT_DELIVERY_LIMIT
    return HandlerGroup(limit, settings.record_locks or DEFAULT_RECORD_LOCKS, own, missing, notes)


async def member_preflight(consumer: AnyConsumer, member: HandlerMember, *, has_start: bool) -> HandlerGroup:
    """Look at the group and the topics of a member before it joins; see `preflight`."""
    if not member.is_retry:
        return await preflight(consumer, member.group_id, member.spec, has_start=has_start)
    # The start of this group is set in any case. Its topics were checked with those that the handler writes to.
    spec = evolve(member.spec, retry_topics=None)
    return await preflight(consumer, member.group_id, spec, has_start=True)


def written_topics(spec: HandlerSpec) -> Iterator[tuple[str, str]]:
    """Yield the option and the name of each topic that is written to."""
    if spec.dead_letters is not None:
        yield "dead_letters", spec.dead_letters
    yield from (("output", output.topic) for output in spec.outputs)


def check_group_dead_letters(spec: HandlerSpec, group_id: str, own: str | None) -> None:
    """Check that records are not copied twice: by the worker, and by the brokers.

    Args:
        spec: The handler.
        group_id: The share group.
        own: The dead-letter topic of the group (Kafka 4.4), or None.

    Raises:
        ConfigurationError: Both have a topic for dead letters.
    """
    if own is not None and spec.retry_topics is not None:
        raise ConfigurationError(
            f"handler {spec.name}: retry_topics={spec.retry_topics.prefix!r}, and the brokers copy rejected records of"
            f" the share group {group_id} to {own} ({DEAD_LETTERS}): these copies would not name the topics that"
            " records came from. Remove that configuration of the group, so that the worker writes to dead_letters="
        )
    if own is not None and spec.dead_letters is not None:
        raise ConfigurationError(
            f"handler {spec.name}: dead_letters={spec.dead_letters!r}, and the brokers copy rejected records of the"
            f" share group {group_id} to {own} ({DEAD_LETTERS}): each record would be copied twice. Remove one of them"
        )


async def _settings(consumer: AnyConsumer, group_id: str) -> tuple[GroupSettings, Sequence[str]]:
    """Return the group's settings; if the brokers refuse to show them, unknown ones and a warning."""
    try:
        return GroupSettings.of(await consumer.group_config(timeout=_TIMEOUT_S)), ()
    except BrokerError as error:
        # Brokers that answer but refuse may do so for lack of rights, and the worker can do without: Kafka's defaults
        # are the usual values. If no broker answers, the start fails.
        note = (
            f"The worker cannot read the settings of the share group {group_id} and assumes Kafka's defaults:"
            f" {counted(DEFAULT_DELIVERY_LIMIT, 'delivery')}, and windows of {counted(DEFAULT_RECORD_LOCKS, 'record')}."
        )
        return GroupSettings(), (sentences(note, str(error)),)


async def _check_own_dead_letters(consumer: AnyConsumer, group_id: str, own: str) -> None:
    """Check that the brokers write dead letters: without this setting of the topic they drop what is rejected."""
    try:
        configs = await hooks_of(consumer).group.topic_config(own, round(1000 * _TIMEOUT_S))
    except KafkaGroupsError as error:
        text = f"The share group {group_id} has the dead-letter topic {own} ({DEAD_LETTERS})"
        problem = f"{text}, and the worker cannot read the topic's configuration: {error}"
        remedy = "Create the topic" if isinstance(error, UnknownTopicOrPartitionError) else ""
        raise ConfigurationError(sentences(problem, remedy)) from error
    # Kafka 4.4.0 accepts the name of a topic that is not enabled for this and then copies nothing, so rejected records
    # would be lost.
    if configs.get(_TOPIC_ENABLED) != "true":
        raise ConfigurationError(
            f"The share group {group_id} has the dead-letter topic {own} ({DEAD_LETTERS}), but brokers write nothing to"
            f" it and rejected records would be lost. Set {_TOPIC_ENABLED}=true on the topic, or use dead_letters="
        )


async def _order_note(consumer: AnyConsumer, group_id: str, spec: HandlerSpec) -> Sequence[str]:
    """Return a warning if other members of the group may have records of the same keys; else nothing."""
    if spec.order_by is None:
        return ()
    members = await hooks_of(consumer).group.member_count(round(1000 * _TIMEOUT_S))
    if not members:
        return ()
    note = (
        f"The share group {group_id} has {counted(members, 'other member')}. order_by keeps an order within a "
        "process only:"
        " another member may have records of the same key at the same time."
    )
    return (note,)


async def _delay_note(consumer: AnyConsumer, spec: HandlerSpec) -> Sequence[str]:
    """Return a warning if producers set the times from which the delay of a handler counts; else nothing."""
    if spec.delay_ms is None:
        return ()
    found = (await hooks_of(consumer).group.topic_configs(spec.topics, round(1000 * _TIMEOUT_S))).values
    # The handler works with either, and topics that the brokers don't show may have it.
    topics = [topic for topic, configs in found.items() if configs.get(_TIMESTAMPS) != "LogAppendTime"]
    if not topics:
        return ()
    note = (
        f"The delay of {spec.delay_ms / 1000:g} seconds counts from the times that producers set in {listed(topics)}"
        f" ({_TIMESTAMPS}). Clocks that differ make records early or late, and records that are due may wait behind"
        f" others. Set {_TIMESTAMPS}=LogAppendTime on the topic."
    )
    return (note,)


async def _is_missing(consumer: AnyConsumer, topic: str) -> bool:
    try:
        await consumer.lag([topic], timeout=_TIMEOUT_S)
    except UnknownTopicOrPartitionError:
        return True
    except KafkaGroupsError as error:
        # Any other error, such as a missing right, does not mean that the topic is missing. The subscription will show
        # it.
        _LOG.debug("Cannot find out whether the topic %s exists: %s", topic, error)
    return False


def _notes(settings: GroupSettings, group_id: str, spec: HandlerSpec) -> list[str]:
    notes: list[str] = []
    if settings.renews is False:
        notes.append(
            f"The share group {group_id} cannot renew locks ({RENEWS}=false): records that wait for a retry are"
            " released before their locks end, which spends deliveries."
        )
    if settings.dead_letter_topic and settings.copies_records is False:
        notes.append(
            f"The brokers' dead letters in {settings.dead_letter_topic} have neither keys nor values. Set the group"
            f" configuration {COPIES_RECORDS}=true."
        )
    locks = settings.record_locks or DEFAULT_RECORD_LOCKS
    if spec.buffer is not None and spec.buffer > locks:
        notes.append(
            f"buffer={spec.buffer} is more than a partition's window of {counted(locks, 'record')} ({RECORD_LOCKS})."
        )
    return notes
