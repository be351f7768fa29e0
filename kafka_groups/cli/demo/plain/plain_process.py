"""A worker process of the demo. It polls, stores, and only then accepts the records.

In explicit mode, it acknowledges each record when its row is on disk. In implicit mode, the commit accepts everything
that was delivered. The commit waits for the response to keep the demo's count exact: when a worker is killed, it is
known which acknowledgements have arrived. A program that does not count can leave out the commit, because the next poll
sends the acknowledgements, too.

The worker reports on its standard output, one line of JSON per report: numbers of records by the names of `PlainTally`.
"""

import json
import signal
import sys
import threading
from pathlib import Path
from typing import Literal

import click

from kafka_groups.cli.demo.flights import flight_of_line
from kafka_groups.cli.demo.plain.store import FlightStore
from kafka_groups.share import KafkaShareConsumer
from kafka_groups.share.delivery.commits import Acknowledged
from kafka_groups.types import AcknowledgeType

__all__ = ["STORE", "VICTIM", "main", "work"]

STORE = "flights.sqlite"
"""The store in the demo's directory."""

VICTIM = "victim"
"""A file in the demo's directory. The worker that takes it away waits with its records until it is killed."""

_POLL_SECONDS = 0.5


def work(consumer: KafkaShareConsumer, directory: Path, stopped: threading.Event, *, explicit: bool) -> None:
    """Process batches until `stopped` is set."""
    with FlightStore(directory / STORE) as store:
        while not stopped.is_set():
            records = list(consumer.poll(timeout=_POLL_SECONDS))
            if not records:
                continue
            _report(delivered=len(records), redelivered=sum(record.delivery_count > 1 for record in records))
            store.save(
                (record.topic, record.partition, record.offset, flight_of_line((record.value or b"").decode()))
                for record in records
            )
            if _is_victim(directory):
                _report(held=len(records))
                _stand_still(stopped)
            if explicit:
                for record in records:
                    consumer.acknowledge(record, AcknowledgeType.ACCEPT)
            consumer.commit_sync()


def _stand_still(stopped: threading.Event) -> None:
    pause = threading.Event()
    while not stopped.is_set():  # not signal.pause, which a signal just before it would not end
        pause.wait(_POLL_SECONDS)


def _is_victim(directory: Path) -> bool:
    try:
        (directory / VICTIM).unlink()
    except FileNotFoundError:
        return False
    return True


def _report(**records: int) -> None:
    sys.stdout.write(f"{json.dumps(records)}\n")
    sys.stdout.flush()


def _acknowledged(acknowledged: Acknowledged) -> None:
    records = sum(last - first + 1 for first, last in acknowledged.ranges)
    _report(**{"accepted" if acknowledged.error is None else "failed": records})


@click.command()
@click.option("--bootstrap-servers", required=True)
@click.option("--group", required=True)
@click.option("--topic", required=True)
@click.option("--mode", type=click.Choice(["implicit", "explicit"]), required=True)
@click.option("--directory", type=click.Path(path_type=Path), required=True)
def main(
    bootstrap_servers: str, group: str, topic: str, mode: Literal["implicit", "explicit"], directory: Path
) -> None:
    """Work until SIGTERM."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    with KafkaShareConsumer(
        bootstrap_servers=bootstrap_servers,
        group_id=group,
        acknowledgement_mode=mode,
        client_id="kafka-groups-demo",
    ) as consumer:
        consumer.set_acknowledgement_callback(_acknowledged)
        consumer.subscribe([topic])
        work(consumer, directory, stopped, explicit=mode == "explicit")


if __name__ == "__main__":
    main()
