"""Create the topics that a worker writes to and that do not exist: for retries, dead letters and outputs."""

import logging
from collections.abc import Iterator, Mapping, Sequence

from kafka_groups.admin.rules.topic_creation import create_missing_topics, described_topics, new_topics
from kafka_groups.admin.rules.topics import TopicReplicas, TopicToCreate, replicas_of_topics
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import admin_client
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.calls.results import Results
from kafka_groups.client.events import listed
from kafka_groups.config.clients.share import share_consumer_config
from kafka_groups.errors import (
    ConfigurationError,
    KafkaGroupsError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.errors.texts import counted, named, sentences
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.running.checks.retry_topic_checks import retry_topic_configs
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings

__all__ = ["create_worker_topics"]

_LOG = logging.getLogger("kafka_groups.worker")

_TIMEOUT_MS = 60_000


async def create_worker_topics(settings: RuntimeSettings, specs: Sequence[HandlerSpec]) -> Sequence[str]:
    """Create the topics that handlers write to and that do not exist. Returns their names, sorted.

    They have as many partitions as the first topic of their handler, and the brokers' default number of replicas.

    Raises:
        ConfigurationError: A topic cannot be created, or the first topic of its handler does not exist.
        KafkaGroupsError: No broker answers.
    """
    config = share_consumer_config(settings.given, group_id=settings.group_id)
    client = admin_client(config, settings.environment or Environment())
    try:
        return await _create(client.within(_TIMEOUT_MS), specs)
    finally:
        await client.close()


async def _create(ask: Asking, specs: Sequence[HandlerSpec]) -> Sequence[str]:
    names = [name for spec in specs for name in (spec.topics[0], *_written(spec))]
    found = await replicas_of_topics(ask, names)
    missing: dict[str, TopicToCreate] = {}
    for spec in specs:
        configs = {name: value for name, value in _written(spec).items() if _is_missing(found, name)}
        missing |= {name: TopicToCreate(_partitions(spec, found), configs=value) for name, value in configs.items()}
    if not missing:
        return ()
    creation = await create_missing_topics(ask, missing)
    _raise_first(creation.errors, missing)
    # The handlers look for them next, and not every broker may know them yet.
    await new_topics(ask, missing)
    for name in creation.created:
        _LOG.info("Created the topic %s", described_topics({name: missing[name]}))
    return creation.created


def _written(spec: HandlerSpec) -> Mapping[str, Mapping[str, str]]:
    """Return the topics that a handler writes to, with the configuration that they need."""
    return dict(_each_written(spec))


def _each_written(spec: HandlerSpec) -> Iterator[tuple[str, Mapping[str, str]]]:
    if spec.dead_letters is not None:
        yield spec.dead_letters, {}
    for topic in () if spec.retry_topics is None else spec.retry_topics.topics:
        yield topic.topic, retry_topic_configs(topic.delay_ms)
    yield from ((output.topic, {}) for output in spec.outputs)


def _is_missing(found: Results[str, TopicReplicas], topic: str) -> bool:
    error = found.errors.get(topic)
    if error is None:
        return False
    if isinstance(error, UnknownTopicOrPartitionError):
        return True
    raise error


def _partitions(spec: HandlerSpec, found: Results[str, TopicReplicas]) -> int:
    """Return the number of partitions of a handler's first topic."""
    first = spec.topics[0]
    if _is_missing(found, first):
        raise ConfigurationError(
            f"handler {spec.name}: the topic {first} does not exist, so it is not known how many partitions its other"
            " topics should have. Create it first"
        )
    return found[first].count


def _raise_first(errors: Mapping[str, KafkaGroupsError], missing: Mapping[str, TopicToCreate]) -> None:
    for error in errors.values():
        if error.retriable:
            raise error
        alike = {name: missing[name] for name, other in sorted(errors.items()) if type(other) is type(error)}
        topics = "topic" if len(alike) == 1 else counted(len(alike), "topic")
        what = f"Could not create the {topics} {listed(alike)}"
        if error.says_remedy:  # a missing right, with the command that grants it at the end
            told = sentences(what, f"Create these: {described_topics(alike)}", f"Or: {error}")
        else:
            remedy = f"Allow the worker to CREATE them, or create these: {described_topics(alike)}"
            told = sentences(f"{what}: {named(error)}", remedy)
        raise ConfigurationError(told) from error
