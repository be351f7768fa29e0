"""`kafka-groups offsets reset`."""

from typing import TYPE_CHECKING, Any, Literal, cast

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.offsets.missing_offsets import no_offsets, raise_if_missing
from kafka_groups.cli.admin.offsets.offset_tables import MOVED_OFFSETS, named_partition
from kafka_groups.cli.admin.reset_options import share_reset, share_reset_options
from kafka_groups.cli.answers import AnswerForm, CommandAnswer, answer_options
from kafka_groups.cli.documents.moved_offsets import MovedOffsetEntry

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["reset"]


@click.command()
@click.argument("group")
@share_reset_options
@answer_options
@connecting
def reset(connection: BrokerChoice, form: AnswerForm, group: str, **given: Any) -> None:
    """Move GROUP, which must have no members, to the beginning or end of topics, or to a time.

    Say where to with exactly one of the options --to-earliest to --by-duration, which topics with --all-topics or
    --topic, and give --execute, or --dry-run to see what would be done.

    The exit status is 1 if a partition was not reset, or there is none.
    """
    options = share_reset(given)
    place = cast('Literal["earliest", "latest"] | datetime', options.to)
    answer = CommandAnswer[MovedOffsetEntry](form)
    with asking(connection, answer, group) as admin:
        done = admin.reset_share_group_offsets(group, place, options.topics, dry_run=options.is_dry_run)
        raise_if_missing(admin, group, done)
        answer.take(
            done,
            lambda place, offset: MovedOffsetEntry(group, place.topic, place.partition, offset),
            lambda place: f"{group} {named_partition(place.topic, place.partition)}",
        )
        if not len(done):
            answer.fail(no_offsets(group))
    answer.tell(MOVED_OFFSETS.lines)
