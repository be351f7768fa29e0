"""`kafka-groups consume`: records of topics, without a group."""

import sys
from collections.abc import Sequence
from typing import Final

import click
from attrs import frozen

from kafka_groups.cli.quiet_clients import quiet_clients
from kafka_groups.cli.records.interruption import Interruption
from kafka_groups.cli.records.named_topics import NamedTopic, named_topics
from kafka_groups.cli.records.reading_options import ReadingOptions, reading_options
from kafka_groups.cli.records.reading_progress import ReadingProgress
from kafka_groups.cli.records.reading_start import READING_START, ReadingStart
from kafka_groups.cli.records.record_columns import ReadColumns
from kafka_groups.cli.records.record_output import RecordOutput
from kafka_groups.cli.records.stopping import run_until_struck, stopped_by_signals
from kafka_groups.cli.records.topic_reading import TopicReading
from kafka_groups.net.clock import SystemClock

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
    wanted = _WantedRecords(named_topics(topics), start, is_committed=isolation == _COMMITTED, to_end=exit_at_end)
    shortage: str | None = None
    runs_on = reading.most is None and not exit_at_end
    with Interruption() as interruption, quiet_clients(), stopped_by_signals(interruption, runs_on=runs_on):
        shortage = run_until_struck(interruption, _consume(reading, wanted, interruption))
    if shortage is not None:
        click.echo(shortage, err=True)
        sys.exit(_FAILED)


@frozen
class _WantedRecords:
    """The records that are wanted."""

    topics: Sequence[NamedTopic]
    start: ReadingStart
    is_committed: bool
    to_end: bool


async def _consume(options: ReadingOptions, wanted: _WantedRecords, interruption: Interruption) -> str | None:
    """Print records. Return the text about those that have not come, or None."""
    connection = options.connection
    reading = TopicReading(connection.client_config(), connection.timeout_ms, committed=wanted.is_committed)
    try:
        await reading.begin(wanted.topics, wanted.start, to_end=wanted.to_end)
        progress = ReadingProgress(options, SystemClock())
        output = RecordOutput(interruption)
        while not (progress.is_over or reading.is_over):
            output.end_with_reader()
            _print(await reading.next(progress.wait_ms), options, output, progress)
    finally:
        await reading.close()
    return None if wanted.to_end and reading.is_over else progress.shortage


def _print(
    found: Sequence[ReadColumns], options: ReadingOptions, output: RecordOutput, progress: ReadingProgress
) -> None:
    for columns in found:
        some = columns.first(progress.left)
        output.write(options.form.text(some))
        progress.note(len(some))
