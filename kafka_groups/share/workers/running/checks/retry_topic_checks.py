"""Check the retry topics of a handler before the first fetch: that they exist, and that their records wait and stay."""

from collections.abc import Iterator, Mapping, Sequence

from kafka_groups.admin.rules.config_questions import TopicConfigValues
from kafka_groups.client.calls.results import Results
from kafka_groups.client.events import listed
from kafka_groups.errors import ConfigurationError, KafkaGroupsError, UnknownTopicOrPartitionError
from kafka_groups.errors.texts import named, sentences
from kafka_groups.share.aio import AsyncKafkaShareConsumer, hooks_of
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopic

__all__ = ["checked_retry_topics", "retry_topic_configs"]

_TIMEOUT_MS = 30_000
_WEEK_MS = 604_800_000
_TIMESTAMPS = "message.timestamp.type"
_CLEANUP = "cleanup.policy"
_RETENTION = "retention.ms"
_NO_LIMIT = -1
_DELAYS_KEPT = 4
"""For how many times its delay a retry topic keeps records: outages of the handler must not outlast them."""


def retry_topic_configs(delay_ms: int) -> Mapping[str, str]:
    """Return the configuration that a retry topic needs."""
    return {
        # Records of a partition are then ready in the order of their offsets, whatever the clocks of workers show.
        _TIMESTAMPS: "LogAppendTime",
        _CLEANUP: "delete",
        _RETENTION: str(_kept_ms(delay_ms)),
    }


def _kept_ms(delay_ms: int) -> int:
    return max(_WEEK_MS, _DELAYS_KEPT * delay_ms)


async def checked_retry_topics(consumer: AsyncKafkaShareConsumer[bytes, bytes], spec: HandlerSpec) -> Sequence[str]:
    """Check the retry topics of a handler. Returns warnings about settings that may lose records.

    Raises:
        ConfigurationError: A topic does not exist, its configuration does not fit, or this worker may not see it.
        KafkaGroupsError: No broker answers.
    """
    if spec.retry_topics is None:
        return ()
    topics = spec.retry_topics.topics
    found = await hooks_of(consumer).group.topic_configs(spec.retry_topics.names, _TIMEOUT_MS)
    _check_all_exist(spec, found)
    problems = [problem for topic in topics for problem in _problems(topic, found[topic.topic])]
    if problems:
        raise ConfigurationError(f"handler {spec.name}: {sentences(*problems)}")
    return [note for topic in topics for note in _notes(topic, found[topic.topic])]


def _check_all_exist(spec: HandlerSpec, found: Results[str, TopicConfigValues]) -> None:
    missing = [name for name, error in found.errors.items() if isinstance(error, UnknownTopicOrPartitionError)]
    if missing:
        raise ConfigurationError(
            f"handler {spec.name}: the retry topics {listed(sorted(missing))} do not exist. Start the worker with"
            " `kafka-groups worker --create-topics`, which creates them"
        )
    for name, error in found.errors.items():
        problem = f"handler {spec.name}: the worker cannot read the configuration of the retry topic {name}"
        raise _as_configuration_error(error, sentences(f"{problem}: {named(error)}"))


def _as_configuration_error(error: KafkaGroupsError, text: str) -> KafkaGroupsError:
    """Return the error to raise. One that may pass, such as an outage, is not the user's mistake."""
    if error.retriable:
        return error
    refused = ConfigurationError(text)
    refused.__cause__ = error
    return refused


def _problems(topic: RetryTopic, configs: TopicConfigValues) -> Iterator[str]:
    if configs.get(_TIMESTAMPS) != "LogAppendTime":
        yield (
            f"The retry topic {topic.topic} has {_TIMESTAMPS}={configs.get(_TIMESTAMPS)}, so records whose delay is"
            f" over may wait behind others. {_remedy(topic, _TIMESTAMPS, 'LogAppendTime')}"
        )
    if "compact" in (configs.get(_CLEANUP) or ""):
        yield (
            f"The retry topic {topic.topic} has {_CLEANUP}={configs[_CLEANUP]}: of several records with one key, all"
            f" but the last would be lost. {_remedy(topic, _CLEANUP, 'delete')}"
        )
    if (kept_ms := _retention_ms(configs)) is not None and kept_ms < topic.delay_ms:
        kept = str(_kept_ms(topic.delay_ms))
        yield (
            f"The retry topic {topic.topic} has {_RETENTION}={kept_ms}, so records are deleted before their delay of"
            f" {topic.delay_ms} ms is over. {_remedy(topic, _RETENTION, kept)}"
        )


def _remedy(topic: RetryTopic, key: str, value: str) -> str:
    return f"Run `kafka-groups topics configs {topic.topic} --set {key}={value}`"


def _notes(topic: RetryTopic, configs: TopicConfigValues) -> Iterator[str]:
    kept_ms, needed_ms = _retention_ms(configs), _kept_ms(topic.delay_ms)
    if kept_ms is not None and kept_ms < needed_ms:
        problem = (
            f"The retry topic {topic.topic} keeps records for {kept_ms} ms ({_RETENTION}): they are lost if the worker"
            " stands still for that long"
        )
        yield sentences(problem, _remedy(topic, _RETENTION, str(needed_ms)))


def _retention_ms(configs: TopicConfigValues) -> int | None:
    """Return how long records are kept; None for ever, or if the brokers do not show it."""
    given = configs.get(_RETENTION)
    return None if given is None or int(given) == _NO_LIMIT else int(given)
