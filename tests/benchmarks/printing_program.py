"""`python -m tests.benchmarks.printing_program FORM SERVERS GROUP TOPIC RECORDS`: prints, or only counts, records.

Standard output has the records, and standard error the seconds after the first ones, of the clock and of the CPU, and
their number, as JSON.
"""

import json
import sys
import time
from collections.abc import Mapping
from typing import Final

from kafka_groups import KafkaShareConsumer
from kafka_groups.cli.admin.connection import BrokerChoice
from kafka_groups.cli.records.json_form import JsonLines
from kafka_groups.cli.records.reading_options import ReadingOptions
from kafka_groups.cli.records.record_columns import PrintableColumns
from kafka_groups.cli.records.record_forms import RecordForm, ValueLines, read_format
from kafka_groups.cli.records.share_consuming import ShareConsuming
from kafka_groups.types import AcknowledgeType

__all__ = ["COUNTING", "FORMS"]

COUNTING: Final = "counting"
FORMS: Final[Mapping[str, RecordForm]] = {
    "values": ValueLines(),
    "format": read_format(r"%t-%p@%o %k=%v\n", counts_deliveries=True),
    "json": JsonLines(counts_deliveries=True),
}


class EnoughError(Exception):
    """All records have come."""


class Stopwatch:
    """Measures from the end of the first batch on, when the consumer has joined its group."""

    def __init__(self, records: int) -> None:
        self._records = records
        self._first = 0
        self._begun = self._cpu = 0.0
        self.count = 0

    def note(self, count: int) -> None:
        """Note records.

        Raises:
            EnoughError: These were the last ones.
        """
        self.count += count
        if not self._first:
            self._first, self._begun, self._cpu = self.count, time.monotonic(), time.process_time()
        if self.count >= self._records:
            self.tell()
            raise EnoughError

    def tell(self) -> None:
        """Print the figures."""
        seconds, cpu = time.monotonic() - self._begun, time.process_time() - self._cpu
        found = {"seconds": seconds, "cpu_seconds": cpu, "records": self.count - self._first}
        print(json.dumps(found), file=sys.stderr)


class Timed:
    """A form that is timed. The time ends before the last records are written to the file."""

    def __init__(self, form: RecordForm, watch: Stopwatch) -> None:
        self._form = form
        self._watch = watch
        self.fields = form.fields

    def text(self, records: PrintableColumns) -> bytes:
        text = self._form.text(records)
        self._watch.note(len(records))
        return text


def count(servers: str, group: str, topic: str, watch: Stopwatch) -> None:
    with KafkaShareConsumer(bootstrap_servers=servers, group_id=group) as consumer:
        consumer.subscribe([topic])
        while True:
            found = 0
            for _ in consumer.poll(5.0):
                found += 1
            if found:
                watch.note(found)


def main(form: str, servers: str, group: str, topic: str, records: str) -> None:
    """Consume all records."""
    watch = Stopwatch(int(records))
    try:
        if form == COUNTING:
            count(servers, group, topic, watch)
        else:
            options = ReadingOptions(BrokerChoice(servers, None, 30.0), Timed(FORMS[form], watch), None, None)
            ShareConsuming(options, group, [topic], AcknowledgeType.ACCEPT).run(None)
    except EnoughError:
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
