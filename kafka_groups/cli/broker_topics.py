"""The options of `kafka-groups broker` for topics that exist from the start."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import click
from attrs import frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.metadata.topic_names import check_topic_name, collision_key
from kafka_groups.cli.key_value import key_and_value, refuse_repeated
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.config.cluster.topic import topic_config
from kafka_groups.errors import InvalidConfigError, InvalidTopicError

__all__ = ["FirstTopic", "create_first_topics", "first_topics"]

_MOST_PARTITIONS: Final = 10_000
_TOPIC: Final = "--topic"
_CONFIG: Final = "--topic-config"


@frozen
class FirstTopic:
    """A topic that exists from the start.

    Attributes:
        name: Its name.
        partitions: The number of its partitions.
        replication_factor: The number of its replicas.
        configs: Its configs.
    """

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


def first_topics(
    topics: Iterable[str], configs: Iterable[str], settings: BrokerSettings, brokers: int
) -> Sequence[FirstTopic]:
    """Return the topics of the options.

    Args:
        topics: The values of `--topic`.
        configs: The values of `--topic-config`.
        settings: The settings of the brokers.
        brokers: The number of brokers.

    Raises:
        click.BadParameter: A topic cannot be created, or is given twice, or a config belongs to none of them.
    """
    counts = _counts(topics, settings.num_partitions)
    of_topics = _configs(configs, counts, settings)
    factor = settings.default_replication_factor
    if counts and factor > brokers:
        raise click.BadParameter(
            f"default.replication.factor is {factor}, which needs that many brokers: add --brokers {factor}.",
            param_hint=_TOPIC,
        )
    return [FirstTopic(name, count, factor, of_topics[name]) for name, count in counts.items()]


def create_first_topics(cluster: EmbeddedCluster, topics: Iterable[FirstTopic]) -> None:
    """Create topics in a cluster that has started."""
    for each in topics:
        cluster.create_topic(
            each.name, each.partitions, replication_factor=each.replication_factor, configs=each.configs
        )


def _counts(topics: Iterable[str], default: int) -> dict[str, int]:
    given = [_name_and_count(text, default) for text in topics]
    refuse_repeated([name for name, _ in given], _TOPIC)
    _refuse_collisions([name for name, _ in given])
    if sum(count for _, count in given) > _MOST_PARTITIONS:
        raise _wrong_topic(f"They have more than {_MOST_PARTITIONS:,} partitions together.")
    return dict(given)


def _name_and_count(text: str, default: int) -> tuple[str, int]:
    name, colon, number = text.partition(":")
    try:
        check_topic_name(name)
    except InvalidTopicError as error:
        raise _wrong_topic(str(error)) from error
    if not colon:
        return name, default
    if not (number.isascii() and number.isdecimal() and int(number)):
        raise _wrong_topic(f"{text!r}: the number of partitions is 1 or more, as in {name}:2.")
    return name, int(number)


def _refuse_collisions(names: Sequence[str]) -> None:
    found: dict[str, str] = {}
    for name in names:
        key = collision_key(name)
        if key is not None and found.setdefault(key, name) != name:
            raise _wrong_topic(f"{name!r} and {found[key]!r} differ in '.' and '_' only, which Kafka refuses.")


def _configs(texts: Iterable[str], topics: Iterable[str], settings: BrokerSettings) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {name: {} for name in topics}
    for text in texts:
        name, colon, pair = text.partition(":")
        if not colon or name not in found:
            raise _wrong_config(f"{text!r} is not of the form NAME:KEY=VALUE, where NAME is a topic of {_TOPIC}.")
        key, value = key_and_value(pair, _CONFIG)
        refuse_repeated([*found[name], key], _CONFIG)
        found[name][key] = value
        try:
            topic_config(settings, found[name])
        except InvalidConfigError as error:
            raise _wrong_config(str(error)) from error
    return found


def _wrong_topic(text: str) -> click.BadParameter:
    return click.BadParameter(text, param_hint=_TOPIC)


def _wrong_config(text: str) -> click.BadParameter:
    return click.BadParameter(text, param_hint=_CONFIG)
