"""Prints the records of topics, without a group."""

from collections.abc import Sequence

from kafka_groups.cli.quiet_clients import quiet_clients
from kafka_groups.cli.records.interruption import Interruption
from kafka_groups.cli.records.named_topics import NamedTopic
from kafka_groups.cli.records.reading_options import ReadingOptions
from kafka_groups.cli.records.reading_progress import ReadingProgress
from kafka_groups.cli.records.reading_start import ReadingStart
from kafka_groups.cli.records.record_columns import ReadColumns
from kafka_groups.cli.records.record_output import RecordOutput
from kafka_groups.cli.records.stopping import run_until_struck, unless_stopped
from kafka_groups.cli.records.topic_reading import TopicReading
from kafka_groups.net.clock import SystemClock

__all__ = ["TopicConsuming"]


class TopicConsuming:
    """The work of `kafka-groups consume`.

    Args:
        options: How to reach the brokers, and what is printed.
        topics: The topics.
        start: Where to begin in each partition.
        is_committed: Whether records of open and aborted transactions are left out.
        to_end: Whether to end where the partitions end now.
    """

    def __init__(
        self,
        options: ReadingOptions,
        topics: Sequence[NamedTopic],
        start: ReadingStart,
        *,
        is_committed: bool,
        to_end: bool,
    ) -> None:
        self._options = options
        self._topics = topics
        self._start = start
        self._is_committed = is_committed
        self._to_end = to_end

    def __repr__(self) -> str:
        return f"<TopicConsuming of {', '.join(each.name for each in self._topics)}>"

    def run(self) -> str | None:
        """Print records. Return the text about those that have not come, or None.

        Raises:
            click.ClickException: A topic cannot be read, or a signal came before the records that were wanted.
            SystemExit: Nobody reads standard output any more. The status is 0.
        """
        runs_on = self._options.most is None and not self._to_end
        with Interruption() as interruption, quiet_clients():
            return unless_stopped(
                interruption,
                lambda: run_until_struck(interruption, self._print(interruption)),
                runs_on=runs_on,
                stopped=None,
            )

    async def _print(self, interruption: Interruption) -> str | None:
        connection = self._options.connection
        reading = TopicReading(connection.client_config(), connection.timeout_ms, committed=self._is_committed)
        try:
            await reading.begin(self._topics, self._start, to_end=self._to_end)
            progress = ReadingProgress(self._options, SystemClock())
            output = RecordOutput(interruption)
            while not (progress.is_over or reading.is_over):
                output.end_with_reader()
                self._print_some(await reading.next(progress.wait_ms), output, progress)
        finally:
            await reading.close()
        return None if reading.is_over else progress.shortage

    def _print_some(self, found: Sequence[ReadColumns], output: RecordOutput, progress: ReadingProgress) -> None:
        for columns in found:
            some = columns.first(progress.left)
            output.write(self._options.form.text(some))
            progress.note(len(some))
