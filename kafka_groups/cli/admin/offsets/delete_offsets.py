"""`kafka-groups offsets delete`."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.offsets.missing_offsets import raise_if_missing
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.consent import dry_run_option
from kafka_groups.cli.documents.moved_offsets import ForgottenTopicEntry
from kafka_groups.cli.problems import CommandProblem
from kafka_groups.cli.text_tables import one_line

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin

__all__ = ["delete"]


@click.command()
@click.argument("group")
@click.option("--topic", "topics", multiple=True, required=True, help="The topic. Repeatable.")
@dry_run_option
@answer_options
@connecting
def delete(connection: BrokerChoice, form: AnswerForm, group: str, topics: tuple[str, ...], *, dry_run: bool) -> None:
    """Make GROUP, which must have no members, forget topics.

    The exit status is 1 if a topic was not forgotten.
    """
    answer = CommandAnswer[ForgottenTopicEntry](form)
    with asking(connection, answer, group) as admin:
        if dry_run:
            _plan(admin, group, topics, answer)
        else:
            deleted = admin.delete_share_group_offsets(group, topics)
            answer.take(deleted, lambda topic, _none: ForgottenTopicEntry(group, topic), lambda each: f"{group} {each}")
    answer.tell(_TABLE.lines)


def _plan(admin: "KafkaAdmin", group: str, topics: Iterable[str], answer: CommandAnswer[ForgottenTopicEntry]) -> None:
    found: Any = admin.describe_share_group_offsets([group])[group]
    raise_if_missing(admin, group, found)
    known = {place.topic for place in found}
    for topic in dict.fromkeys(topics):
        if topic in known:
            answer.items.append(ForgottenTopicEntry(group, topic))
        else:
            answer.fail(CommandProblem(f"{group} {topic}", "The group has no offsets of this topic."))


def _row(entry: ForgottenTopicEntry) -> Sequence[str]:
    return one_line(entry.group), entry.topic


_TABLE: Final = AnswerTable[ForgottenTopicEntry](("GROUP", "FORGOTTEN TOPIC"), _row)
