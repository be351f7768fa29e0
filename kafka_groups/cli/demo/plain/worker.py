"""A worker process of the demo. It polls, computes and stores, and only then accepts the records.

In explicit mode, it acknowledges each record when its row is on disk. In implicit mode, the commit accepts everything
that was delivered. The commit waits for the response to keep the demo's count exact: when a worker is killed, it is
known which acknowledgements have arrived. A program that does not count can leave out the commit, because the next poll
sends the acknowledgements, too.
"""

import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import click

from kafka_groups.cli.demo.flights import flight_of_line
from kafka_groups.cli.demo.plain.events import EventKind, WorkerEvent
from kafka_groups.cli.demo.plain.store import FlightStore, StoredFlight
from kafka_groups.share import KafkaShareConsumer
from kafka_groups.share.delivery.commits import Acknowledged
from kafka_groups.types import AcknowledgeType

__all__ = ["main", "report_acknowledgements", "work"]

_POLL_SECONDS = 0.5

Report = Callable[[WorkerEvent], None]


def write_event(event: WorkerEvent) -> None:
    """Write an event to standard output."""
    sys.stdout.write(f"{event.line()}\n")
    sys.stdout.flush()


def report_acknowledgements(report: Report) -> Callable[[Acknowledged], None]:
    """Return an acknowledgement callback that reports how many records were accepted or failed."""

    def completed(acknowledged: Acknowledged) -> None:
        records = sum(last - first + 1 for first, last in acknowledged.ranges)
        report(WorkerEvent(EventKind.ACCEPTED if acknowledged.error is None else EventKind.FAILED, records))

    return completed


def work(
    consumer: KafkaShareConsumer, store: FlightStore, report: Report, stopped: threading.Event, *, explicit: bool
) -> None:
    """Process batches until `stopped` is set."""
    while not stopped.is_set():
        batch = consumer.poll(timeout=_POLL_SECONDS)
        if not batch:
            report(WorkerEvent(EventKind.IDLE))
            continue
        records = list(batch)
        again = sum(record.delivery_count > 1 for record in records)
        report(WorkerEvent(EventKind.RECEIVED, len(records), again))
        store.save(
            StoredFlight(record.topic, record.partition, record.offset, flight_of_line((record.value or b"").decode()))
            for record in records
        )
        report(WorkerEvent(EventKind.STORED, len(records)))
        if explicit:
            for record in records:
                consumer.acknowledge(record, AcknowledgeType.ACCEPT)
        consumer.commit_sync()


@click.command()
@click.option("--bootstrap-servers", required=True)
@click.option("--group", required=True)
@click.option("--topic", required=True)
@click.option("--mode", type=click.Choice(["implicit", "explicit"]), required=True)
@click.option("--store", type=click.Path(path_type=Path), required=True)
def main(bootstrap_servers: str, group: str, topic: str, mode: Literal["implicit", "explicit"], store: Path) -> None:
    """Work until SIGTERM."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    with (
        FlightStore(store) as flights,
        KafkaShareConsumer(
            bootstrap_servers=bootstrap_servers,
            group_id=group,
            acknowledgement_mode=mode,
            client_id="kafka-groups-demo",
        ) as consumer,
    ):
        consumer.set_acknowledgement_callback(report_acknowledgements(write_event))
        consumer.subscribe([topic])
        write_event(WorkerEvent(EventKind.JOINED))
        work(consumer, flights, write_event, stopped, explicit=mode == "explicit")


if __name__ == "__main__":
    main()
