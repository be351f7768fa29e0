"""Tests of handler workers without a broker: `WorkerTestDriver`."""

from kafka_groups.testing.worker_driver.deliveries import DeliveryState, Outcome, WorkerDelivery
from kafka_groups.testing.worker_driver.driver import WorkerTestDriver
from kafka_groups.testing.worker_driver.errors import WorkerTestError
from kafka_groups.testing.worker_driver.letters import CapturedLetter
from kafka_groups.testing.worker_driver.records import RawValue

__all__ = [
    "CapturedLetter",
    "DeliveryState",
    "Outcome",
    "RawValue",
    "WorkerDelivery",
    "WorkerTestDriver",
    "WorkerTestError",
]
