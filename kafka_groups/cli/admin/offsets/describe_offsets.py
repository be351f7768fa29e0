"""`kafka-groups offsets describe`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.offsets.missing_offsets import NO_OFFSETS, raise_if_missing
from kafka_groups.cli.admin.offsets.offset_tables import START_OFFSETS, named_partition
from kafka_groups.cli.answers import AnswerForm, CommandAnswer, answer_options
from kafka_groups.cli.documents.moved_offsets import ListedOffsetEntry
from kafka_groups.cli.problems import problem_of

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin, ShareOffset
    from kafka_groups.types import TopicPartition

__all__ = ["describe"]


@click.command()
@click.argument("groups", metavar="[GROUP]...", nargs=-1)
@click.option("--all-groups", is_flag=True, help="All share groups that you may describe.")
@answer_options
@connecting
def describe(connection: BrokerChoice, form: AnswerForm, groups: tuple[str, ...], *, all_groups: bool) -> None:
    """Print the start offset and lag of share groups in each partition.

    The exit status is 1 if GROUP is not a share group, or a partition could not be described.
    """
    if bool(groups) == all_groups:
        raise click.UsageError("Give either GROUP, once or several times, or --all-groups.")
    answer = CommandAnswer[ListedOffsetEntry](form)
    with asking(connection, answer) as admin:
        names = _listed(admin, answer) if all_groups else list(dict.fromkeys(groups))
        for name in names:
            with answer.failing_for(name):
                _add(admin, name, answer)
    answer.tell(START_OFFSETS.lines, lambda each: f"{each.group} {named_partition(each.topic, each.partition)}")


def _listed(admin: "KafkaAdmin", answer: CommandAnswer[ListedOffsetEntry]) -> Sequence[str]:
    found = admin.list_share_groups()
    for node_id, error in found.errors.items():
        answer.fail(problem_of(f"broker {node_id}", error))
    return [each.group_id for each in found.groups]


def _add(admin: "KafkaAdmin", group: str, answer: CommandAnswer[ListedOffsetEntry]) -> None:
    def entry(place: "TopicPartition", offset: "ShareOffset") -> ListedOffsetEntry:
        return ListedOffsetEntry(place.topic, place.partition, offset.start_offset, None, offset.lag, group)

    found = admin.describe_share_group_offsets([group])[group]
    raise_if_missing(admin, group, found)
    answer.take(found, entry, lambda place: f"{group} {named_partition(place.topic, place.partition)}")
    if not len(found):
        click.echo(f"{group}: {NO_OFFSETS}", err=True)
