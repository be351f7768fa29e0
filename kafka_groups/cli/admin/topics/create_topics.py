"""`kafka-groups topics create`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.topics.topic_arguments import TOPIC_AND_COUNT, TopicCount
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.consent import dry_run_option
from kafka_groups.cli.documents.topics import CreatedTopicEntry
from kafka_groups.cli.key_value import keys_and_values, refuse_repeated
from kafka_groups.cli.problems import problem_of
from kafka_groups.cli.text_tables import UNKNOWN
from kafka_groups.errors import TopicAlreadyExistsError

if TYPE_CHECKING:
    from kafka_groups.admin import Results, TopicToCreate

__all__ = ["create"]

_DEFAULT: Final = "(default)"
_MOST_REPLICAS: Final = 32_767


@click.command()
@click.argument("given", metavar="NAME[:PARTITIONS]...", nargs=-1, required=True, type=TOPIC_AND_COUNT)
@click.option(
    "--replication-factor",
    "factor",
    type=click.IntRange(1, _MOST_REPLICAS),
    metavar="N",
    help="The number of replicas of each partition.  [default: that of the brokers]",
)
@click.option("--set", "configs", multiple=True, metavar="KEY=VALUE", help="Set a configuration. Repeatable.")
@click.option("--if-missing", is_flag=True, help="Leave topics as they are that exist already, without an error.")
@dry_run_option
@answer_options
@connecting
def create(
    connection: BrokerChoice,
    form: AnswerForm,
    given: tuple[TopicCount, ...],
    factor: int | None,
    *,
    if_missing: bool,
    **others: Any,
) -> None:
    """Create topics.

    Without PARTITIONS, the brokers' default is used. With --dry-run, the brokers check the topics.

    The exit status is 1 if a topic was not created.
    """
    refuse_repeated([each.topic for each in given], "NAME[:PARTITIONS]...")
    wanted = _topics(given, factor, keys_and_values(others["configs"]))
    counts = {each.topic: each.count for each in given}
    answer = CommandAnswer[CreatedTopicEntry](form)
    with asking(connection, answer) as admin:
        made = admin.create_topics(wanted, validate_only=others["dry_run"])
        existing = _existing(made) if if_missing else frozenset[str]()
        answer.items += [
            CreatedTopicEntry(name, counts[name], factor, name in existing)
            for name in wanted
            if name in made.values or name in existing
        ]
        for name, error in made.errors.items():
            if name not in existing:
                answer.fail(problem_of(name, error))
    answer.tell(_TABLE.lines)


def _topics(given: Iterable[TopicCount], factor: int | None, configs: Mapping[str, str]) -> dict[str, "TopicToCreate"]:
    from kafka_groups.admin import TopicToCreate  # noqa: PLC0415 - help texts need no client

    return {
        each.topic: TopicToCreate(
            TopicToCreate().partitions if each.count is None else each.count,
            TopicToCreate().replication_factor if factor is None else factor,
            configs,
        )
        for each in given
    }


def _existing(made: "Results[str, None]") -> frozenset[str]:
    return frozenset(name for name, error in made.errors.items() if isinstance(error, TopicAlreadyExistsError))


def _row(topic: CreatedTopicEntry) -> Sequence[str]:
    if topic.existed:
        return topic.topic, UNKNOWN, UNKNOWN, "exists already"
    numbers = topic.partition_count, topic.replication_factor
    return topic.topic, *(_DEFAULT if each is None else str(each) for each in numbers), "created"


_TABLE: Final = AnswerTable[CreatedTopicEntry](
    ("TOPIC", "PARTITIONS", "REPLICAS", "RESULT"), _row, ("PARTITIONS", "REPLICAS")
)
