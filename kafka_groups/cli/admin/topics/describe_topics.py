"""`kafka-groups topics describe`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.cli.admin.config_options import value_entries
from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.documents.config_values import ConfigValueEntry
from kafka_groups.cli.documents.topics import TopicContents, TopicPartitionEntry
from kafka_groups.cli.problems import problem_of
from kafka_groups.cli.text_tables import UNKNOWN, one_line

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin, TopicDescription

__all__ = ["describe"]

PartitionRow = tuple[str, TopicPartitionEntry]
ConfigRow = tuple[str, ConfigValueEntry]


@click.command()
@click.argument("names", metavar="TOPIC...", nargs=-1, required=True)
@click.option("--configs", is_flag=True, help="Print also the configurations that are set for the topics.")
@answer_options
@connecting
def describe(connection: BrokerChoice, form: AnswerForm, names: tuple[str, ...], *, configs: bool) -> None:
    """Print the partitions of topics, with leaders and replicas.

    With --configs and --json, it prints all configurations, defaults included.

    The exit status is 1 if a topic could not be described.
    """
    answer = CommandAnswer[TopicContents](form)
    with asking(connection, answer) as admin:
        found = admin.describe_topics(dict.fromkeys(names))
        values = _configs(admin, found.values, answer) if configs else {}
        answer.take(found, lambda name, topic: _contents(topic, values.get(name)))
    answer.tell(_lines, lambda each: each.topic)


def _configs(
    admin: "KafkaAdmin", names: Iterable[str], answer: CommandAnswer[TopicContents]
) -> Mapping[str, Sequence[ConfigValueEntry]]:
    from kafka_groups.admin import ConfigResource  # noqa: PLC0415 - help texts need no client

    resources = [ConfigResource("topic", name) for name in names]
    if not resources:
        return {}
    found = admin.describe_configs(resources)
    for resource, error in found.errors.items():
        answer.fail(problem_of(str(resource), error))
    return {resource.name: value_entries(values) for resource, values in found.values.items()}


def _contents(topic: "TopicDescription", configs: Sequence[ConfigValueEntry] | None) -> TopicContents:
    return TopicContents(
        topic.name,
        None if topic.topic_id is None else str(topic.topic_id),
        len(topic.partitions),
        topic.replication_factor,
        topic.is_internal,
        tuple(
            TopicPartitionEntry(
                each.partition,
                each.leader,
                each.leader_epoch,
                each.replicas,
                each.in_sync_replicas,
                each.offline_replicas,
            )
            for each in topic.partitions
        ),
        None if configs is None else tuple(configs),
    )


# --------------------------------------------------------------------------------------------------------- text


def _lines(topics: Iterable[TopicContents]) -> Iterator[str]:
    yield from _PARTITIONS.lines((each.topic, partition) for each in topics for partition in each.partitions)
    configs = [(each.topic, config) for each in topics for config in each.configs or () if config.set]
    if configs:
        yield ""
        yield from _CONFIGS.lines(configs)


def _partition_row(given: PartitionRow) -> Sequence[str]:
    topic, partition = given
    leader = UNKNOWN if partition.leader is None else str(partition.leader)
    groups = partition.replicas, partition.in_sync_replicas, partition.offline_replicas
    return topic, str(partition.partition), leader, *(",".join(map(str, ids)) or UNKNOWN for ids in groups)


def _config_row(given: ConfigRow) -> Sequence[str]:
    topic, config = given
    return topic, config.key, one_line(config.value)


_PARTITIONS: Final = AnswerTable[PartitionRow](
    ("TOPIC", "PARTITION", "LEADER", "REPLICAS", "IN SYNC", "OFFLINE"), _partition_row, ("PARTITION", "LEADER")
)
_CONFIGS: Final = AnswerTable[ConfigRow](("TOPIC", "CONFIG", "VALUE"), _config_row)
