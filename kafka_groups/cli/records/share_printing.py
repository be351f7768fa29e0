"""Prints the records of a share group, and acknowledges them when they are printed."""

from typing import Final

import click

from kafka_groups.cli.records.asking_keys import asked_acknowledgement
from kafka_groups.cli.records.interruption import InterruptedCommandError, Interruption
from kafka_groups.cli.records.reading_options import ReadingOptions
from kafka_groups.cli.records.reading_progress import ReadingProgress
from kafka_groups.cli.records.record_columns import delivered_columns
from kafka_groups.cli.records.record_output import RecordOutput
from kafka_groups.net.clock import Clock
from kafka_groups.share.consumer import KafkaShareConsumer
from kafka_groups.share.delivery.commits import Acknowledged
from kafka_groups.share.delivery.share_records import AnyRecords, deliveries_of
from kafka_groups.types import AcknowledgeType

__all__ = ["SharePrinting"]

_MS: Final = 1_000
_MOST_AT_ONCE: Final = 1_000
"""The most records of a fetch if only some are wanted."""
_JOINING_MS: Final = 30_000
"""The longest time to join in which the time of --timeout does not run."""


class SharePrinting:
    """Prints what a consumer of a share group gets.

    Args:
        consumer: The consumer, in explicit mode.
        options: The options of the command.
        kind: What is done with records; None: a key decides about each.
        interruption: Knows whether the command is to end.
        clock: Tells the time.

    Attributes:
        progress: How many records were printed.
        failed: The number of partitions whose acknowledgements were refused.
        has_quit: Whether the user has typed the key to quit.
    """

    def __init__(
        self,
        consumer: KafkaShareConsumer,
        options: ReadingOptions,
        kind: AcknowledgeType | None,
        interruption: Interruption,
        clock: Clock,
    ) -> None:
        self._consumer = consumer
        self._options = options
        self._kind = kind
        self._interruption = interruption
        self._output = RecordOutput(interruption)
        self._clock = clock
        self._begun_ms = clock.now_ms()
        self.progress = ReadingProgress(options, clock)
        self.failed = 0
        self.has_quit = False
        consumer.set_acknowledgement_callback(self._acknowledged)

    def __repr__(self) -> str:
        return f"<SharePrinting with {self._consumer!r}: {self.progress!r}>"

    def run(self) -> None:
        """Print records until there are enough, the time is up, or the user quits.

        Raises:
            SystemExit: Nobody reads standard output any more. What was not printed is released.
            InterruptedCommandError: A signal came.
            WakeupError: A signal came while there was nothing to print.
            KafkaGroupsError: The brokers refuse, or none can be reached.
        """
        handle = self._print_all if self._kind is not None else self._ask_for_each
        while not (self.progress.is_over or self.has_quit or self._interruption.has_struck):
            self._output.end_with_reader()
            self._consumer.fetch_limit = self._fetch_limit()
            records = self._consumer.poll(self.progress.wait_ms / _MS)
            if not records:
                self._wait_for_group()
            else:
                handle(records)
        if self._interruption.has_struck:
            raise InterruptedCommandError
        if not self.has_quit:
            self._consumer.commit_sync()

    @property
    def shortage(self) -> str | None:
        """The text about records that have not come; None if enough have, or the user has quit."""
        return None if self.has_quit else self.progress.shortage

    def _fetch_limit(self) -> int | None:
        left = self.progress.left
        if self._kind is None:
            return 1
        return None if left is None else min(left, _MOST_AT_ONCE)

    def _wait_for_group(self) -> None:
        """Let no time pass for --timeout while the consumer joins its group."""
        if not self._consumer.has_fetched and self._clock.now_ms() - self._begun_ms < _JOINING_MS:
            self.progress.note(0)

    def _print(self, records: AnyRecords) -> None:
        form = self._options.form
        for delivery in deliveries_of(records):
            for columns in delivered_columns(delivery, form.fields):
                self._output.write(form.text(columns))
                self.progress.note(len(columns))

    def _print_all(self, records: AnyRecords) -> None:
        assert self._kind is not None  # noqa: S101 - see `run`
        self._print(records)
        # Only now: what nobody has read is released when the consumer closes.
        self._consumer.acknowledge_all(records, self._kind)

    def _ask_for_each(self, records: AnyRecords) -> None:
        """Ask about the one record of a poll."""
        self._print(records)
        kind = asked_acknowledgement(self._interruption)
        if kind is None:
            self.has_quit = True
            return
        self._consumer.acknowledge_all(records, kind)
        self._consumer.commit_sync()

    def _acknowledged(self, result: Acknowledged) -> None:
        if result.error is not None:
            self.failed += 1
            first, last = result.ranges[0][0], result.ranges[-1][1]
            place = f"{result.partition}@{first}" if first == last else f"{result.partition}, offsets {first} to {last}"
            click.echo(f"{place}: the acknowledgement was refused: {result.error}", err=True)
