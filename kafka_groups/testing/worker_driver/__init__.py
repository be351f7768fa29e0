"""Tests of handler workers without a broker: `WorkerTestDriver`."""

from kafka_groups.testing.worker_driver.deliveries import DeliveryState, Outcome, WorkerDelivery
from kafka_groups.testing.worker_driver.handler_loop import WorkerTestError
from kafka_groups.testing.worker_driver.records import RawValue
from kafka_groups.testing.worker_driver.worker_test_driver import WorkerTestDriver
from kafka_groups.testing.worker_driver.written_records import WrittenRecord

__all__ = [
    "DeliveryState",
    "Outcome",
    "RawValue",
    "WorkerDelivery",
    "WorkerTestDriver",
    "WorkerTestError",
    "WrittenRecord",
]
