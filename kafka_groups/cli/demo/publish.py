"""Produces the demo's records, and counts those that the brokers have confirmed."""

import threading
from collections.abc import Iterable

from kafka_groups.errors import DeliveryFailedError
from kafka_groups.librdkafka.deliveries import OutgoingRecord
from kafka_groups.librdkafka.record_writer import RecordWriter

__all__ = ["Publisher", "client_keys"]

_TIMEOUT_SECONDS = 30.0


def client_keys(bootstrap_servers: str) -> dict[str, object]:
    """Return the configuration of the demo's clients, which print nothing."""
    return {"bootstrap.servers": bootstrap_servers, "client.id": "kafka-groups-demo", "log_level": 2}


class Publisher:
    """Produces records and counts how many the broker has confirmed.

    `run` blocks, so call it on its own thread. You can use the other members from any thread.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self._stop = threading.Event()
        self._writer = RecordWriter(client_keys(bootstrap_servers) | {"linger.ms": 20, "partitioner": "murmur2_random"})

    def __repr__(self) -> str:
        return f"<Publisher: {self.confirmed} confirmed>"

    @property
    def confirmed(self) -> int:
        """The number of records that the broker has confirmed."""
        return self._writer.written

    def stop(self) -> None:
        """End `run` early and drop records that have not been sent."""
        self._stop.set()
        self._writer.purge()

    def run(self, records: Iterable[OutgoingRecord]) -> int:
        """Produce the records and wait until the broker has confirmed them.

        Returns:
            How many records were confirmed, including those of earlier calls.

        Raises:
            DeliveryFailedError: A record was refused, or not confirmed in time.
        """
        for record in records:
            if self._stop.is_set() or self._writer.failed:
                break
            self._writer.write(record)
        if self._stop.is_set():
            self._writer.purge()
        try:
            self._writer.flush(_TIMEOUT_SECONDS)
        except DeliveryFailedError:
            if not self._stop.is_set():
                raise
        return self.confirmed
