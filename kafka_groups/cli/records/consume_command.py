"""`kafka-groups consume`: records of topics, without a group."""

import sys
from collections.abc import Sequence
from typing import Final

import click

from kafka_groups.cli.records.named_topics import named_topics
from kafka_groups.cli.records.reading_options import ReadingOptions, reading_options
from kafka_groups.cli.records.reading_start import READING_START, ReadingStart

__all__ = ["consume"]

_FAILED: Final = 1
_COMMITTED: Final = "read_committed"


@click.command()
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC[:PARTITION,…] …")
@click.option(
    "--from",
    "start",
    type=READING_START,
    default="earliest",
    metavar="earliest|latest|OFFSET|-N|TIME",
    help="Where to begin: an offset, -N for the last N of each partition, or a time such as 2026-01-31T12:00:00 (UTC).",
)
@click.option("--exit-at-end", is_flag=True, help="End when everything that is there now has been printed.")
@click.option(
    "--isolation",
    type=click.Choice((_COMMITTED, "read_uncommitted")),
    default=_COMMITTED,
    help="Leave out the records of open and aborted transactions, or print them, too.",
)
@reading_options(counts_deliveries=False)
def consume(
    reading: ReadingOptions, topics: Sequence[str], start: ReadingStart, *, exit_at_end: bool, isolation: str
) -> None:
    """Print the records of topics until Ctrl-C. This joins no group and changes nothing.

    orders stands for all partitions that the topic has now, and orders:0,2 for two of them.

    The exit status is 0 if you stop it or if it is done, and 1 if a topic cannot be read, or if the records of -n have
    not come within --timeout.
    """
    named = named_topics(topics)
    from kafka_groups.cli.records.consuming import TopicConsuming  # noqa: PLC0415 - help texts need no client

    work = TopicConsuming(reading, named, start, is_committed=isolation == _COMMITTED, to_end=exit_at_end)
    shortage = work.run()
    if shortage is not None:
        click.echo(shortage, err=True)
        sys.exit(_FAILED)
