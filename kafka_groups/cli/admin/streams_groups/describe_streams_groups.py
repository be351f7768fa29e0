"""`kafka-groups streams describe`."""

from typing import TYPE_CHECKING

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, CommandAnswer, answer_options
from kafka_groups.cli.documents.streams_groups import StreamsGroupContents
from kafka_groups.errors import GroupIdNotFoundError, UnsupportedVersionError

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin, Results
    from kafka_groups.cli.admin.streams_groups.description_entries import StreamsDescription

__all__ = ["describe"]


@click.command()
@click.argument("group_ids", metavar="GROUP...", nargs=-1, required=True)
@answer_options
@connecting
def describe(connection: BrokerChoice, form: AnswerForm, group_ids: tuple[str, ...]) -> None:
    """Print the state, lag, topology and members of streams groups, or of applications with group.protocol=classic.

    The tasks of a member are those that it has. If it will have others, they are printed after "target". The changelog
    lag of a task is the number of records that its stores do not have yet; members report it from time to time.

    Of a classic group, the members are printed by process, as they were when they joined the last round, with the tasks
    that the leader then gave them. Brokers do not tell which member leads.

    The exit status is 1 if a group could not be described.
    """
    from kafka_groups.cli.admin.streams_groups.description_entries import streams_contents  # noqa: PLC0415 - help is quick
    from kafka_groups.cli.admin.streams_groups.streams_group_lines import streams_group_lines  # noqa: PLC0415 - as above

    answer = CommandAnswer[StreamsGroupContents](form)
    texts: list[str] = []
    with asking(connection, answer) as admin:
        found = _descriptions(admin, group_ids)
        answer.take(found, lambda _name, group: streams_contents(group))
        texts += [line for group in found.values.values() for line in streams_group_lines(group)]
    answer.tell(lambda _items: texts, lambda each: each.group)


def _descriptions(admin: "KafkaAdmin", group_ids: tuple[str, ...]) -> "Results[str, StreamsDescription]":
    """Return descriptions of streams groups, and of classic groups where there is no streams group of that name."""
    from kafka_groups.admin import Results  # noqa: PLC0415 - as above

    streams = admin.describe_streams_groups(group_ids)
    # Brokers before Kafka 4.2 do not have streams groups, and refuse the question.
    refused = (GroupIdNotFoundError, UnsupportedVersionError)
    missing = [group_id for group_id, error in streams.errors.items() if isinstance(error, refused)]
    classic = admin.describe_classic_streams_groups(missing) if missing else Results[str, "StreamsDescription"]()
    values = {**streams.values, **classic.values}
    errors = {**streams.errors, **classic.errors}
    wanted = dict.fromkeys(group_ids)
    return Results(
        {group_id: values[group_id] for group_id in wanted if group_id in values},
        {group_id: errors[group_id] for group_id in wanted if group_id not in values},
    )
