"""Warnings about the dead-letter queue that a share group is given (KIP-1191): brokers accept any name."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import click
from attrs import frozen

from kafka_groups.cli.admin.config_options import WantedConfigs
from kafka_groups.cli.admin.connection import BrokerChoice, connected
from kafka_groups.errors import UnknownTopicOrPartitionError

if TYPE_CHECKING:
    from kafka_groups.admin import DescribedConfig, KafkaAdmin

__all__ = ["QUEUE", "DeadLetterQueue", "warn_of_queue", "warnings_about"]

QUEUE: Final = "errors.deadletterqueue.topic.name"
"""The key of a group that names its dead-letter queue."""

_ENABLED: Final = "errors.deadletterqueue.group.enable"
_PREFIX: Final = "errors.deadletterqueue.topic.name.prefix"
_CREATES: Final = "errors.deadletterqueue.auto.create.topics.enable"
_LOST: Final = "Brokers would archive the group's rejected records without a dead letter."


@frozen
class DeadLetterQueue:
    """A dead-letter queue, as far as it is known. A value that the brokers did not show is None.

    Attributes:
        name: Its topic.
        exists: Whether the topic exists.
        is_enabled: Whether the topic is enabled as a queue.
        prefix: How brokers want its name to begin.
        is_created: Whether brokers create it.
    """

    name: str
    exists: bool | None
    is_enabled: bool | None
    prefix: str | None
    is_created: bool | None


def warn_of_queue(connection: BrokerChoice, changes: WantedConfigs) -> None:
    """Print warnings about the queue that changes name, if they name one."""
    name = (changes.get(QUEUE) or "").strip()
    if not name:
        return
    with connected(connection) as admin:
        found = _looked_up(admin, name)
    for warning in warnings_about(found):
        click.echo(f"Warning: {warning}", err=True)


def warnings_about(queue: DeadLetterQueue) -> Iterator[str]:
    """Return the reasons why brokers would write no dead letters to a queue, with what to do."""
    if queue.prefix is not None and not queue.name.startswith(queue.prefix):
        yield (
            f"The name {queue.name!r} does not begin with {queue.prefix!r}, which is {_PREFIX} of the brokers. {_LOST} "
            f"Choose another name, or set another prefix: kafka-groups brokers configs --all-brokers --set {_PREFIX}="
        )
    if queue.exists is False and queue.is_created is False:
        create = f"kafka-groups topics create {queue.name} --set {_ENABLED}=true"
        yield f"Topic {queue.name} does not exist. {_LOST} Create it: {create}"
    if queue.exists and queue.is_enabled is False:
        enable = f"kafka-groups topics configs {queue.name} --set {_ENABLED}=true"
        yield f"Topic {queue.name} is not enabled as a dead-letter queue. {_LOST} Enable it: {enable}"


def _looked_up(admin: "KafkaAdmin", name: str) -> DeadLetterQueue:
    from kafka_groups.admin import ConfigResource  # noqa: PLC0415 - help texts need no client

    topic = ConfigResource("topic", name)
    broker = ConfigResource("broker", str(admin.describe_cluster().brokers[0].node_id))
    topics = admin.describe_topics([name])
    missing = isinstance(topics.errors.get(name), UnknownTopicOrPartitionError)
    configs = admin.describe_configs([topic, broker] if name in topics.values else [broker]).values
    return DeadLetterQueue(
        name,
        True if name in topics.values else False if missing else None,
        _flag(_value(configs.get(topic), _ENABLED)),
        _value(configs.get(broker), _PREFIX),
        _flag(_value(configs.get(broker), _CREATES)),
    )


def _value(values: "Mapping[str, DescribedConfig] | None", key: str) -> str | None:
    return None if values is None or key not in values else values[key].value


def _flag(text: str | None) -> bool | None:
    return None if text is None else text == "true"
